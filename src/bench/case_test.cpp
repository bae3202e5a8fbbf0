#include "bench/case.h"
#include "bench/case_checks.h"

#include <gtest/gtest.h>

#include <cstring>

#include "bench/test_requests.h"

namespace lanefold::bench {
namespace {

#if LANEFOLD_JIT
CaseContext context(std::span<const std::unique_ptr<Peer>> peers = {}) {
  CaseContext made;
  made.protocol = brief_protocol();
  made.peers = peers;
  return made;
}

TEST(CaseTest, ACaseRecordsEverythingThatWasMeasured) {
  CaseContext measuring = context();
  std::vector<std::string> stages;
  measuring.capture_sources = true;
  measuring.keep_source = [&](const std::string&, const std::string& stage, const std::string& text) {
    EXPECT_FALSE(text.empty());
    stages.push_back(stage);
    return Result<SourceRecord>(SourceRecord{stage, "hash", ""});
  };
  const CaseRecord record = measure_case(case_for("rms_norm", 17, 257), measuring).value();
  ASSERT_TRUE(record.ok()) << record.failure->message;
  EXPECT_EQ(record.id, "rms_norm 17x257 f32 canonical, cpu, 1 thread");
  EXPECT_EQ(record.made_for, "17 rows of 257 columns");
  EXPECT_EQ(record.bytes_read, (17 * 257 + 257) * 4);
  EXPECT_EQ(record.bytes_written, 17 * 257 * 4);
  EXPECT_EQ(stages, (std::vector<std::string>{"lane", "llvm", "asm"}));
  std::vector<std::string> phases;
  for (const PhaseRecord& phase : record.phases) {
    phases.push_back(phase.phase);
    EXPECT_GE(phase.us, 0);
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"setup", "plan", "lower", "verify", "compile", "upload", "first_call",
                                              "download"}));
  ASSERT_TRUE(record.check);
  ASSERT_EQ(record.check->outputs.size(), 1u);
  EXPECT_EQ(record.check->outputs[0].elements, 17 * 257);
  EXPECT_EQ(record.check->outputs[0].wrong, 0);
  EXPECT_EQ(record.single_us.size(), 3u);
  ASSERT_EQ(record.arms.size(), 2u);
  EXPECT_EQ(record.arms[0].role, "subject");
  EXPECT_EQ(record.arms[1].role, "ceiling");
  for (const ArmRecord& arm : record.arms) {
    EXPECT_EQ(arm.wall_us.size(), 2u);
    for (const double us : arm.wall_us) EXPECT_GT(us, 0);
    EXPECT_TRUE(arm.device_us.empty());
  }
  EXPECT_EQ(record.arms[0].turns, (std::vector<int>{0, 1}));
  EXPECT_TRUE(record.share_of_ceiling().has_value());
  EXPECT_FALSE(record.plan.empty());
}

TEST(CaseTest, WrongOutputsAreNotTimed) {
  CaseRequest request = case_for("gr_up:wrong_publishers", 1, 1);
  request.subject.instance.sizes.values = {{"rank", 64}};
  const CaseRecord record = measure_case(request, context()).value();
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->stage, "check");
  EXPECT_EQ(record.failure->name, code_name(Code::output_wrong));
  EXPECT_TRUE(record.arms.empty());
  ASSERT_TRUE(record.check);
  EXPECT_FALSE(record.check->ok());
}

TEST(CaseTest, WhatCannotBeMadeIsAFailedCase) {
  const CaseRecord record = measure_case(case_for("rms_norm_q8", 2, 33), context()).value();
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->stage, "prepare");
  EXPECT_EQ(record.id, "rms_norm_q8 2x33, cpu");
}

TEST(CaseTest, ALaneMachineIsNotTimed) {
  CaseRequest request = case_for("sum", 2, 33);
  request.subject.instance.options.device = "lane-machine";
  const CaseRecord record = measure_case(request, context()).value();
  ASSERT_TRUE(record.failure);
  EXPECT_EQ(record.failure->name, code_name(Code::device_not_timed));
}

TEST(CaseTest, AnotherPlanThanTheOneAskedForIsFound) {
  std::unique_ptr<Subject> narrow, wide;
  ASSERT_TRUE(prepare_case(case_for("sum", 2, 100), {}, narrow)->ok());
  ASSERT_TRUE(prepare_case(case_for("sum", 2, 4000), {}, wide)->ok());
  EXPECT_TRUE(check_realised(*narrow->instance().plan, *narrow->realised()));
  const Status other = check_realised(*narrow->instance().plan, *wide->realised());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::plan_not_realised);
  // Candidates that were only considered make no other plan.
  plan::Plan bare = *narrow->realised();
  bare.candidates.clear();
  EXPECT_TRUE(check_realised(*narrow->instance().plan, bare));
}

