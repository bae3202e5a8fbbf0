// Special values on every device: NaNs of any sign and payload, infinities, signed zeros and subnormals, in every
// storage. special_reductions_test.cpp and special_codes_test.cpp go through the operators one by one.
#include "conformance/special_values.h"
#include "conformance/operator_table.h"

namespace lanefold::testing {
namespace {

class SpecialValues : public ::testing::TestWithParam<ElementType> {
 protected:
  ElementType storage() const { return GetParam(); }
  Trial ones(std::string_view name, std::int64_t rows, std::int64_t cols) const {
    Trial trial(operator_program(name, storage()), rows, cols);
    for (std::size_t i = 0; i < trial.inputs.size(); ++i)
      trial.fill(i, [](std::int64_t, std::int64_t) { return 1.0f; });
    return trial;
  }
};

/// Whether a NaN of x in column `at` reaches column `c` of a store.
bool reaches(std::string_view op, const ir::Store& store, std::int64_t at, std::int64_t c) {
  if (op == "quantize_q8") return store.name == "scale" ? c == at / 32 : c / 32 == at / 32;
  // The stream has its own NaN only, unless what is added to it was a norm.
  return store.name != "residual_out" || op.starts_with("post_") || c == at;
}

TEST_P(SpecialValues, EveryNanComesOutAsTheOnePattern) {
  const std::vector<std::uint32_t> kinds = nans(storage());
  const auto rows = static_cast<std::int64_t>(kinds.size());
  for (const kernels::Operator& op : kernels::operators()) {
    if (op.name == "argmax" || op.name == "argmin" || op.name == "any" || op.name == "all") continue;
    for (const std::int64_t width : {32, 416}) {
      if (width == 32 && conformance_row(op.name)->depth == Depth::brief) continue;
      const std::int64_t cols = whole_columns(op.name, width);
      Trial trial = ones(op.name, rows + 1, cols);  // the last row stays clean
      const auto column = [&](std::int64_t r) { return (r * 37 + 5) % cols; };
      for (std::int64_t r = 0; r < rows; ++r) trial.set_bits(0, r, column(r), kinds[static_cast<std::size_t>(r)]);
      everywhere(trial, [&] {
        for (std::size_t o = 0; o < trial.program().stores.size(); ++o) {
          const ir::Store& store = trial.program().stores[o];
          const std::int64_t wide = driver::expected_shape(store.kind, rows, cols).cols;
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < wide; ++c) {
              if (!reaches(op.name, store, column(r), c)) {
                EXPECT_FALSE(std::isnan(trial.value(o, r, c))) << store.name << ' ' << r << ' ' << c;
                if (store.name == "residual_out") {
                  EXPECT_EQ(trial.value(o, r, c), 2);
                }
              } else if (store.storage == ElementType::i8) {
                EXPECT_EQ(trial.value(o, r, c), 0);
              } else {
                EXPECT_EQ(trial.value_bits(o, r, c), nan_pattern(store.storage)) << store.name << ' ' << r << ' ' << c;
              }
            }
          for (std::int64_t c = 0; c < wide; ++c) EXPECT_FALSE(std::isnan(trial.value(o, rows, c))) << store.name;
        }
      });
    }
  }
}

TEST_P(SpecialValues, ANanInAWeightReachesItsColumnOnly) {
  for (const char* name : {"rms_norm", "layer_norm", "residual_norm", "qk_norm", "post_ffn_norm_residual_add"}) {
    Trial trial = ones(name, 2, 100);
    std::size_t weight = 0;
    while (trial.program().inputs[weight].name != "weight") ++weight;
    trial.set_bits(weight, 0, 42, nans(storage()).back());
    everywhere(trial, [&] {
      for (std::int64_t c = 0; c < 100; ++c)
        if (c == 42) {
          EXPECT_EQ(trial.value_bits(0, 1, c), nan_pattern(storage()));
        } else {
          EXPECT_FALSE(std::isnan(trial.value(0, 1, c))) << c;
        }
    });
  }
}

TEST_P(SpecialValues, ANanInAQuantisedBlockStaysInTheBlock) {
  auto program = ir::parse("program blocks(x: " + std::string(element_name(storage())) +
                               "[rows, cols])\n  d = fold<32> max abs(x) / 127\n"
                               "  store q: i8[rows, cols] = quantize(x, d)\n  store scale: f32[rows, cols/32] = d\n",
                           "special");
  ASSERT_TRUE(program.ok()) << program.error().text();
  Trial trial(*program, 1, 160);
  trial.fill(0, [](std::int64_t, std::int64_t c) { return c < 32 ? 0.0f : c < 64 ? -0.0f : 96.0f; });
  trial.set_bits(0, 0, 70, nans(storage())[3]);
  trial.set(0, 0, 100, kInf);
  if (storage() == ElementType::e5m2) trial.set_bits(0, 0, 100, 0x7c);
  const double infinite = storage() == ElementType::e4m3 ? static_cast<double>(448.0f / 127) : kInf;
  everywhere(trial, [&] {
    for (std::int64_t c = 0; c < 96; ++c) EXPECT_EQ(trial.value(0, 0, c), 0) << c;  // zero blocks, then the NaN's
    EXPECT_EQ(trial.value_bits(1, 0, 0), 0u);
    EXPECT_EQ(trial.value_bits(1, 0, 1), 0u);  // −0 has the scale +0
    EXPECT_EQ(trial.value_bits(1, 0, 2), kNanF32);
    EXPECT_EQ(trial.value(1, 0, 3), infinite);
    EXPECT_EQ(trial.value(1, 0, 4), static_cast<double>(96.0f / 127));
    for (std::int64_t c = 128; c < 160; ++c) EXPECT_EQ(trial.value(0, 0, c), 127);
  });
}

TEST_P(SpecialValues, SignedZeros) {
  for (const std::int64_t cols : {1, 2, 31, 33, 127, 1000}) {
    for (const char* name : {"sum", "max"}) {
      Trial trial(operator_program(name, storage()), 3, cols);
      trial.fill(0, [&](std::int64_t r, std::int64_t c) { return r == 0 || (r == 1 && c != cols / 2) ? -0.0f : 0.0f; });
      everywhere(trial, [&] {
        EXPECT_EQ(trial.value_bits(0, 0), sign_bit(trial.program().stores[0].storage))
            << cols;  // a tail's stand-in must not make it +0
        EXPECT_EQ(trial.value_bits(0, 1), 0u) << cols;
        EXPECT_EQ(trial.value_bits(0, 2), 0u) << cols;
      });
    }
    Trial ties(operator_program("argmax", storage()), 1, cols);
    ties.fill(0, [&](std::int64_t, std::int64_t c) { return c == cols - 1 ? 0.0f : -0.0f; });
    everywhere(ties, [&] { EXPECT_EQ(ties.value(0, 0), 0) << cols; });  // equal, though max tells them apart
    Trial norm(operator_program("rms_norm", storage()), 1, cols);
    norm.fill(0, [](std::int64_t, std::int64_t) { return -0.0f; });
    norm.fill(1, [](std::int64_t, std::int64_t) { return 1.0f; });
    everywhere(norm, [&] { EXPECT_EQ(norm.value_bits(0, 0, cols - 1), sign_bit(storage())); });
  }
}

TEST_P(SpecialValues, Infinities) {
  if (storage() == ElementType::e4m3) return;  // has none; SpecialCodes looks at its saturation
  Trial sum(operator_program("sum", storage()), 3, 300), max(operator_program("max", storage()), 3, 300);
  const auto value = [](std::int64_t r, std::int64_t c) {
    if (c == 7) return r == 1 ? -kInf : kInf;
    return c == 288 && r == 2 ? -kInf : 1.0f;
  };
  fill_with_infinities(sum, 0, value), fill_with_infinities(max, 0, value);
  everywhere(sum, [&] {
    EXPECT_EQ(sum.value(0, 0), static_cast<double>(kInf));
    EXPECT_EQ(sum.value(0, 1), -static_cast<double>(kInf));
    EXPECT_EQ(sum.value_bits(0, 2), nan_pattern(sum.program().stores[0].storage));
  });
  everywhere(max, [&] {
    EXPECT_EQ(max.value(0, 0), stored_infinity(storage()));
    EXPECT_EQ(max.value(0, 1), 1);
    EXPECT_EQ(max.value(0, 2), stored_infinity(storage()));
  });
  Trial softmax(operator_program("softmax", storage()), 2, 300);
  fill_with_infinities(softmax, 0, [](std::int64_t r, std::int64_t c) { return r == 0 && c == 150 ? 4.0f : -kInf; });
  everywhere(softmax, [&] {
    for (std::int64_t c = 0; c < 300; ++c) {
      EXPECT_EQ(softmax.value(0, 0, c), c == 150 ? 1 : 0);
      EXPECT_EQ(softmax.value_bits(0, 1, c), nan_pattern(storage()));
    }
  });
  Trial none(operator_program("argmax", storage()), 1, 300);
  fill_with_infinities(none, 0, [](std::int64_t, std::int64_t) { return -kInf; });
  everywhere(none, [&] { EXPECT_EQ(none.value(0, 0), 0); });
}

TEST_P(SpecialValues, SubnormalsAreKept) {
  const float least = std::ldexp(1.0f, -least_exponent(storage()));
  for (const std::int64_t cols : {5, 64, 300}) {
    Trial sum(operator_program("sum", storage()), 1, cols), max(operator_program("max", storage()), 1, cols);
    sum.fill(0, [&](std::int64_t, std::int64_t) { return least; });
    max.fill(0, [&](std::int64_t, std::int64_t c) { return c == 3 ? 2 * least : least; });
    everywhere(sum, [&] { EXPECT_EQ(sum.value(0, 0), static_cast<double>(least) * static_cast<double>(cols)); });
    everywhere(max, [&] { EXPECT_EQ(max.value(0, 0), 2 * static_cast<double>(least)); });
    Trial stream(operator_program("residual_norm", storage()), 1, cols);
    stream.fill(0, [&](std::int64_t, std::int64_t) { return least; });
    stream.fill(1, [&](std::int64_t, std::int64_t) { return -3 * least; });
    stream.fill(2, [](std::int64_t, std::int64_t) { return 0x1p-3f; });
    everywhere(stream, [&] { EXPECT_LE(stream.value(0, 0, 0), 0); });
  }
}

TEST_P(SpecialValues, NarrowStoresOverflowToInfinityAndRoundOnce) {
  const std::string type(element_name(storage()));
  auto program =
      ir::parse("program narrow(x: " + type + "[rows, cols])\n  store y: " + type + "[rows] = fold sum x\n", "special");
  ASSERT_TRUE(program.ok()) << program.error().text();
  Trial sum(*program, 2, 64);
  sum.fill(0, [](std::int64_t r, std::int64_t) { return r == 0 ? 60000.0f : -60000.0f; });
  everywhere(sum, [&] {
    const bool overflows = storage() == ElementType::f16;
    EXPECT_EQ(std::isinf(sum.value(0, 0)), overflows);
    EXPECT_EQ(std::isinf(sum.value(0, 1)), overflows);
    EXPECT_LT(sum.value(0, 1), 0);
    if (is_fp8(storage())) {
      EXPECT_EQ(sum.value(0, 1), -stored_infinity(storage()));
    }
  });
  // 1 + 63·2^-12: any rounding of a partial sum to a narrow type would lose every small term.
  Trial small(*program, 1, 64);
  small.fill(0, [](std::int64_t, std::int64_t c) { return c == 0 ? 1.0f : 0x1p-12f; });
  everywhere(small, [&] {
    const double expected = storage() == ElementType::f32    ? 1 + 63 * 0x1p-12
                            : storage() == ElementType::f16  ? 1 + 16 * 0x1p-10
                            : storage() == ElementType::bf16 ? 1 + 2 * 0x1p-7
                                                             : 1;
    EXPECT_EQ(small.value(0, 0), expected);
  });
}

TEST_P(SpecialValues, ArgmaxTakesTheFirstNanElseTheFirstOfTheGreatest) {
  for (const std::int64_t cols : {4, 31, 32, 257, 1024}) {
    Trial trial(operator_program("argmax", storage()), 4, cols);
    trial.fill(0, [&](std::int64_t r, std::int64_t c) {
      return r == 0 ? 2.0f : r == 1 ? (c == cols - 1 || c == cols - 2 ? 5.0f : -5.0f) : kInf;
    });
    trial.set_bits(0, 2, cols - 1, nans(storage())[1]);
    trial.set_bits(0, 2, cols - 2, nans(storage())[4]);
    trial.set_bits(0, 3, 0, nans(storage())[2]);
    trial.set_bits(0, 3, cols - 1, nans(storage())[0]);
    everywhere(trial, [&] {
      const std::int64_t expected[] = {0, cols - 2, cols - 2, 0};
      for (std::int64_t r = 0; r < 4; ++r) EXPECT_EQ(trial.value(0, r), static_cast<double>(expected[r])) << r;
    });
  }
}

/// Rows of any bits at all: whatever they mean, devices agree with the exact meaning.
TEST_P(SpecialValues, ArbitraryBits) {
  Numbers numbers(static_cast<std::uint64_t>(storage()) + 77);
  for (const kernels::Operator& op : kernels::operators()) {
    const std::int64_t cols = whole_columns(op.name, 64);
    Trial trial(operator_program(op.name, storage()), 24, cols);
    for (std::size_t i = 0; i < trial.inputs.size(); ++i)
      for (std::int64_t r = 0; r < trial.inputs[i].rows; ++r)
        for (std::int64_t c = 0; c < trial.inputs[i].cols; ++c)
          if (r % 2 == 0 || numbers.below(64) == 0) {
            trial.set_bits(i, r, c, numbers.bits());
          } else {
            trial.set(i, r, c, numbers.between(-8, 8));
          }
    if (conformance_row(op.name)->depth == Depth::full)
      everywhere(trial, [] {});
    else
      everywhere(trial, [] {}, {ir::Order::canonical});
  }
}

INSTANTIATE_TEST_SUITE_P(Storages, SpecialValues, ::testing::ValuesIn(kernels::storages()),
                         [](const auto& tested) { return std::string(element_name(tested.param)); });

}  // namespace
}  // namespace lanefold::testing
