// lanefold bench, ab and report as a user meets them: what they refuse, and what a failed case leaves.
#include "reject/measure.h"

namespace lanefold {
namespace {

using nlohmann::json;

/// Pairs too few for any claim.
Arguments brief_ab(Arguments arguments) { return with_options(brief_pairs(std::move(arguments)), {"--pairs", "2"}); }

/// Copies x to y, times `factor`.
std::string scaled(const char* factor) {
  return std::string(R"(module scaled

kernel scaled simd_width 4 simd_groups 1 threadgroups 1
  buffer x: f32[4] role input
  buffer y: f32[4] role output
  body
    %0 = lane
    %1 = convert %0 to i64
    %2 = load x[%1]
    %3 = constant f32 )") +
         factor + R"(
    %4 = mul %2, %3
    %5 = canonical_nan %4
    store y[%1] = %5
)";
}

class MeasureTest : public MeasureCommandTest {
 protected:
  /// Measures sum 3x40 into the folder.
  void measured(const std::string& folder, const char* kernel = "sum") const {
    const Finished done = lanefold(brief({"bench", kernel, "--rows", "3", "--cols", "40", "--out", path(folder)}));
    ASSERT_EQ(done.status, 0) << done.err;
  }
  std::string peer(const std::string& mode) const {
    return "python3 -B \"" LANEFOLD_SOURCE_DIR "/tests/peers/fake_peer.py\" " + mode;
  }
};

#if !LANEFOLD_JIT
TEST_F(CommandTest, ABuildWithoutTheJitHasNoDeviceToTimeOn) {
  refused({"bench", "sum", "--cols", "40", "--out", path("none")}, Code::device_missing, "");
  refused({"ab", "sum", "sum:serial", "--cols", "40", "--out", path("none")}, Code::device_missing, "");
  EXPECT_FALSE(exists("none"));
}
#endif

TEST_F(MeasureTest, TheFolderMustBeNew) {
  write("there", "mine");
  refused({"bench", "sum", "--cols", "40", "--out", path("there")}, Code::output_folder_exists, "folder");
  EXPECT_EQ(content("there"), "mine");
  refused({"ab", "sum", "sum:serial", "--cols", "40", "--out", path("there")}, Code::output_folder_exists, "folder");
  EXPECT_EQ(content("there"), "mine");
}

TEST_F(MeasureTest, NothingToMeasure) {
  refused({"bench", "sum", "--cols", "40", "--samples", "0"}, Code::no_samples, "11");
  refused({"ab", "sum", "sum:serial", "--cols", "40", "--pairs", "0"}, Code::no_samples, "9");
  refused({"ab", "sum", "sum:serial", "--cols", "40", "--repetitions", "0"}, Code::no_samples, "12");
  refused({"bench", "sum", "--cols", "40", "--samples", "-1"}, Code::number_invalid, "");
  refused({"bench", "sum", "--cols", "40", "--sample-ms", "0"}, Code::number_invalid, "100");
  refused({"bench", "sum", "--cols", "40", "--warmup-ms", "nan"}, Code::number_invalid, "");
  refused({"bench"}, Code::nothing_asked, "--suite");
  refused({"bench", "sum"}, Code::shape_unknown, "--cols");
  refused({"report"}, Code::nothing_asked, "folders");
}

TEST_F(MeasureTest, DevicesThatAreNotThereOrHaveNoClock) {
  refused({"bench", "sum", "--cols", "40", "--device", "abacus"}, Code::unknown_device, "cpu");
  refused({"bench", "sum", "--cols", "40", "--device", "lane-machine"}, Code::device_not_timed, "count");
  refused({"ab", "sum", "sum", "--cols", "40", "--device", "lane-machine"}, Code::device_not_timed, "count");
  refused({"bench", "sum", "--cols", "40", "--target", "metal-m1max"}, Code::target_not_here, "");
  refused({"bench", "--suite", "floor", "--target", "metal-m1max"}, Code::target_not_here, "");
}

TEST_F(MeasureTest, SuitesAndTheirKernels) {
  refused({"bench", "--suite", "everything"}, Code::unknown_suite, "decode-norms");
  refused({"bench", "--suite", "published", "--cols", "40"}, Code::option_not_for_kernel, "--cols");
  refused({"bench", "sum", "--suite", "floor"}, Code::kernel_not_for_verb, "leave");
  refused({"bench", "gr_norm", "--suite", "growth"}, Code::kernel_not_for_verb, "FILE.fold");
  refused({"bench", "no_such", "--cols", "40"}, Code::unknown_operator, "");
  refused({"ab", "sum", "sum", "--cols", "40", "--require", "speed"}, Code::bad_arguments, "bytes");
  refused({"ab", "sum", "sum", "--cols", "40", "--fail-if", "faster"}, Code::bad_arguments, "slower");
  refused({"bench", "sum", "--cols", "40", "--capture-sources"}, Code::bad_arguments, "--out");
  refused({"bench", "sum", "--cols", "40", "--rounds", "4"}, Code::bad_arguments, "--replay");
  refused({"bench", "sum", "--cols", "40", "--out", ""}, Code::bad_arguments, "--out");
  refused({"ab", "sum", "sum", "--cols", "40", "--out", ""}, Code::bad_arguments, "--out");
  refused({"ab", "sum", "sum", "--cols", "40", "--all", "--no-proof"}, Code::bad_arguments, "leave one");
  refused({"bench", "sum", "--cols", "40", "--threads", "1000"}, Code::number_invalid, "--threads 1 to");
  refused({"bench", "rms_norm_q8", "--cols", "33", "--out", path("q8")}, Code::columns_not_whole_blocks, "");
  EXPECT_FALSE(exists("q8"));
}

TEST_F(MeasureTest, ResultsThatCannotBeRead) {
  measured("a");
  const std::string good = content("a/results.json");
  write("cut.json", good.substr(0, good.size() / 2));
  write("other.json", R"({"schema": {"name": "lanefold.results", "version": 99}})");
  write("list.json", "[1, 2]");
  for (const Arguments& verb : std::initializer_list<Arguments>{{"report"}, {"bench", "--replay"}}) {
    const auto with = [&](const std::string& file) {
      Arguments arguments = verb;
      arguments.push_back(path(file));
      return arguments;
    };
    refused(with("cut.json"), Code::results_truncated, "");
    refused(with("other.json"), Code::results_schema, "");
    refused(with("list.json"), Code::results_malformed, "");
    refused(with("nowhere"), Code::file_missing, "");
    json broken = json::parse(good);
    broken["cases"][0]["arms"] = 7;
    write("broken.json", broken.dump());
    refused(with("broken.json"), Code::results_malformed, "");
  }
  refused({"bench", "sum", "--replay", path("a")}, Code::bad_arguments, "--replay");
}

TEST_F(MeasureTest, APageThatCannotBeWrittenLeavesNothing) {
  measured("a");
  const std::string before = content("a/results.json");
  refused({"report", path("a"), "--out", path("a/results.json")}, Code::bad_arguments, "another file");
  EXPECT_EQ(content("a/results.json"), before);
  refused({"report", path("a"), "--out", path("no/such/page.html")}, Code::write_failed, "");
  EXPECT_FALSE(exists("no"));
}

TEST_F(MeasureTest, ResultsThatDoNotFitTheVerb) {
  measured("a");
  measured("b", "max");
  refused({"report", "--compare", path("a"), path("b")}, Code::nothing_in_common, "");
  refused({"report", "--compare", path("a")}, Code::bad_arguments, "OLD NEW");
  ASSERT_EQ(lanefold(brief_ab({"ab", "sum", "sum", "--cols", "40", "--out", path("pairs")})).status, 0);
  refused({"report", "--compare", path("a"), path("pairs")}, Code::results_kind, "bench");
  refused({"bench", "--replay", path("pairs")}, Code::nothing_to_replay, "");
  ASSERT_EQ(lanefold(brief({"bench", "sum:per_lane", "--cols", "40", "--out", path("lanes")})).status, 0);
  refused({"bench", "--replay", path("lanes")}, Code::nothing_to_replay, "");
  refused({"bench", "--replay", path("a"), "--rounds", "0"}, Code::no_samples, "12");
}

TEST_F(MeasureTest, PeersThatCannotBeUsed) {
  refused({"bench", "sum", "--cols", "40", "--peer", path("no-such-program")}, Code::peer_not_started, "");
  refused({"bench", "sum", "--cols", "40", "--peer", "true"}, Code::peer_protocol, "");
}

TEST_F(MeasureTest, KernelsThatCannotBeCompared) {
  refused({"ab", "sum", "softmax", "--cols", "40", "--out", path("none")}, Code::prove_buffers_differ, "");
  EXPECT_FALSE(exists("none"));
  write("one.lane", scaled("1"));
  write("two.lane", scaled("2"));
  const Finished differ = lanefold(brief_ab({"ab", path("one.lane"), path("two.lane"), "--out", path("differ")}));
  EXPECT_EQ(differ.status, 1) << differ.err;
  const json failure = results("differ")["comparisons"][0]["failure"];
  EXPECT_EQ(failure["name"], code_name(Code::no_meaning));
  EXPECT_TRUE(results("differ")["comparisons"][0]["pairs"].empty());
  const Finished same = lanefold(brief_ab({"ab", path("one.lane"), path("one.lane")}));
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_NE(same.out.find("equal for all inputs"), std::string::npos) << same.out;
}

/// Copies x to y, and doubles one row.
std::string twice_in_row(const char* row) {
  return std::string(R"(module twice

kernel twice simd_width 4 simd_groups 1 rows_per_threadgroup 1
  buffer x: f32[rows, 4] role input
  buffer y: f32[rows, 4] role output
  body
    %0 = lane
    %1 = convert %0 to i64
    %2 = threadgroup
    %3 = constant i64 4
    %4 = mul %2, %3
    %5 = add %4, %1
    %6 = load x[%5]
    %7 = constant i64 )") +
         row + R"(
    %8 = eq %2, %7
    %9 = add %6, %6
    %10 = select %8, %9, %6
    %11 = canonical_nan %10
    store y[%5] = %11
)";
}

