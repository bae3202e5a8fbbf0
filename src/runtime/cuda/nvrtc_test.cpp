#include "runtime/cuda/nvrtc.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/cuda/test_nvrtc.h"

namespace lanefold::runtime {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

CudaSource source(std::string_view text, std::vector<std::string> flags = {}) {
  return {.text = std::string(text), .name = "test.cu", .flags = std::move(flags)};
}

TEST_F(NvrtcTest, CompilesForEachArchitecture) {
  for (const char* architecture : {"sm_80", "sm_90", "sm_90a", "sm_100"}) {
    const auto binary = nvrtc_->compile(source(kScaleSource), architecture);
    ASSERT_TRUE(binary.ok()) << binary.error().text();
    ASSERT_GT(binary->cubin.size(), 4u);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(binary->cubin.data()), 4), "\177ELF");
    EXPECT_FALSE(binary->from_disk);
    const ResourceUsage* usage = binary->find("scale");
    ASSERT_NE(usage, nullptr) << binary->log;
    EXPECT_GE(usage->registers, 4u);
    EXPECT_LE(usage->registers, 32u);
    EXPECT_EQ(usage->spill_store_bytes, 0u);
    EXPECT_EQ(usage->spill_load_bytes, 0u);
    EXPECT_EQ(usage->stack_bytes, 0u);
    EXPECT_EQ(usage->shared_bytes, 256u) << "what the kernel declares";
    EXPECT_EQ(usage->barriers, 1u);
    EXPECT_EQ(binary->find("other"), nullptr);
  }
}

TEST_F(NvrtcTest, SpillsAreSeen) {
  for (const char* architecture : {"sm_80", "sm_90", "sm_100"}) {
    const auto crowded = nvrtc_->compile(source(kSpillSource), architecture);
    ASSERT_TRUE(crowded.ok());
    const ResourceUsage* usage = crowded->find("crowded");
    ASSERT_NE(usage, nullptr);
    EXPECT_EQ(usage->registers, 32u) << "2 x 1024 threads leave no more";
    EXPECT_GT(usage->spill_store_bytes, 100u);
    EXPECT_GT(usage->spill_load_bytes, 100u);
    EXPECT_GT(usage->stack_bytes, 100u);
  }
  const auto bounded = [](std::string_view bounds) {
    constexpr std::string_view kBounds = "__launch_bounds__(1024, 2)";
    std::string text(kSpillSource);
    return text.replace(text.find(kBounds), kBounds.size(), bounds);
  };
  const auto free = nvrtc_->compile(source(bounded("__launch_bounds__(256)")), "sm_90");
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(free->find("crowded")->spill_store_bytes, 0u);
  EXPECT_GT(free->find("crowded")->registers, 80u);
  const auto limited = nvrtc_->compile(source(bounded(""), {"--maxrregcount=40"}), "sm_90");
  ASSERT_TRUE(limited.ok());
  EXPECT_EQ(limited->find("crowded")->registers, 40u);
  EXPECT_GT(limited->find("crowded")->spill_store_bytes, 0u);
}

TEST_F(NvrtcTest, EveryKernelOfASourceIsFound) {
  const auto binary = nvrtc_->compile(source(std::string(kScaleSource) + std::string(kSpillSource)), "sm_90");
  ASSERT_TRUE(binary.ok());
  EXPECT_EQ(binary->usage.size(), 2u);
  EXPECT_EQ(binary->find("scale")->spill_store_bytes, 0u);
  EXPECT_GT(binary->find("crowded")->spill_store_bytes, 0u);
}

TEST_F(NvrtcTest, SomebodysSourceThatDoesNotCompileIsADiagnostic) {
  CudaSource wrong = source("// a comment\nextern \"C\" __global__ void k(float* x) { x[0] = y; }\n");
  wrong.generated = false;
  const auto refused = nvrtc_->compile(wrong, "sm_90");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::code_generation_failed);
  EXPECT_EQ(refused.error().place, "test.cu");
  EXPECT_TRUE(contains(refused.error().message, "test.cu(2): error")) << refused.error().message;
  EXPECT_TRUE(contains(refused.error().message, "identifier \"y\" is undefined")) << refused.error().message;
  EXPECT_TRUE(contains(refused.error().message, "    2 | extern \"C\"")) << refused.error().message;
  const auto status = nvrtc_->try_compile(wrong, "sm_90");
  ASSERT_TRUE(status.ok()) << "that it does not compile is what was asked";
  EXPECT_FALSE(status->binary.has_value());
  EXPECT_TRUE(contains(status->log, "is undefined"));
}

