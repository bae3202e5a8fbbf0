#include "oracle/attention_merge.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "base/diagnostic.h"

namespace lanefold::oracle {
namespace {

using Values = std::vector<double>;

constexpr double kEmpty = -static_cast<double>(FLT_MAX);

/// `count` copies of each element.
Values spread(const Values& values, std::size_t count) {
  Values all;
  for (const double v : values) all.insert(all.end(), count, v);
  return all;
}

TEST(AttentionMergeOracle, WeighsChunksByTheirScores) {
  const MergeSizes sizes{.chunks = 2};
  // w = 1/2 and 1: a = 3·½ + 5, L = 2·½ + 1.
  const Prepared out =
      qsa_merge(sizes, 4, spread({3, 5}, 16), Values{1, 1 + std::log(2.0)}, Values{2, 1}, Values(16, 0.0));
  ASSERT_EQ(out.values.size(), 16u);
  for (const double v : out.values) EXPECT_NEAR(v, 6.5 / 2 * 0.5, 1e-12);
  EXPECT_NEAR(out.sums.at(0), 26, 1e-11);
  EXPECT_NEAR(out.planes.at(15), 6.5 / 4 / 64, 1e-12);
}

TEST(AttentionMergeOracle, SkipsChunksThatSawNoKey) {
  const MergeSizes sizes{.chunks = 2};
  const Values acc = spread({std::nan(""), 8}, 16);
  const Prepared out =
      qsa_merge(sizes, 4, acc, Values{kEmpty, -700}, Values{std::nan(""), 2}, Values(16, std::log(3.0)));
  for (const double v : out.values) EXPECT_NEAR(v, 4 * 0.75, 1e-12);
  const Prepared none = qsa_merge(sizes, 4, acc, Values{kEmpty, kEmpty}, Values{1, 1}, Values(16, 0.0));
  for (const double v : none.values) EXPECT_EQ(v, 0);
}

TEST(AttentionMergeOracle, KeepsHeadsAndTokensApart) {
  const MergeSizes sizes{.tokens = 2, .kv_heads = 2, .heads = 3, .chunks = 2};
  // acc[t, kv, chunk, head] = 1000 t + 100 kv + head + 10 for chunk 1; chunk 0 saw no key.
  Values acc, m;
  for (int t = 0; t < 2; ++t)
    for (int kv = 0; kv < 2; ++kv)
      for (int chunk = 0; chunk < 2; ++chunk)
        for (int head = 0; head < 3; ++head) {
          acc.push_back(1000 * t + 100 * kv + head + 10 * chunk);
          m.push_back(chunk == 0 ? kEmpty : 0);
        }
  const Prepared out = qsa_merge(sizes, 4, spread(acc, 16), m, Values(24, 1.0), Values(192, 0.0));
  const Values wanted = {10, 11, 12, 110, 111, 112, 1010, 1011, 1012, 1110, 1111, 1112};
  ASSERT_EQ(out.values.size(), 192u);
  for (std::size_t i = 0; i < out.values.size(); ++i) EXPECT_NEAR(out.values[i], wanted[i / 16] / 2, 1e-12) << i;
}

TEST(AttentionMergeOracle, RefusesLengthsThatDoNotFit) {
  const MergeSizes sizes{.chunks = 2};
  EXPECT_THROW(qsa_merge(sizes, 4, Values(16), Values(2), Values(2), Values(16)), InternalError);
  EXPECT_THROW(qsa_merge(sizes, 4, Values(32), Values(2), Values(1), Values(16)), InternalError);
}

}  // namespace
}  // namespace lanefold::oracle
