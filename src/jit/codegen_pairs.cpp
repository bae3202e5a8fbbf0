// bf16 in loops that only load, compute and store. Two vectors that lie side by side in memory are one load of 32-bit words, whose halves are the elements of
// even and of odd columns: no lane needs to move to widen or to narrow them. That changes which lane computes which column, so both vectors
// must be computed alike and end in stores that lie side by side too.
#include <algorithm>
#include <set>

#include <llvm/IR/Constants.h>

#include "jit/codegen.h"

namespace lanefold::jit {

using lane::Op;
using lane::Statement;
using lane::ValueId;

namespace {

constexpr std::uint32_t kHighHalf = 0xffff0000, kNanBits = 0x7fc00000;

/// A sum of values and a constant.
struct Sum {
  std::vector<ValueId> terms;
  std::int64_t constant = 0;
};

/// Looks for pairs in the body of one loop.
class PairSearch {
 public:
  /// `step` says how an address grows from lane to lane, where that is known.
  using Step = std::function<std::optional<std::int64_t>(ValueId)>;
  PairSearch(const lane::Kernel& kernel, const std::vector<lane::Variation>& variations, const Statement& loop,
             Step step)
      : kernel_(kernel),
        variations_(variations),
        step_(std::move(step)),
        width_(kernel.simd_width),
        inside_(kernel.types.size()) {
    note_constants(kernel.body);
    for (const Statement& s : loop.body)
      if (s.results == 1) inside_[s.result] = &s;
  }

  /// Whether the two accesses are vectors of bf16 of one buffer, the second right behind the first.
  bool side_by_side(const Statement& a, const Statement& b) const {
    const auto vector = [&](const Statement& s) {
      return s.count == 1 && kernel_.arguments[s.a].type == ElementType::bf16 && step_(s.operands[0]) == 1;
    };
    if (a.a != b.a || a.streaming != b.streaming || !vector(a) || !vector(b)) return false;
    const Sum x = sum(a.operands[0]), y = sum(b.operands[0]);
    return x.terms == y.terms && y.constant - x.constant == static_cast<std::int64_t>(width_);
  }

  /// Whether a and b are computed alike, from the same uniform values and from loads that lie side by side, which are noted.
  bool alike(ValueId a, ValueId b) {
    const auto uniform = [&](ValueId v) { return variations_[v].affine && variations_[v].stride == 0; };
    if (a == b) return uniform(a);
    if (uniform(a) && uniform(b) && constants_.contains(a) && constants_.contains(b))
      return constants_.at(a) == constants_.at(b) && kernel_.types[a] == kernel_.types[b];
    const Statement *x = inside_[a], *y = inside_[b];
    if (!x || !y || x->op != y->op || x->a != y->a || x->operands.size() != y->operands.size()) return false;
    if (x->op == Op::load) {
      if (!side_by_side(*x, *y)) return false;
      const auto first = partners.try_emplace(x, std::pair{y, false}).first->second;
      const auto second = partners.try_emplace(y, std::pair{x, true}).first->second;
      return first == std::pair{y, false} && second == std::pair{x, true};
    }
    if (x->op != Op::call && (x->op < Op::neg || x->op > Op::select)) return false;
    if (known_.contains({a, b})) return true;
    for (std::size_t i = 0; i < x->operands.size(); ++i)
      if (!alike(x->operands[i], y->operands[i])) return false;
    known_.insert({a, b});
    return true;
  }

  /// By load or store: the other one, and whether this is the second.
  std::map<const Statement*, std::pair<const Statement*, bool>> partners;

 private:
  void note_constants(const std::vector<Statement>& block) {
    for (const Statement& s : block) {
      if (s.op == Op::constant) constants_[s.result] = s.bits;
      note_constants(s.body);
      note_constants(s.otherwise);
    }
  }

  Sum sum(ValueId v) const {
    if (const auto known = constants_.find(v); known != constants_.end())
      return {{}, static_cast<std::int64_t>(known->second)};
    const Statement* s = inside_[v];
    if (!s || s->op != Op::add) return {{v}, 0};
    Sum left = sum(s->operands[0]);
    const Sum right = sum(s->operands[1]);
    left.terms.insert(left.terms.end(), right.terms.begin(), right.terms.end());
    std::sort(left.terms.begin(), left.terms.end());
    left.constant += right.constant;
    return left;
  }

