#include "machine/machine.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "lane/builder.h"
#include "machine/test_machine.h"

namespace lanefold::machine {
namespace {

using lane::ArgumentWord;
using lane::Builder;
using lane::Module;
using lane::Op;
using lane::ValueId;

Module parsed(const std::string& text) {
  Result<Module> module = lane::parse(text);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
  return std::move(module).value();
}

std::string head(std::uint32_t width, std::uint32_t groups) {
  return "kernel k simd_width " + std::to_string(width) + " simd_groups " + std::to_string(groups) +
         " rows_per_threadgroup 1\n";
}

/// Sums rows of n with two SIMD groups: strided partial sums, lanes by a fold, groups through threadgroup memory.
Module sum_module(std::uint32_t width) {
  const std::string threads = std::to_string(2 * width);
  return parsed("module m\nfunction sum(%0: f32, %1: f32) -> f32\n%2 = add %0, %1\nreturn %2\n" + head(width, 2) + R"(
    buffer x: f32 role input
    buffer y: f32 role output
    scalar n: i64 role cols
    shared partial: f32[2]
    register acc: f32[1]
    body
    %0 = argument n
    %1 = constant i64 0
    %2 = constant i64 )" +
                threads + R"(
    %3 = lane
    %4 = simd_group
    %5 = constant i32 )" +
                std::to_string(width) + R"(
    %6 = mul %4, %5
    %7 = add %6, %3
    %8 = convert %7 to i64
    %9 = threadgroup
    %10 = mul %9, %0
    %11 = constant f32 0
    set acc[0] = %11
    for %12 = %1 to %0 step %2
      %13 = add %12, %8
      %14 = lt %13, %0
      if %14
        %15 = add %10, %13
        %16 = load x[%15]
        %17 = get acc[0]
        %18 = add %17, %16
        set acc[0] = %18
      end
    end
    %19 = get acc[0]
    %20 = fold_lanes sum(%19) first_bit 0 bits )" +
                std::to_string(std::countr_zero(width)) + R"(
    %27 = constant i32 0
    %28 = eq %3, %27
    if %28
      shared_store partial[%4] = %20
    end
    barrier
    %21 = constant i32 0
    %22 = constant i32 1
    %23 = shared_load partial[%21]
    %24 = shared_load partial[%22]
    %25 = add %23, %24
    %26 = eq %7, %21
    if %26
      store y[%9] = %25
    end
)");
}

TEST(Machine, SumsAcrossGroupsAtEveryWidth) {
  for (const std::uint32_t width : {4u, 8u, 16u, 32u, 64u}) {
    const Module module = sum_module(width);
    const auto faults = lane::verify(module);
    ASSERT_TRUE(faults.empty()) << faults[0].text();
    std::vector<float> x(3 * 301), y(5, -1.0f);
    std::iota(x.begin(), x.end(), 1.0f);
    const ArgumentWord arguments[] = {{.pointer = x.data()}, {.pointer = y.data()}, {.integer = 301}};
    const Status status = run_plain(module, module.kernels[0], arguments, {3 * 301, 5}, 1, 3);
    ASSERT_TRUE(status.ok()) << status.error().text();
    EXPECT_EQ(y[0], -1.0f);
    for (int row = 1; row < 3; ++row) {
      EXPECT_EQ(y[row], std::accumulate(x.begin() + row * 301, x.begin() + (row + 1) * 301, 0.0f));
    }
    EXPECT_EQ(y[3], -1.0f);
  }
}

/// f(a, b) = 3a + 5b + ab is neither commutative nor associative; i32 so that every bit counts.
std::int32_t merge(std::int32_t a, std::int32_t b) {
  const auto u = [](std::int32_t v) { return static_cast<std::uint32_t>(v); };
  return static_cast<std::int32_t>(3 * u(a) + 5 * u(b) + u(a) * u(b));
}

