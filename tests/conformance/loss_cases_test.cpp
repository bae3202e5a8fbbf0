// Public reports on softmaxes' logarithms, losses, codes and activations, as cases that must be right here; each is named
// after the project and the number of its report. cases_test.cpp has the others.
#include <limits>

#include "conformance/cases.h"

namespace lanefold::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Cases, pytorch_38839_log_softmax_far_from_zero) {
  // Near −1e7 an f32 is a whole number, and log Σ of numbers near 0 is no more than log 3: subtracting the maximum first
  // loses nothing, adding it to the logarithm would lose all.
  Trial trial(operator_program("log_softmax"), 4, 3);
  Numbers numbers(38839);
  trial.fill(0, [&](std::int64_t, std::int64_t c) { return numbers.unit() - 1e7f + static_cast<float>(c); });
  on_every_device(trial, [&] {
    expect_close(trial);
    for (std::int64_t r = 0; r < 4; ++r) {
      double sum = 0;
      for (std::int64_t c = 0; c < 3; ++c) sum += std::exp(trial.value(0, r, c));
      EXPECT_NEAR(sum, 1, 1e-6);
    }
  });
}

TEST(Cases, pytorch_38839_cross_entropy_far_from_zero) {
  Trial trial(operator_program("cross_entropy"), 3, 3);
  trial.fill(0, [](std::int64_t, std::int64_t c) { return static_cast<float>(c) - 1e7f; });
  trial.fill(1, [](std::int64_t r, std::int64_t) { return static_cast<float>(r); });
  const double log_sum = std::log(std::exp(-2.0) + std::exp(-1.0) + 1);
  on_every_device(trial, [&] {
    for (std::int64_t r = 0; r < 3; ++r) EXPECT_NEAR(trial.value(0, r), log_sum + 2 - static_cast<double>(r), 1e-6);
  });
}

TEST(Cases, pytorch_49724_31829_logsumexp_of_infinities) {
  for (const std::int64_t cols : {1, 2, 127, 128, 129, 1000, 33000}) {
    SCOPED_TRACE(cols);
    Trial trial(operator_program("logsumexp"), 3, cols);
    trial.fill(0, [&](std::int64_t r, std::int64_t c) {
      return r == 0 ? -kInf : r == 1 ? (c == cols - 1 ? kInf : 0.0f) : (c == cols - 1 ? kInf : -kInf);
    });
    on_every_device(trial, [&] {
      EXPECT_EQ(trial.value(0, 0), -static_cast<double>(kInf));
      EXPECT_EQ(trial.value(0, 1), static_cast<double>(kInf));
      EXPECT_EQ(trial.value(0, 2), static_cast<double>(kInf));
    });
  }
}

TEST(Cases, logsumexp_neither_overflows_nor_vanishes) {
  Trial trial(operator_program("logsumexp"), 2, 100);
  trial.fill(0, [](std::int64_t r, std::int64_t) { return r == 0 ? 1e4f : -1e4f; });
  on_every_device(trial, [&] {
    EXPECT_NEAR(trial.value(0, 0), 1e4 + std::log(100.0), 1e-3);
    EXPECT_NEAR(trial.value(0, 1), -1e4 + std::log(100.0), 1e-3);
  });
}

TEST(Cases, cross_entropy_of_a_wide_vocabulary) {
  for (const ElementType storage : {ElementType::f32, ElementType::bf16}) {
    Trial trial(operator_program("cross_entropy", storage), 3, 50257);
    trial.fill_random(50257, -8, 8);
    trial.set(1, 0, 0, 50256);
    trial.set(1, 1, 0, 50257);
    trial.set(1, 2, 0, -100);
    on_every_device(trial, [&] {
      expect_close(trial);
      EXPECT_GT(trial.value(0, 0), 0);
      EXPECT_TRUE(std::isnan(trial.value(0, 1)));
      EXPECT_EQ(trial.value(0, 2), 0);
    });
  }
}

TEST(Cases, kernels_community_681_codes_per_row_and_per_group) {
  // A row of zeros, and one whose greatest number over its scale rounds beyond the greatest code.
  for (const char* name : {"rms_norm_int8", "rms_norm_int8_grouped", "rms_norm_fp8", "rms_norm_fp8_grouped"}) {
    const bool fp8 = std::string_view(name).find("fp8") != std::string_view::npos;
    for (const float size : {0.3f, 1e-3f, 7.77f, 1.0f / 3}) {
      Trial trial(operator_program(name), 2, 256);
      trial.fill(0, [&](std::int64_t r, std::int64_t c) { return r == 0 ? 0.0f : c % 2 == 0 ? size : -size; });
      trial.fill(1, [](std::int64_t, std::int64_t) { return 1.0f; });
      on_every_device(trial, [&] {
        EXPECT_EQ(trial.value(1, 0), 0);
        EXPECT_TRUE(std::isfinite(trial.value(1, 1)));
        for (std::int64_t c = 0; c < 256; ++c) {
          EXPECT_EQ(trial.value(0, 0, c), 0);
          EXPECT_EQ(trial.value(0, 1, c), (c % 2 == 0 ? 1 : -1) * (fp8 ? 448 : 127)) << name << ' ' << size;
        }
      });
    }
  }
}

TEST(Cases, larql_gelu_tanh_of_large_arguments_saturates) {
  const auto gelu = ir::parse(
      "program gelu(x: f32[rows, cols])\n"
      "  inner = 0.7978845608 * (x + 0.044715 * x * x * x)\n"
      "  store y: f32[rows, cols] = 0.5 * x * (1 + tanh(inner))\n",
      "case");
  ASSERT_TRUE(gelu.ok()) << gelu.error().text();
  // At 1e13 the cube is beyond f32, so tanh sees an infinity.
  const float arguments[] = {0.0f, 1.0f, 9.0f, 50.0f, 100.0f, 1e4f, 1e13f, 3e38f};
  Trial trial(*gelu, 2, std::ssize(arguments));
  trial.fill(0, [&](std::int64_t r, std::int64_t c) { return r == 0 ? arguments[c] : -arguments[c]; });
  on_every_device(trial, [&] {
    EXPECT_NEAR(trial.value(0, 0, 1), 0.841192, 1e-5);
    EXPECT_NEAR(trial.value(0, 1, 1), -0.158808, 1e-5);
    for (std::int64_t c = 2; c < std::ssize(arguments); ++c) {
      EXPECT_EQ(trial.value(0, 0, c), static_cast<double>(arguments[c])) << c;
      EXPECT_EQ(trial.value(0, 1, c), 0) << c;
    }
  });
}

TEST(Cases, larql_post_norms_of_a_layer) {
  // Two dependent folds over rows of a model's hidden size, the second over what the first has made.
  for (const char* name : {"post_attn_residual_norm_store", "post_ffn_norm_residual_add", "qk_norm", "v_norm"})
    for (const std::int64_t cols : {128, 256, 2560}) {
      Trial trial(operator_program(name, ElementType::bf16), 2, cols, Placement::odd);
      trial.fill_random(static_cast<std::uint64_t>(cols), -2, 2);
      on_every_device(trial, [&] { expect_close(trial); });
    }
}

}  // namespace
}  // namespace lanefold::testing
