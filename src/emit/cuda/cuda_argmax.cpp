#include "emit/cuda/cuda_argmax.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "emit/cuda/cuda_dialect.h"
#include "lane/typing.h"

namespace lanefold::emit {

using lane::Op;
using lane::Statement;
using lane::ValueId;

namespace {

/// Fewer are not worth the check at the end.
constexpr std::size_t kFewestWords = 3;

}  // namespace

std::optional<ValueId> ChainedStep::flag() const {
  if (choices[0] == nullptr || choices[1] == nullptr) return std::nullopt;
  return choices[0]->operands[0];
}

std::array<const Statement*, 2> ChainedStep::last() const { return flag() ? choices : std::array{call, call}; }

std::array<ValueId, 2> ChainedStep::state() const {
  if (flag()) return {choices[0]->result, choices[1]->result};
  return {call->result, call->result + 1};
}

std::array<ValueId, 2> StepChain::element(std::size_t i) const {
  const std::vector<ValueId>& operands = steps[i == 0 ? 0 : i - 1].call->operands;
  return i == 0 ? std::array{operands[0], operands[1]} : std::array{operands[2], operands[3]};
}

StepChains::StepChains(std::span<const Known> functions, const std::vector<Statement>& body) {
  for (std::size_t at = 0; at < body.size(); ++at) {
    const Statement& s = body[at];
    for (std::uint32_t i = 0; i < s.results; ++i) {
      defined_by_[s.result + i] = &s;
      defined_at_[s.result + i] = at;
    }
    if (s.op == Op::select) choose(s);
    if (s.op != Op::call) continue;
    if (functions[s.a] == Known::step_argmax || functions[s.a] == Known::step_argmin) call(s, functions[s.a]);
  }
}

void StepChains::call(const Statement& s, Known function) {
  const auto found = ends_.find(s.operands[0]);
  std::size_t number = chains_.size();
  if (found != ends_.end() && chains_[found->second].function == function &&
      chains_[found->second].steps.back().state() == std::array{s.operands[0], s.operands[1]}) {
    number = found->second;
  } else {
    chains_.push_back({.function = function});
    numbers_[&s] = number;
  }
  chains_[number].steps.push_back({.call = &s});
  ends_[s.result] = ends_[s.result + 1] = number;
}

void StepChains::choose(const Statement& s) {
  const auto found = ends_.find(s.operands[1]);
  if (found == ends_.end()) return;
  StepChain& chain = chains_[found->second];
  ChainedStep& step = chain.steps.back();
  const ValueId component = s.operands[1] - step.call->result;
  // The flag is known where the chain begins: it may be written there.
  const auto flag = defined_at_.find(s.operands[0]);
  const bool fits =
      component < 2 && step.choices[component] == nullptr && flag != defined_at_.end() &&
      flag->second < defined_at_.at(chain.steps[0].call->result) && s.operands[2] == step.call->operands[component] &&
      (step.choices[1 - component] == nullptr || step.choices[1 - component]->operands[0] == s.operands[0]);
  if (!fits) return;
  step.choices[component] = &s;
  ends_[s.result] = found->second;
}

const StepChain* StepChains::beginning_with(const Statement& call) const {
  const auto found = numbers_.find(&call);
  return found == numbers_.end() ? nullptr : &chains_[found->second];
}

const Statement* StepChains::definition(ValueId v) const {
  const auto found = defined_by_.find(v);
  return found == defined_by_.end() ? nullptr : found->second;
}

Place StepChains::place_of(ValueId index) const {
  const Statement* s = definition(index);
  if (s != nullptr && s->op == Op::convert) {
    index = s->operands[0];
    s = definition(index);
  }
  if (s == nullptr || s->op != Op::add) return {index, 0};
  const Statement* constant = definition(s->operands[1]);
  if (constant == nullptr || constant->op != Op::constant) return {index, 0};
  // The bits of an i32 or i64.
  return {s->operands[0], static_cast<std::int64_t>(constant->bits)};
}

bool StepChains::is_alone(const StepChain& chain, std::size_t count,
                          const std::function<std::uint32_t(ValueId)>& uses) {
  std::map<ValueId, std::uint32_t> own;
  for (std::size_t i = 0; i < count; ++i) {
    const ChainedStep& step = chain.steps[i];
    for (const ValueId v : step.call->operands) ++own[v];
    if (!step.flag()) continue;
    for (const Statement* choice : step.choices)
      for (const ValueId v : choice->operands) ++own[v];
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ChainedStep& step = chain.steps[i];
    for (std::uint32_t c = 0; c < 2; ++c) {
      if (i + 1 < count && uses(step.state()[c]) != own[step.state()[c]]) return false;
      if (step.flag() && uses(step.call->result + c) != own[step.call->result + c]) return false;
    }
  }
  return true;
}

std::uint32_t StepChains::period_of(ValueId value) const {
  const Statement* load = definition(value);
  const Statement* index = load != nullptr && load->op == Op::shared_load ? definition(load->operands[0]) : nullptr;
  if (index == nullptr || index->op != Op::bit_and) return 32;
  const Statement *lane = definition(index->operands[0]), *mask = definition(index->operands[1]);
  if (lane == nullptr || lane->op != Op::lane || mask == nullptr || mask->op != Op::constant) return 32;
  const std::uint64_t period = mask->bits + 1;
  return period < 32 && (period & mask->bits) == 0 ? static_cast<std::uint32_t>(period) : 32;
}

/// Word i of both chains, or nothing where their elements are not the halves of one word, in the order of the first ones, at places that
/// two halves of a word can tell apart.
std::optional<CudaDialect::ChainWord> CudaDialect::chain_word(const BodyWriter& writer,
                                                              const std::array<const StepChain*, 2>& chains,
                                                              std::size_t i) const {
  ChainWord word;
  std::array<std::optional<ValueId>, 2> flags;
  std::array<Place, 2> places;
  for (std::uint32_t half = 0; half < 2; ++half) {
    const auto [value, index] = chains[half]->element(i);
    const auto found = halves_.find(value);
    if (found == halves_.end() || found->second.index != half) return std::nullopt;
    if (half == 1 && found->second.word != word.text) return std::nullopt;
    word.text = found->second.word;
    if (i > 0) flags[half] = chains[half]->steps[i - 1].flag();
    places[half] = chains_.place_of(index);
    if (places[half].offset < 0 || places[half].offset > 0xffff) return std::nullopt;
    word.offsets |= static_cast<std::uint32_t>(places[half].offset) << 16 * half;
  }
  if (flags[0] != flags[1] || places[0].base != places[1].base || !lane::is_integer(writer.type_of(places[0].base)))
    return std::nullopt;
  word.flag = flags[0];
  word.base = places[0].base;
  return word;
}

bool CudaDialect::leading_pairs(BodyWriter& writer, const Statement& s) {
  if (written_.contains(&s)) return true;
  const StepChain* const first = chains_.beginning_with(s);
  if (first == nullptr) return false;
  const auto half = halves_.find(first->element(0)[0]);
  if (half == halves_.end()) return false;
  for (const StepChain& other : chains_.all()) {
    if (&other == first || other.function != first->function || written_.contains(other.steps[0].call)) continue;
    const std::array chains = half->second.index == 0 ? std::array{first, &other} : std::array{&other, first};
    std::vector<ChainWord> words;
    while (words.size() <= std::min(first->steps.size(), other.steps.size())) {
      const std::optional<ChainWord> word = chain_word(writer, chains, words.size());
      if (!word || (!words.empty() && word->base != words[0].base)) break;
      words.push_back(*word);
    }
    const auto uses = [&](ValueId v) { return writer.uses(v); };
    if (words.size() < kFewestWords || !StepChains::is_alone(*first, words.size() - 1, uses) ||
        !StepChains::is_alone(other, words.size() - 1, uses))
      continue;
    write_chains(writer, chains, words);
    return true;
  }
  return false;
}

void CudaDialect::write_chains(BodyWriter& writer, const std::array<const StepChain*, 2>& chains,
                               const std::vector<ChainWord>& words) {
  const bool most = chains[0]->function == Known::step_argmax;
  std::vector<std::string> texts, offsets;
  for (const ChainWord& word : words) {
    // The infinity that leads nothing: where it is the best of all, the first word, which every lane takes, has it too and stays.
    texts.push_back(word.flag ? fmt::format("{} ? {} : {}", inside(writer.take_named(*word.flag), Strength::either),
                                            word.text, most ? "0xff80ff80u" : "0x7f807f80u")
                              : word.text);
    offsets.push_back(fmt::format("{:#x}u", word.offsets));
  }
  const std::string base = convert(writer.take_named(words[0].base), ElementType::i32).text;
  const std::string pairs = writer.fresh_name("pairs"), places = writer.fresh_name("offsets"),
                    leading = writer.fresh_name("leading"), at = writer.fresh_name("at");
  writer.line(fmt::format("const unsigned int {}[{}] = {{{}}};", pairs, words.size(), fmt::join(texts, ", ")));
  writer.line(fmt::format("const unsigned int {}[{}] = {{{}}};", places, words.size(), fmt::join(offsets, ", ")));
  writer.line(fmt::format("unsigned int {}, {};", leading, at));
  writer.line(fmt::format("{}({}, {}, {}, {});", helpers_.use(most ? "argmax_of_pairs" : "argmin_of_pairs"), pairs,
                          places, leading, at));
  for (std::uint32_t half = 0; half < 2; ++half) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const ChainedStep& step = chains[half]->steps[i];
      written_.insert(step.call);
      if (step.flag()) written_.insert(step.choices.begin(), step.choices.end());
    }
    const ChainedStep& last = chains[half]->steps[words.size() - 2];
    halves_[last.state()[0]] = {leading, half};
    const std::string offset = at + (half == 0 ? " & 0xffffu" : " >> 16");
    const auto give = [&](std::uint32_t component, Expression value) {
      writer.give(*last.last()[component], last.flag() ? 0 : component, std::move(value), BodyWriter::When::now);
    };
    give(0, element_of_word(leading, half, ElementType::bf16));
    give(1, helper("wrap_add", {base, offset}, ElementType::i32));
  }
}

