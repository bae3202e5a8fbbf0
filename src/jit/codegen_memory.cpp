#include <bit>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "jit/codegen.h"

namespace lanefold::jit {

using Form = LaneValue::Form;

llvm::Type* KernelCodegen::memory_type(ElementType type) const {
  switch (element_bytes(type)) {
    case 1: return llvm::Type::getInt8Ty(context_);
    case 2: return llvm::Type::getInt16Ty(context_);
    case 4: return type == ElementType::f32 ? llvm::Type::getFloatTy(context_) : llvm::Type::getInt32Ty(context_);
    default: return llvm::Type::getInt64Ty(context_);
  }
}

llvm::Type* KernelCodegen::shaped(llvm::Type* scalar, llvm::Value* like) const {
  return like->getType()->isVectorTy() ? vector_of(scalar) : scalar;
}

llvm::Constant* KernelCodegen::i32_like(llvm::Value* like, std::uint32_t value) const {
  return llvm::ConstantInt::get(shaped(llvm::Type::getInt32Ty(context_), like), value);
}

llvm::Constant* KernelCodegen::f32_like(llvm::Value* like, float value) const {
  return llvm::ConstantFP::get(shaped(llvm::Type::getFloatTy(context_), like), static_cast<double>(value));
}

void KernelCodegen::tag(llvm::Instruction* access, bool shared) {
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, shared ? shared_scope_ : buffer_scope_);
  access->setMetadata(llvm::LLVMContext::MD_noalias, shared ? buffer_scope_ : shared_scope_);
}

llvm::Value* KernelCodegen::pointer(llvm::Value* base, ElementType storage, llvm::Value* address) {
  return ir_.CreateGEP(memory_type(storage), base, address);
}

llvm::Value* KernelCodegen::load_contiguous(llvm::Value* base, ElementType storage, llvm::Value* address, bool shared) {
  llvm::Type* type = vector_of(memory_type(storage));
  llvm::Value* from = pointer(base, storage, address);
  const llvm::Align align(element_bytes(storage));
  if (in_pieces(storage, true)) return load_prefix(memory_type(storage), from, align, shared);
  llvm::Instruction* loaded = nullptr;
  if (mask_)
    loaded = ir_.CreateMaskedLoad(type, from, align, mask_, llvm::Constant::getNullValue(type));
  else
    loaded = ir_.CreateAlignedLoad(type, from, align);
  tag(loaded, shared);
  return loaded;
}

llvm::Value* KernelCodegen::load_lanes(llvm::Value* base, ElementType storage, const LaneValue& address, bool shared) {
  llvm::Type* element = memory_type(storage);
  llvm::Type* type = vector_of(element);
  const llvm::Align align(element_bytes(storage));
  llvm::Value* addresses = as_vector(address);
  if (mask_) {
    llvm::Value* pointers = ir_.CreateGEP(element, base, addresses);
    llvm::Instruction* loaded =
        ir_.CreateMaskedGather(type, pointers, align, mask_, llvm::Constant::getNullValue(type));
    tag(loaded, shared);
    return loaded;
  }
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (std::uint32_t i = 0; i < width_; ++i) {
    llvm::Instruction* loaded =
        ir_.CreateAlignedLoad(element, pointer(base, storage, ir_.CreateExtractElement(addresses, i)), align);
    tag(loaded, shared);
    result = ir_.CreateInsertElement(result, loaded, i);
  }
  return result;
}

