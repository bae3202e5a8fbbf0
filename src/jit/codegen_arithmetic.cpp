#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/PatternMatch.h>

#include <utility>

#include "jit/codegen.h"

namespace lanefold::jit {

using lane::Op;
using lane::Statement;
using Form = LaneValue::Form;

namespace {

bool is_compare(Op op) {
  switch (op) {
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge: return true;
    default: return false;
  }
}

llvm::CmpInst::Predicate predicate(Op op, bool real) {
  switch (op) {
    case Op::eq: return real ? llvm::CmpInst::FCMP_OEQ : llvm::CmpInst::ICMP_EQ;
    case Op::ne: return real ? llvm::CmpInst::FCMP_UNE : llvm::CmpInst::ICMP_NE;
    case Op::lt: return real ? llvm::CmpInst::FCMP_OLT : llvm::CmpInst::ICMP_SLT;
    case Op::le: return real ? llvm::CmpInst::FCMP_OLE : llvm::CmpInst::ICMP_SLE;
    case Op::gt: return real ? llvm::CmpInst::FCMP_OGT : llvm::CmpInst::ICMP_SGT;
    default: return real ? llvm::CmpInst::FCMP_OGE : llvm::CmpInst::ICMP_SGE;
  }
}

std::optional<Range> result_range(const Statement& s, const std::vector<LaneValue>& operands) {
  if (operands.size() != 2) return std::nullopt;
  return range_of(s.op, operands[0].known_range(), operands[1].known_range());
}

}  // namespace

LaneValue LaneValue::affine(llvm::Value* base, std::uint64_t stride, std::optional<Range> range) {
  const bool narrow = base->getType()->isIntegerTy(32);
  const auto wrapped = narrow ? std::int64_t{static_cast<std::int32_t>(stride)} : static_cast<std::int64_t>(stride);
  return {Form::affine, base, wrapped, range};
}

std::optional<Range> LaneValue::known_range() const {
  if (form == Form::vector || !value->getType()->isIntegerTy(32)) return std::nullopt;
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value))
    return Range{constant->getSExtValue(), constant->getSExtValue()};
  return range;
}

LaneValue KernelCodegen::sign_extend(const LaneValue& v, bool exact) {
  llvm::Type* wide = ir_.getInt64Ty();
  if (v.form == Form::vector || (v.stride != 0 && !exact))
    return LaneValue::vector(ir_.CreateSExt(as_vector(v), vector_of(wide)));
  return {v.form, ir_.CreateSExt(v.value, wide), v.stride, {}};
}

LaneValue KernelCodegen::affine_arithmetic(const Statement& s, const std::vector<LaneValue>& operands) {
  const LaneValue none = LaneValue::vector(nullptr);
  const auto constant = [&](std::size_t i) { return llvm::dyn_cast<llvm::ConstantInt>(operands[i].value); };
  for (const LaneValue& v : operands)
    if (v.form == Form::vector) return none;
  // Strides wrap as the values do.
  const auto stride = [&](std::size_t i) { return static_cast<std::uint64_t>(operands[i].stride); };
  const std::optional<Range> range = result_range(s, operands);
  switch (s.op) {
    case Op::add:
      return LaneValue::affine(ir_.CreateAdd(operands[0].value, operands[1].value), stride(0) + stride(1), range);
    case Op::sub:
      return LaneValue::affine(ir_.CreateSub(operands[0].value, operands[1].value), stride(0) - stride(1), range);
    case Op::mul: {
      const std::size_t scalar_side = operands[0].form == Form::scalar ? 0 : 1;
      if (!constant(scalar_side) || operands[scalar_side].form != Form::scalar) return none;
      const auto factor = static_cast<std::uint64_t>(constant(scalar_side)->getSExtValue());
      return LaneValue::affine(ir_.CreateMul(operands[0].value, operands[1].value), stride(1 - scalar_side) * factor,
                               range);
    }
    case Op::shift_left:
      if (!constant(1) || operands[1].form != Form::scalar || constant(1)->getValue().uge(64)) return none;
      return LaneValue::affine(ir_.CreateShl(operands[0].value, operands[1].value),
                               stride(0) << constant(1)->getZExtValue(), range);
    default: return none;
  }
}

