// Folds along rows, and matrices that are stored column by column: byte for byte against the oracle's exact meaning.
#include "conformance/trial.h"
#include "verify/staged_plans.h"

namespace lanefold::testing {
namespace {

struct Case {
  const char* name;
  const char* text;
  verify::Tolerance tolerance = {.absolute = 1e-5, .relative = 2e-5, .code = 0};
};

constexpr std::string_view kHead =
    "program p(x: f32[rows, cols], dy: bf16[rows, cols], w: f32[cols] = 1, r: f32[rows], eps = 1e-5)\n";

const Case kCases[] = {
    {"sum", "store y: f32[cols] = fold[rows] sum x"},
    {"mean", "store y: bf16[cols] = fold[rows] sum x / rows"},
    {"of a row's value", "store y: f32[cols] = fold[rows] sum (r * r) + w"},
    {"several",
     "store a: f32[cols] = fold[rows] max x\n store b: f32[cols] = fold[rows] prod (1 + x / 64)\n"
     "store c: i8[cols] = fold[rows] any (dy > 1.9)"},
    {"weight gradient",
     "inv = 1 / sqrt(fold dot(x, x) / cols + eps)\n"
     "store dw: f32[cols] = fold[rows] sum (dy * x * inv)\n"
     "store db: f32[cols] = fold[rows] sum dy\n"
     "store rstd: f32[rows] = inv",
     {.absolute = 1e-4, .relative = 1e-4, .code = 0}},
    {"batch norm",
     "mean = fold[rows] sum x / rows\n d = x - mean\n inv = 1 / sqrt(fold[rows] dot(d, d) / rows + eps)\n"
     "store y: f32[rows, cols] = d * inv * w\n store m: f32[cols] = mean",
     {.absolute = 1e-4, .relative = 1e-4, .code = 0}},
    {"then along columns",
     "c = x - fold[rows] sum x / rows\n m = fold max c\n e = exp(c - m)\n store y: f32[rows, cols] = e * (1 / fold sum "
     "e)"},
    {"columns without a fold",
     "store y: f32[cols] = w * 2\n store one: bf16[cols] = eps\n store s: f32[rows] = fold sum x"},
    {"a condition handed on", "bad = fold[rows] any (x > 1.95)\n store y: f32[rows, cols] = select(bad, 0, x)"},
};

ir::Program program(const Case& c) {
  auto parsed = ir::parse(std::string(kHead) + c.text);
  EXPECT_TRUE(parsed.ok()) << (parsed.ok() ? "" : parsed.error().text());
  return *std::move(parsed);
}

struct Shape {
  std::int64_t rows, cols;
};

void conforms(const Case& c, const std::string& device, ir::Order order, const Shape& shape, Placement placement) {
  SCOPED_TRACE(std::string(c.name) + ' ' + std::to_string(shape.rows) + 'x' + std::to_string(shape.cols) +
               " placement " + std::to_string(static_cast<int>(placement)) + " on " + device);
  Trial trial(program(c), shape.rows, shape.cols, placement);
  trial.fill_random(static_cast<std::uint64_t>(shape.rows), -1.0f, 2.0f);
  const Status status = trial.run(on_device(device, order));
  ASSERT_TRUE(status.ok()) << status.error().text();
  EXPECT_EQ(difference(trial.program(), trial.output_bytes(), trial.exact(order)), "");
  for (const verify::OutputReport& report : trial.compare(c.tolerance).outputs)
    EXPECT_EQ(report.wrong, 0) << report.name << ": " << report.got << " for " << report.expected;
}

TEST(RowAxis, EveryBitIsTheOracles) {
  for (const std::string& device : available_devices())
    for (const Case& c : kCases) {
      conforms(c, device, ir::Order::canonical, {1, 1}, Placement::packed);
      conforms(c, device, ir::Order::canonical, {5, 3}, Placement::odd);
      conforms(c, device, ir::Order::canonical, {33, 70}, Placement::every_second);
      conforms(c, device, ir::Order::canonical, {129, 40}, Placement::upwards);
      conforms(c, device, ir::Order::serial, {9, 33}, Placement::packed);
    }
}

TEST(RowAxis, ManyRows) {
  for (const std::string& device : available_devices()) {
    if (device == "lane-machine") continue;  // which many rows take long
    for (const Case& c : kCases) {
      conforms(c, device, ir::Order::canonical, {1000, 65}, Placement::packed);
      conforms(c, device, ir::Order::canonical, {3000, 37}, Placement::odd);
    }
    conforms(kCases[0], device, ir::Order::canonical, {40000, 33}, Placement::packed);
  }
  if (!has_cpu() && !has_cuda()) GTEST_SKIP() << "many rows take the lane machine long";
}

TEST(RowAxis, NoRowsAreRefused) {
  for (const std::string& device : available_devices()) {
    for (const Shape& shape : {Shape{0, 8}, Shape{4, 0}}) {
      Trial trial(program(kCases[0]), shape.rows, shape.cols);
      const Status status = trial.run(on_device(device));
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, Code::no_columns);
    }
  }
}

/// Runs a program of x and outputs z and y, z in the place of x.
Status run_over_input(const std::string& device, std::string_view text, std::vector<float>& x, std::vector<float>& y,
                      std::int64_t rows, std::int64_t cols, bool y_by_row) {
  const ir::Program p = ir::parse(text).value();
  const View in = {reinterpret_cast<std::byte*>(x.data()), ElementType::f32, rows, cols, cols, 1};
  const View out = {
      reinterpret_cast<std::byte*>(y.data()), ElementType::f32, y_by_row ? rows : 1, cols, y_by_row ? cols : 0, 1};
  const std::vector<View> inputs = {in},
                          outputs = p.stores.size() == 1 ? std::vector<View>{in} : std::vector<View>{in, out};
  LANEFOLD_TRY(const auto opened, verify::open(p, on_device(device)));
  return opened->run({.inputs = inputs, .outputs = outputs, .parameters = {}, .rows = rows, .cols = cols});
}

TEST(RowAxis, AnOutputOverAnInputThatALaterStageReadsIsRefused) {
  for (const std::string& device : available_devices()) {
    std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(6, -1);
    const std::vector<float> before = x;
    for (const char* rest :
         {"store y: f32[cols] = fold[rows] sum x", "store y: f32[rows, cols] = x - fold[rows] sum x"}) {
      const Status status = run_over_input(
          device, std::string("program f(x: f32[rows, cols])\n store z: f32[rows, cols] = x * 2\n ") + rest, x, y, 3, 2,
          std::string_view(rest).find("rows, cols]") != std::string_view::npos);
      ASSERT_FALSE(status.ok()) << rest;
      EXPECT_EQ(status.error().code, Code::output_overlaps_reread_input);
      EXPECT_EQ(x, before);
      EXPECT_EQ(y, std::vector<float>(6, -1));
    }
    // Where the stage that writes is the last one that reads, in place is fine.
    ASSERT_TRUE(run_over_input(device,
                               "program f(x: f32[rows, cols])\n store z: f32[rows, cols] = x - fold[rows] sum x / rows",
                               x, y, 3, 2, false)
                    .ok());
    EXPECT_EQ(x, (std::vector<float>{-2, -2, 0, 0, 2, 2}));
  }
}

TEST(RowAxis, WhatALaterStageRefusesIsRefusedBeforeTheFirst) {
  for (const std::string& device : available_devices()) {
    std::vector<float> x(15, 1), y(15, -1);
    const Status status = run_over_input(device,
                                         "program f(x: f32[rows, cols])\n store z: f32[rows, cols] = x * 2\n"
                                         " c = fold[rows] max 1.0\n store y: f32[rows, cols] = c / fold<32> max c",
                                         x, y, 3, 5, true);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::columns_not_whole_blocks);
    EXPECT_EQ(x, std::vector<float>(15, 1));
  }
}

