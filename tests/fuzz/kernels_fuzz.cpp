// Row programs drawn from the input: the JIT, the lane machine and the oracle's exact meaning have the same bytes, in the
// planner's layout and in one drawn at random, wherever the buffers lie.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/hash.h"
#include "property/random_layout.h"
#include "property/random_program.h"

namespace {

using namespace lanefold;
using namespace lanefold::testing;

constexpr std::int64_t kMostCols = 700, kMostMachineCols = 160;

[[noreturn]] void report(const RandomProgram& drawn, const Trial& trial, const std::string& how,
                         const std::string& what) {
  std::fprintf(stderr, "%s\n%lld x %lld, %s: %s\n", drawn.text.c_str(), static_cast<long long>(trial.rows()),
               static_cast<long long>(trial.cols()), how.c_str(), what.c_str());
  std::abort();
}

void compare(const RandomProgram& drawn, Trial& trial, const verify::DeviceOptions& options,
             const std::vector<Bytes>& expected, const std::string& how) {
  try {
    const Status status = trial.run(options);
    if (!status) report(drawn, trial, how, status.error().text());
  } catch (const InternalError& error) {
    report(drawn, trial, how, error.what());
  }
  const std::string wrong = difference(trial.program(), trial.output_bytes(), expected);
  if (!wrong.empty()) report(drawn, trial, how, wrong);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // What a trial finds beside outputs, such as bytes written next to them, brings the target down as well.
  GTEST_FLAG_SET(break_on_failure, true);
  Numbers numbers(hash_bytes(data, size));
  const RandomProgram drawn = ProgramDraw(numbers).draw();
  const Result<ir::Program> declared = ir::parse(drawn.text, "drawn");
  if (!declared) {
    std::fprintf(stderr, "%s\n%s\n", drawn.text.c_str(), declared.error().text().c_str());
    std::abort();
  }
  if (std::getenv("LANEFOLD_FUZZ_SHOW") != nullptr) std::fprintf(stderr, "%s\n", drawn.text.c_str());
  const ir::Program program = ir::specialise(*declared, {}).value();

  const bool on_machine = numbers.below(2) == 0;
  std::int64_t cols = 1 + numbers.below(static_cast<std::uint32_t>(on_machine ? kMostMachineCols : kMostCols));
  if (drawn.column_multiple > ir::CanonicalOrder::min_virtual_lanes) cols += 128;
  cols = (cols + drawn.column_multiple - 1) / drawn.column_multiple * drawn.column_multiple;
  Trial trial(program, 1 + numbers.below(on_machine ? 5 : 70), cols, kPlacements[numbers.below(5)]);
  trial.fill_random(numbers.bits(), -2, 2);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (program.inputs[i].name == "label")
      trial.fill(i, [&](std::int64_t, std::int64_t) {
        return static_cast<float>(numbers.below(static_cast<std::uint32_t>(cols) + 2)) - 1.0f;
      });
    if (program.inputs[i].part.role == ir::Part::Role::codes)
      trial.fill(i, [&](std::int64_t, std::int64_t) { return static_cast<float>(numbers.below(255)) - 127.0f; });
  }
  const ir::Order order = numbers.below(4) == 0 ? ir::Order::serial : ir::Order::canonical;
  const std::vector<Bytes> expected = trial.exact(order);
  if (has_cpu()) compare(drawn, trial, on_device("cpu", order), expected, "cpu");
  if (!on_machine) return 0;
  compare(drawn, trial, on_device("lane-machine", order), expected, "lane machine");
  if (order == ir::Order::serial || drawn.folds_rows) return 0;
  verify::DeviceOptions options = on_device("lane-machine");
  options.target = generic_target(4u << numbers.below(5));
  const Result<plan::Plan> plan = random_plan(numbers, program, options.target, trial.rows(), cols);
  if (!plan) return 0;
  options.plan = *plan;
  compare(drawn, trial, options, expected, options.target.name + ' ' + layout_text(plan->layout));
  return 0;
}
