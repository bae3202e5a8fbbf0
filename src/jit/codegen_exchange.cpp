// Exchange between the lanes of a SIMD group: shuffles, two-source permutes and fold_lanes.
#include <llvm/IR/Constants.h>

#include "jit/codegen.h"

namespace lanefold::jit {

using lane::Op;
using lane::Statement;
using Form = LaneValue::Form;

llvm::Value* KernelCodegen::shuffle_by(llvm::Value* a, llvm::Value* b,
                                       const std::function<std::uint32_t(std::uint32_t)>& source) {
  // 0 … W−1 are the lanes of a, W … 2W−1 those of b.
  std::vector<int> table;
  for (std::uint32_t i = 0; i < width_; ++i) table.push_back(static_cast<int>(source(i)));
  return ir_.CreateShuffleVector(a, b, table);
}

void KernelCodegen::emit_fold_lanes(const Statement& s, Values& values) {
  const lane::Function& merge = module_.functions[s.a];
  const std::size_t components = merge.returns.size();
  // An IEEE addition commutes up to the payload of a NaN, which stores make one.
  const bool commutes =
      merge.body.size() == 1 && merge.body[0].op == Op::add && merge.returns == std::vector{merge.body[0].result};
  std::vector<std::vector<LaneValue>> registers;
  for (std::size_t i = 0; i < s.operands.size(); i += components) {
    registers.emplace_back();
    for (std::size_t k = 0; k < components; ++k)
      registers.back().push_back(LaneValue::vector(as_vector(values[s.operands[i + k]])));
  }
  for (std::uint32_t bit = s.b; bit < s.b + s.count; ++bit) {
    const std::uint32_t distance = 1u << bit;
    std::vector<std::vector<LaneValue>> next;
    for (std::size_t r = 0; r < registers.size(); r += 2) {
      const bool pair = registers.size() > 1;
      std::vector<LaneValue> sides(2 * components);
      if (pair && commutes) {
        // Own lanes and their partners', whichever side they are: one shuffle less than left and right sides.
        llvm::Value* a = registers[r][0].value;
        llvm::Value* b = registers[r + 1][0].value;
        llvm::Value* own = shuffle_by(a, b, [&](std::uint32_t l) { return l & distance ? width_ + l : l; });
        llvm::Value* given = shuffle_by(a, b, [&](std::uint32_t l) { return l & distance ? l : width_ + l; });
        sides[0] = LaneValue::vector(own);
        sides[1] = LaneValue::vector(shuffle_by(given, given, [&](std::uint32_t l) { return l ^ distance; }));
        next.push_back(call(merge, sides));
        continue;
      }
      for (std::size_t k = 0; k < components; ++k) {
        llvm::Value* a = registers[r][k].value;
        llvm::Value* b = pair ? registers[r + 1][k].value : a;
        // With one register both halves of the pair are that register.
        const std::uint32_t other = pair ? width_ : 0;
        sides[k] = LaneValue::vector(
            shuffle_by(a, b, [&](std::uint32_t l) { return l & distance ? other + l - distance : l; }));
        sides[components + k] = LaneValue::vector(
            shuffle_by(a, b, [&](std::uint32_t l) { return l & distance ? other + l : l + distance; }));
      }
      next.push_back(call(merge, sides));
    }
    registers = std::move(next);
  }
  std::uint32_t result = s.result;
  for (const std::vector<LaneValue>& state : registers)
    for (const LaneValue& v : state) {
      values[result] = scalar_by_analysis(result) ? LaneValue::scalar(as_scalar(v)) : v;
      ++result;
    }
}

LaneValue KernelCodegen::shuffle(const Statement& s, Values& values) {
  const LaneValue source = values[s.operands[0]];
  if (source.form == Form::scalar && s.op != Op::permute2) return source;
  llvm::Value* from = as_vector(source);
  switch (s.op) {
    case Op::shuffle_xor: return LaneValue::vector(shuffle_by(from, from, [&](std::uint32_t l) { return l ^ s.b; }));
    case Op::shuffle_down:
      return LaneValue::vector(shuffle_by(from, from, [&](std::uint32_t l) { return l + s.b < width_ ? l + s.b : l; }));
    case Op::permute2:
      return LaneValue::vector(
          shuffle_by(from, as_vector(values[s.operands[1]]), [&](std::uint32_t l) { return s.table[l]; }));
    default: break;
  }
  const LaneValue index = values[s.operands[1]];
  if (index.form == Form::scalar) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index.value)) {
      const auto lane = static_cast<std::uint32_t>(constant->getZExtValue()) & (width_ - 1);
      return LaneValue::scalar(ir_.CreateExtractElement(from, std::uint64_t{lane}));
    }
  }
  llvm::Value* lanes = ir_.CreateAnd(as_vector(index), ir_.CreateVectorSplat(width_, ir_.getInt32(width_ - 1)));
  llvm::Value* result = llvm::PoisonValue::get(from->getType());
  for (std::uint32_t i = 0; i < width_; ++i) {
    result = ir_.CreateInsertElement(result, ir_.CreateExtractElement(from, ir_.CreateExtractElement(lanes, i)), i);
  }
  return LaneValue::vector(result);
}

}  // namespace lanefold::jit
