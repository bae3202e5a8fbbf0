// exp of x − m in loops. The portable function clamps its argument and scales in two steps, both for the smallest results. A loop takes a shorter way
// to the same bits as long as no argument is far below zero or NaN; the step that has one is done again by a loop that does the rest the whole way.
#include <algorithm>
#include <bit>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "jit/codegen.h"
#include "math/portable.h"

namespace lanefold::jit {

using lane::Op;
using lane::Statement;

namespace {

/// So far below zero exp is still normal: e^-87 is 1.4 times the smallest normal number.
constexpr float kFarthest = 87.0f;
/// 1.5·2^23 + 191, which exp_nonpositive adds to round to an integer and to bias an exponent by 127 + 64; the same without the bias.
constexpr std::uint32_t kRoundBiased = 0x4b4000bf, kRound = 0x4b400000;

/// The steps of exp_nonpositive as LLVM values, for arguments from -kFarthest to 0: without the clamp, and with the power of two added
/// to the exponent instead of multiplied in two steps. Every product that is left out is exact there.
struct QuickSteps {
  using Value = llvm::Value*;
  llvm::IRBuilder<>& ir;
  llvm::Type* real;
  llvm::Type* integer;

  Value constant_f32(std::uint32_t bits) {
    return ir.CreateBitCast(constant_i32(bits == kRoundBiased ? kRound : bits), real);
  }
  Value constant_i32(std::uint32_t bits) { return llvm::ConstantInt::get(integer, bits); }
  Value apply(math::StepOp op, Value a, Value b, Value c) {
    using S = math::StepOp;
    switch (op) {
      case S::lt: return nullptr;  // of the clamp
      case S::select: return c;
      case S::sub: return ir.CreateFSub(a, b);
      case S::fma: return ir.CreateIntrinsic(llvm::Intrinsic::fma, {real}, {a, b, c});
      case S::bits_of: return ir.CreateBitCast(a, integer);
      case S::ishl: return ir.CreateShl(a, b);
      case S::from_bits: return a;
      case S::mul:
        if (b->getType() != integer) return a;
        return ir.CreateBitCast(ir.CreateAdd(ir.CreateBitCast(a, integer), b), real);
      default: internal_error("exp_nonpositive has a step that its short form does not know");
    }
  }
};

/// The lane operation of a step of exp_nonpositive; nothing for those that it does not have.
std::optional<Op> lane_op(math::StepOp op) {
  using S = math::StepOp;
  switch (op) {
    case S::constant_f32:
    case S::constant_i32: return Op::constant;
    case S::lt: return Op::lt;
    case S::select: return Op::select;
    case S::sub: return Op::sub;
    case S::fma: return Op::fma;
    case S::mul: return Op::mul;
    case S::ishl: return Op::shift_left;
    case S::bits_of:
    case S::from_bits: return Op::bitcast;
    default: return std::nullopt;
  }
}

}  // namespace

bool is_exp_nonpositive(const lane::Function& function) {
  // A function of this name in a module that somebody wrote may be any other.
  const std::span<const math::Step> steps = math::steps(math::Function::exp_nonpositive);
  if (function.parameters != std::vector{ElementType::f32} || function.body.size() != steps.size()) return false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Statement& s = function.body[i];
    const math::Step& step = steps[i];
    if (s.op != lane_op(step.op) || s.result != i + 1 || s.bits != step.bits) return false;
    const std::uint16_t operands[] = {step.a, step.b, step.c};
    if (!std::equal(s.operands.begin(), s.operands.end(), operands)) return false;
  }
  return function.returns == std::vector{static_cast<lane::ValueId>(steps.size())};
}

std::vector<KernelCodegen::QuickCall> KernelCodegen::quick_calls(const Statement& loop) const {
  if (mask_ || kernel_.simd_groups > 1) return {};
  std::vector<QuickCall> calls;
  std::vector<bool> read(kernel_.shared.size()), written(kernel_.shared.size());
  for (const Statement& s : loop.body) {
    // A step that turns out to have other arguments is done again, so doing it twice must be as good as once.
    if (s.op > Op::get && s.op != Op::load && s.op != Op::shared_load && s.op != Op::shared_store) return {};
    if (s.op == Op::shared_load) read[s.a] = true;
    if (s.op == Op::shared_store) written[s.a] = true;
    if (s.op != Op::call || !quick_functions_[s.a]) continue;
    for (const Statement& argument : loop.body)
      if (argument.results == 1 && argument.result == s.operands[0] && argument.op == Op::sub)
        calls.push_back({&s, argument.operands[0], argument.operands[1]});
  }
  for (std::size_t i = 0; i < read.size(); ++i)
    if (read[i] && written[i]) return {};
  // The single vectors at the end of a row are not worth a second loop.
  return calls.size() > 1 ? calls : std::vector<QuickCall>();
}

llvm::Value* KernelCodegen::emit_quick_loop(const Statement& s, Values& values, llvm::BasicBlock* end) {
  llvm::Type* integer = vector_of(ir_.getInt32Ty());
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  // A call sees that it is one of them by this.
  loop_->greatest = entry.CreateAlloca(integer);
  ir_.CreateStore(llvm::Constant::getNullValue(integer), loop_->greatest);
  llvm::BasicBlock* rest = llvm::BasicBlock::Create(context_, "whole_exp", function_);
  llvm::Value* from = nullptr;
  emit_counting(s, values, as_scalar(values[s.operands[0]]), [&](llvm::Value* at) {
    emit_block(s.body, values, kernel_.types);
    llvm::BasicBlock* next = llvm::BasicBlock::Create(context_, "next", function_);
    llvm::Value* greatest = ir_.CreateLoad(integer, loop_->greatest);
    llvm::Value* beyond = any(ir_.CreateICmpUGT(greatest, i32_like(greatest, std::bit_cast<std::uint32_t>(kFarthest))));
    ir_.CreateCondBr(beyond, rest, next, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
    ir_.SetInsertPoint(next);
    from = at;
  });
  ir_.CreateBr(end);
  ir_.SetInsertPoint(rest);
  loop_->greatest = nullptr;
  return from;
}

bool KernelCodegen::quick_exp(const Statement& call, Values& values) {
  if (!loop_ || !loop_->greatest) return false;
  for (const QuickCall& c : loop_->quick_calls) {
    if (c.call != &call) continue;
    llvm::Value* distance = ir_.CreateFSub(as_vector(values[c.right]), as_vector(values[c.left]));
    // As integers without a sign, NaNs and negative numbers lie above all others.
    llvm::Value* bits = ir_.CreateBitCast(distance, vector_of(ir_.getInt32Ty()));
    llvm::Value* greatest = ir_.CreateLoad(bits->getType(), loop_->greatest);
    ir_.CreateStore(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, bits, greatest), loop_->greatest);
    QuickSteps steps{ir_, distance->getType(), bits->getType()};
    values[call.result] =
        LaneValue::vector(math::evaluate(math::Function::exp_nonpositive, steps, ir_.CreateFNeg(distance)));
    return true;
  }
  return false;
}

}  // namespace lanefold::jit
