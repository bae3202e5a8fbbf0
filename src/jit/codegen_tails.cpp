// The tail of a row: where exactly the first lanes are active, pieces of halving width replace masked accesses, which processors without AVX-512
// do slowly (32-bit elements) or lane by lane (narrower ones).
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "jit/codegen.h"

namespace lanefold::jit {
namespace {

/// `width` elements of `a` and then of `b`, from element `first` on.
llvm::Value* slice(llvm::IRBuilder<>& ir, llvm::Value* a, llvm::Value* b, std::uint32_t first, std::uint32_t width) {
  std::vector<int> table;
  for (std::uint32_t i = 0; i < width; ++i) table.push_back(static_cast<int>(first + i));
  return ir.CreateShuffleVector(a, b, table);
}

}  // namespace

bool KernelCodegen::in_pieces(ElementType storage, bool loads) const {
  if (!mask_ || !prefix_ || features_.narrow_masks || width_ < 2) return false;
  return !loads || element_bytes(storage) < 4;
}

llvm::Value* KernelCodegen::prefix_count() {
  llvm::Value* none = ir_.getInt64(0);
  llvm::Value* count = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, prefix_, none);
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, ir_.getInt64(width_));
}

/// Emits `inside` where the count has that bit, which is given the first lane of the piece; both ways meet again behind it.
std::pair<llvm::BasicBlock*, llvm::BasicBlock*> KernelCodegen::where_bit(
    llvm::Value* count, std::uint32_t bit, const std::function<void(llvm::Value*)>& inside) {
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* piece = llvm::BasicBlock::Create(context_, "piece", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context_, "rest", function_);
  llvm::Value* has = ir_.CreateICmpNE(ir_.CreateAnd(count, ir_.getInt64(bit)), ir_.getInt64(0));
  ir_.CreateCondBr(has, piece, after);
  ir_.SetInsertPoint(piece);
  inside(ir_.CreateAnd(count, ir_.getInt64(~(std::uint64_t{2} * bit - 1))));
  piece = ir_.GetInsertBlock();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
  return {before, piece};
}

llvm::Value* KernelCodegen::load_prefix(llvm::Type* element, llvm::Value* from, llvm::Align align, bool shared) {
  llvm::Value* count = prefix_count();
  const auto piece_at = [&](llvm::Value* first, std::uint32_t width) {
    llvm::Instruction* loaded =
        ir_.CreateAlignedLoad(llvm::FixedVectorType::get(element, width), ir_.CreateGEP(element, from, first), align);
    tag(loaded, shared);
    return loaded;
  };
  // From the narrowest piece up: `result` is what the bits seen so far stand for, followed by zeros.
  llvm::Value* result = llvm::Constant::getNullValue(llvm::FixedVectorType::get(element, 1));
  for (std::uint32_t bit = 1; bit < width_; bit *= 2) {
    llvm::Value* zeros = llvm::Constant::getNullValue(result->getType());
    llvm::Value* without = slice(ir_, result, zeros, 0, 2 * bit);
    llvm::Value* with = nullptr;
    const auto [before, piece] =
        where_bit(count, bit, [&](llvm::Value* first) { with = slice(ir_, piece_at(first, bit), result, 0, 2 * bit); });
    llvm::PHINode* either = ir_.CreatePHI(without->getType(), 2);
    either->addIncoming(without, before);
    either->addIncoming(with, piece);
    result = either;
  }
  llvm::Value* all = nullptr;
  const auto [before, piece] = where_bit(count, width_, [&](llvm::Value*) { all = piece_at(ir_.getInt64(0), width_); });
  llvm::PHINode* either = ir_.CreatePHI(result->getType(), 2);
  either->addIncoming(result, before);
  either->addIncoming(all, piece);
  return either;
}

void KernelCodegen::store_prefix(llvm::Value* stored, llvm::Type* element, llvm::Value* to, llvm::Align align,
                                 bool shared) {
  llvm::Value* count = prefix_count();
  llvm::Value* rest = stored;
  for (std::uint32_t bit = width_; bit >= 1; bit /= 2) {
    llvm::Value* piece = slice(ir_, rest, rest, 0, bit);
    const auto [before, behind] = where_bit(count, bit, [&](llvm::Value* first) {
      tag(ir_.CreateAlignedStore(piece, ir_.CreateGEP(element, to, first), align), shared);
    });
    if (bit == width_ || bit == 1) continue;  // all of it, or nothing left
    // The elements that come next: those behind the piece where it was stored, else its own.
    llvm::PHINode* next = ir_.CreatePHI(piece->getType(), 2);
    llvm::IRBuilder<> end(behind->getTerminator());
    next->addIncoming(piece, before);
    next->addIncoming(slice(end, rest, rest, bit, bit), behind);
    rest = next;
  }
}

}  // namespace lanefold::jit
