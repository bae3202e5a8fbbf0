// Golden texts: what lowering and planning make of some programs, and the digests of canonical results. A change of a
// lane module or a plan is looked at; a change of a digest is a new version of the canonical order.
// LANEFOLD_REWRITE_GOLDEN=1 writes all of them anew.
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "conformance/operator_table.h"
#include "conformance/trial.h"
#include "driver/pipeline.h"
#include "golden/golden_file.h"

namespace lanefold::testing {
namespace {

driver::Lowered lowered(const char* op, const char* target, std::int64_t rows, std::int64_t cols) {
  plan::Request request;
  request.rows = rows;
  request.cols = cols;
  request.order = ir::Order::canonical;
  auto result = driver::lower_program(operator_program(op), *target::find(target), request);
  EXPECT_TRUE(result.ok()) << result.error().text();
  return std::move(result).value();
}

struct Example {
  const char* op;
  const char* target;
  std::int64_t rows, cols;
  std::string file(const char* kind) const {
    return std::string(op) + "." + target + "." + std::to_string(rows) + "x" + std::to_string(cols) + "." + kind;
  }
};

class Golden : public ::testing::TestWithParam<Example> {};

TEST_P(Golden, LaneModule) {
  const Example& e = GetParam();
  const std::string text = lane::print(lowered(e.op, e.target, e.rows, e.cols).module);
  expect_golden(e.file("lane"), text);
  auto again = lane::parse(text, "golden");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(lane::print(*again), text);
}

TEST_P(Golden, Plan) {
  const Example& e = GetParam();
  const std::string text = plan::to_json(lowered(e.op, e.target, e.rows, e.cols).plan);
  expect_golden(e.file("plan.json"), text);
  auto again = plan::from_json(text, "golden");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(plan::to_json(*again), text);
}

INSTANTIATE_TEST_SUITE_P(Examples, Golden,
                         ::testing::Values(Example{"rms_norm", "generic-32", 1, 384},
                                           Example{"softmax", "generic-32", 1, 384},
                                           Example{"rms_norm", "cpu-avx2", 1, 384},
                                           Example{"softmax", "cpu-avx2", 1, 384}),
                         [](const auto& tested) {
                           std::string name = std::string(tested.param.op) + "_" + tested.param.target;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

constexpr std::pair<std::int64_t, std::int64_t> kDigestShapes[] = {{3, 32}, {2, 1024}, {1, 4128}, {1, 33024}};

/// SHA-256 of every operator's outputs on the standard inputs, by operator, storage, shape and output.
nlohmann::ordered_json digests(const std::string& device, std::int64_t most_cols) {
  nlohmann::ordered_json all;
  for (const kernels::Operator& op : kernels::operators())
    for (const ElementType storage : kernels::storages(op)) {
      const ir::Program program = operator_program(op.name, storage);
      const ConformanceRow& row = *conformance_row(op.name);
      // Narrow storages differ in loads and stores, operators of one family in their last lines.
      const std::int64_t most = element_bytes(storage) == 1                                ? 1024
                                : row.depth == Depth::brief && storage != ElementType::f32 ? 4128
                                                                                           : most_cols;
      for (const auto& [rows, cols] : kDigestShapes) {
        if (cols > most || cols % row.column_multiple != 0) continue;
        const auto found = verify::digest_standard(program, on_device(device), rows, cols);
        EXPECT_TRUE(found.ok()) << found.error().text();
        if (!found.ok()) continue;
        auto& at = all[std::string(op.name)][std::string(element_name(storage))]
                      [std::to_string(rows) + "x" + std::to_string(cols)];
        for (std::size_t o = 0; o < found->size(); ++o) at[program.stores[o].name] = (*found)[o];
      }
    }
  return all;
}

TEST(Digests, AreThePublishedOnes) {
  const std::filesystem::path path = golden_file("digests.json");
  // The lane machine, which every build has, writes them.
  if (rewrites()) std::ofstream(path) << digests("lane-machine", 40000).dump(1) << '\n';
  const auto golden = nlohmann::ordered_json::parse(content(path), nullptr, false);
  ASSERT_FALSE(golden.is_discarded()) << "tests/golden/digests.json is missing or no JSON";
  for (const std::string& device : available_devices()) {
    const nlohmann::ordered_json now = digests(device, 40000);
    for (const auto& change : nlohmann::json::diff(nlohmann::json(golden), nlohmann::json(now)))
      ADD_FAILURE() << device << ": " << change.dump();
  }
}

}  // namespace
}  // namespace lanefold::testing
