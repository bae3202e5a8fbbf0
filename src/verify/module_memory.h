// The buffers that a lane module needs at given sizes, and memory for them with sentinels on both sides.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/program.h"
#include "lane/module.h"
#include "machine/global_memory.h"
#include "verify/matrix.h"

namespace lanefold::verify {

/// One piece of memory that arguments of the module's kernels stand for.
struct ModuleBuffer {
  std::string name;
  lane::Role role = lane::Role::input;
  std::uint32_t index = 0;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;  ///< outermost axis first
  std::int64_t elements() const;
};

/// The buffers of all kernels, each once, in the order of their first mention. Refuses buffers without a shape (module_buffer_unsized), and buffers of one
/// name that differ (module_buffer_conflict).
Result<std::vector<ModuleBuffer>> module_buffers(const lane::Module& module, std::int64_t rows, std::int64_t cols);

/// One buffer per input and output of a program, in its order. Refuses what has too many elements (out_of_memory).
Result<std::vector<ModuleBuffer>> program_buffers(const ir::Program& program, std::int64_t rows, std::int64_t cols);

/// Memory of every buffer: contiguous, surrounded by sentinels, outputs poisoned.
class ModuleMemory {
 public:
  explicit ModuleMemory(std::vector<ModuleBuffer> buffers);

  const std::vector<ModuleBuffer>& buffers() const { return buffers_; }
  /// One row of all elements.
  View view(std::size_t buffer) const { return matrices_[buffer].view(); }
  /// All memory of a buffer, sentinels too.
  std::span<std::byte> memory(std::size_t buffer) const { return matrices_[buffer].memory(); }
  std::optional<std::size_t> find(std::string_view name) const;
  std::vector<std::byte> bytes(std::size_t buffer) const { return matrices_[buffer].bytes(); }
  /// Fills every output with poison again.
  void poison_outputs();
  /// The name of a buffer around which something was written, or empty.
  std::string overwritten() const;
  /// As the lane machine wants them.
  std::vector<machine::Buffer> machine_buffers() const;

 private:
  std::vector<ModuleBuffer> buffers_;
  std::vector<Matrix> matrices_;
};

/// One word per argument of the kernel, for contiguous buffers: pointers from `pointer_of` a buffer's name, sizes and strides from the shapes, program
/// parameters from `parameters`. Refuses scalars that nothing gives a value (module_argument_unknown).
Result<std::vector<lane::ArgumentWord>> argument_words(const lane::Kernel& kernel,
                                                       std::span<const ModuleBuffer> buffers,
                                                       const std::function<void*(std::string_view)>& pointer_of,
                                                       std::span<const float> parameters, std::int64_t rows,
                                                       std::int64_t cols);

}  // namespace lanefold::verify