TEST(RowAxis, PlansOfStagesAreThoseThatRun) {
  const ir::Program p =
      ir::parse(
          "program f(x: f32[rows, cols])\n store y: f32[cols] = fold[rows] max x\n store z: f32[rows] = fold sum x")
          .value();
  for (const std::string& device : available_devices())
    for (const Shape& shape : {Shape{100, 64}, {5, 9}, {300, 33}, {1, 40}}) {
      const verify::Matrix x(ElementType::f32, shape.rows, shape.cols), y(ElementType::f32, 1, shape.cols),
          z(ElementType::f32, shape.rows, 1);
      const std::vector<View> inputs = {x.view()}, outputs = {y.view(), z.view()};
      const verify::DeviceOptions options = on_device(device);
      const auto opened = verify::open(p, options);
      ASSERT_TRUE(opened.ok());
      const auto ran = (*opened)->plan(
          {.inputs = inputs, .outputs = outputs, .parameters = {}, .rows = shape.rows, .cols = shape.cols});
      ASSERT_TRUE(ran.ok()) << ran.error().text();
      plan::Request request;
      request.rows = shape.rows;
      request.cols = shape.cols;
      const auto plans = verify::plan_stages(p, options.target, request, device == "cpu");
      ASSERT_TRUE(plans.ok()) << plans.error().text();
      ASSERT_EQ(plans->size(), 2u);
      EXPECT_FALSE((*plans)[0].transposed);
      ASSERT_TRUE((*plans)[1].transposed);
      EXPECT_EQ(plan::to_json((*plans)[1].plan), plan::to_json(*ran));
      EXPECT_EQ((*plans)[1].plan.rows, shape.cols);
    }
}

