// Programs drawn at random mean the same on every device, in any layout, as in the oracle.
#include "property/random_layout.h"
#include "property/random_program.h"
#include "property/seed.h"

namespace lanefold::testing {
namespace {

constexpr int kPrograms = 20;  // per part
constexpr std::int64_t kCols[] = {1, 3, 17, 32, 33, 100, 127, 129, 200, 384, 511, 1025};

Trial drawn_trial(Numbers& numbers, const ir::Program& program, std::int64_t multiple) {
  std::int64_t cols = kCols[numbers.below(static_cast<std::uint32_t>(std::size(kCols)))];
  if (multiple > ir::CanonicalOrder::min_virtual_lanes) cols += 128;  // a block lies within the virtual lanes
  cols = (cols + multiple - 1) / multiple * multiple;
  Trial trial(program, 1 + numbers.below(5), cols, kPlacements[numbers.below(5)]);
  trial.fill_random(numbers.bits(), -2, 2);
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    if (program.inputs[i].name == "label")  // one column beyond either end is asked for, too
      trial.fill(i, [&](std::int64_t, std::int64_t) {
        return static_cast<float>(numbers.below(static_cast<std::uint32_t>(cols) + 2)) - 1.0f;
      });
  return trial;
}

/// Parts draw different programs and can run side by side.
class RandomPrograms : public ::testing::TestWithParam<int> {};

TEST_P(RandomPrograms, EqualTheirExactMeaning) {
  Numbers numbers(property_seed() + 101 * static_cast<std::uint64_t>(GetParam()));
  int forced = 0, planned = 0;
  for (int k = 0; k < kPrograms; ++k) {
    const RandomProgram drawn = ProgramDraw(numbers).draw();
    SCOPED_TRACE(drawn.text);
    auto declared = ir::parse(drawn.text, "drawn");
    ASSERT_TRUE(declared.ok()) << declared.error().text();
    auto program = ir::specialise(*declared, {});
    ASSERT_TRUE(program.ok()) << program.error().text();
    Trial trial = drawn_trial(numbers, *program, drawn.column_multiple);
    SCOPED_TRACE(std::to_string(trial.rows()) + 'x' + std::to_string(trial.cols()));
    for (const ir::Order order : {ir::Order::canonical, ir::Order::serial}) {
      const std::vector<Bytes> expected = trial.exact(order);
      for (const std::string& device : available_devices()) {
        if (device == "cpu" && order == ir::Order::serial && k % 4 != 0) continue;
        const Status status = trial.run(on_device(device, order));
        ASSERT_TRUE(status.ok()) << status.error().text();
        ASSERT_EQ(difference(*program, trial.output_bytes(), expected), "") << device << ' ' << ir::order_name(order);
      }
      if (order == ir::Order::serial) continue;
      if (drawn.folds_rows) continue;
      ++planned;
      for (int tries = 0, done = 0; tries < 12 && done < 2; ++tries) {
        verify::DeviceOptions options = on_device("lane-machine");
        options.target = generic_target(4u << numbers.below(5));
        const auto plan = random_plan(numbers, *program, options.target, trial.rows(), trial.cols());
        if (!plan.ok()) continue;
        ++done, ++forced;
        options.plan = *plan;
        const Status status = trial.run(options);
        ASSERT_TRUE(status.ok()) << status.error().text();
        ASSERT_EQ(difference(*program, trial.output_bytes(), expected), "")
            << options.target.name << ' ' << layout_text(plan->layout) << " stripe " << plan::stripe_name(plan->stripe);
      }
    }
  }
  EXPECT_GE(forced, planned);
}

INSTANTIATE_TEST_SUITE_P(Parts, RandomPrograms, ::testing::Range(0, 4));

TEST(RandomProgramsText, PrintsAndParsesAlike) {
  Numbers numbers(property_seed() + 5);
  for (int k = 0; k < 200; ++k) {
    const RandomProgram drawn = ProgramDraw(numbers).draw();
    auto program = ir::parse(drawn.text, "drawn");
    ASSERT_TRUE(program.ok()) << program.error().text() << drawn.text;
    const std::string printed = ir::print(*program);
    auto again = ir::parse(printed, "printed");
    ASSERT_TRUE(again.ok()) << again.error().text() << printed;
    EXPECT_EQ(ir::print(*again), printed);
  }
}

}  // namespace
}  // namespace lanefold::testing
