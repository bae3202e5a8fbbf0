#include "runtime/cuda/driver.h"

#include <cstdlib>

#include "runtime/cuda/test_fake_driver.h"

namespace lanefold::runtime {
namespace {

using namespace cuda_api;
using fake::FakeDriverTest;

class CudaDriverTest : public FakeDriverTest {
 protected:
  static Diagnostic refusal(const std::string& library) {
    const auto driver = CudaDriver::load(library);
    EXPECT_FALSE(driver.ok());
    return driver.ok() ? Diagnostic{} : driver.error();
  }
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(CudaDriverTest, SaysWhichLibraryIsMissing) {
  const Diagnostic d = refusal("libcuda-that-is-not-here.so.1");
  EXPECT_EQ(d.code, Code::device_missing);
  EXPECT_TRUE(contains(d.message, "libcuda-that-is-not-here.so.1")) << d.message;
  EXPECT_TRUE(contains(d.hint, "LANEFOLD_CUDA_DRIVER")) << d.hint;
}

TEST_F(CudaDriverTest, SaysWhichFunctionADriverIsTooOldFor) {
  const Diagnostic d = refusal(LANEFOLD_FAKE_CUDA_OLD);
  EXPECT_EQ(d.code, Code::device_missing);
  EXPECT_TRUE(contains(d.message, "cuLaunchKernelEx")) << d.message;
  EXPECT_TRUE(contains(d.message, "too old")) << d.message;
  EXPECT_TRUE(contains(d.hint, "525")) << d.hint;
}

TEST_F(CudaDriverTest, SaysThatThereIsNoDevice) {
  state().init_outcome = kNoDevice;
  const Diagnostic none = refusal(LANEFOLD_FAKE_CUDA);
  EXPECT_EQ(none.code, Code::device_missing);
  EXPECT_EQ(none.message, "the CUDA driver finds no device");
  state().init_outcome = 0;
  state().devices.clear();
  EXPECT_EQ(refusal(LANEFOLD_FAKE_CUDA).message, none.message) << "hidden by CUDA_VISIBLE_DEVICES, say";
}

TEST_F(CudaDriverTest, SaysWhyADriverDoesNotStart) {
  state().init_outcome = kLaunchFailed;
  const Diagnostic d = refusal(LANEFOLD_FAKE_CUDA);
  EXPECT_EQ(d.code, Code::device_missing);
  EXPECT_TRUE(contains(d.message, "cuInit gives CUDA_ERROR_LAUNCH_FAILED")) << d.message;
}

TEST_F(CudaDriverTest, TheDriverOfTheProcessFollowsTheEnvironment) {
  // In processes of their own: what is found first stays.
  EXPECT_EXIT(
      {
        ::setenv("LANEFOLD_CUDA_DRIVER", LANEFOLD_FAKE_CUDA, 1);
        const auto device = CudaDevice::open();
        std::exit(device.ok() && device->name() == "Fake H200" && CudaDriver::get().ok() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        ::setenv("LANEFOLD_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
        const auto device = CudaDevice::open();
        ::setenv("LANEFOLD_CUDA_DRIVER", LANEFOLD_FAKE_CUDA, 1);
        const auto again = CudaDevice::current();
        std::exit(!device.ok() && device.error().code == Code::device_missing && !again.ok() &&
                          again.error().message == device.error().message
                      ? 0
                      : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(CudaDriverTest, DevicesAreNumbered) {
  EXPECT_EQ(driver_->device_count(), 1);
  EXPECT_EQ(driver_->version(), 13000);
  EXPECT_EQ(*driver_->device_name(0), "Fake H200");
  EXPECT_EQ(*driver_->device_memory(0), std::size_t{1} << 37);
  for (const int ordinal : {-1, 1}) {
    EXPECT_EQ(driver_->device_name(ordinal).error().code, Code::device_missing);
    EXPECT_EQ(driver_->device_memory(ordinal).error().code, Code::device_missing);
    EXPECT_EQ(driver_->target(ordinal).error().code, Code::device_missing);
    EXPECT_EQ(CudaDevice::open(*driver_, ordinal).error().code, Code::device_missing);
  }
}

TEST_F(CudaDriverTest, ATargetHasTheDevicesLimits) {
  const auto t = driver_->target(0);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->name, "cuda-sm90");
  EXPECT_EQ(t->family, target::Family::cuda);
  EXPECT_EQ(t->simd_width, 32u);
  EXPECT_EQ(t->max_threads, 1024u);
  EXPECT_EQ(t->planned_threads, target::find("cuda-sm90")->planned_threads);
  EXPECT_EQ(t->threadgroup_bytes, 232448u);
  EXPECT_EQ(t->max_cluster, 16u);
  EXPECT_EQ(t->multiprocessors, 132u);
  EXPECT_EQ(t->multiprocessor_threads, 2048u);
  EXPECT_EQ(t->multiprocessor_registers, 65536u);
  EXPECT_EQ(t->multiprocessor_shared_bytes, 233472u);
  EXPECT_EQ(t->l2_bytes, 62914560u);
  EXPECT_NEAR(t->bandwidth, 4278, 1) << "87 % of 2 x 3.201 GHz x 768 bytes";
  EXPECT_EQ(*cuda_architecture(*t), "sm_90");
}

TEST_F(CudaDriverTest, LimitsAreAskedForEvenWhereATableKnowsThem) {
  state().devices[0].attributes[kMaxSharedPerBlockOptin] = 100000;
  state().devices[0].attributes[kMaxThreadsPerBlock] = 512;
  EXPECT_EQ(driver_->target(0)->threadgroup_bytes, 100000u);
  EXPECT_EQ(driver_->target(0)->max_threads, 512u);
}

TEST_F(CudaDriverTest, ATargetThatNoTableKnowsIsDescribedToo) {
  state().devices[0].attributes[kCapabilityMajor] = 12;
  state().devices[0].attributes.erase(kMemoryClockKilohertz);
  const auto t = driver_->target(0);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->name, "cuda-sm120");
  EXPECT_EQ(t->max_cluster, 16u);
  EXPECT_EQ(t->bandwidth, 0) << "unknown";
  EXPECT_EQ(*cuda_architecture(*t), "sm_120");
  state().devices[0] = fake::a100();
  EXPECT_EQ(driver_->target(0)->name, "cuda-sm80");
  EXPECT_EQ(driver_->target(0)->max_cluster, 1u);
}

TEST_F(CudaDriverTest, ADeviceThatDoesNotAnswerIsAnError) {
  state().devices[0].attributes.erase(kMaxSharedPerBlockOptin);
  EXPECT_EQ(driver_->target(0).error().code, Code::device_failed);
  state().failures["cuDeviceGetName"] = kLaunchFailed;
  EXPECT_EQ(driver_->device_name(0).error().code, Code::device_failed);
}

TEST_F(CudaDriverTest, ErrorsCarryNameAndText) {
  EXPECT_TRUE(driver_->check(kSuccess, "anything").ok());
  const Diagnostic lost = driver_->failure(kIllegalAddress, "cuStreamSynchronize");
  EXPECT_EQ(lost.code, Code::device_failed);
  EXPECT_EQ(lost.message,
            "cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)");
  EXPECT_TRUE(contains(lost.hint, "context is lost")) << lost.hint;
  EXPECT_EQ(driver_->failure(kInvalidImage, "x").hint, "");
  EXPECT_EQ(driver_->failure(kOutOfMemory, "cuMemAlloc of 8 bytes").code, Code::out_of_memory);
  EXPECT_EQ(driver_->error_text(4711), "CUDA error 4711") << "of a newer driver";
}

TEST(CudaArchitecture, IsThatOfACudaTarget) {
  EXPECT_EQ(*cuda_architecture(*target::find("cuda-sm80")), "sm_80");
  EXPECT_EQ(cuda_architecture(target::host()).error().code, Code::target_not_here);
}

}  // namespace
}  // namespace lanefold::runtime