TEST(RowAxis, APlanOfTheWholeIsRefused) {
  verify::DeviceOptions options = on_device(available_devices().front());
  options.plan = plan::Plan{};
  const auto opened = verify::open(program(kCases[0]), options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::plan_for_other_program);
}

/// A copy of a view's elements, column by column, in `memory`.
View by_columns(const View& view, std::vector<std::byte>& memory) {
  const std::size_t size = element_bytes(view.type);
  memory.assign(static_cast<std::size_t>(view.rows * view.cols) * size + 1, std::byte{0xff});
  View copy = {memory.data(), view.type, view.rows, view.cols, 1, view.rows};
  for (std::int64_t r = 0; r < view.rows; ++r)
    for (std::int64_t c = 0; c < view.cols; ++c) std::memcpy(copy.at(r, c), view.at(r, c), size);
  return copy;
}

TEST(ColumnMajor, EveryBitIsTheOracles) {
  for (const std::string& device : available_devices())
    for (const char* name : {"sum", "argmax", "softmax", "layer_norm"})
      for (const ElementType storage : {ElementType::f32, ElementType::bf16})
        for (const ir::Order order : {ir::Order::canonical, ir::Order::serial})
          for (const Shape& shape : {Shape{32, 1}, {31, 40}, {33, 100}, {70, 257}, {32, 40000}}) {
            if (device == "lane-machine" && shape.cols > 100) continue;
            if (shape.cols > 1000 && (order == ir::Order::serial || std::string_view(name) == "layer_norm")) continue;
            SCOPED_TRACE(std::string(name) + ' ' + std::to_string(shape.rows) + 'x' + std::to_string(shape.cols));
            Trial trial(operator_program(name, storage), shape.rows, shape.cols);
            trial.fill_random(7, -2.0f, 2.0f);
            std::vector<std::byte> x, y;
            trial.inputs[0] = by_columns(trial.inputs[0], x);
            const ir::Store& store = trial.program().stores[0];
            const driver::Shape wanted = driver::expected_shape(store.kind, shape.rows, shape.cols);
            const View output = by_columns(verify::Matrix(store.storage, wanted.rows, wanted.cols).view(), y);
            const std::vector<View> outputs = {output};
            auto opened = verify::open(trial.program(), on_device(device, order));
            ASSERT_TRUE(opened.ok());
            const Status status = (*opened)->run({.inputs = trial.inputs,
                                                  .outputs = outputs,
                                                  .parameters = trial.parameters,
                                                  .rows = shape.rows,
                                                  .cols = shape.cols});
            ASSERT_TRUE(status.ok()) << status.error().text();
            verify::Matrix got(store.storage, wanted.rows, wanted.cols);
            for (std::int64_t r = 0; r < wanted.rows; ++r)
              for (std::int64_t c = 0; c < wanted.cols; ++c)
                std::memcpy(got.view().at(r, c), output.at(r, c), element_bytes(store.storage));
            EXPECT_EQ(difference(trial.program(), {got.bytes()}, trial.exact(order)), "");
            EXPECT_EQ(y.back(), std::byte{0xff}) << "written behind the output";
          }
}

}  // namespace
}  // namespace lanefold::testing
