#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

std::optional<Diagnostic> thread_limit(const Question& question) {
  if (question.threads <= question.target.max_threads) return std::nullopt;
  return Diagnostic{Code::too_many_threads,
                    fmt::format("a threadgroup would have {} threads; {} allows {}", question.threads,
                                question.target.name, question.target.max_threads),
                    "ask for fewer SIMD groups per row or fewer rows per threadgroup", question.program.name};
}

}  // namespace lanefold::legality