TEST(Machine, FoldsLanesAsTheTransposingNetwork) {
  for (const std::uint32_t width : {4u, 8u, 64u}) {
    for (const std::uint32_t registers : {1u, 2u, 4u, 8u}) {
      for (std::uint32_t first = 0; (1u << first) < width; ++first) {
        for (std::uint32_t bits = 0; (1u << (first + bits)) <= width; ++bits) {
          Module module;
          module.name = "m";
          lane::Function f;
          f.name = "merge";
          f.parameters = f.types = std::vector<ElementType>(4, ElementType::i32);
          Builder fb(f.types, f.body);
          // Component 0 merges by f; component 1 takes the left one minus twice the right one.
          const ValueId weighted = fb.add(fb.mul(0, fb.i32(3)), fb.mul(2, fb.i32(5)));
          f.returns = {fb.add(weighted, fb.mul(0, 2)), fb.sub(1, fb.mul(3, fb.i32(2)))};
          module.functions.push_back(f);
          lane::Kernel& k = module.kernels.emplace_back();
          k.name = "k";
          k.simd_width = width;
          k.arguments = {{"y", true, ElementType::i32, lane::Role::output, 0}};
          Builder b(k.types, k.body);
          std::vector<ValueId> in;
          for (std::uint32_t i = 0; i < 2 * registers; ++i) {
            in.push_back(b.add(b.mul(b.lane(), b.i32(7)), b.i32(static_cast<std::int32_t>(i * i + 1))));
          }
          const std::vector<ValueId> out = b.fold_lanes(0, in, 2, first, bits);
          const auto count = static_cast<std::int64_t>(out.size());
          b.store(0, b.mul(b.convert(b.lane(), ElementType::i64), b.i64(count)), out);
          const auto faults = lane::verify(module);
          ASSERT_TRUE(faults.empty()) << faults[0].text();

          // The scalar reference, straight from the definition: a[register][component][lane].
          std::vector<std::array<std::array<std::int32_t, 64>, 2>> a(registers);
          for (std::uint32_t i = 0; i < 2 * registers; ++i) {
            for (std::uint32_t lane = 0; lane < width; ++lane) {
              a[i / 2][i % 2][lane] = static_cast<std::int32_t>(lane * 7 + i * i + 1);
            }
          }
          for (std::uint32_t bit = first; bit < first + bits; ++bit) {
            const std::uint32_t d = 1u << bit;
            auto next = a;
            next.resize(a.size() > 1 ? a.size() / 2 : 1);
            for (std::size_t q = 0; q < next.size(); ++q) {
              for (std::uint32_t lane = 0; lane < width; ++lane) {
                const bool set = (lane & d) != 0;
                const auto& source = a.size() == 1 ? a[0] : a[2 * q + (set ? 1 : 0)];
                const std::uint32_t low = set ? lane - d : lane;
                next[q][0][lane] = merge(source[0][low], source[0][low + d]);
                next[q][1][lane] = static_cast<std::int32_t>(static_cast<std::uint32_t>(source[1][low]) -
                                                             2 * static_cast<std::uint32_t>(source[1][low + d]));
              }
            }
            a = next;
          }
          std::vector<std::int32_t> y(width * out.size());
          const ArgumentWord arguments[] = {{.pointer = y.data()}};
          const Status status = run_plain(module, k, arguments, {std::ssize(y)});
          ASSERT_TRUE(status.ok()) << status.error().text();
          ASSERT_EQ(out.size(), 2 * a.size());
          for (std::uint32_t lane = 0; lane < width; ++lane) {
            for (std::size_t i = 0; i < out.size(); ++i) {
              ASSERT_EQ(y[lane * out.size() + i], a[i / 2][i % 2][lane])
                  << width << ' ' << registers << ' ' << first << ' ' << bits;
            }
          }
        }
      }
    }
  }
}

TEST(Machine, Shuffles) {
  const Module module = parsed("module m\n" + head(8, 1) + R"(
    buffer y: i32 role output
    body
    %0 = lane
    %1 = constant i32 100
    %2 = add %0, %1
    %3 = shuffle_xor %2 by 5
    %4 = shuffle_down %2 by 3
    %5 = constant i32 3
    %6 = mul %0, %5
    %7 = shuffle %2, %6
    %8 = permute2 %0, %2 table 15 0 14 1 13 2 12 3
    simd_barrier
    %9 = convert %0 to i64
    %10 = constant i64 4
    %11 = mul %9, %10
    store y[%11] = %3, %4, %7, %8 align 4
)");
  std::vector<std::int32_t> y(32);
  const ArgumentWord arguments[] = {{.pointer = y.data()}};
  const Status status = run_plain(module, module.kernels[0], arguments, {32});
  ASSERT_TRUE(status.ok()) << status.error().text();
  constexpr int kTable[] = {107, 0, 106, 1, 105, 2, 104, 3};
  for (int lane = 0; lane < 8; ++lane) {
    EXPECT_EQ(y[4 * lane], 100 + (lane ^ 5));
    EXPECT_EQ(y[4 * lane + 1], 100 + (lane + 3 < 8 ? lane + 3 : lane));
    EXPECT_EQ(y[4 * lane + 2], 100 + lane * 3 % 8);
    EXPECT_EQ(y[4 * lane + 3], kTable[lane]);
  }
}

