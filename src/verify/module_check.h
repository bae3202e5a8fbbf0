// Checking and digesting lane modules: hand-written ones against their FP64 meaning, row programs' against the oracle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "verify/module_inputs.h"
#include "verify/module_run.h"

namespace lanefold::verify {

/// What a check of one instance on one content of its inputs has found.
struct ModuleCheck {
  std::vector<Diagnostic> findings;  ///< of the lane machine
  CheckReport report;      ///< against the meaning; empty where the module has none (FILE.lane) or findings came first
  machine::Counts counts;  ///< of the lane machine
  bool ok() const { return findings.empty() && report.ok(); }
};

/// The FP64 meaning of a hand-written module's outputs and inouts, from the contents of its inputs before the run, by buffer name.
std::map<std::string, std::vector<double>> module_meaning(const Instance& instance, const ModuleMemory& inputs);

/// A buffer of a row program's instance as the matrix that a value of this kind is.
View program_matrix(const Instance& instance, const ModuleMemory& memory, const std::string& name,
                    const ir::Kind& kind);

/// What a row program or a hand-written module must store. Made before the kernel runs, since that may change its inputs; both arguments must
/// outlive it.
class ModuleMeaning {
 public:
  ModuleMeaning(const Instance& instance, const ModuleMemory& memory);
  /// Compares every element of the outputs that memory holds now, and reports outputs as a program declares them; no outputs for a
  /// FILE.lane, which has no meaning.
  CheckReport compare() const;
  /// The same within another tolerance than the instance's.
  CheckReport compare(const Tolerance& tolerance) const;

 private:
  const Instance& instance_;
  const ModuleMemory& memory_;
  std::map<std::string, std::vector<double>> values_;  ///< of a hand-written module
};

/// Fills the inputs with the pattern, runs on the device and compares every element with the meaning.
/// `seed` chooses the contents, and the order of SIMD groups. Refuses what make_instance and running refuse.
Result<ModuleCheck> check_module(const Instance& instance, const DeviceOptions& options, Pattern pattern,
                                 std::uint64_t seed);

/// SHA-256 (hex) of each output's and inout's elements, by name, on the pattern `plain` with seed 1.
Result<std::vector<std::pair<std::string, std::string>>> digest_module(const Instance& instance,
                                                                       const DeviceOptions& options);

}  // namespace lanefold::verify
