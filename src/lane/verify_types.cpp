// The type rules of the statements, as the verifier applies them.
#include <fmt/format.h>

#include "lane/verify_statement.h"

namespace lanefold::lane {

void StatementChecker::result_types(const Statement& s) {
  const auto expect_result = [&](ElementType wanted) {
    expect(result(s), wanted, s, fmt::format("result %{}", s.result));
  };
  if (is_plain_arithmetic(s.op)) {
    std::vector<ElementType> types;
    for (std::size_t i = 0; i < s.operands.size(); ++i) types.push_back(operand(s, i));
    const std::optional<ElementType> wanted = arithmetic_type(s.op, types);
    if (wanted) return expect_result(*wanted);
    std::string list;
    for (const ElementType type : types) list += fmt::format("{}{}", list.empty() ? "" : ", ", element_name(type));
    return fault(Code::lane_type_mismatch, s, fmt::format("operands of types {}", list),
                 "the operation is not defined on them");
  }
  switch (s.op) {
    case Op::argument: return expect_result(kernel_->arguments[s.a].type);
    case Op::lane:
    case Op::simd_group:
    case Op::cluster_rank: return expect_result(ElementType::i32);
    case Op::threadgroup:
    case Op::loop: return expect_result(ElementType::i64);
    case Op::get: return expect_result(kernel_->registers[s.a].type);
    case Op::shuffle_xor:
    case Op::shuffle_down:
    case Op::shuffle:
    case Op::permute2: return expect_result(operand(s, 0));
    case Op::convert:
    case Op::bitcast: {
      const bool exists =
          s.op == Op::convert ? convertible(operand(s, 0), result(s)) : bitcastable(operand(s, 0), result(s));
      if (exists) return;
      return fault(Code::lane_type_mismatch, s,
                   fmt::format("from {} to {}", element_name(operand(s, 0)), element_name(result(s))),
                   "there is no such conversion");
    }
    default: return;
  }
}

void StatementChecker::operand_types(const Statement& s) {
  const auto expect_operand = [&](std::size_t i, ElementType wanted) {
    expect(operand(s, i), wanted, s, fmt::format("operand %{}", s.operands[i]));
  };
  switch (s.op) {
    case Op::set: return expect_operand(0, kernel_->registers[s.a].type);
    case Op::shuffle: return expect_operand(1, ElementType::i32);
    case Op::permute2: return expect_operand(1, operand(s, 0));
    case Op::branch: return expect_operand(0, ElementType::boolean);
    case Op::loop:
      for (std::size_t i = 0; i < 3; ++i) expect_operand(i, ElementType::i64);
      return;
    case Op::load:
    case Op::store:
    case Op::shared_load:
    case Op::shared_store:
    case Op::peer_load:
    case Op::peer_store: return memory_types(s);
    case Op::exchange:
      for (std::size_t k = 0; k < s.operands.size(); ++k)
        expect_operand(k, register_type(kernel_->shared[s.a + k].type));
      return;
    case Op::call:
    case Op::fold_lanes: return call_types(s);
    default: return;
  }
}

void StatementChecker::memory_types(const Statement& s) {
  const bool peer = s.op == Op::peer_load || s.op == Op::peer_store;
  const bool shared = peer || s.op == Op::shared_load || s.op == Op::shared_store;
  if (peer) expect(operand(s, 0), ElementType::i32, s, fmt::format("rank %{}", s.operands[0]));
  const std::size_t first = peer ? 1 : 0;
  const ElementType stored = shared ? kernel_->shared[s.a].type : kernel_->arguments[s.a].type;
  const ElementType value = register_type(stored);
  expect(operand(s, first), shared ? ElementType::i32 : ElementType::i64, s,
         fmt::format("{} %{}", shared ? "index" : "address", s.operands[first]));
  for (std::size_t i = first + 1; i < s.operands.size(); ++i)
    expect(operand(s, i), value, s, fmt::format("value %{}", s.operands[i]));
  for (std::uint32_t i = 0; i < s.results; ++i) expect(result(s, i), value, s, fmt::format("result %{}", s.result + i));
}

void StatementChecker::call_types(const Statement& s) {
  const Function& f = module_.functions[s.a];
  const std::size_t components = f.returns.size();
  for (std::size_t i = 0; i < s.operands.size(); ++i) {
    const std::size_t parameter = s.op == Op::call ? i : i % components;
    expect(operand(s, i), f.parameters[parameter], s, fmt::format("operand %{} of {}", s.operands[i], f.name));
  }
  for (std::uint32_t i = 0; i < s.results; ++i) {
    const ValueId returned = f.returns[i % components];
    if (returned >= f.types.size()) return;  // the function has its own fault
    expect(result(s, i), f.types[returned], s, fmt::format("result %{} of {}", s.result + i, f.name));
  }
}

}  // namespace lanefold::lane
