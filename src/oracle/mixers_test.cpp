#include "oracle/mixers.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "base/diagnostic.h"
#include "base/load_store.h"

namespace lanefold::oracle {
namespace {

using Values = std::vector<double>;

void expect_near(const Values& found, const Values& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-12) << "element " << i;
}

TEST(MixerOracle, NormsEachStream) {
  const MixerSizes sizes{.tokens = 1, .hidden = 2, .streams = 2};
  const NormedStreams out = gr_norm(sizes, Values{3, 4, 0, 0}, {}, {}, Values{1, 2, 5, 5});
  const double rs = 1 / std::sqrt(12.5 + 1e-6);
  expect_near(out.rs, {rs, 1000});
  expect_near(out.xn, {3 * rs, 8 * rs, 0, 0});
  expect_near(out.residual, {3, 4, 0, 0});
}

TEST(MixerOracle, AddsTheBranchByItsGain) {
  const MixerSizes sizes{.tokens = 2, .hidden = 1, .streams = 2};
  // inj_prev 0 has gain 1; 4·ln 3 has gain 2·3/4.
  const double three = 4 * std::log(3.0);
  const NormedStreams out =
      gr_norm(sizes, Values{1, 2, 3, 4}, Values{10, 20}, Values{0, three, three, 0}, Values{1, 1});
  expect_near(out.residual, {11, 17, 33, 24});
  expect_near(out.rs, {1 / std::sqrt(121 + 1e-6), 1 / std::sqrt(289 + 1e-6), 1 / std::sqrt(1089 + 1e-6),
                       1 / std::sqrt(576 + 1e-6)});
}

TEST(MixerOracle, ProjectsDown) {
  const MixerSizes sizes{.tokens = 2, .hidden = 1, .streams = 2, .rank = 1};
  const LowRank out = gr_down(sizes, Values{1, 2, 0, 0}, Values{4 * std::log(3.0), 0}, Values{1, 1, 3, -1});
  expect_near(out.lo, {std::log(3.0) * 0.75, 0});  // silu(ln 3) = ln 3 · 3/4
  expect_near(out.inject, {3, 1, 0, 0});
}

TEST(MixerOracle, MixesUp) {
  const MixerSizes sizes{.tokens = 1, .hidden = 16, .streams = 2, .rank = 1};
  Values xn(32), wu(32, 0.0);
  std::iota(xn.begin(), xn.end(), 1.0);
  wu[16] = 1;  // stream 1, column 0
  const Prepared out = gr_up(sizes, 4, xn, Values{std::log(3.0)}, wu);
  EXPECT_NEAR(out.values[0], (1 * 0.5 + 17 * 0.75) / 4, 1e-12);
  EXPECT_NEAR(out.values[5], (6 * 0.5 + 22 * 0.5) / 4, 1e-12);
  EXPECT_NEAR(out.sums.at(0), std::accumulate(out.values.begin(), out.values.end(), 0.0), 1e-12);
}

TEST(MixerOracle, MixesFromTheRawResidual) {
  const MixerSizes sizes{.tokens = 1, .hidden = 16, .streams = 2, .rank = 1};
  const Values residual(32, 3.0), w_norm(32, 2.0), rs{0.5, 0.25}, d{4, 8};
  const Prepared out = gr_up3(sizes, 4, residual, w_norm, rs, d, Values(32, 0.0));
  expect_near(out.values, Values(16, (3 + 1.5) * 0.5 / 4));
  // lo = silu((0.5·4 + 0.25·8)/4) = silu(1), seen by one row of wu.
  Values wu(32, 0.0);
  wu[2] = 1;
  const double silu = 1 / (1 + std::exp(-1.0));
  const Prepared gated = gr_up3(sizes, 4, residual, w_norm, rs, d, wu);
  EXPECT_NEAR(gated.values[2], (3 / (1 + std::exp(-silu)) + 1.5 * 0.5) / 4, 1e-12);
}

TEST(MixerOracle, PreparesPlanesAndSums) {
  Values values(64);
  std::iota(values.begin(), values.end(), 0.0);
  const Prepared out = prepare(2, 2, values);
  ASSERT_EQ(out.planes.size(), 64u);
  EXPECT_EQ(out.planes[3], 6);             // token 0, plane 0, j 3
  EXPECT_EQ(out.planes[16 + 3], 7.0 / 4);  // plane 1
  EXPECT_EQ(out.planes[32 + 16], 33.0 / 4);
  expect_near(out.sums, {120, 376, 632, 888});
  EXPECT_THROW(prepare(1, 3, values), InternalError);
}

TEST(MixerOracle, DecodesBlocks) {
  std::array<std::byte, 68> blocks{};
  store_element(&blocks[0], ElementType::f16, 0.5f);
  store_element(&blocks[34], ElementType::f16, 2.0f);
  store_integer(&blocks[2], ElementType::i8, -127);
  store_integer(&blocks[67], ElementType::i8, 3);
  const Values values = q8_0_values(blocks);
  ASSERT_EQ(values.size(), 64u);
  EXPECT_EQ(values[0], -63.5);
  EXPECT_EQ(values[1], 0);
  EXPECT_EQ(values[63], 6);
  EXPECT_THROW(q8_0_values(std::span(blocks).first(35)), InternalError);
}

TEST(MixerOracle, RefusesLengthsThatDoNotFit) {
  const MixerSizes sizes{.tokens = 1, .hidden = 16, .streams = 1, .rank = 1};
  EXPECT_THROW(gr_norm(sizes, Values(15), {}, {}, Values(16)), InternalError);
  EXPECT_THROW(gr_norm(sizes, Values(16), Values(16), {}, Values(16)), InternalError);
  EXPECT_THROW(gr_down(sizes, Values(16), Values(16), Values(15)), InternalError);
  EXPECT_THROW(gr_up(sizes, 4, Values(16), Values(2), Values(16)), InternalError);
  EXPECT_THROW(gr_up3(sizes, 4, Values(16), Values(16), Values(1), Values(2), Values(16)), InternalError);
}

}  // namespace
}  // namespace lanefold::oracle
