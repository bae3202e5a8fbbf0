// Golden sources: the CUDA text of some operators. A change is looked at, and is no change of results unless a digest says so.
#include <algorithm>

#include "conformance/operator_table.h"
#include "conformance/trial.h"
#include "driver/pipeline.h"
#include "driver/source_text.h"
#include "golden/golden_file.h"

namespace lanefold::testing {
namespace {

struct Example {
  const char* op;
  ElementType storage;
  std::int64_t rows, cols;
  ir::Order order = ir::Order::canonical;
  std::uint32_t alignment = 1;
};

class GoldenSource : public ::testing::TestWithParam<Example> {};

TEST_P(GoldenSource, Cuda) {
  const Example& e = GetParam();
  const target::Target target = *target::find("cuda-sm90");
  plan::Request request;
  request.rows = e.rows;
  request.cols = e.cols;
  request.order = e.order;
  request.alignment = e.alignment;
  const auto lowered = driver::lower_program(operator_program(e.op, e.storage), target, request);
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  const auto text = driver::source_text(lowered->module, target, e.order);
  ASSERT_TRUE(text.ok()) << text.error().text();
  std::string name = std::string(e.op) + "." + std::string(element_name(e.storage)) + ".cuda-sm90." +
                     std::to_string(e.rows) + "x" + std::to_string(e.cols);
  if (e.order == ir::Order::free) name += ".free";
  expect_golden(name + ".cu", *text);
}

INSTANTIATE_TEST_SUITE_P(
    Examples, GoldenSource,
    ::testing::Values(Example{"rms_norm", ElementType::f32, 64, 4096}, Example{"softmax", ElementType::bf16, 4096, 128},
                      Example{"softmax", ElementType::f32, 1, 4096, ir::Order::free},
                      Example{"logsumexp", ElementType::bf16, 16384, 256, ir::Order::canonical, 8},
                      Example{"rms_norm_q8", ElementType::bf16, 16384, 256, ir::Order::canonical, 8},
                      Example{"logsumexp", ElementType::f32, 1, 65536, ir::Order::free, 4},
                      Example{"argmax", ElementType::bf16, 16384, 2560, ir::Order::canonical, 8},
                      Example{"residual_norm_q8", ElementType::f16, 16, 1024}),
    [](const auto& tested) {
      return std::string(tested.param.op) + "_" + std::string(element_name(tested.param.storage));
    });

/// Too long to keep: what wide rows of narrow elements must not lose.
TEST(WideSource, RowsStayPackedAndWeightsAreLoadedAhead) {
  const target::Target target = *target::find("cuda-sm90");
  plan::Request request;
  request.rows = 2048;
  request.cols = 131072;
  request.alignment = 8;
  const auto text = [&](ElementType storage) {
    const auto lowered = driver::lower_program(operator_program("rms_norm", storage), target, request);
    EXPECT_TRUE(lowered.ok()) << lowered.error().text();
    return *driver::source_text(lowered->module, target, ir::Order::canonical);
  };
  for (const ElementType storage : {ElementType::bf16, ElementType::f16, ElementType::f32}) {
    const std::string source = text(storage);
    const std::size_t waits = source.rfind("await(");
    ASSERT_NE(waits, source.npos);
    EXPECT_EQ(source.find("anew(x_values);", waits) != source.npos, storage != ElementType::f32) << source;
    EXPECT_LT(source.find("weight_values ="), waits) << source;
  }
}

}  // namespace
}  // namespace lanefold::testing
