// A kernel made ready to be timed on a device: its phases timed apart, its memory filled, its arguments bound.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/arms/arm.h"
#include "bench/arms/subject_memory.h"
#include "bench/results/results.h"
#include "driver/kernel_name.h"
#include "verify/instance.h"
#include "verify/module_check.h"
#include "verify/staged_plans.h"

namespace lanefold::bench {

/// Which kernel is to run, and how.
struct SubjectRequest {
  driver::KernelName kernel;
  verify::InstanceRequest instance;  ///< its options say the device
  std::int64_t launches = 1;         ///< of one call, one after the other
  bool as_module =
      false;  ///< launch a row program's lane module directly, as lane modules are launched, not through its kernel cache
  /// Row programs: compiled code is kept in this folder and taken from it; none: compiled anew each time.
  std::optional<std::filesystem::path> code_folder = {};
};

/// One kernel on one memory. Everything that a case records, besides samples, is known once it is made.
class Subject final : public Arm {
 public:
  /// Plans, lowers, compiles without the user's disk cache, fills the inputs, and makes the first call into poisoned outputs. device_not_timed for the lane
  /// machine, and what make_instance, compiling and running refuse. `memory`: use this memory, whose buffers must be the same, instead of one's own.
  /// On a CUDA device the calls of a batch take copies of the memory in turn, as graphs; one call is checked.
  static Result<std::unique_ptr<Subject>> make(const SubjectRequest& request,
                                               std::shared_ptr<SubjectMemory> memory = nullptr);
  ~Subject() override;

  const verify::Instance& instance() const;
  const std::shared_ptr<SubjectMemory>& memory() const;
  /// The lane module that ran; one without kernels where a program runs in stages.
  const lane::Module& module() const;
  unsigned threads() const;
  const std::vector<PhaseRecord>& phases() const;
  /// The plan that ran; none for a module that was not planned.
  const std::optional<plan::Plan>& realised() const;
  /// The plans of a program that runs in stages; else empty.
  const std::vector<verify::StagePlan>& stages() const;

  /// The source that was compiled, and what its kernels take of a multiprocessor; empty but on a CUDA device.
  const std::string& source() const;
  const std::vector<ResourceRecord>& resources() const;
  /// Host time of putting one call into a queue of the device, µs, so many samples; empty but on a CUDA device.
  Result<std::vector<double>> enqueue_us(int samples) const;

  /// Fills the inputs again and poisons the outputs: with a pattern, or with what make() began with.
  void refill(verify::Pattern pattern, std::uint64_t seed);
  void refill_standard();
  /// One launch, outside of any clock.
  Status run_once();
  /// Compares every output element that memory holds now, after one launch on the contents of the last refill, with the FP64 meaning; no outputs for
  /// a FILE.lane, which has no meaning.
  verify::CheckReport compare() const;
  /// The same within another tolerance than the kernel's.
  verify::CheckReport compare(const verify::Tolerance& tolerance) const;
  /// The outputs and inouts, each contiguous, in the order of the buffers.
  std::vector<std::vector<std::byte>> outputs() const;
  /// Puts somebody else's outputs, as outputs() gives them, where compare() looks.
  void put_outputs(const std::vector<std::vector<std::byte>>& contents);
  /// Bytes of all inputs and of all outputs of one call, each element once.
  std::int64_t bytes_read() const;
  std::int64_t bytes_written() const;

  Result<Timing> run(std::uint64_t calls) override;
  /// Copies the first contents back into inouts.
  Status restore() override;

 private:
  struct State;
  explicit Subject(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Refuses devices that are unknown or absent, and the lane machine (device_not_timed).
Status check_timed_device(std::string_view device);

/// A plan as compared by `plan_not_realised`: everything but the candidates that were considered.
std::string plan_identity(const plan::Plan& plan);

}  // namespace lanefold::bench
