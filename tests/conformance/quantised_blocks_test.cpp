// q8_0 blocks as callers hold them: 34 bytes, of which the first two are the scale. Interleaved codes and scales give the same
// bytes as two arrays.
#include "base/narrow.h"
#include "conformance/trial.h"

namespace lanefold::testing {
namespace {

constexpr std::int64_t kBlock = 32, kBlockBytes = 34;

/// The views of codes and scales in rows of blocks.
struct Blocks {
  Blocks(std::int64_t rows, std::int64_t cols, std::int64_t gap_blocks = 0)
      : memory(static_cast<std::size_t>(rows * (cols / kBlock + gap_blocks) * kBlockBytes + 1), std::byte{0xaa}) {
    const std::int64_t row_blocks = cols / kBlock + gap_blocks;
    codes = {memory.data() + 2, ElementType::i8, rows, cols, row_blocks * kBlockBytes, 1, Packing::q8_0_codes};
    scale = {memory.data(), ElementType::f16, rows, cols / kBlock, row_blocks * kBlockBytes / 2, kBlockBytes / 2};
  }
  std::vector<std::byte> memory;
  View codes, scale;
};

void copy(const View& from, const View& to) {
  for (std::int64_t r = 0; r < from.rows; ++r)
    for (std::int64_t c = 0; c < from.cols; ++c) std::memcpy(to.at(r, c), from.at(r, c), element_bytes(from.type));
}

TEST(QuantisedBlocks, WeightsAreReadInterleaved) {
  for (const std::string& device : available_devices())
    for (const std::uint32_t tokens : {1u, 3u, 8u})
      for (const std::int64_t cols : {32, 96, 256, 1024, 2560}) {
        if (device == "lane-machine" && cols > 256) continue;
        SCOPED_TRACE(device + " " + std::to_string(tokens) + " tokens, " + std::to_string(cols) + " columns");
        const ir::Program program =
            kernels::build(*kernels::find("matvec"), {.weights = "q8_0", .tokens = tokens}).value();
        Trial trial(program, 7, cols);
        trial.fill_random(tokens, -1.0f, 2.0f);
        trial.fill(0, [&](std::int64_t r, std::int64_t c) { return static_cast<float>((r * 31 + c * 7) % 255 - 127); });
        ASSERT_TRUE(trial.run(on_device(device)).ok());
        const std::vector<Bytes> planes = trial.output_bytes();
        EXPECT_EQ(difference(program, planes, trial.exact()), "");
        Blocks blocks(7, cols, 1);
        copy(trial.inputs[0], blocks.codes);
        copy(trial.inputs[1], blocks.scale);
        trial.inputs[0] = blocks.codes;
        trial.inputs[1] = blocks.scale;
        const Status status = trial.run(on_device(device));
        ASSERT_TRUE(status.ok()) << status.error().text();
        EXPECT_EQ(difference(program, trial.output_bytes(), planes), "");
        EXPECT_EQ(difference(program, planes, trial.exact()), "");
      }
}

TEST(QuantisedBlocks, OutputsAreWrittenInterleaved) {
  const ir::Program program = ir::parse("program p(x: f32[rows, cols])\n store q: q8_0[rows, cols] = x * 3").value();
  for (const std::string& device : available_devices())
    for (const std::int64_t cols : {32, 96, 416}) {
      SCOPED_TRACE(device + " " + std::to_string(cols) + " columns");
      Trial trial(program, 5, cols);
      trial.fill_random(3, -4.0f, 4.0f);
      trial.fill(0, [&](std::int64_t r, std::int64_t c) {
        return r == 1 ? 0.0f : static_cast<float>((c * 37 + r * 11) % 101 - 50) / 8;
      });
      ASSERT_TRUE(trial.run(on_device(device)).ok());
      EXPECT_EQ(difference(program, trial.output_bytes(), trial.exact()), "");
      Blocks blocks(5, cols);
      const std::vector<View> outputs = {blocks.codes, blocks.scale};
      const auto opened = verify::open(program, on_device(device));
      ASSERT_TRUE(opened.ok());
      const Status status = (*opened)->run(
          {.inputs = trial.inputs, .outputs = outputs, .parameters = trial.parameters, .rows = 5, .cols = cols});
      ASSERT_TRUE(status.ok()) << status.error().text();
      verify::Matrix codes(ElementType::i8, 5, cols), scale(ElementType::f16, 5, cols / kBlock);
      copy(blocks.codes, codes.view());
      copy(blocks.scale, scale.view());
      EXPECT_EQ(difference(program, {codes.bytes(), scale.bytes()}, trial.output_bytes()), "");
      EXPECT_EQ(blocks.memory.back(), std::byte{0xaa}) << "written behind the blocks";
      // A row of zeros has scale 0 and codes 0.
      EXPECT_EQ(load_element_f64(blocks.scale.at(1, 0), ElementType::f16), 0.0);
      EXPECT_EQ(load_element_integer(blocks.codes.at(1, 5), ElementType::i8), 0);
    }
}

TEST(QuantisedBlocks, ColumnsAreWholeBlocks) {
  const ir::Program program = kernels::build(*kernels::find("matvec"), {.weights = "q8_0"}).value();
  for (const std::string& device : available_devices()) {
    Trial trial(program, 2, 100);
    const Status status = trial.run(on_device(device));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::columns_not_whole_blocks);
  }
}

}  // namespace
}  // namespace lanefold::testing
