#include "api/arguments.h"

#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

View view_of(const ConstMatrix& matrix, const ir::Kind& kind) {
  View view = {.data = static_cast<std::byte*>(const_cast<void*>(matrix.data)),
               .type = element_type(matrix.type),
               .rows = matrix.rows,
               .cols = matrix.cols,
               .row_stride = matrix.row_stride,
               .column_stride = matrix.column_stride};
  // Views of vectors stand still along the axis that they do not have.
  if (kind.tag == ir::Kind::Tag::column) view.row_stride = 0;
  if (kind.tag == ir::Kind::Tag::row) view.column_stride = 0;
  return view;
}

/// The words for one sort of argument: what it is, and the code where a name is not one of them.
struct Sort {
  const char* what;
  Code unknown;
};

/// For each declared name, the index of the argument given for it.
template <class Declared, class Given>
std::vector<std::optional<std::size_t>> find_names(const ir::Program& program, const std::vector<Declared>& declared,
                                                   const std::vector<Given>& given, Sort sort) {
  std::vector<std::optional<std::size_t>> found(declared.size());
  for (std::size_t g = 0; g < given.size(); ++g) {
    std::size_t d = 0;
    while (d < declared.size() && declared[d].name != given[g].name) ++d;
    if (d == declared.size()) {
      std::vector<std::string_view> names;
      for (const Declared& one : declared) names.push_back(one.name);
      fail({sort.unknown, fmt::format("{} has no {} \"{}\"", program.name, sort.what, given[g].name),
            names.empty() ? fmt::format("it has no {}s", sort.what)
                          : fmt::format("its {}s are: {}", sort.what, fmt::join(names, ", ")),
            fmt::format("{} {}", sort.what, given[g].name)});
    }
    if (found[d])
      fail({Code::assignment_repeated, fmt::format("{} {} is given twice", sort.what, given[g].name),
            "give each name once", fmt::format("{} {}", sort.what, given[g].name)});
    found[d] = g;
  }
  return found;
}

}  // namespace

ElementType element_type(Type type) {
  if (type > Type::f64)
    fail({Code::call_type_mismatch, fmt::format("{} is no element type", static_cast<int>(type)),
          "use one of lanefold::Type", ""});
  return static_cast<ElementType>(type);
}

void check_counts(const ir::Program& program, std::size_t inputs, std::size_t outputs) {
  if (inputs != program.inputs.size() || outputs != program.stores.size())
    fail({Code::call_count_mismatch,
          fmt::format("{} inputs and {} outputs are given; {} has {} and {}", inputs, outputs, program.name,
                      program.inputs.size(), program.stores.size()),
          "give one matrix per input and output, in the kernel's order", program.name});
}

void fill_views(const ir::Program& program, std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs,
                ViewList& input_views, ViewList& output_views) {
  check_counts(program, inputs.size(), outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) input_views.push_back(view_of(inputs[i], program.inputs[i].kind));
  for (std::size_t i = 0; i < outputs.size(); ++i) output_views.push_back(view_of(outputs[i], program.stores[i].kind));
}

Arguments arrange(const ir::Program& program, const std::vector<NamedInput>& inputs,
                  const std::vector<NamedOutput>& outputs, const std::vector<NamedParameter>& parameters) {
  Arguments arguments;
  const auto found_inputs = find_names(program, program.inputs, inputs, {"input", Code::unknown_input});
  for (std::size_t i = 0; i < found_inputs.size(); ++i) {
    const ir::Input& input = program.inputs[i];
    if (!found_inputs[i])
      fail({Code::input_missing, fmt::format("input {} of {} is not given", input.name, program.name),
            input.absent ? fmt::format("give it, or compile the kernel with \"{}\" among its absent inputs", input.name)
                         : std::string("give it"),
            "input " + input.name});
    arguments.inputs.push_back(inputs[*found_inputs[i]].tensor);
  }
  const auto found_outputs = find_names(program, program.stores, outputs, {"output", Code::unknown_output});
  for (std::size_t i = 0; i < found_outputs.size(); ++i) {
    const ir::Store& store = program.stores[i];
    if (!found_outputs[i])
      fail({Code::call_count_mismatch, fmt::format("output {} of {} is not given", store.name, program.name),
            "a kernel writes all of its outputs: give each one memory", "output " + store.name});
    arguments.outputs.push_back(outputs[*found_outputs[i]].tensor);
  }
  const auto found_parameters =
      find_names(program, program.parameters, parameters, {"parameter", Code::unknown_parameter});
  for (std::size_t i = 0; i < found_parameters.size(); ++i)
    arguments.parameters.push_back(found_parameters[i] ? parameters[*found_parameters[i]].value
                                                       : static_cast<float>(program.parameters[i].value));
  return arguments;
}

}  // namespace lanefold::api
