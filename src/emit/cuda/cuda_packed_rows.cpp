// Rows of 16-bit elements stay packed in words between sweeps, and loads that some lanes leave out bring words too.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "emit/cuda/cuda_dialect.h"

namespace lanefold::emit {

using lane::Op;
using lane::Statement;

namespace {

/// Fewer words take too few registers to let another threadgroup run beside.
constexpr std::size_t kFewestPacked = 16;

}  // namespace

void CudaDialect::find_packed(BodyWriter& writer, const std::vector<Statement>& body) {
  const Sweeps& sweeps = writer.sweeps();
  std::map<lane::ValueId, std::uint32_t> last;  // of all values that are unpacked
  const auto add = [&](lane::ValueId v) { last[v] = sweeps.last(v); };
  for (const Statement& s : body) {
    if (s.op == Op::load && s.count > 1 && element_bytes(writer.at().arguments[s.a].type) == 2)
      for (std::uint32_t i = 0; i < s.results; ++i) add(s.result + i);
    const Statement* load = s.op == Op::get ? writer.guarded(s.a) : nullptr;
    if (load != nullptr && element_bytes(writer.at().arguments[load->a].type) == 2) add(s.result);
  }
  for (const Statement& s : body) {
    if ((s.op != Op::add && s.op != Op::sub && s.op != Op::mul) || writer.type_of(s.result) != ElementType::f32)
      continue;
    const bool has_first = last.contains(s.operands[0]), has_second = last.contains(s.operands[1]);
    if (has_first == has_second || sweeps.last(s.result) == sweeps.defined(s.result)) continue;
    // The other operand is what a fold gave: to compute the value again costs one operation.
    const lane::ValueId own = s.operands[has_first ? 0 : 1], other = s.operands[has_first ? 1 : 0];
    if (writer.uses(other) < kFewestPacked) continue;
    derived_.insert(s.result);
    last[own] = std::max(last[own], sweeps.last(s.result));
  }
  std::erase_if(last, [&](const auto& use) { return use.second == sweeps.defined(use.first); });
  if (last.size() < 2 * kFewestPacked) {
    derived_.clear();
    return;
  }
  packed_ = std::move(last);
}

std::optional<std::uint32_t> CudaDialect::last_packed(const Statement& s, std::uint32_t first,
                                                      std::uint32_t count) const {
  std::optional<std::uint32_t> last;
  for (std::uint32_t i = first; i < first + count; ++i)
    if (const auto found = packed_.find(s.result + i); found != packed_.end())
      last = std::max(last.value_or(0), found->second);
  return last;
}

void CudaDialect::begin_sweep(BodyWriter& writer) {
  if (!writer.is_outermost()) return;
  writer.begin_sweep();
  for (const PackedWords& words : packed_words_)
    if (words.last >= writer.sweep())
      writer.line(fmt::format("{}({});", helpers_.use("anew:" + words.type), words.name));
}

bool CudaDialect::choose_half(BodyWriter& writer, const Statement& s) {
  const auto a = halves_.find(s.operands[1]), b = halves_.find(s.operands[2]);
  if (a == halves_.end() || b == halves_.end() || a->second.index != b->second.index) return false;
  const Half first = a->second, second = b->second;
  const Expression flag = writer.take_named(s.operands[0]);
  for (std::size_t i = 1; i < s.operands.size(); ++i) writer.take(s.operands[i]);
  const std::string both = fmt::format("{} ? {} : {}", inside(flag, Strength::either), first.word, second.word);
  auto known = pairs_.find(both);
  if (known == pairs_.end()) known = pairs_.emplace(both, writer.declare("unsigned int", "chosen_pair", both)).first;
  halves_[s.result] = {known->second, first.index};
  writer.give_anywhere(s, 0, element_of_word(known->second, first.index, ElementType::bf16));
  return true;
}

}  // namespace lanefold::emit