LaneValue KernelCodegen::load(llvm::Value* base, ElementType storage, const LaneValue& address, bool shared) {
  const llvm::Align align(element_bytes(storage));
  if (address.form == Form::affine && address.stride == 1)
    return LaneValue::vector(widen(load_contiguous(base, storage, address.value, shared), storage));
  if (address.form != Form::scalar)
    return LaneValue::vector(widen(load_lanes(base, storage, address, shared), storage));
  llvm::Type* element = memory_type(storage);
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock *here = nullptr, *after = nullptr;
  if (mask_) {
    // No lane may be there at all, and then the address means nothing.
    here = llvm::BasicBlock::Create(context_, "load", function_);
    after = llvm::BasicBlock::Create(context_, "loaded", function_);
    ir_.CreateCondBr(any(mask_), here, after);
    ir_.SetInsertPoint(here);
  }
  llvm::Instruction* loaded = ir_.CreateAlignedLoad(element, pointer(base, storage, address.value), align);
  tag(loaded, shared);
  llvm::Value* value = loaded;
  if (mask_) {
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after);
    llvm::PHINode* either = ir_.CreatePHI(element, 2);
    either->addIncoming(llvm::Constant::getNullValue(element), before);
    either->addIncoming(loaded, here);
    value = either;
  }
  return LaneValue::scalar(widen(value, storage));
}

void KernelCodegen::store(llvm::Value* base, ElementType storage, const LaneValue& address, const LaneValue& value,
                          bool shared, bool streaming) {
  const llvm::Align align(element_bytes(storage));
  if (address.form == Form::affine && address.stride == 1) {
    llvm::Value* stored = narrow(as_vector(value), storage);
    llvm::Value* to = pointer(base, storage, address.value);
    if (streaming && !mask_ && kernel_.simd_groups == 1) {
      llvm::Instruction* access = ir_.CreateAlignedStore(stored, to, llvm::Align(element_bytes(storage) * width_));
      access->setMetadata(llvm::LLVMContext::MD_nontemporal,
                          llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(ir_.getInt32(1))));
      tag(access, shared);
      return;
    }
    if (in_pieces(storage, false)) return store_prefix(stored, memory_type(storage), to, align, shared);
    llvm::Instruction* access = mask_ ? static_cast<llvm::Instruction*>(ir_.CreateMaskedStore(stored, to, align, mask_))
                                      : ir_.CreateAlignedStore(stored, to, align);
    tag(access, shared);
    return;
  }
  if (address.form == Form::scalar && (value.form == Form::scalar || !mask_)) {
    // One place for all lanes: the last active lane's value stays, and here they agree.
    llvm::Value* scalar =
        value.form == Form::scalar ? value.value : ir_.CreateExtractElement(as_vector(value), width_ - 1);
    llvm::BasicBlock* after = nullptr;
    if (mask_) {
      llvm::BasicBlock* here = llvm::BasicBlock::Create(context_, "store", function_);
      after = llvm::BasicBlock::Create(context_, "stored", function_);
      ir_.CreateCondBr(any(mask_), here, after);
      ir_.SetInsertPoint(here);
    }
    tag(ir_.CreateAlignedStore(narrow(scalar, storage), pointer(base, storage, address.value), align), shared);
    if (mask_) {
      ir_.CreateBr(after);
      ir_.SetInsertPoint(after);
    }
    return;
  }
  llvm::Value* stored = narrow(as_vector(value), storage);
  llvm::Value* addresses = as_vector(address);
  if (mask_) {
    llvm::Value* pointers = ir_.CreateGEP(memory_type(storage), base, addresses);
    tag(ir_.CreateMaskedScatter(stored, pointers, align, mask_), shared);
    return;
  }
  for (std::uint32_t i = 0; i < width_; ++i)
    tag(ir_.CreateAlignedStore(ir_.CreateExtractElement(stored, i),
                               pointer(base, storage, ir_.CreateExtractElement(addresses, i)), align),
        shared);
}

