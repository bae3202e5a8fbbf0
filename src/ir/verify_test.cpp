// Faults that only a hand-made program can have, and inputs left out.
#include <gtest/gtest.h>

#include <functional>

#include "ir/names.h"
#include "ir/program.h"

namespace lanefold::ir {
namespace {

Program good() {
  return *parse(R"(
monoid plus(a: f32) of (x: f32)
  lift = x
  merge = a + a'
program p(x: f32[rows, cols], w: f32[cols] = 2, l: i32[rows] = 0, eps = 1)
  s = fold plus (x * w)
  k = fold max x
  store y: f32[rows, cols] = x * s + k * 3 + eps + gather(w, l)
)");
}

void rejects(Code code, const std::function<void(Program&)>& damage) {
  Program program = good();
  damage(program);
  const std::vector<Diagnostic> faults = verify(program);
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(code_name(faults[0].code), code_name(code)) << faults[0].text();
}

Value& find(Program& program, Op op) {
  for (Value& value : program.values) {
    if (value.op == op) return value;
  }
  internal_error("the program has no such value");
}

TEST(Verify, AGoodProgramHasNoFault) { EXPECT_TRUE(verify(good()).empty()); }

TEST(Verify, DamagedPrograms) {
  rejects(Code::malformed_program, [](Program& p) { p.stores[0].value = 1000; });
  rejects(Code::malformed_program, [](Program& p) { p.folds[0].monoid = 9; });
  rejects(Code::malformed_program, [](Program& p) { p.folds[0].arguments[0] = 1000; });
  rejects(Code::malformed_program,
          [](Program& p) { p.folds[0].arguments[0] = static_cast<ValueId>(p.values.size() - 1); });
  rejects(Code::malformed_program, [](Program& p) { find(p, Op::mul).operands[0] = kNoValue; });
  rejects(Code::malformed_program, [](Program& p) { find(p, Op::mul).operands.clear(); });
  rejects(Code::malformed_program, [](Program& p) { find(p, Op::mul).kind = {}; });
  rejects(Code::malformed_program, [](Program& p) { find(p, Op::mul).type = ElementType::i32; });
  rejects(Code::malformed_program, [](Program& p) { find(p, Op::input).index = 7; });
  rejects(Code::malformed_program, [](Program& p) { find(p, Op::parameter).index = 7; });
  rejects(Code::malformed_program, [](Program& p) { find(p, Op::fold_result).index = 7; });
  rejects(Code::malformed_program, [](Program& p) { find(p, Op::fold_result).index = 1; });
  rejects(Code::malformed_program, [](Program& p) { find(p, Op::fold_result).component = 1; });
  rejects(Code::malformed_program, [](Program& p) { p.monoids[0].reorderable = true; });
  rejects(Code::malformed_program, [](Program& p) { p.monoids[1].reorderable = false; });
  rejects(Code::malformed_program, [](Program& p) { p.monoids[1].step = p.monoids[0].step; });
  rejects(Code::malformed_program, [](Program& p) { p.monoids[0].merge.results[0] = 1000; });
  rejects(Code::malformed_program, [](Program& p) { p.monoids[0].merge.values.back().operands[0] = 1000; });
  rejects(Code::malformed_program, [](Program& p) { p.monoids[0].merge.values[1].index = 0; });
  rejects(Code::monoid_values, [](Program& p) { p.monoids[0].lift.results.clear(); });
  rejects(Code::monoid_values, [](Program& p) { p.monoids[0].finish.results.clear(); });
  rejects(Code::monoid_values, [](Program& p) { p.monoids[0].identity = {0.0, 0.0}; });
  rejects(Code::impure_monoid, [](Program& p) { p.monoids[0].merge.values.back().op = Op::col; });
  rejects(Code::wrong_argument_count, [](Program& p) { p.folds[0].arguments.clear(); });
  rejects(Code::bad_domain, [](Program& p) { p.inputs[0].kind = {}; });
  rejects(Code::kind_mismatch, [](Program& p) { p.stores[0].kind = {Kind::Tag::column, 0}; });
  rejects(Code::literal_out_of_range, [](Program& p) { find(p, Op::constant).literal = 1e300; });
  rejects(Code::literal_out_of_range, [](Program& p) { find(p, Op::constant).literal = 0.1; });
  rejects(Code::no_stores, [](Program& p) { p.stores.clear(); });
  rejects(Code::reserved_name, [](Program& p) { p.name = "not a name"; });
  rejects(Code::duplicate_name, [](Program& p) { p.monoids.push_back(p.monoids[0]); });
}

TEST(Verify, TooManyNames) {
  const auto fill = [](auto& list) {
    const auto one = list[0];
    list.clear();
    for (std::size_t i = 0; i <= kMaxNames; ++i) {
      list.push_back(one);
      list.back().name = "n" + std::to_string(i);
    }
  };
  rejects(Code::too_many_names, [&](Program& p) { fill(p.inputs); });
  rejects(Code::too_many_names, [&](Program& p) { fill(p.stores); });
  rejects(Code::too_many_names, [&](Program& p) { fill(p.monoids[0].state); });
}

TEST(Verify, ReportsEveryFault) {
  Program program = good();
  program.inputs[0].kind = {};
  program.inputs[1].name = "x";
  program.inputs[2].storage = ElementType::f64;
  EXPECT_EQ(verify(program, "f").size(), 3u);
}

}  // namespace
}  // namespace lanefold::ir
