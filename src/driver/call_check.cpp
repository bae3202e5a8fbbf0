#include "driver/call_check.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "ir/names.h"
#include "legality/overlap.h"
#include "plan/layout.h"

namespace lanefold::driver {
namespace {

std::optional<Diagnostic> misfit(const std::string& own, const ir::Part& part, const char* what, ElementType storage,
                                 const ir::Kind& kind, const View& view, const runtime::Call& call) {
  // Only what is refused needs a name: calls allocate nothing.
  const auto name = [&] { return ir::part_name(own, part); };
  const auto place = [&] { return fmt::format("{} {}", what, ir::declared_name(own, part)); };
  if (view.type != storage)
    return Diagnostic{Code::call_type_mismatch,
                      fmt::format("{} {} holds {}, the program wants {}", what, name(), element_name(view.type),
                                  element_name(storage)),
                      "convert the data, or build the program for that type", place()};
  const Shape shape = expected_shape(kind, call.rows, call.cols);
  if (view.rows != shape.rows || view.cols != shape.cols)
    return Diagnostic{Code::call_shape_mismatch,
                      fmt::format("{} {} is {} x {}, the call of {} rows and {} columns wants {} x {}", what, name(),
                                  view.rows, view.cols, call.rows, call.cols, shape.rows, shape.cols),
                      "shapes follow from the first matrix; weights have one value per column", place()};
  if (!view.data && shape.rows > 0 && shape.cols > 0)
    return Diagnostic{Code::call_data_missing, fmt::format("{} {} has no data", what, name()),
                      "pass a pointer to its first element", place()};
  return std::nullopt;
}

}  // namespace

Shape expected_shape(const ir::Kind& kind, std::int64_t rows, std::int64_t cols) {
  switch (kind.tag) {
    case ir::Kind::Tag::element: return {rows, cols};
    case ir::Kind::Tag::row: return {rows, 1};
    case ir::Kind::Tag::column: return {1, cols};
    case ir::Kind::Tag::block: return {rows, cols / kind.block};
    case ir::Kind::Tag::uniform: break;
  }
  return {1, 1};
}

Status check_call(const ir::Program& program, const runtime::Call& call) {
  if (call.inputs.size() != program.inputs.size() || call.outputs.size() != program.stores.size() ||
      call.parameters.size() != program.parameters.size())
    return Diagnostic{Code::call_count_mismatch,
                      fmt::format("{} inputs, {} outputs and {} parameters are given; {} has {}, {} and {}",
                                  call.inputs.size(), call.outputs.size(), call.parameters.size(), program.name,
                                  program.inputs.size(), program.stores.size(), program.parameters.size()),
                      "give one view per input and output, in the program's order", program.name};
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (auto wrong = misfit(program.inputs[i].name, program.inputs[i].part, "input", program.inputs[i].storage,
                            program.inputs[i].kind, call.inputs[i], call))
      return *wrong;
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    if (auto wrong = misfit(program.stores[i].name, program.stores[i].part, "output", program.stores[i].storage,
                            program.stores[i].kind, call.outputs[i], call))
      return *wrong;
  if (call.rows > 0)
    if (auto overlap = legality::check_overlap(program, call.inputs, call.outputs)) return *overlap;
  return success();
}

std::uint32_t alignment_of(const ir::Program& program, const runtime::Call& call) {
  constexpr std::uintptr_t kVector = 16;  // bytes
  std::uint32_t alignment = plan::dense_alignment(call.cols);
  const auto look = [&](const View& view, ir::Kind::Tag tag) {
    if (tag != ir::Kind::Tag::element && tag != ir::Kind::Tag::column) return;
    if (view.column_stride != 1 || view.packing != Packing::plain) return;  // read one by one
    const auto fits = [&] {
      const std::uintptr_t bytes = std::min<std::uintptr_t>(kVector, alignment * element_bytes(view.type));
      return std::bit_cast<std::uintptr_t>(view.data) % bytes == 0 &&
             (tag == ir::Kind::Tag::column || view.row_stride % alignment == 0);
    };
    while (!fits()) alignment /= 2;
  };
  for (std::size_t i = 0; i < call.inputs.size(); ++i) look(call.inputs[i], program.inputs[i].kind.tag);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) look(call.outputs[i], program.stores[i].kind.tag);
  return alignment;
}

}  // namespace lanefold::driver
