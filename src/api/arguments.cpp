#include "api/arguments.h"

#include <string>

#include <fmt/format.h>

#include "api/failure.h"

namespace lanefold::api {
namespace {

static_assert(static_cast<int>(Type::boolean) == static_cast<int>(ElementType::boolean));
static_assert(static_cast<int>(Type::i8) == static_cast<int>(ElementType::i8));
static_assert(static_cast<int>(Type::i32) == static_cast<int>(ElementType::i32));
static_assert(static_cast<int>(Type::i64) == static_cast<int>(ElementType::i64));
static_assert(static_cast<int>(Type::f32) == static_cast<int>(ElementType::f32));
static_assert(static_cast<int>(Type::f16) == static_cast<int>(ElementType::f16));
static_assert(static_cast<int>(Type::bf16) == static_cast<int>(ElementType::bf16));
static_assert(static_cast<int>(Type::e4m3) == static_cast<int>(ElementType::e4m3));
static_assert(static_cast<int>(Type::e5m2) == static_cast<int>(ElementType::e5m2));
static_assert(static_cast<int>(Type::f64) == static_cast<int>(ElementType::f64));

View view_of(const ConstMatrix& matrix, const ir::Kind& kind, const ir::Part& part) {
  View view = {.data = static_cast<std::byte*>(const_cast<void*>(matrix.data)),
               .type = element_type(matrix.type),
               .rows = matrix.rows,
               .cols = matrix.cols,
               .row_stride = matrix.row_stride,
               .column_stride = matrix.column_stride};
  // Views of vectors stand still along the axis that they do not have.
  if (kind.tag == ir::Kind::Tag::column) view.row_stride = 0;
  if (kind.tag == ir::Kind::Tag::row) view.column_stride = 0;
  view.packing = packing_of(part);
  return view;
}

}  // namespace

ElementType element_type(Type type) {
  if (type > Type::f64)
    fail({Code::call_type_mismatch, fmt::format("{} is no element type", static_cast<int>(type)),
          "use one of lanefold::Type", ""});
  return static_cast<ElementType>(type);
}

Packing packing_of(const ir::Part& part) {
  return part.role == ir::Part::Role::codes ? Packing::q8_0_codes : Packing::plain;
}

void check_counts(const ir::Program& program, std::size_t inputs, std::size_t outputs) {
  if (inputs != program.inputs.size() || outputs != program.stores.size())
    fail({Code::call_count_mismatch,
          fmt::format("{} inputs and {} outputs are given; {} has {} and {}", inputs, outputs, program.name,
                      program.inputs.size(), program.stores.size()),
          "give one matrix per input and output, in the kernel's order", program.name});
}

void fill_views(const ir::Program& program, std::span<const ConstMatrix> inputs, std::span<const ConstMatrix> outputs,
                ViewList& input_views, ViewList& output_views) {
  check_counts(program, inputs.size(), outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    input_views.push_back(view_of(inputs[i], program.inputs[i].kind, program.inputs[i].part));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    output_views.push_back(view_of(outputs[i], program.stores[i].kind, program.stores[i].part));
}

}  // namespace lanefold::api
