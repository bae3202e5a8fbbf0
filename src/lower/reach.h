// Which values a sweep has to evaluate along the row.
#pragma once

#include <vector>

#include "ir/program.h"

namespace lanefold::lower {

/// The values that vary along the row and that the roots need, roots included, in ascending order. Row and uniform values are not
/// entered. With `through_blocks`, what a block fold folds counts too.
std::vector<ir::ValueId> along_row_values(const ir::Program& program, const std::vector<ir::ValueId>& roots,
                                          bool through_blocks);

/// The block folds among those values, ascending.
std::vector<std::uint32_t> block_folds(const ir::Program& program, const std::vector<ir::ValueId>& roots,
                                       bool through_blocks);

}  // namespace lanefold::lower
