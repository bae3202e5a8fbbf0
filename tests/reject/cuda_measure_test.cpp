// lanefold bench and ab on a CUDA device that is not there: its stand-in stores nothing, which the check before any timing finds.
#if LANEFOLD_CUDA
#include <cstdlib>

#include "reject/measure.h"
#include "runtime/cuda/test_nvrtc.h"

namespace lanefold {
namespace {

using nlohmann::json;

class CudaMeasureTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    ::setenv("LANEFOLD_CUDA_DRIVER", LANEFOLD_FAKE_CUDA, 1);
  }
  void TearDown() override {
    ::unsetenv("LANEFOLD_CUDA_DRIVER");
    CommandTest::TearDown();
  }
  /// Whether kernels can be compiled here; a failure where they must be.
  static bool can_compile() {
    const auto nvrtc = runtime::Nvrtc::get();
    EXPECT_TRUE(nvrtc.ok() || !runtime::nvrtc_required()) << nvrtc.error().text();
    return nvrtc.ok();
  }
  json results(const std::string& folder) const { return json::parse(content(folder + "/results.json")); }
};

TEST_F(CudaMeasureTest, ACaseThatStoresNothingIsWrongAndStays) {
  if (!can_compile()) GTEST_SKIP() << "there is no NVRTC";
  const Finished done = lanefold(brief({"bench", "rms_norm", "--rows", "4", "--cols", "384", "--device", "cuda",
                                        "--capture-sources", "--out", path("r")}));
  EXPECT_EQ(done.status, 1) << done.out << done.err;
  const json all = results("r");
  EXPECT_EQ(all["environment"]["device"], "cuda");
  EXPECT_EQ(all["environment"]["device_name"], "Fake H200");
  EXPECT_EQ(all["environment"]["target"], "cuda-sm90");
  EXPECT_EQ(all["environment"]["driver"], "CUDA 13.0");
  EXPECT_EQ(all["environment"]["compiler"].get<std::string>().substr(0, 6), "NVRTC ");
  const json& c = all["cases"][0];
  EXPECT_EQ(c["id"], "rms_norm 4x384 f32 canonical, cuda");
  EXPECT_EQ(c["threads"], 0);
  EXPECT_EQ(c["failure"]["name"], "output_wrong") << c["failure"];
  EXPECT_EQ(c["check"]["outputs"][0]["wrong"], 4 * 384);
  EXPECT_EQ(c["plan"]["plan"]["target"], "cuda-sm90");
  ASSERT_EQ(c["resources"].size(), 1u);
  EXPECT_EQ(c["resources"][0]["kernel"], "rms_norm");
  EXPECT_GT(c["resources"][0]["registers"], 8);
  std::vector<std::string> stages;
  for (const json& source : c["sources"]) stages.push_back(source["stage"]);
  ASSERT_EQ(stages, (std::vector<std::string>{"lane", "cuda"}));
  EXPECT_NE(content("r/" + c["sources"][1]["file"].get<std::string>()).find("__global__"), std::string::npos);
}

TEST_F(CudaMeasureTest, ModulesGoTheSameWay) {
  if (!can_compile()) GTEST_SKIP() << "there is no NVRTC";
  const Finished done = lanefold(brief(
      {"bench", "gr_norm", "sum:per_lane", "--rows", "4", "--cols", "64", "--device", "cuda", "--out", path("r")}));
  EXPECT_EQ(done.status, 1) << done.out << done.err;
  for (const json& c : results("r")["cases"]) {
    EXPECT_EQ(c["failure"]["name"], "output_wrong") << c;
    EXPECT_GE(c["resources"].size(), 1u);
  }
}

TEST_F(CudaMeasureTest, NothingIsComparedThatIsWrong) {
  if (!can_compile()) GTEST_SKIP() << "there is no NVRTC";
  const Finished done = lanefold(
      brief_pairs({"ab", "sum", "sum:serial", "--rows", "2", "--cols", "64", "--device", "cuda", "--out", path("r")}));
  EXPECT_EQ(done.status, 1) << done.out << done.err;
  const json comparison = results("r")["comparisons"][0];
  EXPECT_EQ(comparison["failure"]["name"], "output_wrong");
  EXPECT_TRUE(comparison["verdict"].is_null());
}

TEST_F(CudaMeasureTest, APlanThatStoresNothingIsNotTuned) {
  if (!can_compile()) GTEST_SKIP() << "there is no NVRTC";
  const Finished done = lanefold({"tune", "rms_norm", "--shapes", "4x384", "--most", "2", "--device", "cuda"});
  EXPECT_EQ(done.status, 1) << done.out << done.err;
  EXPECT_NE(done.out.find("output_wrong"), std::string::npos) << done.out;
  if (!exists("cache")) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path("cache")))
    EXPECT_NE(entry.path().extension(), ".tuned-plan");
}

TEST_F(CudaMeasureTest, WhatADeviceDoesNotTake) {
  const Arguments sum = {"bench", "sum", "--cols", "40", "--device", "cuda"};
  refused(with_options(sum, {"--threads", "2"}), Code::bad_arguments, "leave --threads out");
  refused(with_options(sum, {"--target", "cuda-sm80"}), Code::target_not_here, "any target");
  refused(with_options({"bench", "--suite", "published", "--device", "cuda"}, {"--target", "cpu-avx2"}),
          Code::target_not_here, "any target");
  const std::string stages = write("f.fold",
                                   "program centred(x: f32[rows, cols])\n  m = fold[rows] sum x / rows\n"
                                   "  store y: f32[rows, cols] = x - m\n");
  const Finished done =
      lanefold(brief({"bench", stages, "--rows", "6", "--cols", "40", "--device", "cuda", "--out", path("r")}));
  EXPECT_EQ(done.status, 1) << done.out << done.err;
  EXPECT_EQ(results("r")["cases"][0]["failure"]["name"], "device_not_timed");
  ::setenv("LANEFOLD_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1);
  refused(sum, Code::device_missing, "lane-machine");
  refused({"ab", "sum", "sum", "--cols", "40", "--device", "cuda"}, Code::device_missing, "lane-machine");
}

}  // namespace
}  // namespace lanefold
#endif
