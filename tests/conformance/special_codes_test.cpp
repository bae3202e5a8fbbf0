// Special values of the operators that store codes: rows and blocks of zeros, NaN, saturation, scales that are subnormal
// or zero.
#include "conformance/operator_table.h"
#include "conformance/special_values.h"

namespace lanefold::testing {
namespace {

/// Operators that store codes.
std::vector<std::string_view> quantising() {
  std::vector<std::string_view> names;
  for (const kernels::Operator& op : kernels::operators()) {
    const ir::Program program = operator_program(op.name);
    for (const ir::Store& store : program.stores)
      if (store.name == "q") names.push_back(op.name);
  }
  return names;
}

class SpecialCodes : public ::testing::TestWithParam<std::string_view> {
 protected:
  /// A call with weights of 1, a residual of zeros, and x as the function says.
  template <class Function>
  Trial of(Function&& x, std::int64_t rows, std::int64_t cols, ElementType storage = ElementType::f32) const {
    Trial trial(operator_program(GetParam(), storage), rows, cols);
    for (std::size_t i = 0; i < trial.inputs.size(); ++i) {
      if (trial.program().inputs[i].name == "x") trial.fill(i, x);
      if (trial.program().inputs[i].name == "weight") trial.fill(i, [](std::int64_t, std::int64_t) { return 1.0f; });
    }
    return trial;
  }
  static std::optional<std::size_t> store(const Trial& trial, std::string_view name) {
    for (std::size_t o = 0; o < trial.program().stores.size(); ++o)
      if (trial.program().stores[o].name == name) return o;
    return std::nullopt;
  }
  static bool fp8_codes(const Trial& trial) {
    return trial.program().stores[*store(trial, "q")].storage == ElementType::e4m3;
  }
  static std::int64_t width(const Trial& trial, std::size_t o) {
    return driver::expected_shape(trial.program().stores[o].kind, trial.rows(), trial.cols()).cols;
  }
  bool ends_in(std::string_view ending) const { return GetParam().ends_with(ending); }
};

TEST_P(SpecialCodes, RowsOfEitherZeroHaveScaleZeroAndCodesZero) {
  for (const ElementType storage : {ElementType::f32, ElementType::bf16, ElementType::e4m3}) {
    Trial trial = of([](std::int64_t r, std::int64_t) { return r == 0 ? 0.0f : -0.0f; }, 2, 256, storage);
    everywhere(trial, [&] {
      const auto q = store(trial, "q"), scale = store(trial, "scale");
      for (std::int64_t r = 0; r < 2; ++r) {
        for (std::int64_t c = 0; c < 256; ++c) ASSERT_EQ(trial.value(*q, r, c), 0) << r << ' ' << c;
        for (std::int64_t c = 0; scale && c < width(trial, *scale); ++c) EXPECT_EQ(trial.value_bits(*scale, r, c), 0u);
      }
    });
  }
}

TEST_P(SpecialCodes, ABlockOfZerosBesideOthers) {
  Trial trial = of([](std::int64_t, std::int64_t c) { return c < 128 ? 0.0f : c % 2 == 0 ? 2.0f : -2.0f; }, 1, 256);
  const bool of_blocks = ends_in("q8") || ends_in("grouped");
  everywhere(trial, [&] {
    const auto q = store(trial, "q"), scale = store(trial, "scale");
    const double most = ends_in("given") ? std::nan("") : fp8_codes(trial) ? 448 : 127;
    for (std::int64_t c = 0; c < 128; ++c) ASSERT_EQ(trial.value(*q, 0, c), 0) << c;
    for (std::int64_t c = 128; c < 256 && !std::isnan(most); ++c)
      ASSERT_EQ(trial.value(*q, 0, c), c % 2 == 0 ? most : -most) << c;
    if (of_blocks) {
      EXPECT_EQ(trial.value_bits(*scale, 0, 0), 0u);
    }
    if (scale) {
      EXPECT_GT(trial.value(*scale, 0, width(trial, *scale) - 1), 0);
    }
  });
}

TEST_P(SpecialCodes, ARowWithAnInfinity) {
  Trial trial = of([](std::int64_t, std::int64_t c) { return c == 130 ? -kInf : 1.0f; }, 1, 256);
  everywhere(trial, [&] {
    const auto q = store(trial, "q"), scale = store(trial, "scale");
    // A norm makes 0 of finite elements and NaN of the infinity; plain codes have an infinite scale, and n / inf is 0.
    const bool whole_row = fp8_codes(trial) && !ends_in("grouped") && !ends_in("given");
    const bool group = fp8_codes(trial) && ends_in("grouped");
    for (std::int64_t c = 0; c < 256; ++c) {
      const bool nan = whole_row || (group && c >= 128) || (fp8_codes(trial) && c == 130);
      if (nan) {
        EXPECT_EQ(trial.value_bits(*q, 0, c), kNanFp8) << c;
      } else {
        EXPECT_EQ(trial.value(*q, 0, c), GetParam() == "quantize_q8" && c / 32 != 130 / 32 ? 127 : 0) << c;
      }
    }
    if (!scale) return;
    const std::int64_t blocks = width(trial, *scale), hit = 130 * blocks / 256;
    if (GetParam() == "quantize_q8") {
      EXPECT_EQ(trial.value(*scale, 0, hit), static_cast<double>(kInf));
    } else {
      EXPECT_EQ(trial.value_bits(*scale, 0, hit), kNanF32);
    }
    for (std::int64_t b = 0; b < blocks; ++b)
      if (b != hit) {
        EXPECT_FALSE(std::isnan(trial.value(*scale, 0, b))) << b;
      }
  });
}

TEST_P(SpecialCodes, ScalesThatAreSubnormalOrVanish) {
  // Of 180 units of 2^-149, 1/127 rounds to one unit, and a code would be 180; 1/448 rounds to 0. 300 units over 448
  // round to one unit.
  for (const int units : {180, 300}) {
    const float small = std::ldexp(static_cast<float>(units), -149);
    Trial trial = of([&](std::int64_t, std::int64_t) { return GetParam() == "quantize_q8" ? small : 1.0f; }, 1, 128);
    for (std::size_t i = 0; i < trial.inputs.size(); ++i)
      if (trial.program().inputs[i].name == "weight") trial.fill(i, [&](std::int64_t, std::int64_t) { return small; });
    if (ends_in("given")) trial.set_parameter("scale", 0x1p-149f);
    everywhere(trial, [&] {
      const auto q = store(trial, "q"), scale = store(trial, "scale");
      const double unit = ends_in("given") ? 1 : std::round(units / (fp8_codes(trial) ? 448.0 : 127.0));
      if (scale) {
        EXPECT_EQ(trial.value(*scale, 0, 0), unit * 0x1p-149);
      }
      double code = unit == 0 ? 0 : std::min(127.0, std::round(units / unit));
      if (fp8_codes(trial) && unit != 0) code = units == 180 ? 176 : 288;  // e4m3 from 128 on: steps of 16, then of 32
      for (std::int64_t c = 0; c < 128; ++c) ASSERT_EQ(trial.value(*q, 0, c), code) << units << ' ' << c;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Library, SpecialCodes, ::testing::ValuesIn(quantising()),
                         [](const auto& tested) { return std::string(tested.param); });

/// Codes of a given scale: clamped, saturated, and 0 where the scale is.
TEST(SpecialCodesOfAGivenScale, ClampSaturateAndVanish) {
  for (const char* name : {"rms_norm_int8_given", "rms_norm_fp8_given"}) {
    const bool fp8 = std::string_view(name) == "rms_norm_fp8_given";
    Trial trial(operator_program(name), 1, 32);
    trial.fill(0, [](std::int64_t, std::int64_t c) { return c % 2 == 0 ? 1.0f : -1.0f; });
    trial.fill(1, [](std::int64_t, std::int64_t) { return 1.0f; });
    trial.set_parameter("eps", 0);
    for (const auto& [scale, code] : {std::pair{0x1p-10f, fp8 ? 448.0 : 127.0},
                                      {0x1p-6f, 64.0},
                                      {1.0f, 1.0},
                                      {2.0f, fp8 ? 0.5 : 1.0},  // half a code rounds away from zero
                                      {0x1p+10f, 0.0},
                                      {0.0f, 0.0},
                                      {kInf, 0.0}}) {
      trial.set_parameter("scale", scale);
      everywhere(trial, [&] {
        for (std::int64_t c = 0; c < 32; ++c)
          EXPECT_EQ(trial.value(0, 0, c), c % 2 == 0 ? code : -code) << name << ' ' << scale << ' ' << c;
      });
    }
    trial.set_parameter("scale", std::nanf(""));
    everywhere(trial, [&] {
      if (fp8) {
        EXPECT_EQ(trial.value_bits(0, 0, 3), kNanFp8);
      } else {
        EXPECT_EQ(trial.value(0, 0, 3), 0);
      }
    });
  }
}

}  // namespace
}  // namespace lanefold::testing
