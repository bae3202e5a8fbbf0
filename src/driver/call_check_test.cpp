#include "driver/call_check.h"

#include <functional>

#include <gtest/gtest.h>

namespace lanefold::driver {
namespace {

constexpr std::int64_t kRows = 3, kCols = 64;

/// A call that fits `program`, over memory of its own.
struct Fitting {
  ir::Program program = *ir::parse(
      "program p(x: f32[rows, cols], weight: f16[cols], bias: f32[rows], eps = 1)\n"
      "  store y: f32[rows, cols] = x * weight + bias + eps\n"
      "  store s: f32[rows] = fold sum x\n"
      "  store m: f32[rows, cols/32] = fold<32> max x\n");
  std::vector<std::byte> memory = std::vector<std::byte>(8192);
  std::vector<View> inputs = {view(0, ElementType::f32, kRows, kCols), view(1024, ElementType::f16, 1, kCols),
                              view(2048, ElementType::f32, kRows, 1)};
  std::vector<View> outputs = {view(3072, ElementType::f32, kRows, kCols), view(4096, ElementType::f32, kRows, 1),
                               view(5120, ElementType::f32, kRows, 2)};
  std::vector<float> parameters = {1.0f};
  std::int64_t rows = kRows, cols = kCols;

  View view(std::size_t at, ElementType type, std::int64_t r, std::int64_t c) {
    return {.data = memory.data() + at, .type = type, .rows = r, .cols = c, .row_stride = c};
  }
  Status check() const {
    return check_call(program,
                      {.inputs = inputs, .outputs = outputs, .parameters = parameters, .rows = rows, .cols = cols});
  }
};

void expect_refused(Code code, const std::string& named, const std::function<void(Fitting&)>& spoil) {
  Fitting call;
  spoil(call);
  const Status status = call.check();
  ASSERT_FALSE(status.ok()) << named;
  EXPECT_EQ(status.error().code, code) << status.error().text();
  EXPECT_NE(status.error().text().find(named), std::string::npos) << status.error().text();
  EXPECT_FALSE(status.error().hint.empty());
}

TEST(CheckCall, AcceptsWhatFits) {
  Fitting call;
  const Status status = call.check();
  EXPECT_TRUE(status.ok()) << status.error().text();
}

TEST(CheckCall, ExpectedShapes) {
  const auto shape = [](ir::Kind kind) {
    const Shape s = expected_shape(kind, 5, 128);
    return std::pair(s.rows, s.cols);
  };
  using Tag = ir::Kind::Tag;
  EXPECT_EQ(shape({Tag::element}), std::pair(std::int64_t{5}, std::int64_t{128}));
  EXPECT_EQ(shape({Tag::row}), std::pair(std::int64_t{5}, std::int64_t{1}));
  EXPECT_EQ(shape({Tag::column}), std::pair(std::int64_t{1}, std::int64_t{128}));
  EXPECT_EQ(shape({Tag::block, 32}), std::pair(std::int64_t{5}, std::int64_t{4}));
}

TEST(CheckCall, Types) {
  expect_refused(Code::call_type_mismatch, "input weight", [](Fitting& c) { c.inputs[1].type = ElementType::bf16; });
  expect_refused(Code::call_type_mismatch, "output s", [](Fitting& c) { c.outputs[1].type = ElementType::i32; });
}

TEST(CheckCall, Shapes) {
  expect_refused(Code::call_shape_mismatch, "input x is 3 x 63", [](Fitting& c) { c.inputs[0].cols = 63; });
  expect_refused(Code::call_shape_mismatch, "input weight is 2 x 64", [](Fitting& c) { c.inputs[1].rows = 2; });
  expect_refused(Code::call_shape_mismatch, "input bias", [](Fitting& c) { c.inputs[2].cols = kCols; });
  expect_refused(Code::call_shape_mismatch, "output m is 3 x 64", [](Fitting& c) { c.outputs[2].cols = kCols; });
  expect_refused(Code::call_shape_mismatch, "input x", [](Fitting& c) { c.rows = 4; });
}

TEST(CheckCall, Data) {
  expect_refused(Code::call_data_missing, "input bias", [](Fitting& c) { c.inputs[2].data = nullptr; });
  expect_refused(Code::call_data_missing, "output y", [](Fitting& c) { c.outputs[0].data = nullptr; });
  Fitting empty;
  empty.rows = 0;
  for (auto* views : {&empty.inputs, &empty.outputs})
    for (View& view : *views)
      if (view.rows == kRows) view.rows = 0, view.data = nullptr;
  EXPECT_TRUE(empty.check().ok()) << "rows that are not there need no data";
}

TEST(CheckCall, Counts) {
  expect_refused(Code::call_count_mismatch, "2 inputs", [](Fitting& c) { c.inputs.pop_back(); });
  expect_refused(Code::call_count_mismatch, "4 outputs", [](Fitting& c) { c.outputs.push_back(c.outputs[0]); });
  expect_refused(Code::call_count_mismatch, "0 parameters", [](Fitting& c) { c.parameters.clear(); });
}

TEST(CheckCall, Overlaps) {
  Fitting in_place;
  in_place.outputs[0].data = in_place.inputs[0].data;
  EXPECT_TRUE(in_place.check().ok()) << "an output may lie exactly on an input";
  expect_refused(Code::output_overlaps_input, "y", [](Fitting& c) { c.outputs[0].data = c.inputs[0].data + 4; });
  expect_refused(Code::outputs_overlap, "s", [](Fitting& c) { c.outputs[1].data = c.outputs[0].data; });
}

}  // namespace
}  // namespace lanefold::driver
