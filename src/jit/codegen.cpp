#include "jit/codegen.h"

#include <bit>
#include <functional>
#include <utility>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

namespace lanefold::jit {

using lane::Op;
using lane::Statement;
using Form = LaneValue::Form;

namespace {

void find_scalar_gets(const std::vector<Statement>& block, const std::function<void(const Statement&)>& visit) {
  for (const Statement& s : block) {
    visit(s);
    find_scalar_gets(s.body, visit);
    find_scalar_gets(s.otherwise, visit);
  }
}

}  // namespace

KernelCodegen::KernelCodegen(const lane::Module& module, const lane::Kernel& kernel, llvm::Module& llvm_module,
                             Features features)
    : module_(module),
      kernel_(kernel),
      llvm_(llvm_module),
      context_(llvm_module.getContext()),
      ir_(context_),
      features_(features),
      width_(kernel.simd_width),
      variations_(lane::variations(module, kernel)) {
  for (const lane::RegisterArray& array : kernel.registers) scalar_elements_.emplace_back(array.size, true);
  // An element is one scalar where every read of it is the same in all lanes.
  find_scalar_gets(kernel.body, [&](const Statement& s) {
    if (s.op == Op::get && !scalar_by_analysis(s.result)) scalar_elements_[s.a][s.b] = false;
  });
  for (const lane::Function& function : module.functions) quick_functions_.push_back(is_exp_nonpositive(function));
  llvm::MDBuilder md(context_);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain("memory");
  llvm::MDNode* shared = md.createAnonymousAliasScope(domain, "threadgroup");
  llvm::MDNode* buffer = md.createAnonymousAliasScope(domain, "buffers");
  shared_scope_ = llvm::MDNode::get(context_, {shared});
  buffer_scope_ = llvm::MDNode::get(context_, {buffer});
}

bool KernelCodegen::scalar_by_analysis(lane::ValueId v) const {
  const lane::Variation& variation = variations_[v];
  return variation.affine && variation.stride == 0;
}

llvm::Type* KernelCodegen::scalar_type(ElementType type) const {
  switch (type) {
    case ElementType::boolean: return llvm::Type::getInt1Ty(context_);
    case ElementType::i32: return llvm::Type::getInt32Ty(context_);
    case ElementType::i64: return llvm::Type::getInt64Ty(context_);
    case ElementType::f32: return llvm::Type::getFloatTy(context_);
    default: internal_error("a register of type " + std::string(element_name(type)));
  }
}

llvm::Value* KernelCodegen::lane_numbers(llvm::Type* type) {
  std::vector<llvm::Constant*> numbers;
  for (std::uint32_t i = 0; i < width_; ++i) numbers.push_back(llvm::ConstantInt::get(type, i));
  return llvm::ConstantVector::get(numbers);
}

llvm::Value* KernelCodegen::as_vector(const LaneValue& v) {
  if (v.form == Form::vector) return v.value;
  llvm::Value* splat = ir_.CreateVectorSplat(width_, v.value);
  if (v.form == Form::scalar) return splat;
  llvm::Type* type = v.value->getType();
  llvm::Value* steps =
      ir_.CreateMul(lane_numbers(type), ir_.CreateVectorSplat(width_, llvm::ConstantInt::getSigned(type, v.stride)));
  return ir_.CreateAdd(splat, steps);
}

llvm::Value* KernelCodegen::as_scalar(const LaneValue& v) {
  return v.form == Form::vector ? ir_.CreateExtractElement(v.value, std::uint64_t{0}) : v.value;
}

llvm::Value* KernelCodegen::any(llvm::Value* mask) { return ir_.CreateOrReduce(mask); }

std::pair<llvm::Value*, llvm::Type*> KernelCodegen::element(std::uint32_t array, std::uint32_t index) {
  llvm::AllocaInst*& slot = elements_[array][index];
  llvm::Type* type = scalar_type(kernel_.registers[array].type);
  if (!scalar_elements_[array][index]) type = vector_of(type);
  const bool grouped = kernel_.simd_groups > 1;
  if (!slot) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    slot = entry.CreateAlloca(grouped ? llvm::ArrayType::get(type, kernel_.simd_groups) : type, nullptr,
                              kernel_.registers[array].name);
  }
  if (!grouped) return {slot, type};
  return {ir_.CreateInBoundsGEP(slot->getAllocatedType(), slot, {ir_.getInt32(0), group_}), type};
}

