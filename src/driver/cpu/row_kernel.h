// A row program ready to run on the CPU: one compiled kernel per width class, made on first use.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "driver/call_check.h"
#include "driver/cpu/kernel_cache.h"
#include "driver/pipeline.h"
#include "driver/tuned_plans.h"
#include "runtime/common/launch.h"
#include "runtime/cpu/executor.h"

namespace lanefold::driver {

/// How a program is compiled.
struct CompileOptions {
  target::Target target = target::host();
  ir::Order order = ir::Order::canonical;
  std::string cost_basis;              ///< empty: the target's own
  std::optional<plan::Plan> plan;      ///< use exactly this plan; calls outside of its width class are refused
  std::optional<plan::Layout> layout;  ///< force this layout
  std::optional<plan::Stripe> stripe;  ///< force this stripe
  KernelCache cache = KernelCache::user();
  TunedPlans tuned = TunedPlans::user();  ///< asked where nothing above but the target and the order is given
};

/// What plans for this machine's processor are measured on.
TunedOn tuned_on_cpu();

/// One width class, compiled.
struct ClassKernel {
  plan::Plan plan;
  lane::Module module;
  std::shared_ptr<jit::LinkedModule> linked;
  jit::Entry entry = nullptr;
  std::uint32_t shared_bytes = 0;
  bool from_disk = false;
  std::vector<PhaseTime> times;
};

/// What distinguishes kernels of one program: the class of widths and how the buffers lie.
struct Variant {
  std::uint32_t width_class = 0;
  std::uint64_t strided_inputs = 0;  ///< a bit per input
  std::uint64_t strided_outputs = 0;
  std::uint64_t packed_inputs = 0;
  std::uint64_t packed_outputs = 0;
  bool streaming = false;
  bool rows_in_turn = false;  ///< there are rows enough for a plan that takes them in turn, which wastes work on fewer
  bool column_major = false;  ///< each lane has a row of its own, and rows lie side by side
  friend auto operator<=>(const Variant&, const Variant&) = default;
};

/// May be used from several threads at once.
class RowKernel {
 public:
  static Result<std::unique_ptr<RowKernel>> create(ir::Program program, CompileOptions options);

  const ir::Program& program() const { return program_; }
  const CompileOptions& options() const { return options_; }

  /// Runs the program over the views. No rows: nothing happens. Allocates nothing once the width class is compiled.
  Status run(const runtime::Call& call, runtime::Executor& executor);
  /// The kernel that a call of this shape would run, compiled now if need be.
  Result<const ClassKernel*> prepare(const runtime::Call& call);
  /// Kernels compiled or loaded so far.
  std::size_t kernels() const;

 private:
  RowKernel(ir::Program program, CompileOptions options);
  /// Refuses widths that no plan could serve: they have no width class either.
  Status check_columns(std::int64_t cols) const;
  Variant variant(const runtime::Call& call) const;
  /// Whether lanes that have a row each would read neighbours: the matrices are stored column by column.
  bool is_column_major(const runtime::Call& call) const;
  /// `remembers` says that nobody else has `remembered_` now.
  Status run_part(const runtime::Call& call, const Variant& variant, runtime::Executor& executor, bool remembers);
  Result<const ClassKernel*> kernel(const Variant& variant, std::int64_t rows, std::int64_t cols);
  Result<std::unique_ptr<ClassKernel>> build(const Variant& variant, std::int64_t rows, std::int64_t cols) const;
  /// A plan that was measured to be faster than the cost basis's own, where the kernel plans by itself.
  std::optional<plan::Plan> tuned_plan(const Variant& variant, std::int64_t rows, std::int64_t cols) const;

  /// The last call that was found good, ready to be launched again: small kernels take less time than the checks.
  struct Remembered {
    const ClassKernel* kernel = nullptr;  ///< null: none yet
    std::vector<View> inputs, outputs;
    std::int64_t rows = 0, cols = 0;
    std::vector<lane::ArgumentWord> words;
    std::vector<std::uint32_t> parameter_words;  ///< the word of each parameter: their values may differ
    runtime::Launch launch;
    bool fits(const runtime::Call& call) const;
  };
  /// `call`, which was found good, as a launch of `chosen` with its arguments in `words`.
  runtime::Launch launch(const ClassKernel& chosen, const runtime::Call& call, bool streaming,
                         std::span<lane::ArgumentWord> words) const;
  void remember(const ClassKernel& chosen, const runtime::Call& call, bool streaming);

  static constexpr std::size_t kClasses = 40;
  ir::Program program_;
  CompileOptions options_;
  std::int64_t block_ = 1;          ///< columns must be a multiple of this
  bool joins_ = false;              ///< its folds may take rows in turn
  std::int64_t element_bytes_ = 0;  ///< read and written per column of a row
  std::array<std::array<std::atomic<const ClassKernel*>, 2>, kClasses> plain_{};  ///< [class][streaming], unit strides
  mutable std::mutex mutex_;
  std::map<Variant, std::shared_ptr<const ClassKernel>> all_;
  std::size_t compiled_ = 0;
  std::atomic_flag in_use_;  ///< whoever sets it has `remembered_`; the others do without
  Remembered remembered_;
};

}  // namespace lanefold::driver
