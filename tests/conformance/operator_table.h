// The conformance table: one row for each operator of the library. A test fails for an operator that has none.
#pragma once

#include <cstdint>
#include <string_view>

namespace lanefold::testing {

struct ConformanceRow {
  std::string_view name;
  std::int64_t column_multiple;  ///< numbers of columns that the operator takes are multiples of this
  float low, high;               ///< inputs are drawn from [low, high): the operator's tolerance holds there
};

// Sums lean to one side, so that the relative tolerance has something to be relative to.
inline constexpr ConformanceRow kConformanceTable[] = {
    {"sum", 1, -0.75f, 1.25f},
    {"max", 1, -4.0f, 4.0f},
    {"argmax", 1, -4.0f, 4.0f},
    {"softmax", 1, -6.0f, 6.0f},
    {"layer_norm", 1, -1.0f, 2.0f},
    {"rms_norm", 1, -2.0f, 2.0f},
    {"masked_softmax", 1, -6.0f, 6.0f},
    {"matvec", 1, -1.0f, 2.0f},
    {"rms_norm_q8", 32, -2.0f, 2.0f},
    {"residual_norm", 1, -2.0f, 2.0f},
    {"residual_norm_q8", 32, -2.0f, 2.0f},
};

}  // namespace lanefold::testing