llvm::Value* KernelCodegen::widen_half(llvm::Value* bits) {
  if (features_.half_conversion) {
    llvm::Value* half =
        ir_.CreateBitCast(ir_.CreateTrunc(bits, shaped(ir_.getInt16Ty(), bits)), shaped(ir_.getHalfTy(), bits));
    return ir_.CreateFPExt(half, shaped(ir_.getFloatTy(), bits));
  }
  llvm::Type* real = shaped(ir_.getFloatTy(), bits);
  llvm::Value* sign = ir_.CreateShl(ir_.CreateAnd(bits, i32_like(bits, 0x8000)), 16);
  llvm::Value* magnitude = ir_.CreateAnd(bits, i32_like(bits, 0x7fff));
  llvm::Value* normal = ir_.CreateAdd(ir_.CreateShl(magnitude, 13), i32_like(bits, 112u << 23));
  llvm::Value* special = ir_.CreateAdd(normal, i32_like(bits, 112u << 23));
  // A subnormal is its integer times 2^-24, exactly.
  llvm::Value* small =
      ir_.CreateBitCast(ir_.CreateFMul(ir_.CreateUIToFP(magnitude, real), f32_like(bits, 0x1p-24f)), bits->getType());
  llvm::Value* result = ir_.CreateSelect(ir_.CreateICmpUGE(magnitude, i32_like(bits, 0x7c00)), special, normal);
  result = ir_.CreateSelect(ir_.CreateICmpULT(magnitude, i32_like(bits, 0x0400)), small, result);
  return ir_.CreateBitCast(ir_.CreateOr(sign, result), real);
}

llvm::Value* KernelCodegen::widen(llvm::Value* stored, ElementType storage) {
  switch (storage) {
    case ElementType::f32:
    case ElementType::i32:
    case ElementType::i64: return stored;
    case ElementType::i8: return ir_.CreateSExt(stored, shaped(ir_.getInt32Ty(), stored));
    case ElementType::boolean: return ir_.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
    default: break;
  }
  llvm::Value* bits = ir_.CreateZExt(stored, shaped(ir_.getInt32Ty(), stored));
  llvm::Type* real = shaped(ir_.getFloatTy(), stored);
  switch (storage) {
    case ElementType::bf16: return ir_.CreateBitCast(ir_.CreateShl(bits, 16), real);
    case ElementType::f16: return widen_half(bits);
    case ElementType::e5m2: return widen_half(ir_.CreateShl(bits, 8));
    case ElementType::e4m3: {
      llvm::Value* sign = ir_.CreateShl(ir_.CreateAnd(bits, i32_like(bits, 0x80)), 24);
      llvm::Value* magnitude = ir_.CreateAnd(bits, i32_like(bits, 0x7f));
      llvm::Value* normal = ir_.CreateAdd(ir_.CreateShl(magnitude, 20), i32_like(bits, 120u << 23));
      llvm::Value* small = ir_.CreateBitCast(ir_.CreateFMul(ir_.CreateUIToFP(magnitude, real), f32_like(bits, 0x1p-9f)),
                                             bits->getType());
      llvm::Value* result = ir_.CreateSelect(ir_.CreateICmpULT(magnitude, i32_like(bits, 8)), small, normal);
      result = ir_.CreateSelect(ir_.CreateICmpEQ(magnitude, i32_like(bits, 0x7f)), i32_like(bits, 0x7fc00000u), result);
      return ir_.CreateBitCast(ir_.CreateOr(sign, result), real);
    }
    default: internal_error("a load of " + std::string(element_name(storage)));
  }
}

llvm::Value* KernelCodegen::narrow_half(llvm::Value* value) {
  llvm::Value* nan = ir_.CreateFCmpUNO(value, value);
  llvm::Type* narrow_type = shaped(ir_.getInt16Ty(), value);
  if (features_.half_conversion) {
    llvm::Value* half = ir_.CreateBitCast(ir_.CreateFPTrunc(value, shaped(ir_.getHalfTy(), value)), narrow_type);
    return ir_.CreateSelect(nan, llvm::ConstantInt::get(narrow_type, 0x7e00), half);
  }
  llvm::Value* bits = ir_.CreateBitCast(value, shaped(ir_.getInt32Ty(), value));
  llvm::Value* sign = ir_.CreateLShr(ir_.CreateAnd(bits, i32_like(bits, 0x80000000u)), 16);
  llvm::Value* magnitude = ir_.CreateAnd(bits, i32_like(bits, 0x7fffffffu));
  llvm::Value* odd = ir_.CreateAnd(ir_.CreateLShr(magnitude, 13), i32_like(bits, 1));
  llvm::Value* rounded = ir_.CreateAdd(magnitude, ir_.CreateAdd(odd, i32_like(bits, 0x0fffu - (112u << 23))));
  llvm::Value* normal = ir_.CreateLShr(rounded, 13);
  normal = ir_.CreateSelect(ir_.CreateICmpUGE(magnitude, i32_like(bits, 0x477ff000u)), i32_like(bits, 0x7c00), normal);
  // One half has the spacing of f16 subnormals, so that the addition rounds to them.
  llvm::Value* real = ir_.CreateBitCast(magnitude, value->getType());
  llvm::Value* sum = ir_.CreateBitCast(ir_.CreateFAdd(real, f32_like(value, 0.5f)), bits->getType());
  llvm::Value* small = ir_.CreateSub(sum, i32_like(bits, std::bit_cast<std::uint32_t>(0.5f)));
  llvm::Value* result = ir_.CreateSelect(ir_.CreateICmpULT(magnitude, i32_like(bits, 113u << 23)), small, normal);
  result = ir_.CreateSelect(nan, i32_like(bits, 0x7e00), ir_.CreateOr(sign, result));
  return ir_.CreateTrunc(result, narrow_type);
}

