#include "runtime/common/launch.h"

namespace lanefold::runtime {

void fill_arguments(const lane::Kernel& kernel, const Call& call, std::span<lane::ArgumentWord> words) {
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const lane::Argument& argument = kernel.arguments[i];
    lane::ArgumentWord& word = words[i];
    word.integer = 0;
    switch (argument.role) {
      case lane::Role::input: word.pointer = call.inputs[argument.index].data; break;
      case lane::Role::output: word.pointer = call.outputs[argument.index].data; break;
      case lane::Role::input_row_stride: word.integer = call.inputs[argument.index].row_stride; break;
      case lane::Role::input_column_stride: word.integer = call.inputs[argument.index].column_stride; break;
      case lane::Role::output_row_stride: word.integer = call.outputs[argument.index].row_stride; break;
      case lane::Role::output_column_stride: word.integer = call.outputs[argument.index].column_stride; break;
      case lane::Role::rows: word.integer = call.rows; break;
      case lane::Role::cols: word.integer = call.cols; break;
      case lane::Role::parameter: word.real = call.parameters[argument.index]; break;
      case lane::Role::inout:
      case lane::Role::other: internal_error("argument " + argument.name + " has no role that a runtime can fill");
    }
  }
}

}  // namespace lanefold::runtime
