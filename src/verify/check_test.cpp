#include "verify/check.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/load_store.h"
#include "kernels/registry.h"
#include "verify/standard_inputs.h"

namespace lanefold::verify {
namespace {

std::vector<std::string> available_devices() {
  std::vector<std::string> names;
  for (const DeviceFact& fact : devices())
    if (fact.available) names.emplace_back(fact.name);
  return names;
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

ir::Program program(std::string_view text) { return *ir::parse(text); }

/// The report on outputs that hold `got` where the program's copy of x means `expected`.
OutputReport copied(ElementType storage, float expected, float got, const Tolerance& tolerance = {}) {
  const ir::Program p = program("program copy(x: f32[rows, cols])\n  store y: " + std::string(element_name(storage)) +
                                "[rows, cols] = x\n");
  Matrix x(ElementType::f32, 3, 5), y(storage, 3, 5);
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t c = 0; c < 5; ++c) {
      store_element(x.view().at(r, c), ElementType::f32, 1.0f);
      store_element(y.view().at(r, c), storage, 1.0f);
    }
  store_element(x.view().at(2, 3), ElementType::f32, expected);
  store_element(y.view().at(2, 3), storage, got);
  const CheckReport report =
      compare(p, {.inputs = {x.view()}, .parameters = {}, .rows = 3, .cols = 5}, {y.view()}, tolerance);
  EXPECT_EQ(report.outputs.at(0).elements, 15);
  EXPECT_EQ(report.ok(), report.outputs[0].wrong == 0);
  return report.outputs[0];
}

TEST(Compare, FindsTheOneWrongElement) {
  EXPECT_EQ(copied(ElementType::f32, 1.0f, 1.0f).wrong, 0);
  const OutputReport report = copied(ElementType::f32, 1.0f, 1.001f);
  EXPECT_EQ(report.wrong, 1);
  EXPECT_EQ(report.first_row, 2);
  EXPECT_EQ(report.first_column, 3);
  EXPECT_FLOAT_EQ(static_cast<float>(report.got), 1.001f);
  EXPECT_EQ(report.expected, 1.0);
  EXPECT_NEAR(report.max_error, 0.001, 1e-6);
}

TEST(Compare, TolerancesAreAbsoluteAndRelative) {
  EXPECT_EQ(copied(ElementType::f32, 1000.0f, 1000.5f, {.absolute = 0, .relative = 1e-3}).wrong, 0);
  EXPECT_EQ(copied(ElementType::f32, 1000.0f, 1000.5f, {.absolute = 0, .relative = 1e-4}).wrong, 1);
  EXPECT_EQ(copied(ElementType::f32, 0.0f, 0.01f, {.absolute = 0.02, .relative = 0}).wrong, 0);
  EXPECT_EQ(copied(ElementType::f32, 0.0f, 0.01f, {.absolute = 0.005, .relative = 1}).wrong, 1);
}

TEST(Compare, OneRoundingToTheStorageIsFree) {
  const Tolerance none{.absolute = 0, .relative = 0};
  EXPECT_EQ(copied(ElementType::bf16, 1.0f + 0x1p-8f, 1.0f, none).wrong, 0);
  EXPECT_EQ(copied(ElementType::bf16, 1.0f + 0x1p-8f, 1.0f + 0x1p-7f, none).wrong, 0);
  EXPECT_EQ(copied(ElementType::bf16, 1.0f + 0x1p-9f, 1.0f + 0x1p-7f, none).wrong, 1);
  EXPECT_EQ(copied(ElementType::f16, 0x1p-25f, 0.0f, none).wrong, 0) << "below the least subnormal";
}

TEST(Compare, SpecialValues) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    EXPECT_EQ(copied(type, kNan, kNan).wrong, 0);
    EXPECT_EQ(copied(type, kNan, 1.0f).wrong, 1);
    EXPECT_EQ(copied(type, 1.0f, kNan).wrong, 1);
    EXPECT_EQ(copied(type, kInf, kInf).wrong, 0);
    EXPECT_EQ(copied(type, kInf, -kInf).wrong, 1);
    EXPECT_EQ(copied(type, kInf, 1.0f).wrong, 1);
    EXPECT_EQ(copied(type, 1.0f, kInf).wrong, 1);
  }
  EXPECT_EQ(copied(ElementType::f16, 70000.0f, kInf).wrong, 0) << "f16 overflows";
  EXPECT_EQ(copied(ElementType::e4m3, 1e6f, 448.0f).wrong, 0) << "fp8 saturates";
  EXPECT_EQ(copied(ElementType::e4m3, 1e6f, 1.0f).wrong, 1);
  EXPECT_EQ(copied(ElementType::f16, 1e30f, 1.0f).wrong, 1);
  EXPECT_EQ(copied(ElementType::f16, 1e30f, 65504.0f).wrong, 0);
}