llvm::Value* KernelCodegen::narrow_small(llvm::Value* value, std::uint32_t shift, std::uint32_t exponent_offset,
                                         float magic, std::uint32_t largest) {
  llvm::Value* bits = ir_.CreateBitCast(value, shaped(ir_.getInt32Ty(), value));
  llvm::Value* sign = ir_.CreateLShr(ir_.CreateAnd(bits, i32_like(bits, 0x80000000u)), 24);
  llvm::Value* magnitude = ir_.CreateAnd(bits, i32_like(bits, 0x7fffffffu));
  llvm::Value* odd = ir_.CreateAnd(ir_.CreateLShr(magnitude, shift), i32_like(bits, 1));
  llvm::Value* rounded =
      ir_.CreateAdd(magnitude, ir_.CreateAdd(odd, i32_like(bits, (1u << (shift - 1)) - 1 - (exponent_offset << 23))));
  llvm::Value* normal = ir_.CreateLShr(rounded, shift);
  llvm::Value* real = ir_.CreateBitCast(magnitude, value->getType());
  llvm::Value* sum = ir_.CreateBitCast(ir_.CreateFAdd(real, f32_like(value, magic)), bits->getType());
  llvm::Value* small = ir_.CreateSub(sum, i32_like(bits, std::bit_cast<std::uint32_t>(magic)));
  llvm::Value* result =
      ir_.CreateSelect(ir_.CreateICmpULT(magnitude, i32_like(bits, (exponent_offset + 1) << 23)), small, normal);
  // Everything beyond the largest number saturates, infinities too.
  result = ir_.CreateSelect(ir_.CreateICmpUGT(result, i32_like(bits, largest)), i32_like(bits, largest), result);
  result = ir_.CreateSelect(ir_.CreateFCmpUNO(value, value), i32_like(bits, 0x7f), ir_.CreateOr(sign, result));
  return ir_.CreateTrunc(result, shaped(ir_.getInt8Ty(), value));
}

llvm::Value* KernelCodegen::narrow(llvm::Value* value, ElementType storage) {
  switch (storage) {
    case ElementType::f32:
    case ElementType::i32:
    case ElementType::i64: return value;
    case ElementType::i8: return ir_.CreateTrunc(value, shaped(ir_.getInt8Ty(), value));
    case ElementType::boolean: return ir_.CreateZExt(value, shaped(ir_.getInt8Ty(), value));
    case ElementType::f16: return narrow_half(value);
    case ElementType::e4m3: return narrow_small(value, 20, 120, 16384.0f, 0x7e);
    case ElementType::e5m2: return narrow_small(value, 21, 112, 128.0f, 0x7b);
    case ElementType::bf16:
      return ir_.CreateTrunc(ir_.CreateLShr(rounded_to_high_half(value), 16), shaped(ir_.getInt16Ty(), value));
    default: internal_error("a store of " + std::string(element_name(storage)));
  }
}

}  // namespace lanefold::jit
