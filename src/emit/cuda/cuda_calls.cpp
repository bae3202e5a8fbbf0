// Calls of functions for which CUDA has a way of its own to the same bits.
#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "emit/cuda/cuda_dialect.h"

namespace lanefold::emit {

using lane::Statement;

namespace {

/// More would hold more registers than it saves branches.
constexpr std::size_t kMostExponentials = 8;
constexpr std::size_t kMostCodes = 16;
constexpr std::uint32_t k127 = 0x42fe0000;  // as f32

using Definitions = std::unordered_map<lane::ValueId, const Statement*>;

/// Values that are known to be no larger in size than `value`, a maximum: NaN, where one of them is.
std::set<lane::ValueId> bounded_by(lane::ValueId value, const std::vector<Known>& known,
                                   const Definitions& definitions) {
  std::set<lane::ValueId> sizes, seen;
  std::vector<lane::ValueId> open{value};
  while (!open.empty()) {
    const lane::ValueId v = open.back();
    open.pop_back();
    const auto found = definitions.find(v);
    if (found == definitions.end() || !seen.insert(v).second) continue;
    const Statement& s = *found->second;
    const bool calls = s.op == lane::Op::call || (s.op == lane::Op::fold_lanes && s.operands.size() == 1);
    if (s.op == lane::Op::abs) sizes.insert(s.operands[0]);
    if (s.op == lane::Op::max || (calls && known[s.a] == Known::merge_max))
      open.insert(open.end(), s.operands.begin(), s.operands.end());
  }
  return sizes;
}

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
  find_bounded(module, body);
  std::map<lane::ValueId, const Statement*> differences;
  for (const Statement& s : body) {
    if (s.op == lane::Op::sub) differences[s.result] = &s;
    if (s.op != lane::Op::call || is_quantize(module.functions[s.a]) || most_together(module.functions[s.a]) < 2)
      continue;
    if (const auto found = differences.find(s.operands[0]); found != differences.end())
      minuends_[s.result] = {found->second->operands[0], found->second->operands[1]};
  }
}

void CudaDialect::find_bounded(const lane::Module& module, const std::vector<Statement>& body) {
  Definitions definitions;
  std::map<lane::ValueId, std::set<lane::ValueId>> bounded;  // by divisor
  for (const Statement& s : body) {
    if (s.results == 1) definitions[s.result] = &s;
    if (s.op != lane::Op::call || !is_quantize(module.functions[s.a])) continue;
    const auto [known, is_new] = bounded.try_emplace(s.operands[1]);
    const auto divisor = definitions.find(s.operands[1]);
    if (is_new && divisor != definitions.end() && divisor->second->op == lane::Op::div) {
      const auto by = definitions.find(divisor->second->operands[1]);
      if (by != definitions.end() && by->second->op == lane::Op::constant && by->second->bits == k127)
        known->second = bounded_by(divisor->second->operands[0], known_, definitions);
    }
    if (known->second.contains(s.operands[0])) bounded_.insert(s.result);
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
  // Blocks of codes of one divisor each.
  std::vector<std::span<const Statement* const>> blocks;
  for (std::size_t first = 0, i = 1; i <= calls.size(); ++i)
    if (i == calls.size() || calls[i]->operands[1] != calls[first]->operands[1]) {
      blocks.push_back(calls.subspan(first, i - first));
      first = i;
    }
  if (blocks.size() == calls.size()) return false;
  for (const Statement* s : calls) writer.comment(s->comment);
  for (std::size_t first = 0; first < blocks.size();) {
    std::size_t count = 1;
    while (first + count < blocks.size() && blocks[first + count].size() == blocks[first].size()) ++count;
    quantize_blocks(writer, std::span(blocks).subspan(first, count));
    first += count;
  }
  return true;
}

void CudaDialect::quantize_blocks(BodyWriter& writer, std::span<const std::span<const Statement* const>> blocks) {
  const std::size_t words = (blocks[0].size() + 3) / 4;
  std::vector<std::string> numerators, divisors;
  bool is_bounded = true;
  for (const auto& calls : blocks) {
    std::vector<std::string> arguments;
    for (const Statement* s : calls) {
      arguments.push_back(writer.take(s->operands[0]).text);
      is_bounded = is_bounded && bounded_.contains(s->result);
    }
    numerators.push_back(fmt::format("{{{}}}", fmt::join(arguments, ", ")));
    divisors.push_back(writer.take_named(calls[0]->operands[1]).text);
  }
  const std::string array = writer.fresh_name("numerators"), by = writer.fresh_name("divisors"),
                    codes = writer.fresh_name("codes");
  // What is missing at the end of a block is 0.
  writer.line(fmt::format("float {}[{}][{}] = {{{}}};", array, blocks.size(), 4 * words, fmt::join(numerators, ", ")));
  writer.line(fmt::format("const float {}[{}] = {{{}}};", by, blocks.size(), fmt::join(divisors, ", ")));
  writer.line(fmt::format("unsigned int {}[{}][{}];", codes, blocks.size(), words));
  writer.line(fmt::format("{}<{}>({}, {}, {});", helpers_.use("quantize_each"), is_bounded, array, by, codes));
  for (std::size_t k = 0; k < blocks.size(); ++k)
    for (std::size_t i = 0; i < blocks[k].size(); ++i)
      writer.give_anywhere(*blocks[k][i], 0,
                           element_of_word(fmt::format("{}[{}][{}]", codes, k, i / 4),
                                           static_cast<std::uint32_t>(i % 4), ElementType::i8));
}

}  // namespace lanefold::emit
