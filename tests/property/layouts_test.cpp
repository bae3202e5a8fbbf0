// Canonical results are the same bytes for every layout, SIMD width, stripe and packing of rows that a test can force.
#include "conformance/operator_table.h"
#include "property/random_layout.h"
#include "property/seed.h"
#include "verify/prove.h"

namespace lanefold::testing {
namespace {

constexpr std::int64_t kCols[] = {1, 5, 32, 33, 64, 127, 129, 160, 257, 384, 512, 769, 1000, 1024, 2080, 4099};

std::int64_t random_cols(Numbers& numbers, std::string_view name) {
  const std::int64_t cols = kCols[numbers.below(static_cast<std::uint32_t>(std::size(kCols)))];
  return whole_columns(name, cols);
}

void expect_proved(const ir::Program& program, std::int64_t rows, std::int64_t cols,
                   const verify::DeviceOptions& options) {
  verify::InstanceRequest request;
  request.rows = rows;
  request.cols = cols;
  request.options = options;
  const auto instance = verify::make_instance(program, request);
  ASSERT_TRUE(instance.ok()) << instance.error().text();
  const auto proof = verify::prove_canonical(*instance);
  ASSERT_TRUE(proof.ok()) << proof.error().text();
  ASSERT_EQ(proof->verdict, verify::Verdict::equal) << proof->reason << proof->a_inner << " | " << proof->b_inner;
}

class Layouts : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  /// Draws plans for every operator until `most` of each are accepted, fewer where its family has many operators; runs
  /// them and compares bytes.
  void equal_bytes(const std::string& device, int most, std::uint32_t most_register_bits) {
    const target::Target target = generic_target(GetParam());
    Numbers numbers(property_seed() + GetParam() + (device == "cpu" ? 1000 : 0));
    int accepted = 0, refused = 0, expected = 0;
    for (const kernels::Operator& op : kernels::operators()) {
      const int wanted = conformance_row(op.name)->depth == Depth::full ? most : (most + 5) / 6;
      expected += wanted;
      const std::vector<ElementType>& storages = kernels::storages(op);
      const ElementType storage = storages[numbers.below(static_cast<std::uint32_t>(storages.size()))];
      const ir::Program program = operator_program(op.name, storage);
      for (int done = 0, tries = 0; done < wanted && tries < 40 * wanted; ++tries) {
        const std::int64_t cols = random_cols(numbers, op.name), rows = 1 + numbers.below(9);
        if (device == "cpu" && cols > 512) continue;  // code for wide rows on wide SIMD groups is slow to compile
        const auto plan = random_plan(numbers, program, target, rows, cols, most_register_bits);
        if (!plan.ok()) {
          ++refused;
          continue;
        }
        ++done, ++accepted;
        SCOPED_TRACE(std::string(op.name) + ' ' + std::string(element_name(storage)) + ' ' + std::to_string(rows) +
                     'x' + std::to_string(cols) + " on " + target.name + ", " + layout_text(plan->layout) +
                     ", stripe " + std::string(plan::stripe_name(plan->stripe)) + ", " + std::to_string(plan->threads) +
                     " threads");
        Trial trial(program, rows, cols, kPlacements[numbers.below(device == "cpu" ? 2 : 5)]);
        trial.fill_random(numbers.bits(), -3, 3);
        verify::DeviceOptions options = on_device(device);
        options.target = target;
        options.plan = *plan;
        const Status status = trial.run(options);
        ASSERT_TRUE(status.ok()) << status.error().text();
        ASSERT_EQ(difference(program, trial.output_bytes(), trial.exact()), "");
        // And for all inputs, not only for these.
        if (device == "lane-machine" && !gathers_by_data(program)) expect_proved(program, rows, cols, options);
      }
    }
    std::printf("%s: %d plans accepted, %d refused\n", target.name.c_str(), accepted, refused);
    EXPECT_EQ(accepted, expected);
  }
};

TEST_P(Layouts, OnTheLaneMachine) { equal_bytes("lane-machine", 12, 4); }

TEST_P(Layouts, ThroughTheJit) {
  if (!has_cpu()) GTEST_SKIP() << "this build has no JIT";
  equal_bytes("cpu", 1, 1);
}

/// Wide rows of two and more segments, which only some layouts pass over.
TEST_P(Layouts, OfSegmentedRows) {
  const target::Target target = generic_target(GetParam());
  Numbers numbers(property_seed() + 31 * GetParam());
  int accepted = 0;
  for (const char* name : {"sum", "argmax", "softmax", "layer_norm"}) {
    const ir::Program program = operator_program(name);
    for (int tries = 0, done = 0; done < 2 && tries < 40; ++tries) {
      const std::int64_t cols = 32769 + numbers.below(40000);
      const auto plan = random_plan(numbers, program, target, 1, cols);
      if (!plan.ok()) continue;
      ++done, ++accepted;
      SCOPED_TRACE(std::string(name) + ' ' + std::to_string(cols) + ' ' + layout_text(plan->layout));
      Trial trial(program, 1, cols);
      trial.fill_random(numbers.bits(), -3, 3);
      verify::DeviceOptions options = on_device("lane-machine");
      options.target = target;
      options.plan = *plan;
      const Status status = trial.run(options);
      ASSERT_TRUE(status.ok()) << status.error().text();
      ASSERT_EQ(difference(program, trial.output_bytes(), trial.exact()), "");
    }
  }
  EXPECT_EQ(accepted, 8);
}

/// A layout that is asked for by itself, without a plan, is used as it stands.
TEST_P(Layouts, AskedForByThemselves) {
  const ir::Program program = operator_program("rms_norm");
  Numbers numbers(property_seed() + 7 * GetParam());
  int accepted = 0;
  for (int tries = 0; tries < 12; ++tries) {
    Trial trial(program, 3, 500);
    trial.fill_random(numbers.bits(), -2, 2);
    verify::DeviceOptions options = on_device("lane-machine");
    options.target = generic_target(GetParam());
    options.layout = random_layout(numbers, 500, GetParam());
    auto device = verify::open(program, options);
    ASSERT_TRUE(device.ok());
    if (!trial.run(**device).ok()) continue;
    ++accepted;
    EXPECT_EQ(difference(program, trial.output_bytes(), trial.exact()), "") << layout_text(*options.layout);
    const std::vector<verify::Matrix> out = verify::poisoned_outputs(program, 3, 500);
    const std::vector<View> views = verify::views(out);
    const auto plan = (*device)->plan(
        {.inputs = trial.inputs, .outputs = views, .parameters = trial.parameters, .rows = 3, .cols = 500});
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(plan->layout == *options.layout);
  }
  EXPECT_GE(accepted, 8);
}

INSTANTIATE_TEST_SUITE_P(SimdWidths, Layouts, ::testing::Values(4u, 8u, 16u, 32u, 64u),
                         [](const auto& tested) { return "w" + std::to_string(tested.param); });

/// A block that lies in several passes, or in registers of a lane that owns whole rows, is folded whole or refused.
TEST(BlockFolds, AreNeverSplit) {
  using plan::Owner;
  const auto bits = [](std::initializer_list<std::pair<Owner, std::size_t>> runs) {
    std::vector<Owner> all;
    for (const auto& [owner, count] : runs) all.insert(all.end(), count, owner);
    return all;
  };
  struct Forced {
    std::uint32_t simd_width;
    std::int64_t cols;
    plan::Layout layout;
  };
  const Forced layouts[] = {
      {4, 32, {bits({{Owner::component, 1}, {Owner::lane, 2}, {Owner::pass, 2}}), 1}},
      {8, 800, {bits({{Owner::component, 1}, {Owner::lane, 3}, {Owner::pass, 1}, {Owner::simd_group, 3}}), 1}},
      {16, 384, {bits({{Owner::reg, 1}, {Owner::pass, 6}}), 16}},
      {32, 32, {bits({{Owner::component, 2}, {Owner::pass, 3}}), 32}},
  };
  for (const Forced& forced : layouts) {
    Trial trial(operator_program("rms_norm_q8"), 3, forced.cols);
    trial.fill_random(1, -2, 2);
    verify::DeviceOptions options = on_device("lane-machine");
    options.target = generic_target(forced.simd_width);
    options.layout = forced.layout;
    const Status status = trial.run(options);
    if (status.ok()) {
      EXPECT_EQ(difference(trial.program(), trial.output_bytes(), trial.exact()), "") << layout_text(forced.layout);
    } else {
      EXPECT_EQ(code_name(status.error().code), code_name(Code::block_split)) << status.error().text();
    }
  }
}

/// Passes leave partial states in threadgroup memory: SIMD groups with rows of their own need slots of their own.
TEST(Passes, OfSeveralRowsInOneThreadgroup) {
  using plan::Owner;
  const ir::Program program = operator_program("max");
  plan::Request request;
  request.rows = 16;
  request.cols = 64;
  request.order = ir::Order::canonical;
  request.layout = plan::Layout{{Owner::component, Owner::component, Owner::pass, Owner::pass, Owner::pass}, 4};
  for (const std::uint32_t threads : {4u, 8u, 16u})
    for (const std::string& device : available_devices()) {
      if (device == "cuda") continue;  // which has SIMD groups of 32 lanes
      Trial trial(program, 16, 64);
      trial.fill_random(threads, -3, 3);
      verify::DeviceOptions options = on_device(device);
      options.target = generic_target(4);
      request.group_threads = threads;
      const auto plan = plan::choose(program, options.target, request);
      ASSERT_TRUE(plan.ok()) << plan.error().text();
      options.plan = *plan;
      const Status status = trial.run(options);
      ASSERT_TRUE(status.ok()) << status.error().text();
      EXPECT_EQ(difference(program, trial.output_bytes(), trial.exact()), "") << threads << " threads on " << device;
    }
}

TEST(Stripes, HoldTheSameBytes) {
  const ir::Program program = operator_program("softmax");
  for (const std::string& device : available_devices())
    for (const std::string_view name : {"", "generic-8", "generic-32", "cuda-sm90"})
      for (const std::int64_t cols : {1, 100, 384, 1000}) {
        // A GPU has a target of its own; for the CPU, the code for wide rows on wide SIMD groups is slow to compile.
        if (!name.empty() && device != "lane-machine" && (device == "cuda" || name == "cuda-sm90" || cols > 1))
          continue;
        Trial trial(program, 3, cols);
        trial.fill_random(static_cast<std::uint64_t>(cols), -4, 4);
        const std::vector<Bytes> expected = trial.exact();
        for (const plan::Stripe stripe :
             {plan::Stripe::reload, plan::Stripe::threadgroup_memory, plan::Stripe::registers}) {
          SCOPED_TRACE(device + ' ' + std::string(name) + ' ' + std::to_string(cols) + ' ' +
                       std::string(plan::stripe_name(stripe)));
          verify::DeviceOptions options = on_device(device);
          if (name == "cuda-sm90") {
            options.target = *target::find(name);
          } else if (!name.empty()) {
            options.target = generic_target(name == "generic-8" ? 8 : 32);
          }
          options.stripe = stripe;
          const Status status = trial.run(options);
          // Wide rows do not fit into every target's registers, and registers have names: no passes. A refusal says so.
          if (!status.ok()) {
            const Code code = status.error().code;
            EXPECT_TRUE(code == Code::private_stripe_exceeded || code == Code::stripe_needs_one_pass)
                << status.error().text();
            EXPECT_GE(cols, 384);
            EXPECT_EQ(stripe, plan::Stripe::registers);
            continue;
          }
          EXPECT_EQ(difference(program, trial.output_bytes(), expected), "");
        }
      }
}

}  // namespace
}  // namespace lanefold::testing