bool CudaDialect::leading_lane(BodyWriter& writer, const Statement& s) {
  const Known function = known_[s.a];
  if ((function == Known::merge_max || function == Known::merge_min) && s.operands.size() == 1 && s.b == 0 &&
      std::uint32_t{1} << s.count >= chains_.period_of(s.operands[0])) {
    const char* name = function == Known::merge_max ? "maximum_of_lanes" : "minimum_of_lanes";
    const std::string value = helper(name, {writer.take(s.operands[0]).text}, ElementType::f32).text;
    writer.give_named(s, 0, {.text = value});
    return true;
  }
  if ((function != Known::merge_argmax && function != Known::merge_argmin) || s.operands.size() != 2 || s.b != 0)
    return false;
  for (const ValueId v : s.operands)
    if (std::uint32_t{1} << s.count < chains_.period_of(v)) return false;
  const std::string value = writer.fresh_name("leading_value"), index = writer.fresh_name("leading_index");
  const Expression own_value = writer.take(s.operands[0]), own_index = writer.take(s.operands[1]);
  writer.line(fmt::format("float {} = {};", value, own_value.text));
  writer.line(fmt::format("int {} = {};", index, own_index.text));
  writer.line(fmt::format("{}({}, {});",
                          helpers_.use(function == Known::merge_argmax ? "argmax_of_lanes" : "argmin_of_lanes"), value,
                          index));
  writer.give(s, 0, {.text = value}, BodyWriter::When::now);
  writer.give(s, 1, {.text = index}, BodyWriter::When::now);
  return true;
}

}  // namespace lanefold::emit
