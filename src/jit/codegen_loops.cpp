// Loops. Two things that every step of a loop would pay for are settled once behind it, with the same bits: which zero and which NaN an IEEE
// maximum or minimum keeps, and the pattern of NaNs that are stored.
#include <algorithm>
#include <utility>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "jit/codegen.h"

namespace lanefold::jit {

using lane::Op;
using lane::Statement;

namespace {

constexpr std::uint32_t kInfinityBits = 0x7f800000, kSignBit = 0x80000000, kNanBits = 0x7fc00000;

void count_uses(const std::vector<Statement>& block, std::vector<std::uint32_t>& uses) {
  for (const Statement& s : block) {
    for (const lane::ValueId v : s.operands) ++uses[v];
    count_uses(s.body, uses);
    count_uses(s.otherwise, uses);
  }
}

const Statement* definition(const std::vector<Statement>& block, lane::ValueId v) {
  const auto found = std::find_if(block.begin(), block.end(), [&](const Statement& s) {
    return s.results == 1 && s.result == v && s.op != Op::loop;
  });
  return found == block.end() ? nullptr : &*found;
}

/// Gets and sets of that element, nested ones too.
int accesses(const std::vector<Statement>& block, std::uint32_t array, std::uint32_t element) {
  int count = 0;
  for (const Statement& s : block) {
    count += (s.op == Op::get || s.op == Op::set) && s.a == array && s.b == element;
    count += accesses(s.body, array, element) + accesses(s.otherwise, array, element);
  }
  return count;
}

/// Does nothing but read memory and compute.
bool only_reads(const Statement& s) {
  return (s.op >= Op::constant && s.op <= Op::get) || s.op == Op::load || s.op == Op::shared_load;
}

}  // namespace

void KernelCodegen::find_extrema(const Statement& loop, LoopState& state) {
  std::vector<std::uint32_t> uses(kernel_.types.size());
  count_uses(loop.body, uses);
  for (const Statement& set : loop.body) {
    if (set.op != Op::set || scalar_elements_[set.a][set.b]) continue;
    const Statement* merge = definition(loop.body, set.operands[0]);
    if (!merge || (merge->op != Op::max && merge->op != Op::min) || uses[merge->result] != 1) continue;
    if (kernel_.types[merge->result] != ElementType::f32) continue;
    for (const std::size_t side : {0u, 1u}) {
      const Statement* get = definition(loop.body, merge->operands[side]);
      const bool own = get && get->op == Op::get && get->a == set.a && get->b == set.b && uses[get->result] == 1;
      if (!own || accesses(loop.body, set.a, set.b) != 2) continue;
      state.extrema.push_back({set.a, set.b, merge->op == Op::max, merge->operands[1 - side], {}, {}, {}});
      break;
    }
  }
  std::size_t maxima = 0;
  for (const Extremum& e : state.extrema) maxima += e.maximum;
  std::size_t others = 0, sets = 0;
  for (const Statement& s : loop.body) {
    sets += s.op == Op::set;
    others += s.op != Op::set && !only_reads(s);
  }
  state.maxima = maxima > 0 && maxima == sets && others == 0;
}

std::optional<std::int64_t> KernelCodegen::step_of(lane::ValueId v, const Statement& loop, const Values& values) const {
  if (scalar_by_analysis(v)) return 0;
  const Statement* s = definition(loop.body, v);
  if (!s) {
    const bool known = values[v].value && values[v].form != LaneValue::Form::vector;
    return known ? std::optional(values[v].stride) : std::nullopt;
  }
  if (s->op != Op::add && s->op != Op::sub) return std::nullopt;
  const auto left = step_of(s->operands[0], loop, values), right = step_of(s->operands[1], loop, values);
  if (!left || !right) return std::nullopt;
  return s->op == Op::add ? *left + *right : *left - *right;
}

void KernelCodegen::find_stored_nans(const Statement& loop, const Values& values, LoopState& state) {
  const auto harmless = [](const Statement& s) { return only_reads(s) || s.op == Op::store; };
  if (!std::all_of(loop.body.begin(), loop.body.end(), harmless)) return;
  std::vector<std::uint32_t> uses(kernel_.types.size());
  count_uses(loop.body, uses);
  for (const Statement& s : loop.body) {
    if (s.op != Op::store || s.operands.size() != 2 || kernel_.arguments[s.a].type != ElementType::f32) continue;
    const Statement* value = definition(loop.body, s.operands[1]);
    if (value && value->op == Op::canonical_nan && uses[value->result] == 1 &&
        step_of(s.operands[0], loop, values) == 1)
      state.stored_nans.push_back(value->result);
  }
}

void KernelCodegen::begin_extrema(LoopState& state) {
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  llvm::Type* real = vector_of(ir_.getFloatTy());
  llvm::Type* integer = vector_of(ir_.getInt32Ty());
  for (Extremum& e : state.extrema) {
    e.number = entry.CreateAlloca(real);
    e.highest = entry.CreateAlloca(integer);
    e.highest_unsigned = entry.CreateAlloca(integer);
    llvm::Value* before = ir_.CreateLoad(real, element(e.array, e.element).first);
    ir_.CreateStore(before, e.number);
    if (state.maxima) continue;
    llvm::Value* bits = ir_.CreateBitCast(before, integer);
    ir_.CreateStore(bits, e.highest);
    ir_.CreateStore(bits, e.highest_unsigned);
  }
}

bool KernelCodegen::step_extremum(const Statement& set, const Values& values) {
  if (!loop_) return false;
  for (const Extremum& e : loop_->extrema) {
    if (e.array != set.a || e.element != set.b) continue;
    llvm::Value* x = as_vector(values[e.argument]);
    llvm::Type* integer = vector_of(ir_.getInt32Ty());
    llvm::Value* bits = ir_.CreateBitCast(x, integer);
    // One instruction on x86: the second operand where either is NaN or both are zeros.
    llvm::Value* number = ir_.CreateLoad(x->getType(), e.number);
    llvm::Value* beyond = e.maximum ? ir_.CreateFCmpOGT(x, number) : ir_.CreateFCmpOLT(x, number);
    ir_.CreateStore(ir_.CreateSelect(beyond, x, number), e.number);
    if (loop_->maxima) {
      loop_->raw.push_back(x);
      return true;
    }
    const auto keep_higher = [&](llvm::AllocaInst* slot, llvm::Intrinsic::ID higher) {
      ir_.CreateStore(ir_.CreateBinaryIntrinsic(higher, bits, ir_.CreateLoad(integer, slot)), slot);
    };
    keep_higher(e.highest, llvm::Intrinsic::smax);
    keep_higher(e.highest_unsigned, llvm::Intrinsic::umax);
    return true;
  }
  return false;
}

void KernelCodegen::end_extrema(const LoopState& state) {
  llvm::Type* integer = vector_of(ir_.getInt32Ty());
  for (const Extremum& e : state.extrema) {
    const auto [slot, type] = element(e.array, e.element);
    llvm::Value* number = ir_.CreateLoad(type, e.number);
    llvm::Value* highest = ir_.CreateLoad(integer, e.highest);
    llvm::Value* highest_unsigned = ir_.CreateLoad(integer, e.highest_unsigned);
    // A maximum of zero is +0 if any sign bit was clear, a minimum of zero is −0 if any was set.
    llvm::Value* sign = ir_.CreateAnd(e.maximum ? highest : highest_unsigned, i32_like(highest, kSignBit));
    llvm::Value* is_zero = ir_.CreateFCmpOEQ(number, llvm::Constant::getNullValue(type));
    llvm::Value* result = ir_.CreateSelect(is_zero, ir_.CreateBitCast(sign, type), number);
    // As integers, NaNs lie above infinity: those without a sign among the signed, those with one among the unsigned.
    llvm::Value* nan = ir_.CreateOr(ir_.CreateICmpSGT(highest, i32_like(highest, kInfinityBits)),
                                    ir_.CreateICmpUGT(highest_unsigned, i32_like(highest, kInfinityBits | kSignBit)));
    ir_.CreateStore(ir_.CreateSelect(nan, ir_.CreateBitCast(i32_like(highest, kNanBits), type), result), slot);
  }
}

void KernelCodegen::end_maxima(const Statement& s, Values& values, LoopState& state, llvm::Value* nan,
                               const Inside& inside) {
  // Of zeros, a plain maximum keeps the first: +0 is right, and behind −0 there may have been a +0.
  llvm::Value* unsure = nan;
  for (const Extremum& e : state.extrema) {
    llvm::Value* number = ir_.CreateLoad(vector_of(ir_.getFloatTy()), e.number);
    llvm::Value* bits = ir_.CreateBitCast(number, vector_of(ir_.getInt32Ty()));
    unsure = ir_.CreateOr(unsure, ir_.CreateICmpEQ(bits, i32_like(bits, kSignBit)));
  }
  llvm::BasicBlock* again = llvm::BasicBlock::Create(context_, "again", function_);
  llvm::BasicBlock* sure = llvm::BasicBlock::Create(context_, "sure", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "maxima", function_);
  ir_.CreateCondBr(any(unsure), again, sure, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  ir_.SetInsertPoint(sure);
  for (const Extremum& e : state.extrema) {
    const auto [slot, type] = element(e.array, e.element);
    ir_.CreateStore(ir_.CreateLoad(type, e.number), slot);
  }
  ir_.CreateBr(done);
  ir_.SetInsertPoint(again);
  state.extrema.clear();
  emit_counting(s, values, as_scalar(values[s.operands[0]]), [&](llvm::Value*) { inside(s.body, values); });
  ir_.CreateBr(done);
  ir_.SetInsertPoint(done);
}

bool KernelCodegen::defer_nan(const Statement& s, const LaneValue& value) {
  if (!loop_ || std::find(loop_->stored_nans.begin(), loop_->stored_nans.end(), s.result) == loop_->stored_nans.end())
    return false;
  loop_->raw.push_back(as_vector(value));
  return true;
}

void KernelCodegen::repair_nan(const Statement& s, const LaneValue& address) {
  const auto& deferred = loop_->stored_nans;
  if (s.operands.size() != 2 || std::find(deferred.begin(), deferred.end(), s.operands[1]) == deferred.end()) return;
  llvm::Value* stored = as_vector(load(arguments_[s.a], ElementType::f32, address, false));
  llvm::Value* nan = ir_.CreateBitCast(i32_like(stored, kNanBits), stored->getType());
  store(arguments_[s.a], ElementType::f32, address,
        LaneValue::vector(ir_.CreateSelect(ir_.CreateFCmpUNO(stored, stored), nan, stored)), false);
}

void KernelCodegen::emit_counting(const Statement& s, Values& values, llvm::Value* begin,
                                  const std::function<void(llvm::Value*)>& inside) {
  llvm::Value* end = as_scalar(values[s.operands[1]]);
  llvm::Value* step = as_scalar(values[s.operands[2]]);
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context_, "loop", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "after", function_);
  ir_.CreateBr(body);
  ir_.SetInsertPoint(body);
  llvm::PHINode* at = ir_.CreatePHI(ir_.getInt64Ty(), 2, "i");
  at->addIncoming(begin, before);
  values[s.result] = LaneValue::scalar(at);
  inside(at);
  // Counting is done only while another iteration follows, so that it cannot wrap; at < end makes the distance positive.
  llvm::Value* another = ir_.CreateICmpUGT(ir_.CreateSub(end, at), step);
  at->addIncoming(ir_.CreateNSWAdd(at, step), ir_.GetInsertBlock());
  ir_.CreateCondBr(another, body, done);
  ir_.SetInsertPoint(done);
}

void KernelCodegen::emit_loop(const Statement& s, Values& values, const Inside& inside) {
  LoopState state;
  if (const auto found = prefetches_.find(&s); found != prefetches_.end()) state.prefetches = found->second;
  if (!mask_ && kernel_.simd_groups == 1) {
    find_extrema(s, state);
    find_stored_nans(s, values, state);
    state.quick_calls = quick_calls(s);
    find_pairs(s, values, state);
  }
  LoopState* outer = std::exchange(loop_, &state);
  llvm::Value* begin = as_scalar(values[s.operands[0]]);
  llvm::BasicBlock* enter = llvm::BasicBlock::Create(context_, "enter", function_);
  llvm::BasicBlock* end = llvm::BasicBlock::Create(context_, "end", function_);
  ir_.CreateCondBr(ir_.CreateICmpSLT(begin, as_scalar(values[s.operands[1]])), enter, end);
  ir_.SetInsertPoint(enter);
  begin_extrema(state);
  llvm::AllocaInst* flags = nullptr;
  llvm::Type* integer = vector_of(ir_.getInt32Ty());
  if (!state.stored_nans.empty() || state.maxima) {
    flags = llvm::IRBuilder<>(&function_->getEntryBlock(), function_->getEntryBlock().begin()).CreateAlloca(integer);
    ir_.CreateStore(llvm::Constant::getNullValue(integer), flags);
  }
  llvm::Value* first = state.quick_calls.empty() ? begin : emit_quick_loop(s, values, end);
  emit_counting(s, values, first, [&](llvm::Value*) {
    inside(s.body, values);
    if (!flags) return;
    // One comparison finds a NaN in either of two vectors.
    llvm::Value* found = ir_.CreateLoad(integer, flags);
    for (std::size_t i = 0; i < state.raw.size(); i += 2)
      found = ir_.CreateOr(
          found,
          ir_.CreateSExt(ir_.CreateFCmpUNO(state.raw[i], state.raw[std::min(i + 1, state.raw.size() - 1)]), integer));
    ir_.CreateStore(found, flags);
  });
  llvm::Value* nan =
      flags ? ir_.CreateICmpNE(ir_.CreateLoad(integer, flags), llvm::Constant::getNullValue(integer)) : nullptr;
  if (state.maxima) {
    end_maxima(s, values, state, nan, inside);
  } else {
    end_extrema(state);
    if (flags) {
      llvm::BasicBlock* repair = llvm::BasicBlock::Create(context_, "repair", function_);
      ir_.CreateCondBr(any(nan), repair, end, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
      ir_.SetInsertPoint(repair);
      state.repairs = true;
      emit_counting(s, values, begin, [&](llvm::Value*) { inside(s.body, values); });
    }
  }
  ir_.CreateBr(end);
  ir_.SetInsertPoint(end);
  loop_ = outer;
}

}  // namespace lanefold::jit