LaneValue KernelCodegen::arithmetic(const Statement& s, const std::vector<LaneValue>& operands,
                                    const std::vector<ElementType>& types) {
  bool scalars = true, affine = false;
  for (const LaneValue& v : operands) {
    scalars = scalars && v.form == Form::scalar;
    affine = affine || v.form == Form::affine;
  }
  const ElementType from = types[s.operands.back()], to = types[s.result];
  if (affine) {
    if (s.op == Op::convert && from == ElementType::i32 && to == ElementType::i64)
      return sign_extend(operands[0], stays_within_i32(operands[0].known_range(), operands[0].stride, width_));
    if (s.op == Op::convert && from == ElementType::i64 && to == ElementType::i32)
      return LaneValue::affine(ir_.CreateTrunc(operands[0].value, ir_.getInt32Ty()),
                               static_cast<std::uint64_t>(operands[0].stride));
    if (const LaneValue result = affine_arithmetic(s, operands); result.value) return result;
  }
  std::vector<llvm::Value*> values;
  for (const LaneValue& v : operands) values.push_back(scalars ? v.value : as_vector(v));
  llvm::Value* result = operation(s, values, from, to, !scalars);
  if (scalars) return LaneValue::scalar(result, result_range(s, operands));
  LaneValue lanes = LaneValue::vector(result);
  const bool counts = s.op == Op::lt && from == ElementType::i32 && operands[0].form == Form::affine &&
                      operands[0].stride == 1 && operands[1].form == Form::scalar;
  // base + lane < limit, where base + lane does not wrap, in i64 so that limit − base does not either.
  if (counts && stays_within_i32(operands[0].known_range(), 1, width_)) {
    llvm::Type* wide = ir_.getInt64Ty();
    lanes.prefix = ir_.CreateSub(ir_.CreateSExt(operands[1].value, wide), ir_.CreateSExt(operands[0].value, wide));
  }
  return lanes;
}

// Not LLVM's intrinsics for these: until its version 22 the optimiser reads past a table where the other operand is also one
// of a call such as trunc or fma (llvm-project pull request 173705), wherever it comes to see the two together. A comparison
// and a select are one instruction of x86, which returns its second operand for two zeros and for a NaN.
llvm::Value* KernelCodegen::minimum_or_maximum(bool maximum, llvm::Value* a, llvm::Value* b) {
  const auto predicate = maximum ? llvm::CmpInst::FCMP_OGT : llvm::CmpInst::FCMP_OLT;
  const auto of = [&](llvm::Value* first, llvm::Value* second) {
    return ir_.CreateSelect(ir_.CreateFCmp(predicate, first, second), first, second);
  };
  for (const auto& [constant, other] : {std::pair(a, b), std::pair(b, a)}) {
    const llvm::APFloat* number = nullptr;
    if (llvm::PatternMatch::match(constant, llvm::PatternMatch::m_APFloat(number)) && !number->isNaN() &&
        !number->isZero())
      return of(constant, other);
  }
  llvm::Type* bits = ir_.getInt32Ty();
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType()))
    bits = llvm::FixedVectorType::get(bits, vector->getNumElements());
  llvm::Value* negative = ir_.CreateICmpSLT(ir_.CreateBitCast(a, bits), llvm::Constant::getNullValue(bits));
  llvm::Value* first = ir_.CreateSelect(negative, maximum ? a : b, maximum ? b : a);
  llvm::Value* second = ir_.CreateSelect(negative, maximum ? b : a, maximum ? a : b);
  return ir_.CreateSelect(ir_.CreateFCmpUNO(first, first), first, of(first, second));
}

llvm::Value* KernelCodegen::safe_divisor(llvm::Value* divisor) {
  if (!mask_ || llvm::isa<llvm::Constant>(divisor)) return divisor;
  llvm::Value* active = divisor->getType()->isVectorTy() ? mask_ : any(mask_);
  return ir_.CreateSelect(active, divisor, llvm::ConstantInt::get(divisor->getType(), 1));
}

