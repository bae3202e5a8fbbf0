// The frame of tests that use a device which is not there.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "runtime/cuda/device.h"
#include "runtime/cuda/test_fake_state.h"

namespace lanefold::runtime::fake {

/// A test with one driver of one H200 that has done nothing yet, and that must have everything back at the end.
class FakeDriverTest : public ::testing::Test {
 protected:
  static State& state() {
    static State* const kState = [] {
      void* handle = ::dlopen(LANEFOLD_FAKE_CUDA, RTLD_NOW);
      auto* find = handle ? reinterpret_cast<State* (*)()>(::dlsym(handle, "lanefold_fake_state")) : nullptr;
      if (find == nullptr) internal_error(std::string("no fake driver: ") + ::dlerror());
      return find();
    }();
    return *kState;
  }
  void SetUp() override {
    State& s = state();
    s.devices = {h200()};
    s.version = 13000;
    s.init_outcome = s.lost = s.next_launch_goes_wrong = 0;
    s.failures.clear();
    s.foreign.clear();
    s.parameters.clear();
    s.silent = false;
    s.unknown_memory_is_an_error = false;
    s.captures = 0;
    s.calls.clear();
    s.launches.clear();
    s.function_sets.clear();
    s.alive.clear();
    Result<std::unique_ptr<CudaDriver>> driver = CudaDriver::load(LANEFOLD_FAKE_CUDA);
    ASSERT_TRUE(driver.ok()) << driver.error().text();
    driver_ = std::move(driver).value();
  }
  void TearDown() override {
    for (const auto& [kind, count] : state().alive) EXPECT_EQ(count, 0) << kind;
  }

  CudaDevice device(int ordinal = 0) const {
    Result<CudaDevice> device = CudaDevice::open(*driver_, ordinal);
    EXPECT_TRUE(device.ok()) << device.error().text();
    return std::move(device).value();
  }
  /// Machine code for the fake: a line for each kernel, "NAME PARAMETERS THREADS SHARED REGISTERS", where each parameter is
  /// a letter: p (pointer), q (i64) or f (f32). A kernel add_one adds 1 to the i32 at its p; store writes its q there.
  static CudaBinary binary(const std::string& kernels) {
    const std::string text = "fake-cubin\n" + kernels;
    CudaBinary binary;
    const auto* bytes = reinterpret_cast<const std::byte*>(text.c_str());
    binary.cubin.assign(bytes, bytes + text.size() + 1);
    return binary;
  }
  static std::shared_ptr<const CudaKernel> kernel(const CudaDevice& device, const std::string& line,
                                                  CudaKernelRequest request) {
    auto module = device.load(binary(line));
    EXPECT_TRUE(module.ok()) << module.error().text();
    auto kernel = device.kernel(std::move(module).value(), request);
    EXPECT_TRUE(kernel.ok()) << kernel.error().text();
    return std::move(kernel).value();
  }
  static std::int64_t calls_of(const std::string& function) {
    return std::count(state().calls.begin(), state().calls.end(), function);
  }

  std::unique_ptr<CudaDriver> driver_;
};

}  // namespace lanefold::runtime::fake
