#include "bench/tune/tune.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/case.h"
#include "bench/test_requests.h"
#include "bench/tune/record_json.h"
#include "verify/device.h"

namespace lanefold::bench {
namespace {

Code refusal(const SubjectRequest& request) {
  const Status status = check_tunable(request);
  EXPECT_FALSE(status.ok()) << request.kernel.text;
  return status.ok() ? Code::plan_inconsistent : status.error().code;
}

TEST(TunableTest, OnlyPlansThatCanBeChosenAreTuned) {
  EXPECT_EQ(refusal(request_for("gr_norm", 1, 1)), Code::kernel_not_for_verb);
  EXPECT_EQ(refusal(request_for("sum:per_lane", 2, 40)), Code::kernel_not_for_verb);
  EXPECT_EQ(refusal(request_for("sum:serial", 2, 40)), Code::bad_arguments);
  EXPECT_EQ(refusal(request_for("sum@plan.json", 2, 40)), Code::kernel_not_for_verb);
  EXPECT_EQ(refusal(request_for("summ", 2, 40)), Code::unknown_operator);
  EXPECT_TRUE(check_tunable(request_for("sum", 2, 40)));
}

#if LANEFOLD_JIT
/// As brief as it can be: the times mean nothing.
TuneRequest brief(const std::string& kernel, std::int64_t rows, std::int64_t cols) {
  TuneRequest request;
  request.subject = request_for(kernel, rows, cols);
  request.screening = brief_protocol();
  request.pairs = 2;
  request.repetitions = 1;
  request.repetition_ms = 0.02;
  request.warmup_ms = 0;
  return request;
}

/// A folder with tuned plans that kernels look into, which is removed afterwards.
class TuneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanefold-tuned-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ::setenv("LANEFOLD_CACHE_DIR", folder_.c_str(), 1);
    ::unsetenv("LANEFOLD_TUNED");
  }
  void TearDown() override {
    ::unsetenv("LANEFOLD_CACHE_DIR");
    std::filesystem::remove_all(folder_);
  }
  /// What the next kernel of such a case runs.
  static CaseRecord next(const TuneRequest& request, bool tuned = true) {
    CaseRequest asked;
    asked.subject = request.subject;
    asked.subject.instance.options.tuned = tuned;
    std::unique_ptr<Subject> subject;
    CaseRecord record = prepare_case(asked, {}, subject).value();
    EXPECT_TRUE(record.ok()) << record.failure->message;
    return record;
  }
  static std::string basis_of(const CaseRecord& record) {
    return nlohmann::json::parse(record.plan)["plan"]["cost_basis"].get<std::string>();
  }
  /// A decision for the last plan, as if two comparisons had found it twice as fast.
  static Decision made_up(const TuneRecord& record) {
    Decision decision;
    decision.winner = record.plans.size() - 1;
    for (const bool confirms : {false, true}) {
      Trial trial;
      trial.plan = *decision.winner;
      trial.confirms = confirms;
      trial.pairs = 11;
      trial.default_us = 10;
      trial.plan_us = 5;
      trial.verdict.claim = Claim::faster;
      trial.verdict.ratio = 0.5;
      decision.trials.push_back(trial);
    }
    return decision;
  }

  std::filesystem::path folder_;
};

TEST_F(TuneTest, EveryLegalPlanIsTimedAndTheDefaultIsTheFirst) {
  const TuneRequest request = brief("rms_norm", 3, 700);
  const TuneRecord record = tune_case(request, {});
  ASSERT_FALSE(record.failure) << record.failure->message;
  EXPECT_EQ(record.order, "canonical");
  EXPECT_EQ(record.bytes, 2 * 3 * 700 * 4 + 700 * 4);
  EXPECT_GT(record.copy_us, 0);
  ASSERT_GT(record.plans.size(), 1u);
  for (const ScreenedPlan& plan : record.plans) {
    EXPECT_EQ(plan.samples_us.size(), 2u);
    EXPECT_GE(plan.plan.cost, record.plans.front().plan.cost);
  }
  // Two pairs are too few for any claim.
  EXPECT_FALSE(record.decision.winner);
  for (const Trial& trial : record.decision.trials) EXPECT_EQ(trial.pairs, 2);
  TuneRequest two = request;
  two.most = 2;
  two.screen_only = true;
  const TuneRecord screened = tune_case(two, {});
  EXPECT_EQ(screened.plans.size(), 2u);
  EXPECT_TRUE(screened.decision.trials.empty());
}

