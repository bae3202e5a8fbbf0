#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

std::optional<Diagnostic> threadgroup_memory(const Question& question) {
  if (question.threadgroup_bytes <= question.target.threadgroup_bytes) return std::nullopt;
  return Diagnostic{Code::threadgroup_memory_exceeded,
                    fmt::format("a threadgroup would need {} bytes of its memory; {} has {}",
                                question.threadgroup_bytes, question.target.name, question.target.threadgroup_bytes),
                    "reload row-wide temporaries, or give a threadgroup fewer rows", question.program.name};
}

}  // namespace lanefold::legality
