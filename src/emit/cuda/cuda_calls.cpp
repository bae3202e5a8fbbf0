// Calls of functions for which CUDA has a way of its own to the same bits.
#include <fmt/format.h>

#include "emit/cuda/cuda_dialect.h"

namespace lanefold::emit {

using lane::Statement;

namespace {

/// More would hold more registers than it saves branches.
constexpr std::size_t kMostExponentials = 8;
constexpr std::size_t kMostCodes = 16;

/// Calls of such a function never reach its own text.
bool is_quantize(const lane::Function& f) {
  return f.name == "quantize" && f.parameters == std::vector{ElementType::f32, ElementType::f32} &&
         f.returns.size() == 1 && f.types[f.returns[0]] == ElementType::i32;
}

}  // namespace

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
  if (is_new && known_function(function) == Known::exp_nonpositive) known->second = kMostExponentials;
  return known->second;
}

void CudaDialect::begin_body(BodyWriter& writer, const lane::Module& module, const std::vector<Statement>& body) {
  known_.clear();
  for (const lane::Function& function : module.functions) known_.push_back(known_function(function));
  chains_ = StepChains(known_, body);
  written_.clear();
  find_packed(writer, body);
  std::map<lane::ValueId, const Statement*> differences;
  for (const Statement& s : body) {
    if (s.op == lane::Op::sub) differences[s.result] = &s;
    if (s.op != lane::Op::call || is_quantize(module.functions[s.a]) || most_together(module.functions[s.a]) < 2)
      continue;
    if (const auto found = differences.find(s.operands[0]); found != differences.end())
      minuends_[s.result] = {found->second->operands[0], found->second->operands[1]};
  }
}

const std::string* CudaDialect::word_of(lane::ValueId value) const {
  const auto half = halves_.find(value);
  return half == halves_.end() ? nullptr : &half->second.word;
}

std::optional<std::string> CudaDialect::nearness(BodyWriter& writer, std::span<const Statement* const> calls) {
  if (!writer.is_outermost()) return std::nullopt;
  std::optional<lane::ValueId> subtrahend;
  for (const Statement* call : calls) {
    const auto found = minuends_.find(call->result);
    if (found == minuends_.end() || word_of(found->second[0]) == nullptr) return std::nullopt;
    if (subtrahend.value_or(found->second[1]) != found->second[1]) return std::nullopt;
    subtrahend = found->second[1];
  }
  auto known = nearness_.find(*subtrahend);
  if (known == nearness_.end()) {
    Nearness made;
    std::string least;
    for (const auto& [call, operands] : minuends_) {
      const std::string* word = word_of(operands[0]);
      if (word == nullptr || operands[1] != *subtrahend || !made.words.insert(*word).second) continue;
      least = least.empty() ? *word
                            : writer.declare("unsigned int", "least_pair",
                                             helper("minimum_pair", {least, *word}, ElementType::i32).text);
    }
    const std::string minimum =
        helper("minimum",
               {element_of_word(least, 0, ElementType::bf16).text, element_of_word(least, 1, ElementType::bf16).text},
               ElementType::f32)
            .text;
    const std::string difference = helper("sub", {minimum, writer.take_named(*subtrahend).text}, ElementType::f32).text;
    made.flag =
        writer.declare("bool", "all_near", helper("less_equal", {"-86.0f", difference}, ElementType::boolean).text);
    known = nearness_.emplace(*subtrahend, std::move(made)).first;
  }
  for (const Statement* call : calls)
    if (!known->second.words.contains(*word_of(minuends_.at(call->result)[0]))) return std::nullopt;
  return known->second.flag;
}

bool CudaDialect::exponentials(BodyWriter& writer, std::span<const Statement* const> calls) {
  // What is kept holds registers already: softmax took 1.1 to 1.5 times as long with its exponentials written together.
  for (const Statement* s : calls)
    if (writer.uses(s->result) > 1) return false;
  const std::optional<std::string> near = nearness(writer, calls);
  if (!near) return false;
  for (const Statement* s : calls) writer.comment(s->comment);
  std::vector<std::string> arguments;
  for (const Statement* s : calls) arguments.push_back(writer.take(s->operands[0]).text);
  const std::string array = writer.fresh_name("powers");
  writer.line(fmt::format("float {}[{}] = {{{}}};", array, calls.size(), fmt::join(arguments, ", ")));
  writer.line(fmt::format("{}({}, {});", helpers_.use("exp_nonpositive_each"), array, *near));
  writer.calls(calls[0]->a);
  for (std::size_t i = 0; i < calls.size(); ++i)
    writer.give(*calls[i], 0, {.text = fmt::format("{}[{}]", array, i)}, BodyWriter::When::now);
  return true;
}

bool CudaDialect::calls_together(BodyWriter& writer, const lane::Function& function,
                                 std::span<const Statement* const> calls) {
  if (!is_quantize(function)) return exponentials(writer, calls);
  for (const Statement* s : calls) writer.comment(s->comment);
  std::vector<std::string> arguments, divisors;
  for (const Statement* s : calls) {
    arguments.push_back(writer.take(s->operands[0]).text);
    divisors.push_back(writer.take_named(s->operands[1]).text);
  }
  const std::size_t words = (calls.size() + 3) / 4;
  const std::string array = writer.fresh_name("numerators"), codes = writer.fresh_name("codes");
  // What is missing at the end is 0.
  writer.line(fmt::format("float {}[{}] = {{{}}};", array, 4 * words, fmt::join(arguments, ", ")));
  writer.line(fmt::format("unsigned int {}[{}];", codes, words));
  writer.line(fmt::format("{}({}, {}, {});", helpers_.use("quantize_each"), array, divisors[0], codes));
  for (std::size_t i = 0; i < calls.size(); ++i)
    writer.give_anywhere(
        *calls[i], 0,
        element_of_word(fmt::format("{}[{}]", codes, i / 4), static_cast<std::uint32_t>(i % 4), ElementType::i8));
  return true;
}

}  // namespace lanefold::emit
