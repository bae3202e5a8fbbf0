// lanefold tune as it is meant to be used, and what it refuses.
#include <cstdlib>

#include "driver/tuned_plans.h"
#include "kernels/registry.h"
#include "plan/alternatives.h"
#include "reject/measure.h"
#include "verify/tuned_on.h"

namespace lanefold {
namespace {

using nlohmann::json;

/// As short as it can be: the times mean nothing.
Arguments brief_tune(Arguments arguments) {
  return with_options(std::move(arguments), {"--samples", "2", "--sample-ms", "0.05", "--repetitions", "1",
                                             "--repetition-ms", "0.05", "--warmup-ms", "0", "--pairs", "2"});
}

class TuneCommandTest : public MeasureCommandTest {
 protected:
  void SetUp() override {
    MeasureCommandTest::SetUp();
    ::unsetenv("LANEFOLD_TUNED");
  }
  /// Leaves a plan for softmax of 3 rows and 1000 columns in the command's cache, and gives it.
  plan::Plan leave_a_plan() const {
    const ir::Program program = kernels::build(*kernels::find("softmax"), ElementType::f32).value();
    plan::Request request;
    request.rows = 3;
    request.cols = 1000;
    request.order = ir::Order::canonical;
    const plan::Plan other = plan::legal_plans(program, target::host(), request).value().back();
    const driver::TunedCall call = {
        .on = verify::tuned_on("cpu").value(), .program = program, .target = target::host(), .rows = 3, .cols = 1000};
    driver::TunedPlan tuned{other, {.default_us = 4, .tuned_us = 3, .ratio = 0.75, .finished = "2026-12-01T12:00:00Z"}};
    EXPECT_TRUE(driver::TunedPlans(path("cache")).store(call, tuned));
    return other;
  }
  json case_of(const std::string& folder) const { return results(folder)["cases"][0]; }
};

const Arguments kSoftmax = {"--rows", "3", "--cols", "1000"};

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_F(TuneCommandTest, EveryCaseGetsALine) {
  const std::string fold = write("f.fold",
                                 "program twice(x: f32[rows, cols])\n  s = fold sum x\n"
                                 "  store y: f32[rows, cols] = x * s\n");
  const Finished done = lanefold(
      brief_tune({"tune", "softmax", fold, "--shapes", "3x100,1x40", "--dtype", "f32,bf16", "--out", path("t.jsonl")}));
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("softmax 3x100 bf16 canonical"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("default kept"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("fewer than 8 pairs"), std::string::npos) << done.out;
  std::vector<json> lines;
  std::istringstream text(content("t.jsonl"));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  ASSERT_EQ(lines.size(), 6u);  // the file's types stand in its text
  EXPECT_EQ(lines[3]["dtype"], "bf16");
  for (const json& line : lines) {
    EXPECT_TRUE(line["failure"].is_null()) << line;
    EXPECT_TRUE(line["winner"].is_null()) << "two pairs are too few for any claim";
    EXPECT_EQ(line["plans"][0]["samples_us"].size(), 2u);
  }
}

TEST_F(TuneCommandTest, NothingIsComparedWhereTimesAreAllThatIsWanted) {
  const json all = json_of(brief_tune({"tune", "sum", "--shapes", "2x700", "--screen-only", "--most", "2"}));
  ASSERT_EQ(all["cases"].size(), 1u);
  EXPECT_EQ(all["cases"][0]["plans"].size(), 2u);
  EXPECT_TRUE(all["cases"][0]["trials"].empty());
  const Finished done = lanefold(brief_tune({"tune", "sum", "--shapes", "2x700", "--screen-only"}));
  EXPECT_NE(done.out.find("not compared"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("times as long as the fastest"), std::string::npos) << done.out;
}

TEST_F(TuneCommandTest, AStoredPlanIsToldAndUsed) {
  const Arguments plan = with({"plan", "softmax"}, kSoftmax), bench = with(brief({"bench", "softmax"}), kSoftmax);
  EXPECT_FALSE(json_of(plan).contains("tuned"));
  const plan::Plan other = leave_a_plan();
  const json told = json_of(plan);
  EXPECT_EQ(told["plan"]["cost_basis"], "cpu_traffic_v1");
  EXPECT_EQ(told["tuned"]["plan"]["cost_basis"], "measured");
  EXPECT_EQ(told["tuned"]["ratio"], 0.75);
  const Finished text = lanefold(plan);
  EXPECT_NE(text.out.find("measured 2026-12-01T12:00:00Z"), std::string::npos) << text.out;
  EXPECT_FALSE(json_of(with(plan, {"--cost", "cpu_traffic_v1"})).contains("tuned"));
  const Finished shown = lanefold(with(plan, {"--tuned", "--out", path("plan.json")}));
  EXPECT_NE(shown.out.find("take this one"), std::string::npos) << shown.out << shown.err;
  EXPECT_EQ(plan::from_json(content("plan.json")).value().layout, other.layout);
  EXPECT_EQ(lanefold(with({"check", "softmax@" + path("plan.json")}, {"--rows", "3", "--cols", "1000"})).status, 0);
  EXPECT_FALSE(json_of(with({"plan", "softmax"}, {"--rows", "3", "--cols", "700"})).contains("tuned"));
  ASSERT_EQ(lanefold(with(bench, {"--out", path("tuned")})).status, 0);
  EXPECT_EQ(case_of("tuned")["plan"]["plan"]["cost_basis"], "measured");
  EXPECT_EQ(plan::from_json(case_of("tuned")["plan"].dump()).value().layout, other.layout);
  ASSERT_EQ(lanefold(with(bench, {"--untuned", "--out", path("untuned")})).status, 0);
  EXPECT_EQ(case_of("untuned")["plan"]["plan"]["cost_basis"], "cpu_traffic_v1");
  const Arguments check = with({"check", "softmax"}, kSoftmax);
  EXPECT_EQ(lanefold(check).status, 0);
}

TEST_F(TuneCommandTest, WhatMeasuringDoesNotFindAgainIsTakenAway) {
  const Arguments plan = with({"plan", "softmax"}, kSoftmax);
  leave_a_plan();
  const Arguments tune = brief_tune({"tune", "softmax", "--shapes", "3x1000"});
  ASSERT_EQ(lanefold(with(tune, {"--dry-run"})).status, 0);
  EXPECT_TRUE(json_of(plan).contains("tuned"));
  ASSERT_EQ(lanefold(tune).status, 0);
  EXPECT_FALSE(json_of(plan).contains("tuned"));
}

TEST_F(TuneCommandTest, WhatItRefuses) {
  const Arguments shape = {"--shapes", "2x40"};
  refused({"plan", "sum", "--rows", "2", "--cols", "40", "--tuned"}, Code::file_missing, "lanefold tune");
  refused({"tune"}, Code::nothing_asked, "operators");
  refused({"tune", "sum"}, Code::shape_unknown, "64x4096");
  refused({"tune", "sum", "--shapes", "2y40"}, Code::number_invalid, "64x4096");
  refused({"tune", "sum", "--shapes", "2x40,0x40"}, Code::number_invalid, "from 1");
  refused({"tune", "sum", "--shapes", "2x40,"}, Code::bad_arguments, "one comma");
  refused(with({"tune", "sum", "--dtype", "f32,f31"}, shape), Code::unknown_dtype, "bf16");
  refused(with({"tune", "sum", "--order", "serial"}, shape), Code::bad_arguments, "--order free");
  refused(with({"tune", "sum", "--order", "random"}, shape), Code::unknown_order, "canonical");
  refused(with({"tune", "sum", "--most", "0"}, shape), Code::no_samples, "leave --most out");
  refused(with({"tune", "sum", "--pairs", "many"}, shape), Code::number_invalid, "whole number");
  refused(with({"tune", "summ"}, shape), Code::unknown_operator, "sum");
  refused(with({"tune", "gr_norm"}, shape), Code::kernel_not_for_verb, "name an operator");
  refused(with({"tune", "sum", "--device", "lane-machine"}, shape), Code::device_not_timed, "--device cpu");
  refused(with({"tune", "sum", "--device", "tpu"}, shape), Code::unknown_device, "cpu");
  const std::string stages = write("f.fold",
                                   "program centred(x: f32[rows, cols])\n  m = fold[rows] sum x / rows\n"
                                   "  store y: f32[rows, cols] = x - m\n");
  refused(with({"tune", stages}, shape), Code::kernel_not_for_verb, "each stage");
}

}  // namespace
}  // namespace lanefold