void KernelCodegen::emit(const std::string& name) {
  llvm::Type* pointer = llvm::PointerType::getUnqual(context_);
  llvm::Type* i64 = ir_.getInt64Ty();
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {pointer, i64, i64, pointer}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, llvm_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(context_, "entry", function_);
  ir_.SetInsertPoint(entry);
  elements_.clear();
  for (const lane::RegisterArray& array : kernel_.registers) elements_.emplace_back(array.size, nullptr);
  shared_ = function_->getArg(3);
  arguments_.clear();
  for (std::size_t i = 0; i < kernel_.arguments.size(); ++i) {
    const lane::Argument& argument = kernel_.arguments[i];
    llvm::Value* word = ir_.CreateConstInBoundsGEP1_64(i64, function_->getArg(0), i);
    llvm::Type* loaded = argument.buffer ? pointer : scalar_type(argument.type);
    arguments_.push_back(ir_.CreateLoad(loaded, word, argument.name));
  }
  llvm::BasicBlock* head = llvm::BasicBlock::Create(context_, "threadgroups", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context_, "threadgroup", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "done", function_);
  ir_.CreateBr(head);
  ir_.SetInsertPoint(head);
  llvm::PHINode* at = ir_.CreatePHI(i64, 2, "threadgroup");
  at->addIncoming(function_->getArg(1), entry);
  ir_.CreateCondBr(ir_.CreateICmpSLT(at, function_->getArg(2)), body, done);
  ir_.SetInsertPoint(body);
  threadgroup_ = at;
  mask_ = nullptr;
  find_prefetches();
  Values values(kernel_.types.size());
  if (kernel_.simd_groups == 1) {
    emit_block(kernel_.body, values, kernel_.types);
  } else {
    kept_.assign(kernel_.types.size(), std::nullopt);
    count_all_uses();
    emit_groups(kernel_.body, values);
  }
  at->addIncoming(ir_.CreateAdd(at, ir_.getInt64(1)), ir_.GetInsertBlock());
  ir_.CreateBr(head);
  ir_.SetInsertPoint(done);
  ir_.CreateRetVoid();
}

void KernelCodegen::emit_block(const std::vector<Statement>& block, Values& values,
                               const std::vector<ElementType>& types) {
  for (const Statement& s : block) emit_statement(s, values, types);
}

void KernelCodegen::emit_statement(const Statement& s, Values& values, const std::vector<ElementType>& types) {
  std::vector<LaneValue> operands;
  for (lane::ValueId v : s.operands) operands.push_back(values[v]);
  LaneValue result;
  switch (s.op) {
    case Op::constant: {
      llvm::Type* type = scalar_type(types[s.result]);
      if (type->isFloatTy())
        result = LaneValue::scalar(llvm::ConstantFP::get(
            context_, llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, s.bits & 0xffffffffu))));
      else
        result = LaneValue::scalar(llvm::ConstantInt::get(type, s.bits));
      break;
    }
    case Op::argument: result = LaneValue::scalar(arguments_[s.a]); break;
    case Op::threadgroup: result = LaneValue::scalar(threadgroup_); break;
    case Op::lane: result = LaneValue::affine(ir_.getInt32(0), 1); break;
    case Op::simd_group:
      result = LaneValue::scalar(group_ ? group_ : ir_.getInt32(0), Range{0, std::int64_t{kernel_.simd_groups} - 1});
      break;
    case Op::get: {
      const auto [slot, type] = element(s.a, s.b);
      llvm::Value* loaded = ir_.CreateLoad(type, slot);
      result = scalar_elements_[s.a][s.b] ? LaneValue::scalar(loaded) : LaneValue::vector(loaded);
      break;
    }
    case Op::set: {
      if (step_extremum(s, values)) return;
      const auto [slot, type] = element(s.a, s.b);
      if (scalar_elements_[s.a][s.b]) {
        ir_.CreateStore(as_scalar(operands[0]), slot);
      } else {
        llvm::Value* next = as_vector(operands[0]);
        if (mask_) next = ir_.CreateSelect(mask_, next, ir_.CreateLoad(type, slot));
        ir_.CreateStore(next, slot);
      }
      return;
    }
    case Op::load:
      s.streaming ? prefetch_next_row(s.a, operands[0]) : prefetch(s, operands[0]);
      if (load_pair(s, values)) return;
      for (std::uint32_t i = 0; i < s.count; ++i) {
        LaneValue address = operands[0];
        if (i > 0) address.value = ir_.CreateAdd(address.value, llvm::ConstantInt::get(address.value->getType(), i));
        values[s.result + i] = load(arguments_[s.a], kernel_.arguments[s.a].type, address, false);
      }
      return;
    case Op::store:
      if (loop_ && loop_->repairs) return repair_nan(s, operands[0]);
      if (store_pair(s, values)) return;
      for (std::uint32_t i = 0; i < s.count; ++i) {
        LaneValue address = operands[0];
        if (i > 0) address.value = ir_.CreateAdd(address.value, llvm::ConstantInt::get(address.value->getType(), i));
        store(arguments_[s.a], kernel_.arguments[s.a].type, address, operands[1 + i], false, s.streaming);
      }
      return;
    // A cluster of one threadgroup, the only one that compile() lets through, has no other peer than itself.
    case Op::cluster_rank: result = LaneValue::scalar(ir_.getInt32(0)); break;
    case Op::shared_load:
    case Op::shared_store:
    case Op::peer_load:
    case Op::peer_store: {
      llvm::Value* base = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), shared_, lane::shared_offset(kernel_, s.a));
      const bool peer = s.op == Op::peer_load || s.op == Op::peer_store;
      const LaneValue& narrow = operands[peer ? 1 : 0];
      // An active lane's index is one of the array. From there back to lane 0 nothing wraps unless the step is huge.
      const Range inside{0, static_cast<std::int64_t>(kernel_.shared[s.a].size) - 1};
      const bool exact = stays_within_i32(inside, -narrow.stride, width_);
      // Where all lanes are active, lane 0's index is none below zero, and extending it as such takes fewer instructions.
      const LaneValue index =
          exact && !mask_ && narrow.form != Form::vector
              ? LaneValue{narrow.form, ir_.CreateZExt(narrow.value, ir_.getInt64Ty()), narrow.stride, {}}
              : sign_extend(narrow, exact);
      const ElementType storage = kernel_.shared[s.a].type;
      if (s.op == Op::shared_store || s.op == Op::peer_store) return store(base, storage, index, operands.back(), true);
      result = load(base, storage, index, true);
      break;
    }
    case Op::exchange: {
      llvm::Value* group = group_ != nullptr ? group_ : ir_.getInt32(0);
      const LaneValue place = LaneValue::scalar(ir_.CreateZExt(group, ir_.getInt64Ty()));
      for (std::uint32_t k = 0; k < s.operands.size(); ++k) {
        const std::uint32_t array = s.a + k;
        llvm::Value* base =
            ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), shared_, lane::shared_offset(kernel_, array));
        store(base, kernel_.shared[array].type, place, LaneValue::scalar(as_scalar(operands[k])), true);
      }
      return;
    }
    case Op::shuffle_xor:
    case Op::shuffle_down:
    case Op::shuffle:
    case Op::permute2: result = shuffle(s, values); break;
    case Op::fold_lanes: return emit_fold_lanes(s, values);
    case Op::call: return emit_call(s, values);
    case Op::barrier:
    case Op::simd_barrier:
    case Op::cluster_barrier: return;  // one group's lanes step together, and groups meet where their loop ends
    case Op::branch:
    case Op::loop: {
      const Inside inside = [&](const std::vector<Statement>& block, Values& inner) {
        emit_block(block, inner, kernel_.types);
      };
      return s.op == Op::branch ? emit_branch(s, values, inside) : emit_loop(s, values, inside);
    }
    case Op::canonical_nan:
      if (&types == &kernel_.types && defer_nan(s, operands[0]))
        result = operands[0];
      else
        result = arithmetic(s, operands, types);
      break;
    default: result = arithmetic(s, operands, types); break;
  }
  if (&types == &kernel_.types && result.form == Form::vector && scalar_by_analysis(s.result))
    result = LaneValue::scalar(as_scalar(result));
  values[s.result] = result;
}

