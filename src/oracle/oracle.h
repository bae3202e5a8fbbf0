// The oracle: what a row program means, in FP64 and, exactly, in FP32 for each fold order. It knows no plan.
#pragma once

#include <cstddef>
#include <vector>

#include "base/view.h"
#include "ir/order.h"
#include "ir/program.h"

namespace lanefold::oracle {

/// The actual inputs of a program. Views hold one row for [cols] inputs (row_stride 0), one column for [rows] inputs, and
/// cols/B columns for block<B> inputs.
struct Bindings {
  std::vector<View> inputs;       ///< one per Program::inputs
  std::vector<float> parameters;  ///< one per Program::parameters
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// Columns that a store of this kind has: cols, 1 or cols/B.
std::int64_t store_cols(const ir::Kind& kind, std::int64_t cols);
/// Rows that it has: rows, or one where it holds an element per column.
std::int64_t store_rows(const ir::Kind& kind, std::int64_t rows);

/// The FP64 meaning of every store, store_rows × store_cols values each, row-major. Folds run in column order in double; nothing is rounded
/// to f32 or to the storage type; integer and boolean stores hold their integer value.
std::vector<std::vector<double>> evaluate_fp64(const ir::Program& program, const Bindings& bindings);

/// The exact meaning of every store under `serial` or `canonical`, as the bytes of store_rows × store_cols contiguous stored elements.
std::vector<std::vector<std::byte>> evaluate_exact(const ir::Program& program, const Bindings& bindings,
                                                   ir::Order order);

}  // namespace lanefold::oracle
