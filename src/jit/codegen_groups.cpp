// Threadgroups of several SIMD groups: the code between two barriers runs for one group after another.
#include <algorithm>

#include "jit/codegen.h"

namespace lanefold::jit {

using lane::Op;
using lane::Statement;
using Form = LaneValue::Form;

namespace {

bool has_barrier(const Statement& s) {
  const auto any = [](const std::vector<Statement>& block) {
    return std::any_of(block.begin(), block.end(), has_barrier);
  };
  return s.op == Op::barrier || s.op == Op::cluster_barrier || s.op == Op::exchange || any(s.body) || any(s.otherwise);
}

void count_uses(const Statement& s, std::vector<std::uint32_t>& uses) {
  for (const lane::ValueId v : s.operands) ++uses[v];
  for (const Statement& inner : s.body) count_uses(inner, uses);
  for (const Statement& inner : s.otherwise) count_uses(inner, uses);
}

/// Without effects and the same wherever it stands, so that once is enough for all groups.
bool is_pure(Op op) {
  switch (op) {
    case Op::constant:
    case Op::argument:
    case Op::threadgroup:
    case Op::cluster_rank:
    case Op::call: return true;
    default: return op >= Op::neg && op <= Op::select;
  }
}

}  // namespace

void KernelCodegen::emit_groups(const std::vector<Statement>& block, Values& values) {
  std::vector<const Statement*> run;
  for (const Statement& s : block) {
    if (!has_barrier(s)) {
      run.push_back(&s);
      continue;
    }
    if (s.op == Op::exchange) run.push_back(&s);  // each group gives its values before all go on
    emit_run(run, values);
    run.clear();
    if (s.op == Op::branch || s.op == Op::loop) emit_around_barrier(s, values);
  }
  emit_run(run, values);
}

/// A loop or branch that holds a barrier: its control is the same in all groups, which pass through it together.
void KernelCodegen::emit_around_barrier(const Statement& s, Values& values) {
  Values outside = values;
  for (const lane::ValueId v : s.operands)
    if (kept_[v]) outside[v] = reload(v, ir_.getInt32(0));
  const auto inside = [&](const std::vector<Statement>& block, Values& inner) {
    Values own = values;
    if (s.op == Op::loop) own[s.result] = inner[s.result];
    emit_groups(block, own);
  };
  if (s.op == Op::loop) return emit_loop(s, outside, inside);
  outside[s.operands[0]] = LaneValue::scalar(as_scalar(outside[s.operands[0]]));
  emit_branch(s, outside, inside);
}

void KernelCodegen::emit_run(const std::vector<const Statement*>& run, Values& values) {
  std::vector<const Statement*> each;
  std::vector<std::uint32_t> uses(kernel_.types.size());
  std::vector<bool> here(kernel_.types.size());
  for (const Statement* s : run) {
    const auto ready = [&](lane::ValueId v) { return !here[v] && !kept_[v]; };
    const auto uniform = [&](lane::ValueId v) { return variations_[v].uniform; };
    bool once = is_pure(s->op) && std::all_of(s->operands.begin(), s->operands.end(), ready);
    for (std::uint32_t i = 0; i < s->results; ++i) once = once && uniform(s->result + i);
    if (once) {
      emit_statement(*s, values, kernel_.types);
      continue;
    }
    each.push_back(s);
    count_uses(*s, uses);
    for (std::uint32_t i = 0; i < s->results; ++i) here[s->result + i] = true;
  }
  if (each.empty()) return;

  llvm::Type* i32 = ir_.getInt32Ty();
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context_, "group", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "groups", function_);
  ir_.CreateBr(body);
  ir_.SetInsertPoint(body);
  llvm::PHINode* group = ir_.CreatePHI(i32, 2, "simd_group");
  group->addIncoming(ir_.getInt32(0), before);
  group_ = group;
  Values own = values;
  for (lane::ValueId v = 0; v < uses.size(); ++v)
    if (uses[v] != 0 && kept_[v]) own[v] = reload(v, group);
  for (const Statement* s : each) emit_statement(*s, own, kernel_.types);
  for (const Statement* s : each)
    for (std::uint32_t i = 0; i < s->results; ++i)
      if (const lane::ValueId v = s->result + i; s->op != Op::loop && total_uses_[v] > uses[v]) keep(v, own[v], group);
  llvm::Value* next = ir_.CreateAdd(group, ir_.getInt32(1));
  group->addIncoming(next, ir_.GetInsertBlock());
  ir_.CreateCondBr(ir_.CreateICmpSLT(next, ir_.getInt32(kernel_.simd_groups)), body, done);
  ir_.SetInsertPoint(done);
  group_ = nullptr;
}

void KernelCodegen::keep(lane::ValueId v, const LaneValue& value, llvm::Value* group) {
  llvm::Type* type = value.value->getType();
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  llvm::AllocaInst* slots = entry.CreateAlloca(llvm::ArrayType::get(type, kernel_.simd_groups), nullptr, "kept");
  ir_.CreateStore(value.value, ir_.CreateInBoundsGEP(slots->getAllocatedType(), slots, {ir_.getInt32(0), group}));
  kept_[v] = Kept{slots, value.form, value.stride, value.known_range()};
}

LaneValue KernelCodegen::reload(lane::ValueId v, llvm::Value* group) {
  const Kept& kept = *kept_[v];
  llvm::Type* type = kept.slots->getAllocatedType();
  llvm::Value* at = ir_.CreateInBoundsGEP(type, kept.slots, {ir_.getInt32(0), group});
  return {kept.form, ir_.CreateLoad(type->getArrayElementType(), at), kept.stride, kept.range};
}

void KernelCodegen::count_all_uses() {
  total_uses_.assign(kernel_.types.size(), 0);
  for (const Statement& s : kernel_.body) count_uses(s, total_uses_);
}

}  // namespace lanefold::jit
