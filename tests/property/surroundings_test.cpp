// What must not show in the bytes: the number of threads, how rows are split into calls, the caller's floating-point
// environment, and which instructions the processor has.
#include "conformance/operator_table.h"
#include "conformance/trial.h"
#include "property/random_layout.h"
#include "property/seed.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace lanefold::testing {
namespace {

class Surroundings : public ::testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (!has_cpu()) GTEST_SKIP() << "this build has no JIT";
  }
  ir::Program program(ElementType storage = ElementType::f32) const { return operator_program(GetParam(), storage); }
  /// Every second element is subnormal where flushing would show in the result.
  void fill(Trial& trial, bool subnormal) const {
    Numbers numbers(property_seed() + 3);
    for (std::size_t i = 0; i < trial.inputs.size(); ++i)
      trial.fill(i, [&](std::int64_t, std::int64_t) {
        const float value = numbers.between(-3, 3);
        return subnormal && i == 0 ? value * 0x1p-128f : value;
      });
  }
};

TEST_P(Surroundings, ThreadsDoNotShow) {
  Trial trial(program(), 300, 384);
  fill(trial, false);
  const std::vector<Bytes> expected = trial.exact();
  for (const unsigned threads : {1u, 2u, 3u, 4u}) {
    verify::DeviceOptions options = on_device("cpu");
    options.threads = threads;
    auto device = verify::open(trial.program(), options);
    ASSERT_TRUE(device.ok()) << device.error().text();
    for (int repeat = 0; repeat < 3; ++repeat) {
      ASSERT_TRUE(trial.run(**device).ok());
      ASSERT_EQ(difference(trial.program(), trial.output_bytes(), expected), "") << threads << " threads";
    }
  }
}

TEST_P(Surroundings, SplitsOfTheRowsDoNotShow) {
  const std::int64_t cols = whole_columns(GetParam(), 64);
  Trial whole(program(ElementType::f16), 4096, cols);
  fill(whole, false);
  auto device = verify::open(whole.program(), on_device("cpu"));
  ASSERT_TRUE(device.ok()) << device.error().text();
  ASSERT_TRUE(whole.run(**device).ok());
  const std::vector<Bytes> all = whole.output_bytes();
  for (const std::int64_t most : {255, 17, 1}) {
    std::vector<Bytes> joined(all.size());
    const std::int64_t rows = most == 1 ? 100 : 4096;
    for (std::int64_t begin = 0; begin < rows; begin += most) {
      const std::int64_t count = std::min(most, rows - begin);
      Trial part(whole.program(), count, cols);
      for (std::size_t i = 0; i < part.inputs.size(); ++i) {
        part.inputs[i] = whole.inputs[i];
        if (whole.program().inputs[i].kind.tag == ir::Kind::Tag::column) continue;
        part.inputs[i].data = whole.inputs[i].at(begin, 0);
        part.inputs[i].rows = count;
      }
      ASSERT_TRUE(part.run(**device).ok());
      for (std::size_t o = 0; o < all.size(); ++o) {
        const Bytes bytes = part.output(o);
        joined[o].insert(joined[o].end(), bytes.begin(), bytes.end());
      }
    }
    for (std::size_t o = 0; o < all.size(); ++o)
      EXPECT_TRUE(std::equal(joined[o].begin(), joined[o].end(), all[o].begin())) << "calls of " << most << " rows";
  }
}

#if defined(__SSE2__)
constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040, kRoundUp = 0x4000;

TEST_P(Surroundings, TheCallersFloatingPointEnvironmentDoesNotShow) {
  for (const bool subnormal : {true, false})
    for (const unsigned threads : {1u, 3u}) {
      Trial trial(program(), 40, 256);
      fill(trial, subnormal);
      const std::vector<Bytes> expected = trial.exact();
      for (const unsigned set : {kFlushToZero | kDenormalsAreZero, kRoundUp}) {
        for (const std::string& name : available_devices()) {
          verify::DeviceOptions options = on_device(name);
          options.threads = threads;
          auto device = verify::open(trial.program(), options);
          ASSERT_TRUE(device.ok()) << device.error().text();
          const unsigned before = _mm_getcsr();
          _mm_setcsr(before | set);
          const Status status = trial.run(**device);
          const unsigned after = _mm_getcsr();
          _mm_setcsr(before);
          ASSERT_TRUE(status.ok()) << status.error().text();
          EXPECT_EQ(after & ~0x3fu, (before | set) & ~0x3fu) << "the caller's environment was not given back";
          EXPECT_EQ(difference(trial.program(), trial.output_bytes(), expected), "")
              << name << ' ' << threads << " threads, MXCSR | " << set << (subnormal ? ", subnormal inputs" : "");
        }
      }
    }
}
#endif

#if defined(__x86_64__)
std::vector<std::string> runnable_targets() {
  __builtin_cpu_init();
  std::vector<std::string> names = {"cpu-sse"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) names.emplace_back("cpu-avx2");
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    names.emplace_back("cpu-avx512");
  return names;
}

TEST_P(Surroundings, TheProcessorsInstructionsDoNotShow) {
  const bool brief = conformance_row(GetParam())->depth == Depth::brief;
  for (const ElementType storage : kernels::storages())
    for (const std::int64_t width : {32, 96, 1024, 4128}) {
      // Operators of one family differ in their last lines, and fp8 from the others in loads and stores.
      if ((width > 96 || width == 32) && (brief || element_bytes(storage) == 1)) continue;
      const std::int64_t cols = whole_columns(GetParam(), width);
      Trial trial(program(storage), 3, cols, Placement::odd);
      fill(trial, width == 96 && (storage == ElementType::f32 || storage == ElementType::bf16));
      const std::vector<Bytes> expected = trial.exact();
      for (const std::string& name : runnable_targets()) {
        verify::DeviceOptions options = on_device("cpu");
        options.target = *target::find(name);
        const Status status = trial.run(options);
        ASSERT_TRUE(status.ok()) << status.error().text();
        EXPECT_EQ(difference(trial.program(), trial.output_bytes(), expected), "")
            << name << ' ' << element_name(storage) << ' ' << cols;
      }
    }
}
#endif

TEST(Targets, ModulesOfEveryTargetMeanTheSame) {
  for (const kernels::Operator& op : kernels::operators()) {
    Trial trial(operator_program(op.name), 2, whole_columns(op.name, 416));
    trial.fill_random(property_seed(), -2, 2);
    const std::vector<Bytes> expected = trial.exact();
    for (const target::Target& target : target::targets()) {
      verify::DeviceOptions options = on_device("lane-machine");
      options.target = target;
      const Status status = trial.run(options);
      ASSERT_TRUE(status.ok()) << target.name << ": " << status.error().text();
      EXPECT_EQ(difference(trial.program(), trial.output_bytes(), expected), "") << op.name << " on " << target.name;
    }
  }
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const kernels::Operator& op : kernels::operators()) all.push_back(op.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Library, Surroundings, ::testing::ValuesIn(names()),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace lanefold::testing
