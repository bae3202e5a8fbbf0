// For tests: one launch of a kernel over plain arrays.
#pragma once

#include <vector>

#include "base/result.h"
#include "machine/machine.h"

namespace lanefold::machine {

/// Buffers of so many elements each (in the order of the kernel's buffer arguments) behind the pointers of the words.
inline std::vector<Buffer> plain_buffers(const lane::Kernel& kernel, std::span<const lane::ArgumentWord> words,
                                         const std::vector<std::int64_t>& elements) {
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const lane::Argument& a = kernel.arguments[i];
    if (!a.buffer || a.memory_of) continue;
    const std::int64_t count = elements.at(buffers.size());
    buffers.push_back({a.name, a.role, View{static_cast<std::byte*>(words[i].pointer), a.type, 1, count, count, 1}});
  }
  return buffers;
}

/// Runs threadgroups [begin, end); the first finding, if any, is the status.
inline Status run_plain(const lane::Module& module, const lane::Kernel& kernel,
                        std::span<const lane::ArgumentWord> words, const std::vector<std::int64_t>& elements,
                        std::int64_t begin = 0, std::int64_t end = 1, std::uint64_t seed = 0) {
  GlobalMemory memory(module, plain_buffers(kernel, words, elements));
  Report report = run(module, kernel, words, 0, 0, memory, {.seed = seed, .begin = begin, .end = end});
  if (!report.findings.empty()) return report.findings.front();
  return success();
}

}  // namespace lanefold::machine
