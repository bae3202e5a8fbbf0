// What lowering makes of programs, run by the lane machine, against the exact oracle.
#include <bit>

#include <gtest/gtest.h>

#include "oracle/oracle.h"
#include "plan/layout.h"
#include "verify/device.h"
#include "verify/standard_inputs.h"

namespace lanefold::verify {
namespace {

/// Runs on the lane machine, into memory with sentinels, and compares every byte.
void expect_exact(const ir::Program& program, const DeviceOptions& options, std::int64_t rows, std::int64_t cols) {
  SCOPED_TRACE(program.name + " " + std::to_string(rows) + " x " + std::to_string(cols) + " on " + options.target.name);
  const std::vector<Matrix> inputs = standard_inputs(program, rows, cols),
                            outputs = poisoned_outputs(program, rows, cols);
  const std::vector<View> in = views(inputs), out = views(outputs);
  const std::vector<float> parameters = default_parameters(program);
  const auto device = open(program, options);
  ASSERT_TRUE(device.ok()) << device.error().text();
  const Status status =
      (*device)->run({.inputs = in, .outputs = out, .parameters = parameters, .rows = rows, .cols = cols});
  ASSERT_TRUE(status.ok()) << status.error().text();
  const auto exact = oracle::evaluate_exact(
      program, {.inputs = in, .parameters = parameters, .rows = rows, .cols = cols}, options.order);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    EXPECT_TRUE(outputs[o].bytes() == exact[o]) << program.stores[o].name;
    EXPECT_TRUE(outputs[o].sentinels_intact()) << program.stores[o].name;
  }
}

/// A fold without an identity, of two results.
ir::Program moments() {
  return *ir::parse(
      "program moments(x: f32[rows, cols])\n"
      "  mean, m2 = fold welford x\n"
      "  store mean: f32[rows] = mean\n"
      "  store y: f32[rows, cols] = (x - mean) / sqrt(m2 / cols + 0.00001)\n");
}

TEST(Lowering, AFoldWithoutIdentityAtEveryKindOfWidth) {
  for (const char* target : {"cpu-sse", "cpu-avx512", "generic-8", "generic-32", "generic-64"})
    for (const ir::Order order : {ir::Order::canonical, ir::Order::serial})
      for (const std::int64_t cols : {1, 31, 33, 33000}) {
        DeviceOptions options;
        options.device = "lane-machine";
        options.target = *target::find(target);
        options.order = order;
        expect_exact(moments(), options, cols > 1000 ? 1 : 3, cols);
      }
}

TEST(Lowering, RowsThatShareASimdGroup) {
  for (const std::uint32_t simd_bits : {2u, 3u, 4u, 5u})
    for (std::uint32_t lanes = 0; lanes < simd_bits; ++lanes)
      for (const std::int64_t cols : {1, 20, 32}) {
        DeviceOptions options;
        options.device = "lane-machine";
        options.target = *target::find("generic-" + std::to_string(1u << simd_bits));
        const auto total = plan::log2_exact(static_cast<std::uint64_t>(ir::CanonicalOrder::virtual_lanes(cols)));
        options.layout = plan::make_layout({.lane = lanes, .reg = total - lanes}, 1u << (simd_bits - lanes));
        // Rows that do not fill the last SIMD group.
        for (const std::int64_t rows : {1, 7, 65}) expect_exact(moments(), options, rows, cols);
      }
}

}  // namespace
}  // namespace lanefold::verify
