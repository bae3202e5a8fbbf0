// Checking: every output element against the oracle.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "oracle/oracle.h"
#include "verify/device.h"

namespace lanefold::verify {

/// How far an output may be from the FP64 meaning: |y − r| ≤ absolute + relative·|r|, besides one rounding to its storage; integer codes may
/// differ by `code`.
struct Tolerance {
  double absolute = 1e-5;
  double relative = 2e-5;
  int code = 0;
};

/// What was found for one output.
struct OutputReport {
  std::string name;
  std::int64_t elements = 0;
  std::int64_t wrong = 0;
  double max_error = 0;         ///< the greatest |y − r| of finite elements
  std::int64_t first_row = -1;  ///< of the first wrong element
  std::int64_t first_column = -1;
  double got = 0, expected = 0;   ///< there
  std::int64_t first_place = -1;  ///< likewise on the inner axis of a declared output

  /// Takes in what was found for more elements of the same output. The first wrong element is that of the least place, then row.
  void add(const OutputReport& more);
};

struct CheckReport {
  std::vector<OutputReport> outputs;
  bool ok() const;
};

/// A report of a program's own outputs as one per output that its text declares: the places of an inner axis together, codes with
/// their scales.
CheckReport declared_report(const ir::Program& program, CheckReport report);

/// Whether a row's results depend on other rows, or on how many there are.
bool needs_all_rows(const ir::Program& program);

/// One stored element beside its meaning.
struct ElementVerdict {
  bool right = false;
  double got = 0;
  double error = 0;  ///< |got − expected| where both are finite
};
ElementVerdict compare_element(const std::byte* at, ElementType type, double expected, const Tolerance& tolerance);

/// Compares outputs with the oracle's FP64 meaning, element for element. `progress` is told the rows done.
CheckReport compare(const ir::Program& program, const oracle::Bindings& bindings, const std::vector<View>& outputs,
                    const Tolerance& tolerance, const std::function<void(std::int64_t)>& progress = {});

/// Runs the program on its standard inputs into poisoned outputs, and compares.
Result<CheckReport> check_standard(const ir::Program& program, const DeviceOptions& options, std::int64_t rows,
                                   std::int64_t cols, const Tolerance& tolerance);

/// SHA-256 (hex) of each output's elements on the standard inputs.
Result<std::vector<std::string>> digest_standard(const ir::Program& program, const DeviceOptions& options,
                                                 std::int64_t rows, std::int64_t cols);

}  // namespace lanefold::verify
