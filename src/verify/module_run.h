// Running an instance: on the lane machine, or through the JIT.
#pragma once

#include <memory>

#include "base/result.h"
#include "machine/machine.h"
#include "verify/instance.h"

namespace lanefold::runtime {
class Executor;
}

namespace lanefold::verify {

/// Steps after which a run is given up unless its options say otherwise: minutes.
inline constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 33;

/// Launches all kernels of the instance in order on the lane machine. The report has the findings of all launches, outputs that
/// are incomplete, and bytes changed outside of every buffer; counts are summed up. A scalar without a value is a
/// diagnostic. options.begin and end apply to the first kernel and only where it is the only one.
Result<machine::Report> run_on_machine(const Instance& instance, const ModuleMemory& memory,
                                       const machine::Options& options = {});

/// The launches of a compiled instance with all arguments filled in; the module and the memory must outlive it.
class CpuLaunches {
 public:
  /// Launches all kernels in order.
  void run(runtime::Executor& executor) const;

  CpuLaunches(CpuLaunches&&) noexcept;
  CpuLaunches& operator=(CpuLaunches&&) noexcept;
  ~CpuLaunches();

 private:
  friend class CpuModule;
  struct Bound;
  explicit CpuLaunches(std::unique_ptr<Bound> bound);
  std::unique_ptr<Bound> bound_;
};

/// An instance compiled by the JIT, to be run many times.
class CpuModule {
 public:
  /// device_missing in a build without the JIT. The instance must outlive the result.
  static Result<CpuModule> compile(const Instance& instance, const target::Target& target);
  /// Launches all kernels in order on `threads` threads (0: one per processor). Memory that is changed beside a buffer is
  /// machine_out_of_bounds.
  Status run(const ModuleMemory& memory, unsigned threads) const;
  /// The same launches without the look at what lies beside the buffers: for many calls on one memory.
  Result<CpuLaunches> bind(const ModuleMemory& memory) const;

  CpuModule(CpuModule&&) noexcept;
  CpuModule& operator=(CpuModule&&) noexcept;
  ~CpuModule();

 private:
  struct Code;
  CpuModule(const Instance& instance, std::unique_ptr<Code> code);
  const Instance* instance_;
  std::unique_ptr<Code> code_;
};

/// Compiles and runs once, on the cpu or on cuda as the options say. Refuses what CpuModule or CudaModule refuses.
Status run_compiled(const Instance& instance, const ModuleMemory& memory, const DeviceOptions& options);

}  // namespace lanefold::verify