TEST_F(TuneTest, PlansOfTheOrderFreeAreTunedToo) {
  TuneRequest request = brief("softmax", 3, 100);
  request.subject.instance.options.order = ir::Order::free;
  const TuneRecord record = tune_case(request, {});
  ASSERT_FALSE(record.failure) << record.failure->message;
  EXPECT_EQ(record.order, "free");
}

TEST_F(TuneTest, TheNextKernelTakesAWinner) {
  const TuneRequest request = brief("softmax", 3, 1000);
  TuneRecord record = tune_case(request, {});
  ASSERT_FALSE(record.failure);
  ASSERT_GT(record.plans.size(), 1u);
  EXPECT_EQ(basis_of(next(request)), "cpu_traffic_v1");
  record.decision = made_up(record);
  const driver::TunedCall call = tuned_call(record, request.subject.instance.options.target).value();
  ASSERT_TRUE(keep_winner(record, call, driver::TunedPlans::user()));
  const CaseRecord tuned = next(request);
  EXPECT_EQ(basis_of(tuned), "measured");
  EXPECT_NE(tuned.plan_line.find(", tuned"), std::string::npos) << tuned.plan_line;
  const plan::Plan ran = plan::from_json(tuned.plan).value();
  EXPECT_EQ(ran.layout, record.plans.back().plan.layout);
  EXPECT_EQ(basis_of(next(request, false)), "cpu_traffic_v1");
  ::setenv("LANEFOLD_TUNED", "0", 1);
  EXPECT_EQ(basis_of(next(request)), "cpu_traffic_v1");
  ::unsetenv("LANEFOLD_TUNED");
  EXPECT_EQ(basis_of(next(brief("softmax", 3, 700))), "cpu_traffic_v1");
  // What a later run does not find again is taken away; a run that failed says nothing.
  TuneRecord failed = record, kept = record;
  failed.failure = Failure{"check", "LF0810", "output_wrong", "wrong", ""};
  EXPECT_FALSE(keep_winner(failed, call, driver::TunedPlans::user()));
  EXPECT_EQ(basis_of(next(request)), "measured");
  kept.decision = {};
  EXPECT_FALSE(keep_winner(kept, call, driver::TunedPlans::user()));
  EXPECT_EQ(basis_of(next(request)), "cpu_traffic_v1");
}

TEST_F(TuneTest, TheRecordHasWhatTheFitReads) {
  TuneRequest request = brief("layer_norm", 3, 300);
  request.screen_only = true;
  TuneRecord record = tune_case(request, {});
  record.decision = made_up(record);
  const nlohmann::json line = record_json(record, true);
  EXPECT_EQ(line["operator"], "layer_norm");
  EXPECT_EQ(line["dtype"], "f32");
  EXPECT_EQ(line["order"], "canonical");
  EXPECT_EQ(line["rows"], 3);
  EXPECT_EQ(line["features"]["folds"], 2);
  EXPECT_EQ(line["features"]["loaded"], 3);
  EXPECT_EQ(line["features"]["kept_registers"], 1);
  EXPECT_EQ(line["features"]["later_registers"], 2);
  EXPECT_EQ(line["winner"], record.plans.size() - 1);
  EXPECT_EQ(line["trials"][1]["claim"], "faster");
  EXPECT_EQ(line["kept"], true);
  ASSERT_EQ(line["plans"].size(), record.plans.size());
  EXPECT_EQ(line["plans"][0]["layout"], layout_name(record.plans[0].plan));
  EXPECT_EQ(line["plans"][0]["us"], *record.plans[0].us());
}

TEST_F(TuneTest, ACaseThatCannotBeMadeFails) {
  TuneRequest request = brief("softmax", 3, 100);
  request.subject.instance.options.target = target::find("cuda-sm90").value();
  const TuneRecord record = tune_case(request, {});
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->name, code_name(Code::target_not_here));
  EXPECT_FALSE(record_json(record, false)["failure"].is_null());
}
#endif

}  // namespace
}  // namespace lanefold::bench