void KernelCodegen::emit_branch(const Statement& s, Values& values, const Inside& inside) {
  const LaneValue condition = values[s.operands[0]];
  if (condition.form == Form::scalar) {
    llvm::BasicBlock* then = llvm::BasicBlock::Create(context_, "then", function_);
    llvm::BasicBlock* end = llvm::BasicBlock::Create(context_, "end", function_);
    llvm::BasicBlock* otherwise =
        s.otherwise.empty() ? end : llvm::BasicBlock::Create(context_, "else", function_, end);
    ir_.CreateCondBr(condition.value, then, otherwise);
    ir_.SetInsertPoint(then);
    inside(s.body, values);
    ir_.CreateBr(end);
    if (!s.otherwise.empty()) {
      ir_.SetInsertPoint(otherwise);
      inside(s.otherwise, values);
      ir_.CreateBr(end);
    }
    ir_.SetInsertPoint(end);
    return;
  }
  llvm::Value* outer = mask_;
  llvm::Value* here = as_vector(condition);
  mask_ = outer ? ir_.CreateAnd(outer, here) : here;
  llvm::Value* outer_prefix = std::exchange(prefix_, outer ? nullptr : condition.prefix);
  inside(s.body, values);
  prefix_ = nullptr;
  if (!s.otherwise.empty()) {
    llvm::Value* other = ir_.CreateNot(here);
    mask_ = outer ? ir_.CreateAnd(outer, other) : other;
    inside(s.otherwise, values);
  }
  prefix_ = outer_prefix;
  mask_ = outer;
}

std::vector<LaneValue> KernelCodegen::call(const lane::Function& function, const std::vector<LaneValue>& arguments) {
  Values values(function.types.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) values[i] = arguments[i];
  emit_block(function.body, values, function.types);
  std::vector<LaneValue> results;
  for (lane::ValueId v : function.returns) results.push_back(values[v]);
  return results;
}

void KernelCodegen::emit_call(const Statement& s, Values& values) {
  std::vector<LaneValue> arguments;
  if (quick_exp(s, values)) return;
  for (lane::ValueId v : s.operands) arguments.push_back(values[v]);
  const std::vector<LaneValue> results = call(module_.functions[s.a], arguments);
  for (std::size_t i = 0; i < results.size(); ++i) values[s.result + i] = results[i];
}

}  // namespace lanefold::jit
