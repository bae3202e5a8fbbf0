#include "legality/overlap.h"

#include <vector>

#include <gtest/gtest.h>

namespace lanefold::legality {
namespace {

ir::Program parsed(std::string_view text) {
  auto p = ir::parse(text, "test");
  EXPECT_TRUE(p.ok()) << (p.ok() ? "" : p.error().text());
  return p.ok() ? *std::move(p) : ir::Program{};
}

class Overlap : public testing::Test {
 protected:
  std::vector<float> memory_ = std::vector<float>(4096);
  ir::Program scale_ = parsed("program scale(x: f32[rows, cols])\n  store y: f32[rows, cols] = x * fold max x\n");
  ir::Program two_ = parsed(
      "program two(x: f32[rows, cols], w: f32[cols])\n"
      "  store y: f32[rows, cols] = x * w\n"
      "  store z: f32[rows]       = fold sum x\n");

  View view(std::int64_t offset, std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
            std::int64_t column_stride = 1, ElementType type = ElementType::f32) {
    return {reinterpret_cast<std::byte*>(memory_.data() + offset), type, rows, cols, row_stride, column_stride};
  }
  static void expect(const std::optional<Diagnostic>& d, Code code, std::string_view says) {
    ASSERT_TRUE(d.has_value());
    EXPECT_EQ(d->code, code) << d->text();
    EXPECT_NE(d->message.find(says), std::string::npos) << d->message;
    EXPECT_FALSE(d->hint.empty());
  }
  std::optional<Diagnostic> scale(View x, View y) { return check_overlap(scale_, std::vector{x}, std::vector{y}); }
};

TEST_F(Overlap, ApartAndInPlaceAreFine) {
  EXPECT_FALSE(scale(view(0, 4, 10, 10), view(40, 4, 10, 10)));
  EXPECT_FALSE(scale(view(0, 4, 10, 10), view(0, 4, 10, 10)));
  EXPECT_FALSE(scale(view(50, 4, 10, -12), view(50, 4, 10, -12)));
  EXPECT_FALSE(scale(view(0, 1, 10, 0), view(0, 1, 10, 99)));  // one row: its stride says nothing
}

TEST_F(Overlap, NoRowsOrAbsentInputsTakeNoPart) {
  EXPECT_FALSE(scale(view(0, 0, 10, 10), view(3, 0, 10, 10)));
  View absent = view(0, 4, 10, 10);
  absent.data = nullptr;
  EXPECT_FALSE(scale(absent, view(0, 4, 10, 10)));
}

TEST_F(Overlap, PartialOverlapIsRefused) {
  expect(scale(view(0, 4, 10, 10), view(1, 4, 10, 10)), Code::output_overlaps_input, "output y and input x");
  expect(scale(view(0, 4, 10, 10), view(0, 4, 10, 12)), Code::output_overlaps_input, "element for element");
  // The same address with halves: later elements would be overwritten early.
  expect(scale(view(0, 4, 10, 10, 1, ElementType::f16), view(0, 4, 10, 10)), Code::output_overlaps_input, "x");
}

TEST_F(Overlap, InterleavedViewsAreApart) {
  EXPECT_FALSE(scale(view(0, 4, 10, 20), view(10, 4, 10, 20)));       // left and right half of one matrix
  EXPECT_FALSE(scale(view(0, 4, 10, 20, 2), view(1, 4, 10, 20, 2)));  // even and odd columns
  EXPECT_FALSE(scale(view(60, 4, 10, -20), view(10, 4, 10, 20)));
  expect(scale(view(0, 4, 10, 20), view(9, 4, 10, 20)), Code::output_overlaps_input, "x");
}

TEST_F(Overlap, CodesAndScalesOfBlocksAreApart) {
  std::vector<std::byte> memory(4 * 3 * 34);
  const View codes{memory.data() + 2, ElementType::i8, 4, 96, 102, 1, Packing::q8_0_codes};
  const View scale{memory.data(), ElementType::f16, 4, 3, 51, 17};
  EXPECT_FALSE(may_overlap(codes, scale));
  EXPECT_FALSE(may_overlap(scale, codes));
  View plain = codes;
  plain.packing = Packing::plain;
  EXPECT_TRUE(may_overlap(plain, scale));
  // What lies behind the last row is apart.
  std::vector<std::byte> behind(4 * 3 * 34 + 64);
  const View before{behind.data() + 2, ElementType::i8, 4, 96, 102, 1, Packing::q8_0_codes};
  EXPECT_FALSE(may_overlap(before, View{behind.data() + 4 * 3 * 34, ElementType::f32, 1, 16, 16, 1}));
  EXPECT_TRUE(may_overlap(before, View{behind.data() + 4 * 3 * 34 - 4, ElementType::f32, 1, 16, 16, 1}));
  View moved = scale;
  moved.data += 2;
  EXPECT_TRUE(may_overlap(codes, moved));
}

TEST_F(Overlap, InputsReadAtOtherElementsAreNotReplaced) {
  const ir::Program gathers = parsed(
      "program pick(x: f32[rows, cols], label: i32[rows])\n"
      "  store y: f32[rows, cols] = x - gather(x, label)\n");
  const auto d = check_overlap(gathers, std::vector{view(0, 4, 10, 10), view(200, 4, 1, 1, 0, ElementType::i32)},
                               std::vector{view(0, 4, 10, 10)});
  expect(d, Code::output_overlaps_reread_input, "gathers from");
  // One row over the weights themselves: other workers of the row may still read them.
  const auto column = check_overlap(two_, std::vector{view(0, 1, 10, 10), view(100, 1, 10, 0)},
                                    std::vector{view(100, 1, 10, 0), view(200, 1, 1, 1, 0)});
  expect(column, Code::output_overlaps_reread_input, "input w");
}

TEST_F(Overlap, OutputsAreApart) {
  const std::vector inputs = {view(0, 4, 10, 10), view(100, 1, 10, 0)};
  EXPECT_FALSE(check_overlap(two_, inputs, std::vector{view(200, 4, 10, 10), view(240, 4, 1, 1, 0)}));
  expect(check_overlap(two_, inputs, std::vector{view(200, 4, 10, 10), view(239, 4, 1, 1, 0)}), Code::outputs_overlap,
         "y and z");
}

TEST_F(Overlap, OutputStridesCoverTheRow) {
  expect(scale(view(0, 4, 10, 10), view(100, 4, 10, 0)), Code::output_rows_overlap, "strides 0 and 1");
  expect(scale(view(0, 4, 10, 10), view(200, 4, 10, -9)), Code::output_rows_overlap, "strides -9");
  expect(scale(view(0, 4, 10, 10), view(200, 4, 10, 18, 2)), Code::output_rows_overlap, "18 and 2");
  EXPECT_FALSE(scale(view(0, 4, 10, 10), view(200, 4, 10, 19, 2)));
  EXPECT_FALSE(scale(view(0, 4, 10, 10), view(200, 4, 10, 1, 4)));  // transposed
  EXPECT_FALSE(scale(view(0, 1, 10, 10), view(200, 1, 10, 0)));
  EXPECT_FALSE(scale(view(0, 4, 10, 0), view(200, 4, 10, 10)));  // an input may repeat its row
  EXPECT_FALSE(scale(view(0, 2, 2, 2), view(200, 2, 2, 3, 2)));  // neither axis steps over the other: 0, 2, 3, 5
  expect(scale(view(0, 3, 4, 4), view(200, 3, 4, 3, 2)), Code::output_rows_overlap, "strides 3 and 2");
}

TEST_F(Overlap, MayOverlapAgreesWithEveryByte) {
  // Small views, all of them, against the bytes themselves.
  const auto bytes = [&](const View& v) {
    std::vector<bool> touched(sizeof(float) * 256);
    for (std::int64_t r = 0; r < v.rows; ++r) {
      for (std::int64_t c = 0; c < v.cols; ++c) {
        const auto at = v.at(r, c) - reinterpret_cast<std::byte*>(memory_.data());
        for (std::size_t b = 0; b < element_bytes(v.type); ++b) touched[static_cast<std::size_t>(at) + b] = true;
      }
    }
    return touched;
  };
  const View a = view(100, 3, 2, 7);
  const auto of_a = bytes(a);
  int apart = 0;
  for (std::int64_t offset = 80; offset < 130; ++offset) {
    for (std::int64_t stride = -8; stride <= 8; ++stride) {
      for (std::int64_t column = 1; column <= 3; ++column) {
        const View b = view(offset, 3, 2, stride, column);
        const auto of_b = bytes(b);
        bool shared = false;
        for (std::size_t i = 0; i < of_a.size() && !shared; ++i) shared = of_a[i] && of_b[i];
        EXPECT_EQ(may_overlap(a, b), shared) << offset << " " << stride << " " << column;
        apart += !shared;
      }
    }
  }
  EXPECT_GT(apart, 1000);
}

}  // namespace
}  // namespace lanefold::legality