TEST_F(MeasureTest, AMistakeBetweenTheProvedPartsIsSeenInTheBytes) {
  write("good.lane", twice_in_row("-1"));
  write("bad.lane", twice_in_row("200"));
  const Finished done = lanefold(
      brief_ab({"ab", path("good.lane"), path("bad.lane"), "--rows", "400", "--cols", "4", "--out", path("r")}));
  EXPECT_EQ(done.status, 1) << done.out << done.err;
  EXPECT_EQ(results("r")["comparisons"][0]["bytes"], "differ");
}

TEST_F(MeasureTest, AFileIsHeldAgainstTheMeaningOfItsOperator) {
  write("sum.fold", "program double_max(x: f32[rows, cols])\n  store y: f32[rows] = 2 * fold max x\n");
  for (const std::string& other : {std::string("max"), path("sum.fold")}) {
    const Finished done = lanefold(brief_ab({"ab", "sum", other, "--rows", "4", "--cols", "33"}));
    EXPECT_EQ(done.status, 1) << done.out << done.err;
    EXPECT_NE(done.out.find("LF0810"), std::string::npos) << done.out;
    EXPECT_EQ(done.out.find("verdict"), std::string::npos) << done.out;
  }
}

TEST_F(MeasureTest, AFaultyFileNeverRunsUnwatched) {
  // The last lane writes far beyond the buffer.
  std::string far = scaled("1");
  far.replace(far.find("%1 = convert %0 to i64"), 22,
              "%9 = convert %0 to i64\n    %8 = constant i64 1000000000\n    %1 = mul %9, %8");
  write("far.lane", far);
  for (const Arguments& verb :
       {Arguments{"bench", path("far.lane")}, Arguments{"ab", path("far.lane"), path("far.lane")}}) {
    const Finished done = lanefold(verb.front() == "bench" ? brief(verb) : brief_ab(verb));
    EXPECT_EQ(done.status, 1) << done.out << done.err;
    EXPECT_NE(done.out.find("LF0460"), std::string::npos) << done.out;
  }
}

