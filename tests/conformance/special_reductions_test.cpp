// Special values of the reductions and of what softmax has brought forth, each operator by itself, in every storage.
#include "conformance/special_values.h"

namespace lanefold::testing {
namespace {

class SpecialReductions : public ::testing::TestWithParam<ElementType> {
 protected:
  ElementType storage() const { return GetParam(); }
  bool has_infinities() const { return storage() != ElementType::e4m3; }
  Trial trial(std::string_view name, std::int64_t rows, std::int64_t cols) const {
    return Trial(operator_program(name, storage()), rows, cols);
  }
};

TEST_P(SpecialReductions, MinPrefersNegativeZero) {
  for (const std::int64_t cols : {1, 2, 33, 1000}) {
    Trial min = trial("min", 3, cols);
    min.fill(0, [&](std::int64_t r, std::int64_t c) { return r == 0 || (r == 1 && c != cols / 2) ? 0.0f : -0.0f; });
    everywhere(min, [&] {
      EXPECT_EQ(min.value_bits(0, 0), 0u) << cols;
      EXPECT_EQ(min.value_bits(0, 1), sign_bit(storage())) << cols;
      EXPECT_EQ(min.value_bits(0, 2), sign_bit(storage())) << cols;
    });
  }
}

TEST_P(SpecialReductions, MinOfInfinities) {
  if (!has_infinities()) return;
  Trial min = trial("min", 3, 300);
  fill_with_infinities(min, 0, [](std::int64_t r, std::int64_t c) {
    return r == 0 ? kInf : r == 1 && c == 288 ? -kInf : r == 1 || c != 7 ? 1.0f : kInf;
  });
  everywhere(min, [&] {
    EXPECT_EQ(min.value(0, 0), stored_infinity(storage()));
    EXPECT_EQ(min.value(0, 1), -stored_infinity(storage()));
    EXPECT_EQ(min.value(0, 2), 1);
  });
}

TEST_P(SpecialReductions, ArgminTakesTheFirstNanElseTheFirstOfTheLeast) {
  for (const std::int64_t cols : {4, 31, 32, 257, 1024}) {
    Trial argmin = trial("argmin", 4, cols);
    argmin.fill(0, [&](std::int64_t r, std::int64_t c) {
      return r == 0 ? 2.0f : r == 1 ? (c >= cols - 2 ? -5.0f : 5.0f) : r == 2 ? -4.0f : c % 2 == 0 ? 0.0f : -0.0f;
    });
    argmin.set_bits(0, 2, cols - 1, nans(storage())[1]);
    argmin.set_bits(0, 2, cols - 2, nans(storage())[4]);
    everywhere(argmin, [&] {
      const std::int64_t expected[] = {0, cols - 2, cols - 2, 0};  // +0 and −0 are equal
      for (std::int64_t r = 0; r < 4; ++r) EXPECT_EQ(argmin.value(0, r), static_cast<double>(expected[r])) << r;
    });
  }
}

TEST_P(SpecialReductions, AnyAndAllTakeNanForTrueAndEitherZeroForFalse) {
  for (const std::int64_t cols : {1, 2, 31, 33, 257, 1000}) {
    Trial any = trial("any", 5, cols), all = trial("all", 5, cols);
    for (Trial* call : {&any, &all}) {
      call->fill(0, [&](std::int64_t r, std::int64_t c) {
        const bool here = c == cols / 3;
        return r == 0 ? 0.0f : r == 1 ? -0.0f : r == 2 ? (here ? 0.0f : -2.0f) : r == 3 ? (here ? 0.5f : 0.0f) : 1.0f;
      });
      call->set_bits(0, 4, cols / 3, nans(storage())[1]);
    }
    const double of_one = cols == 1 ? 0 : 1;  // row 2 holds its zero alone
    everywhere(any, [&] {
      const double expected[] = {0, 0, of_one, 1, 1};
      for (std::int64_t r = 0; r < 5; ++r) EXPECT_EQ(any.value(0, r), expected[r]) << cols << ", row " << r;
    });
    everywhere(all, [&] {
      const double expected[] = {0, 0, 0, 1 - of_one, 1};
      for (std::int64_t r = 0; r < 5; ++r) EXPECT_EQ(all.value(0, r), expected[r]) << cols << ", row " << r;
    });
  }
}

TEST_P(SpecialReductions, ProductsOfZerosSignsAndInfinities) {
  Trial prod = trial("prod", 4, 300);
  fill_with_infinities(prod, 0, [&](std::int64_t r, std::int64_t c) {
    if (r == 0) return c == 5 ? 0.0f : c == 200 ? -1.0f : 1.0f;
    if (r == 1) return c < 3 ? -1.0f : 1.0f;
    if (r == 2) return c == 9 ? (has_infinities() ? -kInf : -2.0f) : 1.0f;
    return c == 9 ? kInf : c == 250 ? 0.0f : 1.0f;
  });
  everywhere(prod, [&] {
    EXPECT_EQ(prod.value_bits(0, 0), 0x80000000u);
    EXPECT_EQ(prod.value(0, 1), -1);
    EXPECT_EQ(prod.value(0, 2), has_infinities() ? -static_cast<double>(kInf) : -2);
    if (has_infinities()) {
      EXPECT_EQ(prod.value_bits(0, 3), kNanF32);
    } else {
      EXPECT_EQ(prod.value(0, 3), 0);
    }
  });
}

TEST_P(SpecialReductions, MomentsOfConstantsAndInfinities) {
  const std::int64_t cols = 300;
  Trial mean = trial("mean", 3, cols), var = trial("var", 3, cols), length = trial("l2_norm", 3, cols);
  for (Trial* call : {&mean, &var, &length})
    fill_with_infinities(*call, 0, [&](std::int64_t r, std::int64_t c) {
      return r == 0 ? -0.0f : r == 1 ? 1.5f : c == 40 && has_infinities() ? -kInf : -2.0f;
    });
  everywhere(mean, [&] {
    EXPECT_EQ(mean.value_bits(0, 0), 0x80000000u);
    EXPECT_EQ(mean.value(0, 1), 1.5);
    EXPECT_EQ(mean.value(0, 2), has_infinities() ? -static_cast<double>(kInf) : -2);
  });
  everywhere(var, [&] {
    EXPECT_EQ(var.value_bits(0, 0), 0u);
    EXPECT_EQ(var.value_bits(0, 1), 0u);
    if (has_infinities()) {
      EXPECT_EQ(var.value_bits(0, 2), kNanF32);
    }
  });
  everywhere(length, [&] {
    EXPECT_EQ(length.value_bits(0, 0), 0u);
    if (has_infinities()) {
      EXPECT_EQ(length.value(0, 2), static_cast<double>(kInf));
    }
  });
}

TEST_P(SpecialReductions, VarianceOfAsManyAsTheCorrection) {
  Trial var = trial("var", 2, 4);
  var.fill(0, [](std::int64_t r, std::int64_t c) { return r == 0 ? 3.0f : static_cast<float>(c); });
  var.set_parameter("correction", 4);
  everywhere(var, [&] {
    EXPECT_EQ(var.value_bits(0, 0), kNanF32);
    EXPECT_EQ(var.value(0, 1), static_cast<double>(kInf));
  });
  var.set_parameter("correction", 1);  // squares 2.25, 0.25, 0.25, 2.25 over 3
  everywhere(var, [&] { EXPECT_EQ(var.value(0, 1), static_cast<double>(5.0f / 3)); });
}

TEST_P(SpecialReductions, DotOfZeroAndInfinity) {
  if (!has_infinities()) return;
  Trial dot = trial("dot", 3, 300);
  fill_with_infinities(dot, 0, [](std::int64_t, std::int64_t c) { return c == 77 ? kInf : 1.0f; });
  dot.fill(1, [](std::int64_t r, std::int64_t c) { return c != 77 ? 1.0f : r == 0 ? 0.0f : r == 1 ? -1.0f : 2.0f; });
  everywhere(dot, [&] {
    EXPECT_EQ(dot.value_bits(0, 0), kNanF32);
    EXPECT_EQ(dot.value(0, 1), -static_cast<double>(kInf));
    EXPECT_EQ(dot.value(0, 2), static_cast<double>(kInf));
  });
}

TEST_P(SpecialReductions, LogarithmsOfInfiniteMaxima) {
  if (!has_infinities()) return;
  const auto value = [](std::int64_t r, std::int64_t c) {
    return r == 0 ? -kInf : r == 1 ? (c == 20 ? kInf : -3.0f) : c % 2 == 0 ? -kInf : 2.0f;
  };
  for (const std::int64_t cols : {32, 300}) {
    Trial sum = trial("logsumexp", 3, cols), softmax = trial("log_softmax", 3, cols);
    fill_with_infinities(sum, 0, value), fill_with_infinities(softmax, 0, value);
    everywhere(sum, [&] {
      EXPECT_EQ(sum.value(0, 0), -static_cast<double>(kInf));
      EXPECT_EQ(sum.value(0, 1), static_cast<double>(kInf));
      EXPECT_NEAR(sum.value(0, 2), 2 + std::log(static_cast<double>(cols / 2)), 1e-5);
    });
    everywhere(softmax, [&] {
      for (std::int64_t c = 0; c < cols; ++c) {
        EXPECT_EQ(softmax.value_bits(0, 0, c), nan_pattern(storage()));
        EXPECT_EQ(softmax.value_bits(0, 1, c), nan_pattern(storage()));
      }
      EXPECT_EQ(softmax.value(0, 2, 4), -stored_infinity(storage()));
      EXPECT_LT(softmax.value(0, 2, 5), 0);
    });
  }
}

TEST_P(SpecialReductions, LabelsOutsideIgnoredAndInfinite) {
  Trial loss = trial("cross_entropy", 8, 100);
  fill_with_infinities(loss, 0, [&](std::int64_t r, std::int64_t c) {
    if (r == 4 && c == 9) return has_infinities() ? -kInf : -2.0f;
    return c == 9 ? 2.0f : 0.0f;
  });
  loss.set_bits(0, 6, 50, nans(storage())[0]);
  loss.set_bits(0, 7, 50, nans(storage())[0]);
  const float labels[] = {9, -1, 100, -100, 9, 8, -100, 9};
  loss.fill(1, [&](std::int64_t r, std::int64_t) { return labels[r]; });
  const double sum = std::log(99 + std::exp(2.0));
  everywhere(loss, [&] {
    EXPECT_NEAR(loss.value(0, 0), sum - 2, 1e-5);
    EXPECT_EQ(loss.value_bits(0, 1), kNanF32);  // outside, and not the ignored one
    EXPECT_EQ(loss.value_bits(0, 2), kNanF32);
    EXPECT_EQ(loss.value_bits(0, 3), 0u);
    if (has_infinities()) {
      EXPECT_EQ(loss.value(0, 4), static_cast<double>(kInf));
    }
    EXPECT_NEAR(loss.value(0, 5), sum, 1e-5);
    EXPECT_EQ(loss.value_bits(0, 6), 0u);  // ignored, though the row holds NaN
    EXPECT_EQ(loss.value_bits(0, 7), kNanF32);
  });
  loss.set_parameter("ignore_index", 9);
  everywhere(loss, [&] {
    EXPECT_EQ(loss.value_bits(0, 0), 0u);
    EXPECT_EQ(loss.value_bits(0, 3), kNanF32);
  });
}

INSTANTIATE_TEST_SUITE_P(Storages, SpecialReductions, ::testing::ValuesIn(kernels::storages()),
                         [](const auto& tested) { return std::string(element_name(tested.param)); });

TEST(SpecialReductions, TheWholeRangeOfI8) {
  for (const std::int64_t cols : {1, 33, 300}) {
    const auto value = [&](std::int64_t r, std::int64_t c) {
      return r == 0 ? -128.0f : r == 1 ? 127.0f : c == cols / 2 ? -128.0f : 1.0f;
    };
    const auto of = [&](const char* name) {
      Trial trial(operator_program(name, ElementType::i8), 3, cols);
      trial.fill(0, value);
      return trial;
    };
    const auto n = static_cast<double>(cols);
    Trial sum = of("sum"), argmin = of("argmin"), all = of("all"), length = of("l2_norm"), mean = of("mean");
    everywhere(sum, [&] {
      EXPECT_EQ(sum.value(0, 0), -128 * n);
      EXPECT_EQ(sum.value(0, 1), 127 * n);
      EXPECT_EQ(sum.value(0, 2), n - 129);
    });
    everywhere(argmin, [&] { EXPECT_EQ(argmin.value(0, 2), static_cast<double>(cols / 2)); });
    everywhere(all, [&] { EXPECT_EQ(all.value(0, 0), 1); });
    everywhere(mean, [&] { EXPECT_EQ(mean.value(0, 1), 127); });
    everywhere(length, [&] { EXPECT_NEAR(length.value(0, 0), 128 * std::sqrt(n), 1e-3); });
  }
}

}  // namespace
}  // namespace lanefold::testing
