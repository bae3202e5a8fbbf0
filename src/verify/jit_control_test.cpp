// Exchange between lanes and control flow of lane modules: the JIT's bytes are the lane machine's.
#if LANEFOLD_JIT  // these compare the JIT with the lane machine

#include <array>
#include <limits>
#include <numeric>
#include <random>

#include "verify/test_jit.h"

namespace lanefold::verify {
namespace {

using lane::Builder;
using lane::Op;
using lane::Role;
using lane::ValueId;

std::vector<std::byte> numbers(std::size_t count) {
  std::vector<std::int32_t> values(count);
  std::mt19937 random(11);
  for (std::int32_t& v : values) v = static_cast<std::int32_t>(random());
  return bytes_of(values);
}

ValueId element(Builder& b, const lane::Kernel& kernel) {
  return b.load(0, ElementType::i32, global_lane(b, kernel))[0];
}

const std::vector<std::pair<ElementType, Role>> kInOut = {{ElementType::i32, Role::input},
                                                          {ElementType::i32, Role::output}};

/// Runs a body that makes `results` i32 values of each lane, in `groups` SIMD groups.
void run_lanes(std::uint32_t width, std::uint32_t groups,
               const std::function<std::vector<ValueId>(Builder&, KernelDraft&, ValueId)>& body) {
  SCOPED_TRACE(std::to_string(width) + " lanes, " + std::to_string(groups) + " groups");
  KernelDraft draft(width, groups, kInOut);
  Builder b = draft.builder();
  const std::vector<ValueId> results = body(b, draft, element(b, draft.kernel()));
  const auto count = static_cast<std::int64_t>(results.size());
  b.store(1, b.mul(global_lane(b, draft.kernel()), b.i64(count)), results);
  constexpr std::int64_t kThreadgroups = 3;
  const std::size_t lanes = static_cast<std::size_t>(kThreadgroups) * width * groups;
  run_everywhere(draft.module, {numbers(lanes), std::vector<std::byte>(lanes * results.size() * 4)}, kThreadgroups);
}

/// Component 0: 3a + 5b + ab; component 1: a − 2b. Neither is commutative or associative.
void add_merge(lane::Module& module) {
  lane::Function f;
  f.name = "merge";
  f.parameters = f.types = std::vector<ElementType>(4, ElementType::i32);
  Builder b(f.types, f.body);
  const ValueId weighted = b.add(b.mul(0, b.i32(3)), b.mul(2, b.i32(5)));
  f.returns = {b.add(weighted, b.mul(0, 2)), b.sub(1, b.mul(3, b.i32(2)))};
  module.functions.push_back(f);
}

TEST(JitControl, FoldsLanesOfEveryShape) {
  for (const std::uint32_t width : {4u, 8u, 16u, 32u, 64u})
    for (std::uint32_t registers = 1; registers <= 8 && registers * width <= 64; registers *= 2)
      for (std::uint32_t first = 0; (1u << first) < width; first += width > 16 ? 3 : 1) {
        const auto bits = static_cast<std::uint32_t>(std::countr_zero(width)) - first;
        run_lanes(width, width <= 8 ? 2 : 1, [&](Builder& b, KernelDraft& draft, ValueId x) {
          add_merge(draft.module);
          std::vector<ValueId> states;
          for (std::uint32_t i = 0; i < 2 * registers; ++i)
            states.push_back(b.add(b.mul(x, b.i32(static_cast<std::int32_t>(2 * i + 1))), b.lane()));
          std::vector<ValueId> all = b.fold_lanes(0, states, 2, first, bits);
          const std::vector<ValueId> one = b.fold_lanes(0, states, 2, first, 1);
          all.insert(all.end(), one.begin(), one.end());
          return all;
        });
      }
}

TEST(JitControl, Shuffles) {
  // Computed lanes are slow to compile in many lanes, so the two groups are narrow ones.
  for (const auto& [width, groups] : {std::pair{4u, 1u}, {4u, 2u}, {8u, 1u}, {8u, 2u}, {16u, 1u}, {32u, 1u}})
    run_lanes(width, groups, [&, width = width](Builder& b, KernelDraft&, ValueId x) {
      const auto half = static_cast<std::int32_t>(width / 2);
      // Of a vector, of a lane number, and of one value for all lanes; to constant and to computed lanes, also beyond the group.
      return std::vector<ValueId>{b.shuffle_xor(x, 1),
                                  b.shuffle_xor(x, width - 1),
                                  b.shuffle_xor(b.lane(), width / 2),
                                  b.shuffle(x, b.i32(half)),
                                  b.shuffle(b.lane(), b.i32(half + 1)),
                                  b.shuffle(x, b.add(b.lane(), b.i32(3))),
                                  b.shuffle(x, b.binary(Op::bit_xor, b.lane(), b.i32(2))),
                                  b.shuffle(x, b.unary(Op::neg, b.lane())),
                                  b.shuffle(b.simd_group(), b.lane())};
    });
}

TEST(JitControl, ShufflesDownAndPermutes) {
  // The builder has no call for these two.
  const auto parsed = lane::parse(R"(module m
kernel k simd_width 8 simd_groups 2 rows_per_threadgroup 1
  buffer y: i32 role output
  body
  %0 = lane
  %1 = simd_group
  %2 = constant i32 100
  %3 = mul %1, %2
  %4 = add %3, %0
  %5 = mul %4, %4
  %6 = shuffle_down %5 by 3
  %7 = permute2 %4, %5 table 15 0 14 1 13 2 12 3
  %8 = constant i32 8
  %9 = mul %1, %8
  %10 = add %9, %0
  %11 = convert %10 to i64
  %12 = constant i64 2
  %13 = mul %11, %12
  store y[%13] = %6, %7
)");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  run_everywhere(*parsed, {std::vector<std::byte>(2 * 16 * 4)}, 1);
}

TEST(JitControl, BarriersLetSimdGroupsSeeEachOther) {
  for (const std::uint32_t groups : {2u, 4u})
    run_lanes(8, groups, [&](Builder& b, KernelDraft& draft, ValueId x) {
      const auto threads = static_cast<std::int32_t>(8 * groups);
      draft.kernel().shared = {{"first", ElementType::f16, 3}, {"exchange", ElementType::i32, 8 * groups}};
      const ValueId thread = b.add(b.mul(b.simd_group(), b.i32(8)), b.lane());
      b.shared_store(1, thread, x);
      b.barrier();
      const ValueId mirrored = b.shared_load(1, ElementType::i32, b.sub(b.i32(threads - 1), thread));
      const ValueId same = b.shared_load(1, ElementType::i32, b.i32(9));
      b.barrier();
      // One lane of each group writes for all.
      b.branch(b.binary(Op::eq, b.lane(), b.i32(5)), [&] { b.shared_store(1, b.simd_group(), mirrored); });
      b.barrier();
      const ValueId other =
          b.shared_load(1, ElementType::i32, b.sub(b.i32(static_cast<std::int32_t>(groups) - 1), b.simd_group()));
      return std::vector<ValueId>{mirrored, same, other};
    });
}

TEST(JitControl, SimdGroupsExchangeValues) {
  for (const std::uint32_t groups : {1u, 2u, 4u})
    run_lanes(8, groups, [&](Builder& b, KernelDraft& draft, ValueId x) {
      draft.kernel().shared = {{"a", ElementType::i32, groups}, {"b", ElementType::i32, groups}};
      const ValueId first = b.shuffle(x, b.i32(0));
      b.exchange(0, std::array{first, b.simd_group()});
      const ValueId last = b.i32(static_cast<std::int32_t>(groups) - 1);
      return std::vector<ValueId>{b.shared_load(0, ElementType::i32, b.sub(last, b.simd_group())),
                                  b.shared_load(1, ElementType::i32, last)};
    });
}

TEST(JitControl, BranchesKeepLanesApart) {
  for (const std::uint32_t groups : {1u, 2u})
    run_lanes(8, groups, [&](Builder& b, KernelDraft& draft, ValueId x) {
      draft.kernel().registers = {{"r", ElementType::i32, 2}};
      const auto get = [&](std::uint32_t i) { return b.get(0, i, ElementType::i32); };
      b.set(0, 0, x);
      b.set(0, 1, b.i32(7));
      const ValueId odd = b.binary(Op::ne, b.binary(Op::bit_and, x, b.i32(1)), b.i32(0));
      const ValueId low = b.binary(Op::lt, b.lane(), b.i32(5));
      b.branch(
          odd,
          [&] {
            b.set(0, 0, b.add(get(0), b.i32(1000)));
            b.branch(low, [&] { b.set(0, 1, b.lane()); }, [&] { b.set(0, 1, b.mul(get(0), b.i32(3))); });
          },
          [&] { b.branch(low, [&] { b.set(0, 0, b.unary(Op::neg, get(0))); }); });
      // A condition that all lanes share, though it is not known before.
      b.branch(
          b.binary(Op::eq, b.threadgroup(), b.i64(1)), [&] { b.set(0, 1, b.add(get(1), b.i32(1 << 20))); },
          [&] { b.set(0, 0, b.add(get(0), get(1))); });
      return std::vector<ValueId>{get(0), get(1)};
    });
}

TEST(JitControl, LoopsCarryRegisters) {
  for (const std::uint32_t groups : {1u, 2u})
    run_lanes(8, groups, [&](Builder& b, KernelDraft& draft, ValueId x) {
      draft.kernel().registers = {{"acc", ElementType::i32, 1}, {"count", ElementType::i64, 1}};
      b.set(0, 0, x);
      b.set(1, 0, b.i64(0));
      const ValueId end = b.mul(b.threadgroup(), b.i64(5));  // no round at all in the first threadgroup
      b.loop(b.i64(0), end, b.i64(3), [&](ValueId i) {
        b.set(1, 0, b.add(b.get(1, 0, ElementType::i64), i));
        b.loop(i, b.add(i, b.i64(2)), b.i64(1), [&](ValueId j) {
          const ValueId acc = b.get(0, 0, ElementType::i32);
          const ValueId mixed = b.add(b.mul(acc, b.i32(31)), b.convert(j, ElementType::i32));
          b.branch(b.binary(Op::lt, b.lane(), b.convert(j, ElementType::i32)), [&] { b.set(0, 0, mixed); });
        });
      });
      // A loop inside a branch that only some lanes take.
      b.branch(b.binary(Op::gt, x, b.i32(0)), [&] {
        b.loop(b.i64(0), b.i64(4), b.i64(1),
               [&](ValueId) { b.set(0, 0, b.add(b.get(0, 0, ElementType::i32), b.lane())); });
      });
      return std::vector<ValueId>{b.get(0, 0, ElementType::i32),
                                  b.convert(b.get(1, 0, ElementType::i64), ElementType::i32)};
    });
}

TEST(JitControl, RegistersThatAllLanesShareStayWholeUnderAMask) {
  run_lanes(8, 1, [&](Builder& b, KernelDraft& draft, ValueId x) {
    draft.kernel().registers = {{"shared", ElementType::i32, 1}};
    b.set(0, 0, b.i32(1));
    b.branch(b.binary(Op::gt, x, b.i32(0)), [&] { b.set(0, 0, b.i32(2)); });
    const ValueId mixed = b.get(0, 0, ElementType::i32);
    b.set(0, 0, b.convert(b.threadgroup(), ElementType::i32));
    return std::vector<ValueId>{mixed, b.get(0, 0, ElementType::i32)};
  });
}

TEST(JitControl, LoopsEndWhereCountingOnWouldWrap) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(),
                         kMin = std::numeric_limits<std::int64_t>::min();
  run_lanes(4, 1, [&](Builder& b, KernelDraft& draft, ValueId) {
    draft.kernel().registers = {{"rounds", ElementType::i32, 1}};
    const ValueId fewer = b.threadgroup();  // not known to the compiler
    std::vector<ValueId> results;
    for (const auto& [begin, end, step] :
         {std::array{std::int64_t{1}, kMax, kMax}, {kMax - 3, kMax, std::int64_t{4}}, {kMin, kMax, kMax}}) {
      b.set(0, 0, b.i32(0));
      const auto count = [&](ValueId) { b.set(0, 0, b.add(b.get(0, 0, ElementType::i32), b.i32(1))); };
      b.loop(b.i64(begin), b.i64(end), b.i64(step), count);
      b.loop(b.i64(begin), b.sub(b.i64(end), fewer), b.sub(b.i64(step), fewer), count);
      results.push_back(b.get(0, 0, ElementType::i32));
    }
    return results;
  });
}

/// Each way to an i32 index of the lanes: those that wrap, and those just inside of it.
std::vector<ValueId> indices(Builder& b, ValueId uniform) {
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  const ValueId lane = b.lane(), group = b.simd_group();
  std::vector<ValueId> all;
  for (const std::int32_t offset : {kMax - 7, kMax - 6, kMax, -kMax - 1}) {
    all.push_back(b.add(lane, b.i32(offset)));
    all.push_back(b.sub(b.i32(offset), lane));
    all.push_back(b.add(lane, b.add(uniform, b.i32(offset))));
  }
  for (const std::int32_t factor : {3, -5, 1 << 28, 1 << 29, 1 << 30, -kMax - 1}) {
    all.push_back(b.mul(lane, b.i32(factor)));
    all.push_back(b.mul(b.mul(lane, b.i32(factor)), b.i32(4)));
    all.push_back(b.add(b.mul(group, b.i32(factor)), lane));
  }
  for (const std::int32_t count : {1, 28, 29, 31})
    all.push_back(b.binary(Op::shift_left, b.add(lane, group), b.i32(count)));
  const ValueId masked = b.binary(Op::bit_and, uniform, b.i32(3));
  all.push_back(b.add(lane, b.add(masked, b.i32(kMax - 10))));
  all.push_back(b.add(lane, b.add(masked, b.i32(kMax - 9))));
  // Wrapped twice, back to where nothing seems to have happened.
  all.push_back(b.add(b.add(lane, b.i32(kMax)), b.i32(-kMax)));
  all.push_back(b.convert(b.add(b.convert(lane, ElementType::i64), b.i64(kMax)), ElementType::i32));
  return all;
}

TEST(JitControl, WidensLaneNumbersAsTheyWrap) {
  for (const std::uint32_t groups : {1u, 2u})
    run_lanes(8, groups, [](Builder& b, KernelDraft&, ValueId) {
      std::vector<ValueId> results;
      for (const ValueId v : indices(b, b.convert(b.threadgroup(), ElementType::i32))) {
        // The bits around those where an i32 ends.
        const ValueId middle = b.binary(Op::shift_right, b.convert(v, ElementType::i64), b.i64(16));
        results.push_back(b.convert(middle, ElementType::i32));
      }
      return results;
    });
}

TEST(JitControl, IndexesThreadgroupArraysByWhatHasWrapped) {
  run_lanes(8, 2, [](Builder& b, KernelDraft& draft, ValueId x) {
    draft.kernel().shared = {{"exchange", ElementType::i32, 16}};
    const ValueId thread = b.add(b.mul(b.simd_group(), b.i32(8)), b.lane());
    b.shared_store(0, thread, x);
    b.barrier();
    // Even lanes wrap round to an index of the array; odd ones are far below it.
    const ValueId far = b.mul(b.lane(), b.i32(std::numeric_limits<std::int32_t>::min()));
    const ValueId index = b.add(b.sub(b.i32(15), thread), far);
    draft.kernel().registers = {{"r", ElementType::i32, 1}};
    b.set(0, 0, b.i32(-1));
    b.branch(b.binary(Op::ge, index, b.i32(0)), [&] { b.set(0, 0, b.shared_load(0, ElementType::i32, index)); });
    return std::vector<ValueId>{b.get(0, 0, ElementType::i32)};
  });
}

}  // namespace
}  // namespace lanefold::verify

#endif
