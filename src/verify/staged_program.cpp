#include "verify/staged_program.h"

#include <utility>

#include <fmt/format.h>

#include "driver/call_check.h"
#include "ir/names.h"
#include "legality/overlap.h"
#include "verify/staged_device.h"

namespace lanefold::verify {
namespace {

View transposed(View view) {
  std::swap(view.rows, view.cols);
  std::swap(view.row_stride, view.column_stride);
  return view;
}

std::size_t bytes_of(const ir::Between& value, std::int64_t rows, std::int64_t cols) {
  const driver::Shape shape = driver::expected_shape(value.kind, rows, cols);
  const std::size_t bytes = static_cast<std::size_t>(shape.rows * shape.cols) * element_bytes(value.type);
  return (bytes + StagedProgram::kAlignment - 1) / StagedProgram::kAlignment * StagedProgram::kAlignment;
}

}  // namespace

StagedProgram::StagedProgram(ir::Program program, ir::Order order, target::Target target)
    : program_(std::move(program)), stages_(ir::split_stages(program_)), order_(order), target_(std::move(target)) {}

std::size_t StagedProgram::between_bytes(std::int64_t rows, std::int64_t cols) const {
  std::size_t bytes = 1;
  for (const ir::Between& value : stages_.between) bytes += bytes_of(value, rows, cols);
  return bytes;
}

std::vector<View> StagedProgram::between(std::int64_t rows, std::int64_t cols, std::byte* memory) const {
  std::vector<View> views;
  for (const ir::Between& value : stages_.between) {
    const driver::Shape shape = driver::expected_shape(value.kind, rows, cols);
    const bool per_row = value.kind.tag == ir::Kind::Tag::row;
    views.push_back({.data = memory,
                     .type = value.type,
                     .rows = shape.rows,
                     .cols = shape.cols,
                     .row_stride = per_row ? 1 : 0,
                     .column_stride = per_row ? 0 : 1});
    memory += bytes_of(value, rows, cols);
  }
  return views;
}

Status StagedProgram::check(const runtime::Call& call) const {
  LANEFOLD_CHECK(driver::check_call(program_, call));
  if (auto refused = nothing_to_fold(program_, call.rows, call.cols)) return *refused;
  if (auto refused = stages_refusal(stages_, order_, call.rows, call.cols, target_)) return *refused;
  return check_replaced(call);
}

/// An output in the place of an input is written by its own stage; no later one may still read the input.
Status StagedProgram::check_replaced(const runtime::Call& call) const {
  using Of = ir::StagePort::Of;
  for (std::size_t s = 0; s < stages_.stages.size(); ++s)
    for (const ir::StagePort& written : stages_.stages[s].outputs)
      for (std::size_t later = s + 1; later < stages_.stages.size() && written.of == Of::output; ++later)
        for (const ir::StagePort& read : stages_.stages[later].inputs) {
          if (read.of != Of::input || !legality::may_overlap(call.outputs[written.index], call.inputs[read.index]))
            continue;
          const ir::Store& store = program_.stores[written.index];
          const ir::Input& input = program_.inputs[read.index];
          const std::string output = ir::part_name(store.name, store.part);
          return Diagnostic{Code::output_overlaps_reread_input,
                            fmt::format("output {} replaces input {}, which a later stage of {} still reads", output,
                                        ir::part_name(input.name, input.part), program_.name),
                            "give the output a buffer of its own", "output " + output};
        }
  return success();
}

StageCall::StageCall(const ir::Stage& stage, const runtime::Call& whole, const std::vector<View>& between) {
  const auto pick = [&](const ir::StagePort& port) {
    View view = port.of == ir::StagePort::Of::between  ? between[port.index]
                : port.of == ir::StagePort::Of::output ? whole.outputs[port.index]
                                                       : whole.inputs[port.index];
    return stage.transposed ? transposed(view) : view;
  };
  for (const ir::StagePort& port : stage.inputs) inputs.push_back(pick(port));
  for (const ir::StagePort& port : stage.outputs) outputs.push_back(pick(port));
  call = {.inputs = inputs,
          .outputs = outputs,
          .parameters = whole.parameters,
          .rows = stage.transposed ? whole.cols : whole.rows,
          .cols = stage.transposed ? whole.rows : whole.cols};
}

}  // namespace lanefold::verify
