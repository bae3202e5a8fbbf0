// The conformance table: one row for each operator of the library. A test fails for an operator that has none.
#pragma once

#include <cstdint>
#include <string_view>

namespace lanefold::testing {

/// How many shapes an operator is run on. Operators of one family differ in their last lines only.
enum class Depth : std::uint8_t {
  full,  ///< all numbers of rows and columns in turn
  brief  ///< each awkward width once per storage
};

struct ConformanceRow {
  std::string_view name;
  std::int64_t column_multiple;  ///< numbers of columns that the operator takes are multiples of this
  float low, high;               ///< inputs are drawn from [low, high): the operator's tolerance holds there
  Depth depth;
};

// Sums lean to one side, so that the relative tolerance has something to be relative to; factors stay near 1.
inline constexpr ConformanceRow kConformanceTable[] = {
    {"sum", 1, -0.75f, 1.25f, Depth::full},
    {"prod", 1, 0.9f, 1.1f, Depth::brief},
    {"mean", 1, -0.75f, 1.25f, Depth::brief},
    {"var", 1, -1.0f, 2.0f, Depth::brief},
    {"max", 1, -4.0f, 4.0f, Depth::full},
    {"min", 1, -4.0f, 4.0f, Depth::brief},
    {"argmax", 1, -4.0f, 4.0f, Depth::full},
    {"argmin", 1, -4.0f, 4.0f, Depth::brief},
    {"any", 1, -4.0f, 4.0f, Depth::brief},
    {"all", 1, -4.0f, 4.0f, Depth::brief},
    {"l2_norm", 1, -2.0f, 2.0f, Depth::brief},
    {"dot", 1, -0.75f, 1.25f, Depth::brief},
    {"matvec", 1, -0.75f, 1.25f, Depth::brief},
    {"logsumexp", 1, -6.0f, 6.0f, Depth::brief},
    {"softmax", 1, -6.0f, 6.0f, Depth::full},
    {"masked_softmax", 1, -6.0f, 6.0f, Depth::brief},
    {"log_softmax", 1, -6.0f, 6.0f, Depth::brief},
    {"cross_entropy", 1, -6.0f, 6.0f, Depth::full},
    {"layer_norm", 1, -1.0f, 2.0f, Depth::full},
    {"rms_norm", 1, -2.0f, 2.0f, Depth::full},
    {"rms_norm_q8", 32, -2.0f, 2.0f, Depth::full},
    {"rms_norm_int8", 1, -2.0f, 2.0f, Depth::brief},
    {"rms_norm_int8_grouped", 128, -2.0f, 2.0f, Depth::brief},
    {"rms_norm_int8_given", 1, -2.0f, 2.0f, Depth::brief},
    {"rms_norm_fp8", 1, -2.0f, 2.0f, Depth::brief},
    {"rms_norm_fp8_grouped", 128, -2.0f, 2.0f, Depth::brief},
    {"rms_norm_fp8_given", 1, -2.0f, 2.0f, Depth::brief},
    {"residual_norm", 1, -2.0f, 2.0f, Depth::full},
    {"residual_norm_store", 1, -2.0f, 2.0f, Depth::brief},
    {"residual_norm_q8", 32, -2.0f, 2.0f, Depth::full},
    {"residual_norm_int8", 1, -2.0f, 2.0f, Depth::brief},
    {"residual_norm_int8_grouped", 128, -2.0f, 2.0f, Depth::brief},
    {"residual_norm_int8_given", 1, -2.0f, 2.0f, Depth::brief},
    {"residual_norm_fp8", 1, -2.0f, 2.0f, Depth::brief},
    {"residual_norm_fp8_grouped", 128, -2.0f, 2.0f, Depth::brief},
    {"residual_norm_fp8_given", 1, -2.0f, 2.0f, Depth::brief},
    {"post_attn_residual_norm_store", 1, -2.0f, 2.0f, Depth::brief},
    {"post_ffn_norm_residual_add", 1, -2.0f, 2.0f, Depth::brief},
    {"qk_norm", 1, -2.0f, 2.0f, Depth::brief},
    {"v_norm", 1, -2.0f, 2.0f, Depth::brief},
    {"quantize_q8", 32, -2.0f, 2.0f, Depth::brief},
};

/// The row of that operator, or null.
inline const ConformanceRow* conformance_row(std::string_view name) {
  for (const ConformanceRow& row : kConformanceTable)
    if (row.name == name) return &row;
  return nullptr;
}

/// The number of columns, rounded up to what the operator takes.
inline std::int64_t whole_columns(const ConformanceRow& row, std::int64_t cols) {
  return (cols + row.column_multiple - 1) / row.column_multiple * row.column_multiple;
}
inline std::int64_t whole_columns(std::string_view name, std::int64_t cols) {
  return whole_columns(*conformance_row(name), cols);
}

}  // namespace lanefold::testing