TEST_F(NvrtcTest, OurSourceThatDoesNotCompileIsOurFault) {
  try {
    (void)nvrtc_->compile(source("\n\nint k( {\n"), "sm_90");
    FAIL() << "compiled";
  } catch (const InternalError& error) {
    EXPECT_TRUE(contains(error.what(), "test.cu(3): error")) << error.what();
    EXPECT_TRUE(contains(error.what(), "    3 | int k( {")) << error.what();
  }
}

TEST_F(NvrtcTest, WhatItDoesNotKnowIsADiagnostic) {
  const auto architecture = nvrtc_->compile(source(kScaleSource), "sm_20");
  ASSERT_FALSE(architecture.ok());
  EXPECT_EQ(architecture.error().code, Code::code_generation_failed);
  EXPECT_TRUE(contains(architecture.error().message, "makes no code for sm_20")) << architecture.error().text();
  EXPECT_TRUE(contains(architecture.error().hint, "sm_90")) << architecture.error().text();
  const auto flag = nvrtc_->compile(source(kScaleSource, {"--no-such-flag"}), "sm_90");
  ASSERT_FALSE(flag.ok());
  EXPECT_EQ(flag.error().code, Code::code_generation_failed);
  EXPECT_TRUE(contains(flag.error().hint, "--no-such-flag")) << flag.error().text();
}

TEST_F(NvrtcTest, IsFoundInAFolder) {
  std::string pattern = (fs::temp_directory_path() / "lanefold-nvrtc-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  fs::create_directories(folder / "nvidia" / "lib");
  std::ofstream(folder / "nvidia" / "lib" / "libnvrtc.so.9") << "an older one";
  std::ofstream(folder / "nvidia" / "lib" / "libnvrtc.alt.so.99") << "another library";
  const fs::path file = folder / "nvidia" / "lib" / "libnvrtc.so.13";
  fs::create_symlink(fs::canonical(nvrtc_->path()), file);
  const auto found = find_nvrtc(folder.string());
  EXPECT_TRUE(found.ok()) << found.error().text();
  if (found.ok()) {
    EXPECT_EQ((*found)->version(), nvrtc_->version());
  }
  EXPECT_TRUE(find_nvrtc(file.string()).ok());
  fs::remove(file);
  const auto elsewhere = find_nvrtc((folder / "none").string());
  const auto anywhere = find_nvrtc("");
  EXPECT_EQ(elsewhere.ok(), anywhere.ok()) << "a folder without it is passed over";
  if (!elsewhere.ok()) {
    EXPECT_TRUE(contains(elsewhere.error().message, "none holds no libnvrtc.so")) << elsewhere.error().text();
  }
  fs::remove_all(folder);
}

TEST(NvrtcMissing, SaysWhatIsMissing) {
  const auto nowhere = find_nvrtc("/nowhere/libnvrtc.so.13");
  ASSERT_FALSE(nowhere.ok()) << "a library that is named is not looked for elsewhere";
  EXPECT_EQ(nowhere.error().code, Code::device_missing);
  EXPECT_TRUE(contains(nowhere.error().message, "/nowhere/libnvrtc.so.13")) << nowhere.error().text();
  EXPECT_TRUE(contains(nowhere.error().hint, "nvidia-cuda-nvrtc")) << nowhere.error().text();
  EXPECT_TRUE(contains(nowhere.error().hint, "LANEFOLD_NVRTC")) << nowhere.error().text();
  const auto other = find_nvrtc(LANEFOLD_FAKE_CUDA);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::device_missing);
  EXPECT_TRUE(contains(other.error().message, "has no function nvrtc")) << other.error().text();
}

TEST(NvrtcMissing, ALogNamesLinesThatAreShown) {
  const CudaSource s{.text = "one\ntwo\nthree\nfour", .name = "k.cu"};
  EXPECT_EQ(log_with_lines("k.cu(2): error: x\nk.cu(4): error: y\nk.cu(2): note", s),
            "k.cu(2): error: x\nk.cu(4): error: y\nk.cu(2): note\n    2 | two\n    4 | four");
  EXPECT_EQ(log_with_lines("k.cu(99): beyond", s), "k.cu(99): beyond");
  EXPECT_EQ(log_with_lines("", s), "");
}

}  // namespace
}  // namespace lanefold::runtime