  const lane::Kernel& kernel_;
  const std::vector<lane::Variation>& variations_;
  Step step_;
  std::uint32_t width_;
  std::vector<const Statement*> inside_;  ///< by value
  std::map<ValueId, std::uint64_t> constants_;
  std::set<std::pair<ValueId, ValueId>> known_;  ///< to be alike
};

}  // namespace

void KernelCodegen::find_pairs(const Statement& loop, const Values& values, LoopState& state) const {
  if (mask_ || kernel_.simd_groups > 1) return;
  std::map<std::uint32_t, std::vector<const Statement*>> stores;
  for (const Statement& s : loop.body) {
    const bool load = s.op == Op::load;
    if (s.op == Op::store)
      stores[s.a].push_back(&s);
    else if ((load && !stores.empty()) || (!load && s.op > Op::call))
      return;
  }
  PairSearch search(kernel_, variations_, loop, [&](ValueId v) { return step_of(v, loop, values); });
  for (const auto& [buffer, of_buffer] : stores) {
    if (of_buffer.size() % 2 != 0) return;
    for (std::size_t i = 0; i < of_buffer.size(); i += 2) {
      const Statement *first = of_buffer[i], *second = of_buffer[i + 1];
      if (first->operands.size() != 2 || !search.side_by_side(*first, *second)) return;
      if (!search.alike(first->operands[1], second->operands[1])) return;
      search.partners[first] = {second, false};
      search.partners[second] = {first, true};
    }
  }
  for (const auto& [access, partner] : search.partners) state.pairs[access] = {partner.first, partner.second, nullptr};
}

bool KernelCodegen::load_pair(const Statement& s, Values& values) {
  if (!loop_) return false;
  const auto found = loop_->pairs.find(&s);
  if (found == loop_->pairs.end()) return false;
  Pair& pair = found->second;
  if (!pair.second) {
    llvm::Type* words = vector_of(ir_.getInt32Ty());
    llvm::Value* from = pointer(arguments_[s.a], ElementType::bf16, as_scalar(values[s.operands[0]]));
    llvm::Instruction* both = ir_.CreateAlignedLoad(words, from, llvm::Align(2));
    tag(both, false);
    llvm::Type* real = vector_of(ir_.getFloatTy());
    pair.value = ir_.CreateBitCast(ir_.CreateShl(both, 16), real);
    loop_->pairs[pair.other].value = ir_.CreateBitCast(ir_.CreateAnd(both, i32_like(both, kHighHalf)), real);
  }
  values[s.result] = LaneValue::vector(pair.value);
  return true;
}

llvm::Value* KernelCodegen::rounded_to_high_half(llvm::Value* value) {
  llvm::Value* bits = ir_.CreateBitCast(value, shaped(ir_.getInt32Ty(), value));
  llvm::Value* odd = ir_.CreateAnd(ir_.CreateLShr(bits, 16), i32_like(bits, 1));
  llvm::Value* rounded = ir_.CreateAdd(ir_.CreateAdd(bits, i32_like(bits, 0x7fff)), odd);
  return ir_.CreateSelect(ir_.CreateFCmpUNO(value, value), i32_like(bits, kNanBits), rounded);
}

bool KernelCodegen::store_pair(const Statement& s, const Values& values) {
  if (!loop_) return false;
  const auto found = loop_->pairs.find(&s);
  if (found == loop_->pairs.end()) return false;
  if (!found->second.second) return true;
  const Statement& first = *found->second.other;
  llvm::Value* low = ir_.CreateLShr(rounded_to_high_half(as_vector(values[first.operands[1]])), 16);
  llvm::Value* high = rounded_to_high_half(as_vector(values[s.operands[1]]));
  // Of each word the low half from one and the high half from the other.
  llvm::Type* halves = llvm::FixedVectorType::get(ir_.getInt16Ty(), 2 * width_);
  std::vector<int> table;
  for (std::uint32_t i = 0; i < 2 * width_; ++i) table.push_back(static_cast<int>(i % 2 == 0 ? i : 2 * width_ + i));
  llvm::Value* both = ir_.CreateShuffleVector(ir_.CreateBitCast(low, halves), ir_.CreateBitCast(high, halves), table);
  llvm::Value* to = pointer(arguments_[s.a], ElementType::bf16, as_scalar(values[first.operands[0]]));
  // What a streaming store promises is a multiple of one vector's bytes.
  llvm::Instruction* access = ir_.CreateAlignedStore(both, to, llvm::Align(s.streaming ? 2 * width_ : 2));
  if (s.streaming)
    access->setMetadata(llvm::LLVMContext::MD_nontemporal,
                        llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(ir_.getInt32(1))));
  tag(access, false);
  return true;
}

}  // namespace lanefold::jit