TEST(CaseTest, EveryKindOfKernelHasItsCase) {
  for (const char* kernel : {"sum", "sum:serial", "sum:per_lane", "softmax", "argmax", "gr_norm:old", "qsa_merge"}) {
    CaseRequest request = case_for(kernel, 3, 96);
    const CaseRecord record = measure_case(request, context()).value();
    EXPECT_TRUE(record.ok()) << kernel << ": " << (record.failure ? record.failure->message : "");
    EXPECT_TRUE(record.check && record.check->ok()) << kernel;
    EXPECT_EQ(record.arm("subject")->wall_us.size(), 2u) << kernel;
  }
}

TEST(CaseTest, ABaselineTakesTurnsWithItsSubject) {
  CaseRequest request = case_for("rms_norm", 1, 256);
  request.subject.as_module = true;
  request.subject.launches = 3;
  request.baseline = request.subject;
  request.baseline->kernel = driver::parse_kernel_name("rms_norm:per_lane").value();
  request.baseline->instance.options.order = ir::Order::serial;
  const CaseRecord record = measure_case(request, context()).value();
  ASSERT_TRUE(record.ok()) << record.failure->message;
  ASSERT_EQ(record.arms.size(), 3u);
  EXPECT_EQ(record.arms[1].role, "baseline");
  EXPECT_EQ(record.arms[1].wall_us.size(), 2u);
  EXPECT_EQ(record.bytes_read, 3 * 2 * 256 * 4);
  EXPECT_EQ(record.id, "rms_norm 1x256 f32 canonical, as a module, 3 launches, cpu, 1 thread");
}

TEST(CaseTest, KernelsThatChangeTheirInputsStartAfresh) {
  std::unique_ptr<Subject> subject;
  CaseRequest request = case_for("gr_norm", 1, 1);
  request.subject.instance.sizes.values = {{"tokens", 2}, {"apply", 1}, {"hidden", 256}};
  const CaseRecord record = prepare_case(request, {}, subject).value();
  ASSERT_TRUE(record.ok()) << record.failure->message;
  const auto once = subject->outputs();
  ASSERT_TRUE(subject->run(3));
  EXPECT_NE(subject->outputs(), once);
  ASSERT_TRUE(subject->restore());
  ASSERT_TRUE(subject->run(1));
  EXPECT_EQ(subject->outputs(), once);
  subject->refill(verify::Pattern::extreme, 4);
  ASSERT_TRUE(subject->run_once());
  subject->refill_standard();
  ASSERT_TRUE(subject->run(5));
  ASSERT_TRUE(subject->restore());
  ASSERT_TRUE(subject->run(1));
  EXPECT_EQ(subject->outputs(), once);
}

class PeerCaseTest : public ::testing::Test {
 protected:
  CaseRecord beside(const std::string& kind, const std::string& kernel = "sum") {
    std::vector<std::unique_ptr<Peer>> peers;
    peers.push_back(Peer::start("python3 -B \"" LANEFOLD_SOURCE_DIR "/tests/peers/fake_peer.py\" " + kind).value());
    return measure_case(case_for(kernel, 4, 8), context(peers)).value();
  }
};

TEST_F(PeerCaseTest, APeerThatComputesSomethingElseIsNotTimed) {
  const CaseRecord record = beside("behaves", "softmax");  // its y is x
  ASSERT_TRUE(record.ok());
  const ArmRecord& peer = record.arms.back();
  EXPECT_EQ(peer.role, "peer");
  ASSERT_TRUE(peer.failure);
  EXPECT_EQ(peer.failure->name, code_name(Code::output_wrong));
  EXPECT_TRUE(peer.wall_us.empty());
  EXPECT_EQ(record.arm("subject")->wall_us.size(), 2u);
}

TEST_F(PeerCaseTest, APeerIsCheckedWithinTheToleranceThatItClaims) {
  const CaseRecord record = beside("tolerant", "softmax");  // its y is x, within -63/64 to 63/64
  ASSERT_TRUE(record.ok());
  const ArmRecord& peer = record.arms.back();
  EXPECT_FALSE(peer.failure) << peer.failure->message;
  EXPECT_EQ(peer.own_tolerance, "y is x");
  ASSERT_TRUE(peer.check);
  EXPECT_EQ(peer.check->absolute, 4.0);
  EXPECT_EQ(peer.check->relative, 0.5);
  EXPECT_GT(peer.check->outputs.at(0).max_error, 0.5);
  EXPECT_EQ(peer.wall_us.size(), 2u);
  EXPECT_NE(record.check->absolute, 4.0);  // the kernel's own check is by the operator's tolerance

  const ArmRecord strict = beside("strict", "softmax").arms.back();
  ASSERT_TRUE(strict.failure);
  EXPECT_EQ(strict.failure->name, code_name(Code::output_wrong));
  EXPECT_EQ(strict.own_tolerance, "y is x");
  EXPECT_TRUE(strict.wall_us.empty());
}

TEST_F(PeerCaseTest, APeerMayDecline) {
  const CaseRecord record = beside("declines");
  ASSERT_TRUE(record.ok());
  EXPECT_FALSE(record.arms.back().declined.empty());
  EXPECT_TRUE(record.arms.back().wall_us.empty());
}
#endif

}  // namespace
}  // namespace lanefold::bench