TEST(Compare, CodesMayDifferByTheirToleranceOnly) {
  const ir::Program p = program("program codes(x: f32[rows, cols])\n  store q: i8[rows, cols] = quantize(x, 1.0)\n");
  Matrix x(ElementType::f32, 1, 3), q(ElementType::i8, 1, 3);
  for (std::int64_t c = 0; c < 3; ++c) {
    store_element(x.view().at(0, c), ElementType::f32, 40.0f);
    store_integer(q.view().at(0, c), ElementType::i8, 40 + c);
  }
  for (int tolerance = 0; tolerance < 3; ++tolerance) {
    const CheckReport report =
        compare(p, {.inputs = {x.view()}, .parameters = {}, .rows = 1, .cols = 3}, {q.view()}, {.code = tolerance});
    EXPECT_EQ(report.outputs[0].wrong, 2 - tolerance);
    EXPECT_EQ(report.outputs[0].max_error, 2);
  }
}

TEST(CheckStandard, OperatorsPassOnBothDevices) {
  for (const std::string& device : available_devices())
    for (const char* op : {"softmax", "rms_norm_q8", "layer_norm"}) {
      DeviceOptions options;
      options.device = device;
      options.disk_cache = false;
      const auto report =
          check_standard(*kernels::build(*kernels::find(op), ElementType::f32), options, 3, 256, {.code = 1});
      ASSERT_TRUE(report.ok()) << report.error().text();
      EXPECT_TRUE(report->ok()) << device << ' ' << op;
      EXPECT_EQ(report->outputs.at(0).elements, 3 * 256);
    }
}

TEST(DigestStandard, IsTheSameOnEveryDevice) {
  const ir::Program p = *kernels::build(*kernels::find("rms_norm_q8"), ElementType::bf16);
  std::vector<std::vector<std::string>> digests;
  for (const std::string& device : available_devices()) {
    DeviceOptions options;
    options.device = device;
    options.disk_cache = false;
    const auto digest = digest_standard(p, options, 3, 256);
    ASSERT_TRUE(digest.ok()) << digest.error().text();
    ASSERT_EQ(digest->size(), p.stores.size());
    EXPECT_EQ(digest->at(0).size(), 64u);
    digests.push_back(*digest);
  }
  for (const std::vector<std::string>& digest : digests) EXPECT_EQ(digest, digests[0]);
}

TEST(Device, UnknownAndMissingOnesAreRefused) {
  DeviceOptions options;
  options.device = "abacus";
  const auto unknown = open(*kernels::build(*kernels::find("sum"), ElementType::f32), options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::unknown_device);
  for (const DeviceFact& fact : devices()) {
    EXPECT_NE(unknown.error().hint.find(fact.name), std::string::npos);
    options.device = fact.name;
    const auto opened = open(*kernels::build(*kernels::find("sum"), ElementType::f32), options);
    EXPECT_EQ(opened.ok(), fact.available);
    if (!opened) {
      EXPECT_EQ(opened.error().code, Code::device_missing);
    }
  }
}

TEST(StandardInputs, FollowTheFormula) {
  const ir::Program p = program(
      "program p(x: f32[rows, cols], w: bf16[cols], q: i8[rows, cols], label: i32[rows], eps = 0.25)\n"
      "  store y: f32[rows, cols] = x * w + q + gather(x, label) + eps\n");
  const std::int64_t rows = 3, cols = 50;
  const std::vector<Matrix> in = standard_inputs(p, rows, cols);
  ASSERT_EQ(in.size(), 4u);
  EXPECT_EQ(in[1].rows(), 1);
  EXPECT_EQ(in[3].cols(), 1);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      const std::int64_t i = r * cols + c;
      EXPECT_EQ(load_element_f64(in[0].view().at(r, c), ElementType::f32),
                static_cast<double>((i * 5 + 17) % 127 - 63) / 64);
      EXPECT_EQ(load_element_f64(in[1].view().at(0, c), ElementType::bf16),
                static_cast<double>((c * 11 + 17) % 127 - 63) / 64);
      EXPECT_EQ(load_element_integer(in[2].view().at(r, c), ElementType::i8), (i * 17 + 17) % 127 - 63);
    }
    EXPECT_EQ(load_element_integer(in[3].view().at(r, 0), ElementType::i32), (13 * r + 7) % cols);
  }
  EXPECT_EQ(default_parameters(p), std::vector<float>{0.25f});
  const std::vector<Matrix> none = standard_inputs(p, rows, 0);
  EXPECT_EQ(load_element_integer(none[3].view().at(2, 0), ElementType::i32), 0) << "no column to name";
}

}  // namespace
}  // namespace lanefold::verify