TEST_F(MeasureTest, APeerThatDiesTakesNothingFromTheCase) {
  const Finished done = lanefold(
      brief({"bench", "sum", "--rows", "4", "--cols", "8", "--peer", peer("dies_in_run"), "--out", path("r")}));
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  const json arms = results("r")["cases"][0]["arms"];
  EXPECT_EQ(arms[0]["wall_us"].size(), 2u);
  EXPECT_FALSE(arms.back()["failure"].is_null());
}

TEST_F(MeasureTest, AWrongOutputIsNotTimedAndStaysInTheResults) {
  const Finished done =
      lanefold(brief({"bench", "gr_up:new", "gr_up:wrong_publishers", "--out", path("wrong"), "--size", "rank=64"}));
  EXPECT_EQ(done.status, 1) << done.out << done.err;
  EXPECT_NE(done.out.find("LF0810"), std::string::npos) << done.out;
  const json cases = results("wrong")["cases"];
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_TRUE(cases[0]["failure"].is_null());
  EXPECT_EQ(cases[1]["failure"]["stage"], "check");
  EXPECT_TRUE(cases[1]["arms"].empty());
  EXPECT_EQ(results("wrong")["complete"], true);

  const Finished pair = lanefold(brief_ab({"ab", "gr_up:new", "gr_up:wrong_publishers", "--size", "rank=64"}));
  EXPECT_EQ(pair.status, 1) << pair.out << pair.err;
  EXPECT_NE(pair.out.find("LF0810"), std::string::npos) << pair.out;
  EXPECT_EQ(pair.out.find("verdict"), std::string::npos) << pair.out;
}

TEST_F(MeasureTest, APlanForAnotherWidthIsRefusedBeforeAnythingIsWritten) {
  const std::string plan = path("plan.json");
  const Finished planned = lanefold({"plan", "sum", "--rows", "3", "--cols", "4096", "--json"});
  ASSERT_EQ(planned.status, 0);
  write("plan.json", planned.out);
  refused({"bench", "sum@" + plan, "--rows", "3", "--cols", "40", "--out", path("r")}, Code::cols_outside_width_class,
          "");
  EXPECT_FALSE(exists("r"));
}

}  // namespace
}  // namespace lanefold
