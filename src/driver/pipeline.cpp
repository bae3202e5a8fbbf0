#include "driver/pipeline.h"

#include <bit>
#include <chrono>

namespace lanefold::driver {
namespace {

// Memory of a threadgroup whose rows lie side by side: one partial result per virtual lane of each row, at most 4096 of them, for a
// few folds at once.
constexpr std::uint32_t kSideBySideBytes = 4096 * 1024;

class Stopwatch {
 public:
  explicit Stopwatch(std::vector<PhaseTime>& times) : times_(times) {}
  void lap(const char* phase) {
    const auto now = std::chrono::steady_clock::now();
    times_.push_back({phase, std::chrono::duration<double, std::micro>(now - last_).count()});
    last_ = now;
  }

 private:
  std::vector<PhaseTime>& times_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::uint32_t count_barriers(const std::vector<lane::Statement>& block) {
  std::uint32_t count = 0;
  for (const lane::Statement& s : block)
    count += (s.op == lane::Op::barrier || s.op == lane::Op::cluster_barrier || s.op == lane::Op::exchange) +
             count_barriers(s.body) + count_barriers(s.otherwise);
  return count;
}

}  // namespace

void lay_side_by_side(ir::Order order, target::Target& target, plan::Request& request) {
  target.simd_width = kRowsSideBySide;
  target.threadgroup_bytes = kSideBySideBytes;
  request.layout = plan::Layout{.bits = {}, .rows_per_simd_group = kRowsSideBySide};
  if (order != ir::Order::canonical) return;
  const auto lanes = static_cast<std::uint64_t>(ir::CanonicalOrder::virtual_lanes(request.cols));
  request.layout->bits.resize(static_cast<std::size_t>(std::countr_zero(lanes)), plan::Owner::pass);
}

std::uint32_t barrier_sites(const lane::Kernel& kernel) { return count_barriers(kernel.body); }

Result<Lowered> lower_program(const ir::Program& program, const target::Target& target, const plan::Request& request,
                              const std::optional<plan::Plan>& given, const lower::Access& access) {
  std::vector<PhaseTime> times;
  Stopwatch watch(times);
  if (given) {
    LANEFOLD_CHECK(plan::check(*given, program, target, request.cols));
    watch.lap("check plan");
  }
  LANEFOLD_TRY(plan::Plan chosen, given ? Result<plan::Plan>(*given) : plan::choose(program, target, request));
  watch.lap("plan");
  LANEFOLD_TRY(lane::Module module, lower::lower(program, chosen, access));
  watch.lap("lower");
  if (const std::vector<Diagnostic> faults = lane::verify(module); !faults.empty())
    internal_error("lowering made a faulty lane module: " + faults.front().text());
  watch.lap("verify");
  return Lowered{std::move(chosen), std::move(module), std::move(times)};
}

}  // namespace lanefold::driver
