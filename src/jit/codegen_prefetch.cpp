// Rows that follow each other. The first sweep over a row fetches it, and the later ones find it near the core, so that reading from far away and working or
// writing would take turns. So the last sweep that reads a row asks for the next one.
#include <algorithm>

#include <llvm/IR/Intrinsics.h>

#include "jit/codegen.h"

namespace lanefold::jit {

using lane::Op;
using lane::Statement;

namespace {

constexpr std::uint32_t kLine = 64;
// In cache, longer rows than this push each other out of the first level: asking for the next one costs more than it saves.
constexpr std::int64_t kShortRowBytes = 8 * 1024;

void visit(const std::vector<Statement>& block, const std::function<void(const Statement&)>& each) {
  for (const Statement& s : block) {
    each(s);
    visit(s.body, each);
    visit(s.otherwise, each);
  }
}

std::optional<std::uint32_t> argument_of(const lane::Kernel& kernel, lane::Role role, std::uint32_t index) {
  for (std::uint32_t i = 0; i < kernel.arguments.size(); ++i)
    if (kernel.arguments[i].role == role && kernel.arguments[i].index == index) return i;
  return std::nullopt;
}

}  // namespace

void KernelCodegen::find_prefetches() {
  prefetches_.clear();
  const std::optional<std::uint32_t> cols = argument_of(kernel_, lane::Role::cols, 0);
  if (!cols || kernel_.simd_groups > 1 || kernel_.threadgroups > 0 || kernel_.cols_per_threadgroup > 0) return;
  std::int64_t bytes = 0;
  std::vector<std::pair<const Statement*, Prefetch>> found;
  for (std::uint32_t i = 0; i < kernel_.arguments.size(); ++i) {
    const lane::Argument& buffer = kernel_.arguments[i];
    if (!buffer.buffer || buffer.role != lane::Role::input) continue;
    const auto stride = argument_of(kernel_, lane::Role::input_row_stride, buffer.index);
    if (!stride) continue;
    // The last loop along the row: it has several loads a step, the one for what is left at the end has one.
    const Statement* last = nullptr;
    visit(kernel_.body, [&](const Statement& s) {
      if (s.op != Op::loop) return;
      int loads = 0;
      for (const Statement& inner : s.body) loads += inner.op == Op::load && inner.a == i && inner.count == 1;
      if (loads > 1) last = &s;
    });
    if (!last) continue;
    bytes += static_cast<std::int64_t>(element_bytes(buffer.type));
    found.push_back({last, {i, arguments_[*stride], 0}});
  }
  if (found.empty()) return;
  bool streams = false;
  visit(kernel_.body, [&](const Statement& s) { streams = streams || (s.op == Op::store && s.streaming); });
  llvm::Value* next = ir_.CreateAdd(threadgroup_, ir_.getInt64(1));
  llvm::Value* useful = ir_.CreateICmpSLT(next, function_->getArg(2));
  llvm::Value* is_short = ir_.CreateICmpSLE(arguments_[*cols], ir_.getInt64(kShortRowBytes / bytes));
  for (auto& [loop, prefetch] : found) {
    // A sweep that computes a function has time for memory, whatever else the row pushes out.
    const bool computes =
        std::any_of(loop->body.begin(), loop->body.end(), [](const Statement& s) { return s.op == Op::call; });
    llvm::Value* wanted = streams || computes ? useful : ir_.CreateAnd(useful, is_short);
    llvm::Value* distance = ir_.CreateMul(prefetch.distance, ir_.getInt64(kernel_.rows_per_threadgroup));
    prefetch.distance = ir_.CreateSelect(wanted, distance, ir_.getInt64(0));
    prefetches_[loop].push_back(prefetch);
  }
}

void KernelCodegen::prefetch(const Statement& load, const LaneValue& address) {
  if (!loop_ || loop_->repairs || mask_ || address.form != LaneValue::Form::affine || address.stride != 1) return;
  for (Prefetch& p : loop_->prefetches) {
    if (p.buffer != load.a) continue;
    const ElementType storage = kernel_.arguments[load.a].type;
    const auto bytes = static_cast<std::uint32_t>(element_bytes(storage)) * width_;
    // One for each line that the loads of a step cover.
    if ((p.loads++ * bytes) % kLine >= bytes) continue;
    llvm::Value* to = pointer(arguments_[load.a], storage, ir_.CreateAdd(address.value, p.distance));
    ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {to->getType()},
                        {to, ir_.getInt32(0), ir_.getInt32(3), ir_.getInt32(1)});
  }
}

void KernelCodegen::prefetch_next_row(std::uint32_t buffer, const LaneValue& address) {
  if (mask_ || address.form != LaneValue::Form::affine || address.stride != 1) return;
  const lane::Argument& from = kernel_.arguments[buffer];
  for (std::size_t i = 0; i < kernel_.arguments.size(); ++i) {
    const lane::Argument& stride = kernel_.arguments[i];
    if (from.role != lane::Role::input || stride.role != lane::Role::input_row_stride || stride.index != from.index)
      continue;
    // The address may lie outside of the matrix, so nothing is promised of it.
    llvm::Value* next = pointer(arguments_[buffer], from.type, ir_.CreateAdd(address.value, arguments_[i]));
    constexpr std::uint32_t kRead = 0, kAllLevels = 3, kData = 1;
    ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {next->getType()},
                        {next, ir_.getInt32(kRead), ir_.getInt32(kAllLevels), ir_.getInt32(kData)});
    return;
  }
}

}  // namespace lanefold::jit
