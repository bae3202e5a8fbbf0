// Proofs: every plan that the conformance tests use has the canonical meaning for all inputs, old and new forms of the hand-written modules are equal for
// all inputs, and planted mistakes are told apart.
#include <cstdlib>

#include <gtest/gtest.h>

#include "conformance/operator_table.h"
#include "conformance/trial.h"
#include "verify/prove.h"

namespace lanefold::testing {
namespace {

using kernels::WeightFormat;
using verify::Instance;
using verify::Proof;
using verify::Verdict;

/// A slower run proves all rows and threadgroups: LANEFOLD_PROVE_ALL=1.
bool proves_all() { return std::getenv("LANEFOLD_PROVE_ALL") != nullptr; }

verify::ProveOptions options() {
  verify::ProveOptions chosen;
  chosen.all = proves_all();
  return chosen;
}

std::string told(const Proof& proof) {
  return std::string(verify::verdict_name(proof.verdict)) + " " + proof.reason + " " + proof.output + "[" +
         std::to_string(proof.element) + "]\n" + proof.a + "\n" + proof.b + "\n" + proof.a_inner + "\n" + proof.b_inner;
}

void expect_canonical(const ir::Program& program, const target::Target& target, ir::Order order, std::int64_t rows,
                      std::int64_t cols) {
  SCOPED_TRACE(program.name + " " + std::to_string(rows) + "x" + std::to_string(cols) + " on " + target.name);
  verify::InstanceRequest request;
  request.rows = rows;
  request.cols = cols;
  request.options.target = target;
  request.options.order = order;
  const Result<Instance> instance = verify::make_instance(program, request);
  ASSERT_TRUE(instance.ok()) << instance.error().text();
  const Result<Proof> proof = verify::prove_canonical(*instance, options());
  ASSERT_TRUE(proof.ok()) << proof.error().text();
  ASSERT_EQ(proof->verdict, Verdict::equal) << told(*proof);
  EXPECT_GT(proof->outputs, 0u);
}

class Proofs : public ::testing::TestWithParam<std::tuple<ConformanceRow, ElementType>> {
 protected:
  const ConformanceRow& row() const { return std::get<0>(GetParam()); }
  ElementType storage() const { return std::get<1>(GetParam()); }
  ir::Program program() const { return operator_program(row().name, storage()); }
  /// Few widths for an operator whose family has many, and for storages that differ from others in loads and stores only.
  bool full() const { return row().depth == Depth::full && is_float(storage()) && element_bytes(storage()) > 1; }
  /// The widths that the operator takes among these.
  std::vector<std::int64_t> widths() const {
    std::vector<std::int64_t> chosen;
    for (const std::int64_t cols : {1, 2, 31, 32, 33, 127, 257, 384, 511, 512, 769, 1000, 1024, 2560, 4096, 4099})
      if (full() && cols % row().column_multiple == 0) chosen.push_back(cols);
    if (!full()) chosen.push_back(whole_columns(row(), 33));
    if (!full() && storage() == ElementType::f32) chosen.push_back(whole_columns(row(), 1000));
    return chosen;
  }
};

TEST_P(Proofs, EveryPlanOfThisProcessorIsCanonical) {
  for (const std::int64_t cols : widths())
    expect_canonical(program(), target::host(), ir::Order::canonical, cols > 1024 ? 1 : 3, cols);
  for (const std::int64_t cols : {32, 33, 769, 1024})
    if (full() && cols % row().column_multiple == 0)
      expect_canonical(program(), target::host(), ir::Order::serial, 17, cols);
}

TEST_P(Proofs, EveryPlanOfOtherTargetsIsCanonical) {
  std::vector<std::string> targets = {"generic-32", "generic-4",  "generic-8", "generic-16",
                                      "generic-64", "cpu-avx512", "cpu-sse",   "metal-m1max"};
  if (storage() != ElementType::f32) targets.resize(1);
  for (const std::string& name : targets)
    for (const std::int64_t cols : widths())
      expect_canonical(program(), *target::find(name), ir::Order::canonical, cols > 512 ? 1 : 5, cols);
}

/// Every operator but those that gather, in every storage.
std::vector<std::tuple<ConformanceRow, ElementType>> provable() {
  std::vector<std::tuple<ConformanceRow, ElementType>> points;
  for (const ConformanceRow& row : kConformanceTable)
    for (const ElementType storage : kernels::storages(*kernels::find(row.name)))
      if (!gathers_by_data(operator_program(row.name, storage))) points.emplace_back(row, storage);
  return points;
}

INSTANTIATE_TEST_SUITE_P(Library, Proofs, ::testing::ValuesIn(provable()), [](const auto& tested) {
  return std::string(std::get<0>(tested.param).name) + "_" + std::string(element_name(std::get<1>(tested.param)));
});

TEST(Proofs, OperatorsThatGatherAreRefusedAndNoOthers) {
  int refused = 0;
  for (const kernels::Operator& op : kernels::operators()) {
    if (!gathers_by_data(operator_program(op.name))) continue;
    verify::InstanceRequest request;
    request.cols = whole_columns(op.name, 40);
    const auto instance = verify::make_instance(operator_program(op.name), request);
    ASSERT_TRUE(instance.ok()) << instance.error().text();
    EXPECT_EQ(verify::prove_canonical(*instance).error().code, Code::prove_gathers_by_data) << op.name;
    ++refused;
  }
  EXPECT_EQ(refused, 1);  // cross_entropy
}

TEST(Proofs, RowsOfSeveralSegmentsAreCanonical) {
  for (const ConformanceRow& row : kConformanceTable) {
    const ir::Program program = operator_program(row.name);
    if (row.depth == Depth::brief || gathers_by_data(program)) continue;
    expect_canonical(program, target::host(), ir::Order::canonical, 1, whole_columns(row, 33001));
  }
}

TEST(Proofs, RowsInTurnAreCanonical) {
  for (const unsigned tokens : {2u, 3u, 8u})
    for (const std::string target : {"cpu-sse", "cpu-avx2", "cpu-avx512"})
      for (const std::int64_t cols : {320, 4100}) {
        const Result<ir::Program> program =
            kernels::build(*kernels::find("matvec"), {.storage = ElementType::f32, .tokens = tokens});
        ASSERT_TRUE(program.ok()) << program.error().text();
        expect_canonical(*program, *target::find(target), ir::Order::canonical, 35, cols);
      }
}

/// The standard sizes of a module, for so many tokens.
Result<Instance> standard(const std::string& name, std::int64_t tokens, WeightFormat weights) {
  verify::InstanceRequest request;
  request.sizes.values["tokens"] = tokens;
  request.sizes.weights = weights;
  return verify::make_instance(*driver::parse_kernel_name(name), request);
}

void expect_equal(const std::string& op, std::int64_t tokens, WeightFormat weights) {
  SCOPED_TRACE(op + ", " + std::to_string(tokens) + " tokens");
  const auto before = standard(op + ":old", tokens, weights), after = standard(op + ":new", tokens, weights);
  ASSERT_TRUE(before.ok() && after.ok());
  verify::ProveOptions chosen = options();
  chosen.launches = tokens == 8;  // a whole launch takes longer than its proof
  const Result<Proof> proof = verify::prove(*before, *after, chosen);
  ASSERT_TRUE(proof.ok()) << proof.error().text();
  EXPECT_EQ(proof->verdict, Verdict::equal) << told(*proof);
  EXPECT_EQ(std::ssize(proof->parts), proves_all() ? proof->all_parts : 3);
}

class HandWrittenProofs : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(HandWrittenProofs, OldAndNewFormsAreEqualForAllInputs) {
  for (const kernels::HandWritten& op : kernels::hand_written()) {
    expect_equal(std::string(op.name), GetParam(), WeightFormat::bf16);
    if (op.has_weights) expect_equal(std::string(op.name), GetParam(), WeightFormat::q8_0);
  }
}

INSTANTIATE_TEST_SUITE_P(Tokens, HandWrittenProofs, ::testing::Values(1, 2, 3, 4, 8),
                         [](const auto& tested) { return "T" + std::to_string(tested.param); });

TEST(HandWrittenProofs, ANormThatDoesNotApplyIsEqualToo) {
  verify::InstanceRequest request;
  request.sizes.values = {{"tokens", 3}, {"apply", 0}};
  const auto before = verify::make_instance(*driver::parse_kernel_name("gr_norm:generic"), request);
  const auto after = verify::make_instance(*driver::parse_kernel_name("gr_norm:unrolled"), request);
  ASSERT_TRUE(before.ok() && after.ok());
  const Result<Proof> proof = verify::prove(*before, *after, options());
  ASSERT_TRUE(proof.ok()) << proof.error().text();
  EXPECT_EQ(proof->verdict, Verdict::equal) << told(*proof);
}

TEST(HandWrittenProofs, PlantedMistakesAreDifferentAndShownByAnInput) {
  for (const char* op : {"gr_up", "gr_up3", "qsa_merge"})
    for (const char* form : {"tree", "one_chain", "wrong_publishers", "split_guard"})
      for (const WeightFormat weights : {WeightFormat::bf16, WeightFormat::q8_0}) {
        if (weights == WeightFormat::q8_0 && std::string_view(op) == "qsa_merge") continue;
        SCOPED_TRACE(std::string(op) + ":" + form);
        const auto right = standard(op, 3, weights), wrong = standard(std::string(op) + ":" + form, 3, weights);
        ASSERT_TRUE(right.ok() && wrong.ok());
        EXPECT_TRUE(right->right);
        EXPECT_FALSE(wrong->right);
        const Result<Proof> proof = verify::prove(*right, *wrong);
        ASSERT_TRUE(proof.ok()) << proof.error().text();
        EXPECT_EQ(proof->verdict, Verdict::different) << told(*proof);
        EXPECT_EQ(proof->output, "sums");
        EXPECT_NE(proof->a, "");
        ASSERT_TRUE(proof->witness.has_value());
        EXPECT_NE(proof->witness->a, proof->witness->b);
      }
}

TEST(Proofs, ReorderableFoldsAreEqualInEveryOrderAndSumsAreNot) {
  const auto instance = [](const char* name) {
    verify::InstanceRequest request;
    request.rows = 2;
    request.cols = 769;
    request.options.target = *target::find("generic-32");
    return verify::make_instance(*driver::parse_kernel_name(name), request);
  };
  const auto verdict = [&](const char* a, const char* b) {
    const auto left = instance(a), right = instance(b);
    EXPECT_TRUE(left.ok() && right.ok());
    const Result<Proof> proof = verify::prove(*left, *right);
    EXPECT_TRUE(proof.ok());
    return *proof;
  };
  EXPECT_EQ(verdict("max", "max:serial").verdict, Verdict::equal);
  EXPECT_EQ(verdict("argmax", "argmax:serial").verdict, Verdict::equal);
  EXPECT_EQ(verdict("rms_norm:per_lane", "rms_norm:serial").verdict, Verdict::equal);
  EXPECT_EQ(verdict("layer_norm:per_lane", "layer_norm:serial").verdict, Verdict::equal);
  const Proof sums = verdict("sum", "sum:serial");
  EXPECT_EQ(sums.verdict, Verdict::different);
  EXPECT_TRUE(sums.witness.has_value());
}

TEST(Proofs, RefuseKernelsOfOtherBuffers) {
  const auto a = standard("gr_up", 1, WeightFormat::bf16), b = standard("gr_down", 1, WeightFormat::bf16);
  ASSERT_TRUE(a.ok() && b.ok());
  const Result<Proof> proof = verify::prove(*a, *b);
  ASSERT_FALSE(proof.ok());
  EXPECT_EQ(proof.error().code, Code::prove_buffers_differ);
  const auto two = standard("gr_up", 2, WeightFormat::bf16);
  EXPECT_EQ(verify::prove(*a, *two).error().code, Code::prove_buffers_differ);
  EXPECT_EQ(verify::prove_canonical(*a).error().code, Code::prove_no_program);
}

TEST(Proofs, AFreeOrderHasNoOneMeaning) {
  verify::InstanceRequest request;
  request.cols = 64;
  request.options.order = ir::Order::free;
  const auto instance = verify::make_instance(operator_program("sum"), request);
  ASSERT_TRUE(instance.ok()) << instance.error().text();
  EXPECT_EQ(verify::prove_canonical(*instance).error().code, Code::prove_order_free);
}

TEST(Proofs, GatheringByDataIsRefused) {
  const auto program = ir::parse(
      "program pick(x: f32[rows, cols], label: i32[rows])\n"
      "  store y: f32[rows] = gather(x, label)\n");
  ASSERT_TRUE(program.ok()) << program.error().text();
  verify::InstanceRequest request;
  request.cols = 40;
  const auto instance = verify::make_instance(*program, request);
  ASSERT_TRUE(instance.ok()) << instance.error().text();
  EXPECT_EQ(verify::prove_canonical(*instance).error().code, Code::prove_gathers_by_data);
  const Result<Proof> proof = verify::prove(*instance, *instance);
  ASSERT_TRUE(proof.ok());
  EXPECT_EQ(proof->verdict, Verdict::not_provable);
  EXPECT_NE(proof->reason.find("depends on data"), std::string::npos) << proof->reason;
}

}  // namespace
}  // namespace lanefold::testing
