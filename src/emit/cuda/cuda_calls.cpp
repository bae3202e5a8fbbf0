// Calls of functions for which CUDA has a way of its own to the same bits.
#include <fmt/format.h>

#include "base/hash.h"
#include "emit/cuda/cuda_dialect.h"

namespace lanefold::emit {

using lane::Statement;

namespace {

/// More would hold more registers than it saves branches.
constexpr std::size_t kMostExponentials = 16;
constexpr std::size_t kMostCodes = 16;
/// hash_text of the printed portable exp_nonpositive: a function of this name in a module that somebody wrote may be any other.
constexpr std::uint64_t kExpNonpositive = 0x41f30ba9eae9c57b;

}  // namespace

bool CudaDialect::is_quantize(const lane::Function& f) {
  return f.name == "quantize" && f.parameters == std::vector{ElementType::f32, ElementType::f32} &&
         f.returns.size() == 1 && f.types[f.returns[0]] == ElementType::i32;
}

std::optional<Expression> CudaDialect::call(BodyWriter& writer, const Statement& s, const lane::Function& function,
                                            std::span<const Expression> arguments) {
  if (!is_quantize(function)) return std::nullopt;
  // The elements of a block have one divisor, of which there is one reciprocal.
  std::string divisor;
  if (const auto known = divisors_.find(s.operands[1]); known != divisors_.end()) {
    divisor = known->second;
  } else {
    const std::string made = fmt::format("{}({})", helpers_.use("divisor_of"), arguments[1].text);
    divisor = writer.declare("Divisor", "divisor", made);
    if (writer.is_outermost()) divisors_[s.operands[1]] = divisor;
  }
  return helper("quantize", {arguments[0].text, divisor}, ElementType::i32);
}

std::size_t CudaDialect::most_together(const lane::Function& function) {
  if (is_quantize(function)) return kMostCodes;
  if (options_.fast || function.name != "exp_nonpositive") return 1;
  const auto [known, is_new] = most_together_.emplace(&function, 1);
  if (is_new) {
    lane::Module alone;
    alone.name = "m";
    alone.functions.push_back(function);
    if (hash_text(lane::print(alone)) == kExpNonpositive) known->second = kMostExponentials;
  }
  return known->second;
}

void CudaDialect::calls_together(BodyWriter& writer, const lane::Function& function,
                                 std::span<const Statement* const> calls) {
  std::vector<std::string> arguments, divisors;
  for (const Statement* s : calls) {
    arguments.push_back(writer.take(s->operands[0]).text);
    if (s->operands.size() > 1) divisors.push_back(writer.take_named(s->operands[1]).text);
  }
  const bool quantizes = is_quantize(function);
  const std::size_t words = (calls.size() + 3) / 4;
  const std::string array = writer.fresh_name(quantizes ? "numerators" : "powers");
  // What is missing at the end is 0.
  writer.line(
      fmt::format("float {}[{}] = {{{}}};", array, quantizes ? 4 * words : calls.size(), fmt::join(arguments, ", ")));
  if (!quantizes) {
    writer.line(fmt::format("{}({});", helpers_.use("exp_nonpositive_each"), array));
    for (std::size_t i = 0; i < calls.size(); ++i)
      writer.give(*calls[i], 0, {.text = fmt::format("{}[{}]", array, i)}, BodyWriter::When::now);
    return;
  }
  const std::string codes = writer.fresh_name("codes");
  writer.line(fmt::format("unsigned int {}[{}];", codes, words));
  writer.line(fmt::format("{}({}, {}, {});", helpers_.use("quantize_each"), array, divisors[0], codes));
  for (std::size_t i = 0; i < calls.size(); ++i)
    writer.give_anywhere(
        *calls[i], 0,
        element_of_word(fmt::format("{}[{}]", codes, i / 4), static_cast<std::uint32_t>(i % 4), ElementType::i8));
}

}  // namespace lanefold::emit
