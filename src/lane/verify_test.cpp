#include "lane/verify.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "lane/builder.h"

namespace lanefold::lane {
namespace {

/// A good module with one of everything that the faults below spoil.
Module good(std::uint32_t width = 8, std::uint32_t groups = 2) {
  Module module;
  module.name = "m";
  Function f;
  f.name = "merge";
  f.parameters = f.types = {ElementType::f32, ElementType::f32};
  Builder fb(f.types, f.body);
  f.returns = {fb.add(0, 1)};
  module.functions.push_back(f);
  Kernel k;
  k.name = "k";
  k.simd_width = width;
  k.simd_groups = groups;
  k.arguments = {{"x", true, ElementType::f32, Role::inout, 0}, {"n", false, ElementType::i64, Role::cols, 0}};
  k.shared = {{"s", ElementType::f32, 8}};
  k.registers = {{"r", ElementType::f32, 2}};
  module.kernels.push_back(k);
  return module;
}

std::vector<Diagnostic> faults_of(const std::function<void(Builder&)>& build,
                                  const std::function<void(Kernel&)>& spoil = {}) {
  Module module = good();
  Kernel& k = module.kernels[0];
  Builder b(k.types, k.body);
  build(b);
  if (spoil) spoil(k);
  return verify(module);
}

void expect_code(const std::vector<Diagnostic>& faults, Code code, const std::string& place = "") {
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults[0].code, code) << faults[0].text();
  if (!place.empty()) {
    EXPECT_EQ(faults[0].place, place);
  }
}

void nothing(Builder&) {}

TEST(LaneVerify, TakesGoodModules) {
  for (const std::uint32_t width : {4u, 8u, 16u, 32u, 64u}) {
    Module module = good(width);
    Kernel& k = module.kernels[0];
    Builder b(k.types, k.body);
    b.loop(b.i64(0), b.argument(1, ElementType::i64), b.i64(1), [&](ValueId i) {
      const auto x = b.load(0, ElementType::f32, i, 4, 4);
      b.shared_store(0, b.simd_group(), b.fold_lanes(0, x, 1, 0, 2)[0]);
      b.barrier();
    });
    EXPECT_TRUE(verify(module).empty()) << verify(module)[0].text();
  }
}

TEST(LaneVerify, Limits) {
  for (const std::uint32_t width : {0u, 2u, 12u, 128u}) expect_code(verify(good(width)), Code::lane_kernel_limits, "k");
  for (const std::uint32_t groups : {0u, 33u}) expect_code(verify(good(4, groups)), Code::lane_kernel_limits);
  expect_code(verify(good(64, 32)), Code::lane_kernel_limits);
  expect_code(faults_of(nothing, [](Kernel& k) { k.shared[0].size = 1u << 31; }), Code::lane_kernel_limits);
  expect_code(faults_of(nothing, [](Kernel& k) { k.registers[0].size = 1u << 31; }), Code::lane_kernel_limits);
  expect_code(faults_of(nothing, [](Kernel& k) { k.rows_per_threadgroup = 0; }), Code::lane_kernel_limits);
}

TEST(LaneVerify, Names) {
  expect_code(faults_of(nothing, [](Kernel& k) { k.name = "a b"; }), Code::lane_bad_name);
  expect_code(faults_of(nothing, [](Kernel& k) { k.shared[0].name = "x"; }), Code::lane_bad_name);
}

TEST(LaneVerify, Indices) {
  expect_code(faults_of([](Builder& b) { b.get(0, 2, ElementType::f32); }), Code::lane_unknown_index, "k:1");
  expect_code(faults_of([](Builder& b) { b.shared_load(1, ElementType::f32, b.i32(0)); }), Code::lane_unknown_index,
              "k:2");
  expect_code(faults_of([](Builder& b) { b.argument(2, ElementType::i64); }), Code::lane_unknown_index);
  expect_code(faults_of([](Builder& b) { b.call(1, {}, {}); }), Code::lane_unknown_index);
}

TEST(LaneVerify, Visibility) {
  ValueId inner = 0;
  expect_code(faults_of([&](Builder& b) {
                const ValueId c = b.boolean(true);
                b.branch(c, [&] { inner = b.f32(1); });
                b.branch(c, [] {}, [&] { b.unary(Op::neg, inner); });
              }),
              Code::lane_undefined_value, "k:3.else.1");
  expect_code(
      faults_of([](Builder& b) { b.unary(Op::neg, b.f32(1)); }, [](Kernel& k) { std::swap(k.body[0], k.body[1]); }),
      Code::lane_undefined_value);
  ValueId counter = 0;
  expect_code(faults_of([&](Builder& b) {
                b.loop(b.i64(0), b.i64(1), b.i64(1), [&](ValueId i) { counter = i; });
                b.unary(Op::neg, counter);
              }),
              Code::lane_undefined_value);
  Module module = good();
  module.functions[0].returns = {7};
  expect_code(verify(module), Code::lane_undefined_value, "merge");
}

TEST(LaneVerify, Numbering) {
  const auto two = [](Builder& b) { b.f32(1), b.f32(2); };
  expect_code(faults_of(two, [](Kernel& k) { k.body[1].result = 0; }), Code::lane_result_numbering, "k:2");
  expect_code(faults_of(two, [](Kernel& k) { k.body[1].result = 2; }), Code::lane_result_numbering);
  expect_code(faults_of(two, [](Kernel& k) { k.body[1].results = 0xffffffffu; }), Code::lane_result_numbering);
  expect_code(faults_of(two, [](Kernel& k) { k.body[1].results = 0; }), Code::lane_result_numbering);
}

TEST(LaneVerify, Operands) {
  const auto neg = [](Builder& b) { b.unary(Op::neg, b.f32(1)); };
  expect_code(faults_of(neg, [](Kernel& k) { k.body[1].operands.push_back(0); }), Code::lane_operand_count);
  expect_code(faults_of(neg, [](Kernel& k) { k.types[1] = ElementType::i32; }), Code::lane_type_mismatch);
  expect_code(faults_of(neg, [](Kernel& k) { k.body[1].op = Op::bit_not; }), Code::lane_type_mismatch);
  expect_code(faults_of(neg, [](Kernel& k) { k.types[1] = ElementType::bf16; }), Code::lane_type_mismatch);
  expect_code(faults_of(nothing, [](Kernel& k) { k.arguments[0].type = ElementType::f64; }), Code::lane_type_mismatch);
  expect_code(faults_of([](Builder& b) { b.set(0, 0, b.i32(1)); }), Code::lane_type_mismatch);
  expect_code(faults_of([](Builder& b) { b.load(1, ElementType::i64, b.i64(0)); }), Code::lane_type_mismatch);
  expect_code(faults_of([](Builder& b) { b.store(0, b.i64(0), std::vector<ValueId>{b.i32(0)}); }),
              Code::lane_type_mismatch);
  expect_code(faults_of([](Builder& b) {
                const ElementType f32 = ElementType::f32;
                b.call(0, std::vector<ValueId>{b.f32(1), b.i32(1)}, std::span(&f32, 1));
              }),
              Code::lane_type_mismatch);
}

TEST(LaneVerify, Placement) {
  expect_code(faults_of([](Builder& b) { b.f32(1); }, [](Kernel& k) { k.body[0].body.resize(1); }),
              Code::lane_misplaced_statement);
  Module module = good();
  Function& f = module.functions[0];
  Builder b(f.types, f.body);
  b.lane();
  expect_code(verify(module), Code::lane_misplaced_statement, "merge:2");
  f.body.pop_back();
  b.call(0, std::vector<ValueId>{0, 1}, f.parameters);
  expect_code(verify(module), Code::lane_misplaced_statement);
}

TEST(LaneVerify, Attributes) {
  expect_code(faults_of([](Builder& b) { b.load(0, ElementType::f32, b.i64(0), 65); }), Code::lane_bad_attribute);
  expect_code(faults_of([](Builder& b) { b.load(0, ElementType::f32, b.i64(0), 1, 3); }), Code::lane_bad_attribute);
  expect_code(faults_of([](Builder& b) { b.shuffle_xor(b.f32(1), 8); }), Code::lane_bad_attribute);
  expect_code(faults_of([](Builder& b) { b.f32(1); }, [](Kernel& k) { k.body[0].bits |= 1ull << 40; }),
              Code::lane_bad_attribute);
  const auto permute = [](std::vector<std::uint16_t> table) {
    return faults_of([](Builder& b) { b.add(b.f32(1), b.f32(2)); },
                     [&](Kernel& k) { k.body[2].op = Op::permute2, k.body[2].table = table; });
  };
  EXPECT_TRUE(permute({0, 15, 1, 14, 2, 13, 3, 12}).empty());
  expect_code(permute({0, 1}), Code::lane_bad_attribute);
  expect_code(permute({0, 16, 1, 14, 2, 13, 3, 12}), Code::lane_bad_attribute);
}

TEST(LaneVerify, FoldShapes) {
  const auto fold = [](std::uint32_t first, std::uint32_t bits, const std::function<void(Kernel&)>& spoil = {}) {
    return faults_of([&](Builder& b) { b.fold_lanes(0, std::vector<ValueId>{b.f32(1), b.f32(2)}, 1, first, bits); },
                     spoil);
  };
  EXPECT_TRUE(fold(0, 3).empty());
  expect_code(fold(1, 3), Code::lane_bad_fold);
  expect_code(fold(0xffffffffu, 1), Code::lane_bad_fold);
  expect_code(fold(0, 1, [](Kernel& k) { k.body[2].operands.push_back(0); }), Code::lane_bad_fold);
  expect_code(fold(0, 1, [](Kernel& k) { k.body[2].results = 0; }), Code::lane_bad_fold);
  Module module = good();
  module.functions[0].returns.push_back(0);
  Builder b(module.kernels[0].types, module.kernels[0].body);
  b.fold_lanes(0, std::vector<ValueId>{b.f32(1)}, 1, 0, 1);
  expect_code(verify(module), Code::lane_bad_fold);
}

TEST(LaneVerify, Loops) {
  expect_code(faults_of([](Builder& b) { b.loop(b.i64(0), b.i64(1), b.i64(0), [](ValueId) {}); }),
              Code::lane_loop_step);
  expect_code(faults_of([](Builder& b) {
                const ValueId lane = b.convert(b.lane(), ElementType::i64);
                b.loop(b.i64(0), lane, b.i64(1), [](ValueId) {});
              }),
              Code::lane_loop_not_uniform, "k:5");
}

TEST(LaneVerify, Convergence) {
  const auto under = [](Op which, const std::function<void(Builder&)>& inside) {
    return faults_of([&](Builder& b) {
      const ValueId index = which == Op::lane ? b.lane() : b.simd_group();
      b.branch(b.binary(Op::lt, index, b.i32(1)), [&] { inside(b); });
    });
  };
  const auto barrier = [](Builder& b) { b.barrier(); };
  const auto shuffle = [](Builder& b) { b.shuffle_xor(b.f32(1), 1); };
  expect_code(under(Op::lane, barrier), Code::lane_barrier_not_uniform, "k:4.1");
  expect_code(under(Op::simd_group, barrier), Code::lane_barrier_not_uniform);
  expect_code(under(Op::lane, shuffle), Code::lane_simd_not_uniform, "k:4.2");
  EXPECT_TRUE(under(Op::simd_group, shuffle).empty());
}

TEST(LaneVerify, Exchanges) {
  const auto exchange = [](Builder& b) { b.exchange(0, std::array{b.f32(1)}); };
  EXPECT_TRUE(faults_of(exchange).empty());
  EXPECT_TRUE(faults_of(exchange, [](Kernel& k) { k.cluster = 4; }).empty());
  // Eight elements are too few for two SIMD groups of eight threadgroups.
  expect_code(faults_of(exchange, [](Kernel& k) { k.cluster = 8; }), Code::lane_bad_attribute, "k:2");
  expect_code(faults_of(exchange, [](Kernel& k) { k.shared[0].type = ElementType::bf16; }), Code::lane_bad_attribute);
  const auto wide = [](Kernel& k) {
    k.cluster = 16;
    k.shared[0].size = 32;
  };
  expect_code(faults_of(exchange, wide), Code::lane_bad_attribute);  // 16 threadgroups, and eight lanes to give
  expect_code(faults_of([](Builder& b) { b.exchange(0, std::array{b.i32(1)}); }), Code::lane_type_mismatch);
  expect_code(faults_of([](Builder& b) { b.exchange(0, std::array{b.f32(1), b.f32(2)}); }), Code::lane_unknown_index);
  expect_code(faults_of([](Builder& b) { b.exchange(0, {}); }), Code::lane_operand_count);
  expect_code(faults_of([](Builder& b) {
                b.branch(b.binary(Op::eq, b.simd_group(), b.i32(0)), [&] { b.exchange(0, std::array{b.f32(1)}); });
              }),
              Code::lane_barrier_not_uniform);
}

TEST(LaneVerify, Size) {
  expect_code(faults_of([](Builder& b) {
                const ValueId c = b.boolean(true);
                std::function<void(int)> nest = [&](int depth) {
                  if (depth > 0) b.branch(c, [&] { nest(depth - 1); });
                };
                nest(70);
              }),
              Code::lane_too_large);
  expect_code(faults_of(nothing, [](Kernel& k) { k.types.resize(kMaxValues + 1, ElementType::f32); }),
              Code::lane_too_large);
}

}  // namespace
}  // namespace lanefold::lane