/// Copies one element from a buffer of one type to a buffer of another, at unaligned addresses.
std::uint64_t copied(const std::string& from, const std::string& to, std::uint64_t bits) {
  const Module module = parsed("module m\n" + head(4, 1) + "buffer x: " + from + " role input\nbuffer y: " + to +
                               " role output\nbody\n%0 = constant i64 0\n%1 = load x[%0]\n%2 = lane\n%3 = constant i32 "
                               "0\n%4 = eq %2, %3\nif %4\nstore y[%0] = %1\nend\n");
  std::array<std::byte, 9> x{}, y{};
  std::memcpy(x.data() + 1, &bits, 8);
  const ArgumentWord arguments[] = {{.pointer = x.data() + 1}, {.pointer = y.data() + 1}};
  EXPECT_TRUE(run_plain(module, module.kernels[0], arguments, {1, 1}).ok());
  std::uint64_t out;
  std::memcpy(&out, y.data() + 1, 8);
  return out;
}

TEST(Machine, LoadsAndStoresEveryType) {
  EXPECT_EQ(copied("f32", "f32", 0xffa12345u), 0xffa12345u);  // a signalling NaN, as it is
  EXPECT_EQ(copied("f32", "f16", 0xffa12345u), 0x7e00u);
  EXPECT_EQ(copied("f32", "bf16", 0x3f808000u), 0x3f80u);
  EXPECT_EQ(copied("f32", "bf16", 0x3f818000u), 0x3f82u);
  EXPECT_EQ(copied("bf16", "f32", 0x0001u), 0x00010000u);
  EXPECT_EQ(copied("f16", "f32", 0x0001u), 0x33800000u);
  EXPECT_EQ(copied("e4m3", "f32", 0x7eu), 0x43e00000u);  // 448
  EXPECT_EQ(copied("f32", "e5m2", 0x7f800000u), 0x7bu);  // saturates
  EXPECT_EQ(copied("i8", "i32", 0x80u), 0xffffff80u);
  EXPECT_EQ(copied("i32", "i8", 0x1ffu), 0xffu);
  EXPECT_EQ(copied("i64", "i64", 0x8000000000000001u), 0x8000000000000001u);
}

TEST(Machine, BranchesKeepLanesApart) {
  const Module module = parsed("module m\n" + head(8, 1) + R"(
    buffer y: i32 role output
    register r: i32[1]
    body
    %0 = lane
    %1 = constant i32 3
    %2 = constant i32 0
    %3 = lt %0, %1
    set r[0] = %2
    if %3
      set r[0] = %1
      %4 = eq %0, %2
      if %4
      else
        set r[0] = %0
      end
    else
      %5 = neg %0
      set r[0] = %5
    end
    %6 = get r[0]
    %7 = convert %0 to i64
    store y[%7] = %6
)");
  std::vector<std::int32_t> y(8);
  const ArgumentWord arguments[] = {{.pointer = y.data()}};
  ASSERT_TRUE(run_plain(module, module.kernels[0], arguments, {8}).ok());
  EXPECT_EQ(y, (std::vector<std::int32_t>{3, 1, 2, -3, -4, -5, -6, -7}));
}

TEST(Machine, LoopsEndWithoutOverflow) {
  const Module module = parsed("module m\n" + head(4, 1) + R"(
    buffer y: i64 role output
    register last: i64[1]
    body
    %0 = constant i64 9223372036854775800
    %1 = constant i64 9223372036854775807
    %2 = constant i64 5
    %3 = constant i64 0
    for %4 = %0 to %1 step %2
      set last[0] = %4
    end
    for %5 = %1 to %0 step %2
      set last[0] = %3
    end
    %6 = get last[0]
    %7 = lane
    %8 = convert %7 to i64
    store y[%8] = %6
)");
  std::int64_t y[4] = {};
  const ArgumentWord arguments[] = {{.pointer = y}};
  ASSERT_TRUE(run_plain(module, module.kernels[0], arguments, {4}).ok());
  for (const std::int64_t last : y) EXPECT_EQ(last, 9223372036854775805);
}

