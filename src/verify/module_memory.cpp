#include "verify/module_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "driver/call_check.h"

namespace lanefold::verify {
namespace {

/// The first axis counts rows; the row's length is what the others hold.
std::int64_t row_length(const ModuleBuffer& buffer) {
  std::int64_t length = 1;
  for (std::size_t i = 1; i < buffer.shape.size(); ++i) length *= buffer.shape[i];
  return length;
}

constexpr std::int64_t kMostElements = std::int64_t{1} << 32;

bool too_large(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t axis : shape) {
    if (axis == 0) return false;
    if (axis > kMostElements / elements) return true;
    elements *= axis;
  }
  return false;
}

bool is_output(lane::Role role) {
  return role == lane::Role::output || role == lane::Role::output_row_stride ||
         role == lane::Role::output_column_stride;
}

}  // namespace

std::int64_t ModuleBuffer::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t axis : shape) count *= axis;
  return count;
}

Result<std::vector<ModuleBuffer>> module_buffers(const lane::Module& module, std::int64_t rows, std::int64_t cols) {
  std::vector<ModuleBuffer> buffers;
  for (const lane::Kernel& kernel : module.kernels)
    for (const lane::Argument& argument : kernel.arguments) {
      if (!argument.buffer || argument.memory_of) continue;
      const std::string place = fmt::format("{}: {}", kernel.name, argument.name);
      if (argument.shape.empty())
        return Diagnostic{Code::module_buffer_unsized, fmt::format("the buffer {} has no shape", argument.name),
                          fmt::format("write it behind the type, such as {}: {}[rows, cols]", argument.name,
                                      element_name(argument.type)),
                          place};
      ModuleBuffer buffer{argument.name, argument.role, argument.index, argument.type, {}};
      for (const lane::Dimension& axis : argument.shape) buffer.shape.push_back(lane::extent(axis, rows, cols));
      if (too_large(buffer.shape))
        return Diagnostic{Code::out_of_memory,
                          fmt::format("the buffer {} has more than {} elements", argument.name, kMostElements),
                          "choose smaller sizes", place};
      const auto same =
          std::find_if(buffers.begin(), buffers.end(), [&](const ModuleBuffer& b) { return b.name == argument.name; });
      if (same == buffers.end()) {
        buffers.push_back(std::move(buffer));
      } else if (same->type != buffer.type || same->shape != buffer.shape) {
        return Diagnostic{Code::module_buffer_conflict,
                          fmt::format("the buffer {} has another type or shape in an earlier kernel", argument.name),
                          "give buffers that differ different names", place};
      } else if (same->role == lane::Role::output && buffer.role == lane::Role::input) {
        // Written by an earlier launch and read by this one: still an output of the module.
      } else if (same->role == lane::Role::input && buffer.role != lane::Role::input) {
        same->role = lane::Role::inout;
      }
    }
  return buffers;
}

Result<std::vector<ModuleBuffer>> program_buffers(const ir::Program& program, std::int64_t rows, std::int64_t cols) {
  std::vector<ModuleBuffer> buffers;
  const auto add = [&](const auto& port, lane::Role role, std::uint32_t index) -> Status {
    const driver::Shape shape = driver::expected_shape(port.kind, rows, cols);
    ModuleBuffer buffer{port.name, role, index, port.storage, {shape.rows, shape.cols}};
    if (too_large(buffer.shape))
      return Diagnostic{Code::out_of_memory, fmt::format("{} has more than {} elements", port.name, kMostElements),
                        "choose smaller sizes", program.name};
    buffers.push_back(std::move(buffer));
    return success();
  };
  for (std::uint32_t i = 0; i < program.inputs.size(); ++i)
    LANEFOLD_CHECK(add(program.inputs[i], lane::Role::input, i));
  for (std::uint32_t o = 0; o < program.stores.size(); ++o)
    LANEFOLD_CHECK(add(program.stores[o], lane::Role::output, o));
  return buffers;
}

ModuleMemory::ModuleMemory(std::vector<ModuleBuffer> buffers) : buffers_(std::move(buffers)) {
  for (const ModuleBuffer& buffer : buffers_) matrices_.emplace_back(buffer.type, 1, buffer.elements());
}

std::optional<std::size_t> ModuleMemory::find(std::string_view name) const {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (buffers_[i].name == name) return i;
  return std::nullopt;
}

void ModuleMemory::poison_outputs() {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (buffers_[i].role == lane::Role::output) matrices_[i].poison();
}

std::string ModuleMemory::overwritten() const {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (!matrices_[i].sentinels_intact()) return buffers_[i].name;
  return "";
}

std::vector<machine::Buffer> ModuleMemory::machine_buffers() const {
  std::vector<machine::Buffer> all;
  for (std::size_t i = 0; i < buffers_.size(); ++i) all.push_back({buffers_[i].name, buffers_[i].role, view(i)});
  return all;
}

Result<std::vector<lane::ArgumentWord>> argument_words(const lane::Kernel& kernel,
                                                       std::span<const ModuleBuffer> buffers,
                                                       const std::function<void*(std::string_view)>& pointer_of,
                                                       std::span<const float> parameters, std::int64_t rows,
                                                       std::int64_t cols) {
  using lane::Role;
  std::vector<lane::ArgumentWord> words(kernel.arguments.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const lane::Argument& argument = kernel.arguments[i];
    words[i].integer = 0;
    if (argument.buffer) {
      words[i].pointer = pointer_of(kernel.arguments[argument.memory_of.value_or(static_cast<std::uint32_t>(i))].name);
      continue;
    }
    const auto unknown = [&](std::string why) {
      return Diagnostic{
          Code::module_argument_unknown, fmt::format("the scalar {} {}", argument.name, why),
          "give it a role that the sizes decide: rows, cols, a stride of an input or output, or parameter",
          fmt::format("{}: {}", kernel.name, argument.name)};
    };
    switch (argument.role) {
      case Role::rows: words[i].integer = rows; break;
      case Role::cols: words[i].integer = cols; break;
      case Role::parameter:
        if (argument.index >= parameters.size()) return unknown("is a parameter that has no value");
        words[i].real = parameters[argument.index];
        break;
      case Role::input_row_stride:
      case Role::output_row_stride:
      case Role::input_column_stride:
      case Role::output_column_stride: {
        const auto found = std::find_if(buffers.begin(), buffers.end(), [&](const ModuleBuffer& b) {
          return b.index == argument.index && (b.role == Role::output) == is_output(argument.role) &&
                 b.role != Role::inout;
        });
        if (found == buffers.end()) return unknown("is the stride of a buffer that is not there");
        const bool row = argument.role == Role::input_row_stride || argument.role == Role::output_row_stride;
        words[i].integer = row ? row_length(*found) : 1;
        break;
      }
      default: return unknown("has no role that gives it a value");
    }
  }
  return words;
}

}  // namespace lanefold::verify
