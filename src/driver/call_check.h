// Whether the views of a call fit a program.
#pragma once

#include "base/result.h"
#include "ir/program.h"
#include "runtime/common/launch.h"

namespace lanefold::driver {

/// Checks counts, element types, shapes, strides and overlaps; the diagnostic names the input or output at fault.
Status check_call(const ir::Program& program, const runtime::Call& call);

/// The alignment that a call which passed check_call has (see plan::WidthClass), in elements.
std::uint32_t alignment_of(const ir::Program& program, const runtime::Call& call);

/// The shape that a value of this kind has in a call of rows × cols: rows and columns of its view.
struct Shape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};
Shape expected_shape(const ir::Kind& kind, std::int64_t rows, std::int64_t cols);

}  // namespace lanefold::driver