TEST(Machine, BarrierAsFirstStatement) {
  // Group 0 may read what group 1 wrote only if it waits at both barriers.
  const Module module = parsed("module m\n" + head(4, 2) + R"(
    buffer y: i32 role output
    shared s: i32[2]
    body
    barrier
    %0 = simd_group
    %5 = lane
    %6 = constant i32 0
    %7 = eq %5, %6
    if %7
      shared_store s[%0] = %0
    end
    barrier
    %1 = constant i32 1
    %2 = bit_xor %0, %1
    %3 = shared_load s[%2]
    %4 = convert %0 to i64
    if %7
      store y[%4] = %3
    end
)");
  std::array<std::int32_t, 2> y{};
  const ArgumentWord arguments[] = {{.pointer = y.data()}};
  const Status status = run_plain(module, module.kernels[0], arguments, {2});
  ASSERT_TRUE(status.ok()) << status.error().text();
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 0);
}

void expect_fault(const std::string& body, Code code, const std::string& place = "") {
  const Module module =
      parsed("module m\nfunction f(%0: f32, %1: f32) -> f32\nreturn %0\n" + head(8, 2) +
             "buffer y: f32 role output\nshared s: f32[4]\nregister r: f32[1]\nregister n: i64[1]\n"
             "register b: bool[1]\nbody\n%0 = lane\n%1 = simd_group\n%2 = constant i32 1\n"
             "%3 = lt %0, %2\n%4 = lt %1, %2\n%5 = constant i64 0\n%6 = constant i64 9\n%7 = constant f32 1\n" +
             body);
  std::array<float, 16> y{};
  const ArgumentWord arguments[] = {{.pointer = y.data()}};
  const Status status = run_plain(module, module.kernels[0], arguments, {16});
  ASSERT_FALSE(status.ok()) << body;
  EXPECT_EQ(status.error().code, code) << status.error().text();
  if (!place.empty()) {
    EXPECT_EQ(status.error().place, place);
  }
}

TEST(Machine, Divergence) {
  expect_fault("if %3\nbarrier\nend\n", Code::machine_divergent_barrier, "k:9.1");
  expect_fault("if %3\nelse\n%8 = shuffle_xor %7 by 0\nend\n", Code::machine_divergent_simd, "k:9.else.1");
  expect_fault("if %3\n%8 = fold_lanes f(%7) first_bit 0 bits 1\nend\n", Code::machine_divergent_simd);
  expect_fault("if %3\nsimd_barrier\nend\n", Code::machine_divergent_simd);
  expect_fault("if %4\nbarrier\nend\n", Code::machine_barrier_mismatch, "k:9.1");
  expect_fault("if %4\nelse\nbarrier\nend\n", Code::machine_barrier_mismatch, "k:9.else.1");
  expect_fault("if %4\nbarrier\nelse\nbarrier\nend\n", Code::machine_barrier_mismatch);
  expect_fault("%8 = convert %0 to i64\nfor %9 = %5 to %8 step %6\nend\n", Code::machine_bad_loop);
  expect_fault("for %8 = %5 to %6 step %5\nend\n", Code::lane_loop_step);
  expect_fault("%8 = neg %6\nfor %9 = %5 to %6 step %8\nend\n", Code::machine_bad_loop);
}

TEST(Machine, Poison) {
  expect_fault("%8 = get n[0]\nstore y[%8] = %7\n", Code::machine_poison_used);
  expect_fault("%8 = get n[0]\n%9 = add %8, %6\n%10 = load y[%9]\n", Code::machine_poison_used);
  expect_fault("%8 = get b[0]\nif %8\nend\n", Code::machine_poison_used);
  expect_fault("%8 = get n[0]\nfor %9 = %5 to %8 step %6\nend\n", Code::machine_poison_used);
  expect_fault("%8 = get r[0]\nstore y[%5] = %8\n", Code::machine_poison_stored);
  expect_fault("%8 = shared_load s[%2]\nstore y[%5] = %8\n", Code::machine_poison_stored);
  expect_fault(
      "%8 = get r[0]\nif %3\nif %4\nshared_store s[%2] = %8\n%9 = shared_load s[%2]\nstore y[%5] = %9\nend\nend\n",
      Code::machine_poison_stored);
  expect_fault("if %3\nset r[0] = %7\nend\n%8 = get r[0]\n%9 = call f(%8, %7)\nstore y[%5] = %9\n",
               Code::machine_poison_stored);
  expect_fault(
      "if %3\nset r[0] = %7\nend\n%8 = get r[0]\n%9 = shuffle_xor %8 by 1\n"
      "if %3\nstore y[%5] = %9\nend\n",
      Code::machine_poison_stored);
}

