// Every operator's kernels through NVRTC, without a device: they compile, and no default plan spills registers.
#include <cstring>

#include "conformance/operator_table.h"
#include "conformance/trial.h"
#include "driver/cuda/compiled_record.h"
#include "driver/pipeline.h"
#include "plan/describe.h"
#include "plan/layout.h"
#include "runtime/cuda/test_nvrtc.h"

namespace lanefold::testing {
namespace {

using runtime::CudaBinaryCache;

struct Size {
  std::int64_t rows, cols;
};
/// Short rows that share a SIMD group, rows that one threadgroup has in registers, and rows of several segments that begin at
/// no multiple of a vector.
constexpr Size kShort = {4096, 64}, kMedium = {256, 4096}, kWide = {8, 50257};

/// The canonical order's module as the library plans it by itself.
driver::Lowered lowered(std::string_view op, ElementType storage, const target::Target& target, const Size& size,
                        ir::Order order = ir::Order::canonical) {
  plan::Request request;
  request.rows = size.rows;
  request.cols = whole_columns(op, size.cols);
  request.alignment = plan::dense_alignment(request.cols);
  request.order = order;
  auto made = driver::lower_program(operator_program(op, storage), target, request);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
  return std::move(made).value();
}

driver::CompiledRecord record(const driver::Lowered& lowered, const target::Target& target,
                              std::vector<std::string> flags = {}) {
  auto made = driver::compiled_record(lowered.module, target, lowered.plan.order, CudaBinaryCache(std::nullopt),
                                      std::move(flags));
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
  return std::move(made).value();
}

/// Compiles, and looks at what the assembler says.
void expect_fits(std::string_view op, ElementType storage, const char* target_name, const Size& size) {
  const target::Target target = *target::find(target_name);
  SCOPED_TRACE(std::string(op) + ' ' + std::string(element_name(storage)) + ' ' + std::to_string(size.rows) + 'x' +
               std::to_string(size.cols) + " on " + target_name);
  const driver::Lowered made = lowered(op, storage, target, size);
  const driver::CompiledRecord compiled = record(made, target);
  ASSERT_EQ(compiled.kernels.size(), 1u);
  const driver::CompiledKernel& kernel = compiled.kernels[0];
  constexpr std::uint32_t kRegisters = 65536;  // of a multiprocessor
  EXPECT_EQ(kernel.spill_bytes, 0u) << kernel.registers << " registers, plan " << plan::layout_text(made.plan.layout);
  EXPECT_GT(kernel.registers, 0u);
  EXPECT_LE(kernel.registers * made.plan.threads, kRegisters) << "a threadgroup does not fit";
  // The compiler packs arrays more closely than a lane module does. An exchange has a barrier of its own.
  constexpr std::uint32_t kBarrierBytes = 8;
  const std::uint32_t barriers = made.plan.cluster > 1 ? driver::barrier_sites(made.module.kernels[0]) : 0;
  EXPECT_LE(kernel.shared_bytes, lane::shared_bytes(made.module.kernels[0]) + barriers * kBarrierBytes);
  EXPECT_EQ(kernel.shared_bytes == 0, made.module.kernels[0].shared.empty());
}

class CudaCompile : public ::testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const auto nvrtc = runtime::Nvrtc::get();
    if (nvrtc.ok()) return;
    if (runtime::nvrtc_required()) FAIL() << nvrtc.error().text();
    GTEST_SKIP() << nvrtc.error().text();
  }
};

/// Where a family has many operators, which differ in their last lines only, the narrower storages take turns.
TEST_P(CudaCompile, NoDefaultPlanSpills) {
  const bool full = conformance_row(GetParam())->depth == Depth::full;
  std::size_t turn = 0;
  for (const ElementType storage : kernels::storages(*kernels::find(GetParam()))) {
    constexpr Size kSizes[] = {kMedium, kWide, kShort};
    for (std::size_t i = 0; i < std::size(kSizes); ++i)
      if (storage == ElementType::f32 || full || turn % std::size(kSizes) == i)
        expect_fits(GetParam(), storage, "cuda-sm90", kSizes[i]);
    ++turn;
  }
}

TEST_P(CudaCompile, TheDefaultsOfEachTarget) {
  for (const char* target : {"cuda-sm80", "cuda-sm100"})
    for (const ElementType storage : {ElementType::f32, ElementType::bf16})
      expect_fits(GetParam(), storage, target, kMedium);
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const kernels::Operator& op : kernels::operators()) names.push_back(op.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Library, CudaCompile, ::testing::ValuesIn(operator_names()),
                         [](const auto& tested) { return std::string(tested.param); });

using CudaFastMath = runtime::NvrtcTest;

/// Somebody who embeds emitted source has options of their own.
TEST_F(CudaFastMath, DoesNotChangeCanonicalCode) {
  const target::Target target = *target::find("cuda-sm90");
  struct Example {
    const char* op;
    ElementType storage;
    Size size;
  };
  for (const Example& e :
       {Example{"sum", ElementType::f32, kMedium}, Example{"dot", ElementType::bf16, kMedium},
        Example{"argmax", ElementType::f32, kWide}, Example{"softmax", ElementType::f32, kMedium},
        Example{"softmax", ElementType::bf16, kShort}, Example{"log_softmax", ElementType::f16, kWide},
        Example{"logsumexp", ElementType::f32, kMedium}, Example{"cross_entropy", ElementType::bf16, kMedium},
        Example{"layer_norm", ElementType::f16, kMedium}, Example{"rms_norm", ElementType::f32, kWide},
        Example{"rms_norm_fp8", ElementType::bf16, kMedium}, Example{"residual_norm_q8", ElementType::e4m3, kShort},
        Example{"prod", ElementType::e5m2, kMedium}}) {
    SCOPED_TRACE(std::string(e.op) + ' ' + std::string(element_name(e.storage)));
    const driver::Lowered made = lowered(e.op, e.storage, target, e.size);
    const driver::CompiledRecord plain = record(made, target), fast = record(made, target, {"--use_fast_math"});
    ASSERT_FALSE(plain.cubin.empty());
    EXPECT_TRUE(plain.cubin == fast.cubin) << plain.cubin.size() << " and " << fast.cubin.size() << " bytes";
  }
}

/// The comparison above sees what fast arithmetic changes: under the order free, it may.
TEST_F(CudaFastMath, ChangesFreeCode) {
  const target::Target target = *target::find("cuda-sm90");
  const driver::Lowered made = lowered("rms_norm", ElementType::f32, target, kMedium, ir::Order::free);
  EXPECT_FALSE(record(made, target).cubin == record(made, target, {"--use_fast_math"}).cubin);
}

}  // namespace
}  // namespace lanefold::testing