llvm::Value* KernelCodegen::convert(llvm::Value* value, ElementType from, ElementType to, bool vector) {
  llvm::Type* type = vector ? vector_of(scalar_type(to)) : scalar_type(to);
  if (from == to) return value;
  if (to == ElementType::f32) {
    if (from == ElementType::boolean) return ir_.CreateUIToFP(value, type);
    return ir_.CreateSIToFP(value, type);
  }
  if (from == ElementType::f32) {
    // LLVM takes its own saturating conversion apart lane by lane; selects around the plain one stay vectors.
    const float edge = to == ElementType::i32 ? 0x1p31f : 0x1p63f;
    llvm::Value* number = ir_.CreateSelect(ir_.CreateFCmpUNO(value, value), f32_like(value, 0), value);
    llvm::Value* high = ir_.CreateFCmpOGE(number, f32_like(value, edge));
    llvm::Value* inside =
        ir_.CreateSelect(ir_.CreateFCmpOLT(number, f32_like(value, -edge)), f32_like(value, -edge), number);
    llvm::Value* converted = ir_.CreateFPToSI(ir_.CreateSelect(high, f32_like(value, 0), inside), type);
    const std::int64_t largest = to == ElementType::i32 ? INT32_MAX : INT64_MAX;
    return ir_.CreateSelect(high, llvm::ConstantInt::get(type, static_cast<std::uint64_t>(largest)), converted);
  }
  if (from == ElementType::boolean) return ir_.CreateZExt(value, type);
  return ir_.CreateSExtOrTrunc(value, type);
}

llvm::Value* KernelCodegen::operation(const Statement& s, const std::vector<llvm::Value*>& v, ElementType operand_type,
                                      ElementType result_type, bool vector) {
  const bool real = operand_type == ElementType::f32;
  if (is_compare(s.op)) {
    if (real) return ir_.CreateFCmp(predicate(s.op, true), v[0], v[1]);
    return ir_.CreateICmp(predicate(s.op, false), v[0], v[1]);
  }
  switch (s.op) {
    case Op::neg: return real ? ir_.CreateFNeg(v[0]) : ir_.CreateNeg(v[0]);
    case Op::abs: return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v[0]);
    case Op::sqrt: return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v[0]);
    case Op::trunc: return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, v[0]);
    case Op::canonical_nan: {
      auto* nan =
          llvm::ConstantFP::get(context_, llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, 0x7fc00000u)));
      llvm::Value* pattern =
          vector ? static_cast<llvm::Value*>(llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(width_), nan))
                 : nan;
      return ir_.CreateSelect(ir_.CreateFCmpUNO(v[0], v[0]), pattern, v[0]);
    }
    case Op::bit_not: return ir_.CreateNot(v[0]);
    case Op::convert: return convert(v[0], operand_type, result_type, vector);
    case Op::bitcast:
      return ir_.CreateBitCast(v[0], vector ? vector_of(scalar_type(result_type)) : scalar_type(result_type));
    case Op::add: return real ? ir_.CreateFAdd(v[0], v[1]) : ir_.CreateAdd(v[0], v[1]);
    case Op::sub: return real ? ir_.CreateFSub(v[0], v[1]) : ir_.CreateSub(v[0], v[1]);
    case Op::mul: return real ? ir_.CreateFMul(v[0], v[1]) : ir_.CreateMul(v[0], v[1]);
    case Op::div: return real ? ir_.CreateFDiv(v[0], v[1]) : ir_.CreateSDiv(v[0], safe_divisor(v[1]));
    case Op::rem: return ir_.CreateSRem(v[0], safe_divisor(v[1]));
    case Op::min:
      return real ? minimum_or_maximum(false, v[0], v[1])
                  : ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v[0], v[1]);
    case Op::max:
      return real ? minimum_or_maximum(true, v[0], v[1]) : ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v[0], v[1]);
    case Op::bit_and: return ir_.CreateAnd(v[0], v[1]);
    case Op::bit_or: return ir_.CreateOr(v[0], v[1]);
    case Op::bit_xor: return ir_.CreateXor(v[0], v[1]);
    case Op::shift_left: return ir_.CreateShl(v[0], v[1]);
    case Op::shift_right: return ir_.CreateAShr(v[0], v[1]);
    case Op::fma: return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {v[0]->getType()}, {v[0], v[1], v[2]});
    case Op::select: return ir_.CreateSelect(v[0], v[1], v[2]);
    default: internal_error("operation " + std::string(lane::op_name(s.op)) + " has no code generation");
  }
}

}  // namespace lanefold::jit