TEST(Machine, PoisonStaysWhereItIsNotChosen) {
  const Module module = parsed("module m\n" + head(8, 1) + R"(
    buffer y: f32 role output
    register r: f32[1]
    register b: bool[1]
    body
    %0 = lane
    %1 = constant i32 0
    %2 = eq %0, %1
    %3 = constant f32 2
    if %2
      set r[0] = %3
    end
    %4 = get r[0]
    %5 = constant f32 1
    %6 = select %2, %4, %5
    %7 = convert %0 to i64
    store y[%7] = %6
    %8 = get b[0]
    %9 = constant bool false
    %10 = bit_and %8, %9
    if %10
      store y[%7] = %4
    end
)");
  std::array<float, 8> y{};
  const ArgumentWord arguments[] = {{.pointer = y.data()}};
  const Status status = run_plain(module, module.kernels[0], arguments, {8});
  ASSERT_TRUE(status.ok()) << status.error().text();
  EXPECT_EQ(y, (std::array<float, 8>{2, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(Machine, OtherFaults) {
  expect_fault("%8 = shared_load s[%0]\n", Code::machine_shared_bounds);
  expect_fault("%8 = neg %2\nshared_store s[%8] = %7\n", Code::machine_shared_bounds);
  expect_fault("%8 = div %6, %5\n", Code::machine_bad_integer);
  expect_fault("%8 = rem %6, %5\n", Code::machine_bad_integer);
  expect_fault("%8 = neg %2\n%9 = shift_left %2, %8\n", Code::machine_bad_integer);
  expect_fault("store y[%6] = %7 align 2\n", Code::machine_misaligned);
  expect_fault("%8 = load y[%6] align 4\n", Code::machine_misaligned);
}

TEST(Machine, StopsAfterTheStepsThatItMayTake) {
  const Module module = sum_module(8);
  std::vector<float> x(301, 1.0f), y(1);
  const ArgumentWord arguments[] = {{.pointer = x.data()}, {.pointer = y.data()}, {.integer = 301}};
  const auto first = [&](std::uint64_t steps) {
    GlobalMemory memory(module, plain_buffers(module.kernels[0], arguments, {301, 1}));
    Options options;
    options.end = 1;
    options.most_steps = steps;
    const Report report = run(module, module.kernels[0], arguments, 0, 0, memory, options);
    return report.findings.empty() ? std::optional<Code>() : std::optional(report.findings.front().code);
  };
  EXPECT_EQ(first(100), Code::machine_too_long);
  EXPECT_EQ(first(100000), std::nullopt);
}

TEST(Machine, RefusesWrongArgumentCount) {
  const Module module = sum_module(8);
  GlobalMemory memory(module, {});
  EXPECT_THROW((void)run(module, module.kernels[0], {}, 0, 0, memory), InternalError);
}

#if defined(__SSE2__)
TEST(Machine, IgnoresTheCallersFloatEnvironment) {
  const Module module = parsed("module m\n" + head(4, 1) +
                               "buffer x: f32 role input\nbuffer y: f32 role output\nbody\n"
                               "%0 = constant i64 0\n%1 = load x[%0]\n%2 = constant f32 0.5\n%3 = mul %1, %2\n"
                               "%4 = lane\n%5 = convert %4 to i64\nstore y[%5] = %3\n");
  std::uint32_t x = 0x00800001u, y[4] = {};  // half of it is a subnormal, rounded to even
  const ArgumentWord arguments[] = {{.pointer = &x}, {.pointer = y}};
  const unsigned saved = _mm_getcsr();
  const unsigned flushing = 0x1f80u | 0x8040u | 0x6000u;  // flush to zero, denormals are zero, round toward zero
  _mm_setcsr(flushing);
  const bool ok = run_plain(module, module.kernels[0], arguments, {1, 4}).ok();
  const unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  EXPECT_TRUE(ok);
  EXPECT_EQ(y[0], 0x00400000u);
  EXPECT_EQ(after & 0xffc0u, flushing & 0xffc0u);
}
#endif

}  // namespace
}  // namespace lanefold::machine
