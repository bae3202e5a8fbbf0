// The standard inputs: dyadic numbers, so that sums of them are exact.
#pragma once

#include <span>
#include <vector>

#include "ir/program.h"
#include "oracle/oracle.h"
#include "verify/matrix.h"

namespace lanefold::verify {

/// Input number k of the program holds ((i·seed + 17) mod 127 − 63)/64 at flat element i, seed = 5 + 6k (5, 11, 17, …), rounded to its storage; an i32
/// or i64 input (labels) holds (13 i + 7) mod cols, an i8 input ((i·seed + 17) mod 127) − 63.
void fill_standard(const ir::Program& program, std::span<const View> inputs, std::int64_t cols);

/// One matrix per input in the shape that the call needs, filled with the standard values.
std::vector<Matrix> standard_inputs(const ir::Program& program, std::int64_t rows, std::int64_t cols);
/// One poisoned matrix per output.
std::vector<Matrix> poisoned_outputs(const ir::Program& program, std::int64_t rows, std::int64_t cols);
/// The programs' own parameter defaults.
std::vector<float> default_parameters(const ir::Program& program);
std::vector<View> views(const std::vector<Matrix>& matrices);

}  // namespace lanefold::verify
