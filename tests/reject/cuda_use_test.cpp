// What the command tells of CUDA kernels where there is a compiler, a device, or neither.
#if LANEFOLD_CUDA
#include <cstdlib>
#include <optional>

#include "plan/plan.h"
#include "reject/command.h"
#include "runtime/cuda/test_nvrtc.h"

namespace lanefold {
namespace {

using CudaUseTest = CommandTest;

/// While it lives, processes that are started see this value.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~Environment() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

const Arguments kPlan = {"plan", "rms_norm", "--rows", "64", "--cols", "4096", "--target", "cuda-sm90"};
const Arguments kEmit = {"emit", "rms_norm", "--rows",    "64",   "--cols",
                         "4096", "--target", "cuda-sm90", "--as", "source"};

TEST_F(CudaUseTest, PlansAndSourcesTellWhatTheCompilerSays) {
  const auto nvrtc = runtime::Nvrtc::get();
  ASSERT_TRUE(nvrtc.ok() || !runtime::nvrtc_required()) << nvrtc.error().text();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().text();
  const nlohmann::json told = json_of(kPlan);
  const nlohmann::json& compiled = told.at("compiled");
  EXPECT_EQ(compiled.at("compiler"), "NVRTC " + (*nvrtc)->version());
  EXPECT_EQ(compiled.at("architecture"), "sm_90");
  ASSERT_EQ(compiled.at("kernels").size(), 1u);
  const nlohmann::json& kernel = compiled.at("kernels")[0];
  EXPECT_EQ(kernel.at("name"), "rms_norm");
  EXPECT_GT(kernel.at("registers"), 8);
  EXPECT_EQ(kernel.at("spill_bytes"), 0);
  EXPECT_LE(kernel.at("shared_bytes"), told.at("plan").at("threadgroup_bytes"));
  const Finished plan = lanefold(kPlan);
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("\ncompiled        registers " + std::to_string(kernel.at("registers").get<int>()) +
                          ", spills 0, shared "),
            plan.out.npos)
      << plan.out;
  // What is printed is a plan still.
  EXPECT_TRUE(plan::from_json(told.dump(), "printed").ok());
  EXPECT_EQ(json_of(kEmit).at("compiled"), compiled);
  Arguments to_file = kEmit;
  to_file.insert(to_file.end(), {"--out", path("k.cu")});
  const Finished emitted = lanefold(to_file);
  EXPECT_NE(emitted.out.find("compiled: registers "), emitted.out.npos) << emitted.out;
  EXPECT_EQ(content("k.cu").find("spills"), std::string::npos) << "the text depends on who compiled it";
}

TEST_F(CudaUseTest, UnalignedCallsArePlannedAndEmittedWhereAsked) {
  Arguments plan = kPlan, emit = kEmit;
  const auto alignment = [&] { return json_of(plan).at("plan").at("width").at("alignment").get<int>(); };
  plan.insert(plan.end(), {"--out", path("aligned.json")});
  EXPECT_EQ(alignment(), 4) << "of f32 in sixteen bytes";
  EXPECT_NE(lanefold(emit).out.find("are multiples of 4;"), std::string::npos);
  plan.back() = path("unaligned.json");
  plan.insert(plan.end(), {"--alignment", "1"});
  EXPECT_EQ(alignment(), 1);
  emit.insert(emit.end(), {"--alignment", "1"});
  const std::string source = lanefold(emit).out;
  EXPECT_NE(source.find("__global__"), std::string::npos);
  EXPECT_EQ(source.find("are multiples of"), std::string::npos) << "nothing is taken for granted";
  emit[1] = "rms_norm@" + path("unaligned.json");
  EXPECT_EQ(lanefold(emit).status, 0) << lanefold(emit).err;
  emit[1] = "rms_norm@" + path("aligned.json");
  refused(emit, Code::option_contradicts_plan, "--alignment");
  emit.back() = "8";
  EXPECT_EQ(lanefold(emit).status, 0) << lanefold(emit).err;
}

TEST_F(CudaUseTest, WithoutACompilerThatIsSaid) {
  const Environment none("LANEFOLD_NVRTC", "/nowhere/libnvrtc.so.13");
  const Finished plan = lanefold(kPlan);
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("\ncompiled        not known: CUDA source cannot be compiled here"), plan.out.npos)
      << plan.out;
  EXPECT_TRUE(json_of(kPlan).at("compiled").is_null());
  EXPECT_TRUE(json_of(kEmit).at("compiled").is_null());
  EXPECT_FALSE(
      json_of({"plan", "rms_norm", "--rows", "1", "--cols", "64", "--target", "generic-32"}).contains("compiled"));
}

TEST_F(CudaUseTest, WithoutADeviceKernelsOfEveryKindAreRefused) {
  const Environment none("LANEFOLD_CUDA_DRIVER", "/nowhere/libcuda.so.1");
  refused({"check", "rms_norm", "--device", "cuda"}, Code::device_missing, "lane-machine");
  refused({"check", "gr_norm", "--device", "cuda"}, Code::device_missing, "lane-machine");
  refused({"digest", "sum:per_lane", "--cols", "64", "--device", "cuda"}, Code::device_missing, "lane-machine");
}

}  // namespace
}  // namespace lanefold
#endif
