#include "api/arguments.h"

#include <string>

#include <fmt/format.h>

#include "api/enumerators.h"
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

template <class Declared>
View view_of(const ConstMatrix& matrix, const char* what, const Declared& port) {
  const ir::Kind& kind = port.kind;
  View view = {.data = static_cast<std::byte*>(const_cast<void*>(matrix.data)),
               .type = element_type(matrix.type, what, port.name, port.part),
               .rows = matrix.rows,
               .cols = matrix.cols,
               .row_stride = matrix.row_stride,
               .column_stride = matrix.column_stride};
  // Views of vectors stand still along the axis that they do not have.
  if (kind.tag == ir::Kind::Tag::column) view.row_stride = 0;
  if (kind.tag == ir::Kind::Tag::row) view.column_stride = 0;
  view.packing = packing_of(port.part);
  return view;
}

}  // namespace

ElementType element_type(Type type) {
  if (type == Type::q8_0)
    fail({Code::call_type_mismatch, "q8_0 stores blocks, and single elements are wanted here",
          "q8_0 is for inputs and outputs that a program declares so, and for the weights of operators that have some",
          "type"});
  if (type > Type::q8_0) refuse_enumerator<Type>(static_cast<int>(type));
  return static_cast<ElementType>(type);
}

ElementType element_type(Type type, const char* what, const std::string& name, const ir::Part& part) {
  if (type == Type::q8_0)
    fail({Code::call_type_mismatch,
          fmt::format("{} {} is given in blocks of q8_0, and the program wants single elements", what,
                      ir::part_name(name, part)),
          "convert the data, or build the program for that type",
          fmt::format("{} {}", what, ir::declared_name(name, part))});
  return element_type(type);
}

Packing packing_of(const ir::Part& part) {
  return part.role == ir::Part::Role::codes ? Packing::q8_0_codes : Packing::plain;
}

void check_counts(const std::string& kernel, Counts given, Counts wanted) {
  if (given == wanted) return;
  fail({Code::call_count_mismatch,
        fmt::format("{} inputs and {} outputs are given; {} has {} and {}", given.inputs, given.outputs, kernel,
                    wanted.inputs, wanted.outputs),
        "give one array per input and output, in the kernel's order", kernel});
}

void fill_views(const ir::Program& program, std::span<const ConstMatrix> inputs, std::span<const ConstMatrix> outputs,
                ViewList& input_views, ViewList& output_views) {
  check_counts(program.name, {inputs.size(), outputs.size()}, {program.inputs.size(), program.stores.size()});
  for (std::size_t i = 0; i < inputs.size(); ++i) input_views.push_back(view_of(inputs[i], "input", program.inputs[i]));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    output_views.push_back(view_of(outputs[i], "output", program.stores[i]));
}

}  // namespace lanefold::api
