#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

std::optional<Diagnostic> register_stripe(const Question& question) {
  // A CPU's compiler spills to its first-level cache, of which 256 vectors of 64 bytes are about half.
  constexpr std::uint32_t kCpuRoom = 256;
  const std::uint32_t room =
      question.target.family == target::Family::cpu ? kCpuRoom : question.target.vector_registers;
  if (question.private_stripe <= room) return std::nullopt;
  return Diagnostic{Code::private_stripe_exceeded,
                    fmt::format("a worker would keep {} values of its row in registers; {} has room for {}",
                                question.private_stripe, question.target.name, room),
                    "ask for more SIMD groups per row, or reload", question.program.name};
}

}  // namespace lanefold::legality
