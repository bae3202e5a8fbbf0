// The frame of tests that compile CUDA source with the NVRTC of this machine.
#pragma once

#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

#include "runtime/cuda/nvrtc.h"

namespace lanefold::runtime {

/// Whether a missing NVRTC fails tests.
inline bool nvrtc_required() {
  const char* required = std::getenv("LANEFOLD_REQUIRE_NVRTC");
  return required != nullptr && std::string_view(required) == "1";
}

/// Skips its tests where there is no NVRTC, unless LANEFOLD_REQUIRE_NVRTC=1 says that there must be one.
class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<const Nvrtc*> found = Nvrtc::get();
    if (found.ok()) {
      nvrtc_ = *found;
      return;
    }
    if (nvrtc_required()) FAIL() << found.error().text();
    GTEST_SKIP() << found.error().text();
  }

  const Nvrtc* nvrtc_ = nullptr;
};

inline constexpr std::string_view kScaleSource = R"(
extern "C" __global__ void __launch_bounds__(256) scale(float* x, long long n, float a) {
  __shared__ float tile[64];
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  tile[threadIdx.x & 63] = a;
  __syncthreads();
  if (i < n) x[i] *= tile[(threadIdx.x + 1) & 63];
}
)";

/// 80 values a thread that live across a loop, for 32 registers.
inline constexpr std::string_view kSpillSource = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) crowded(float* x, int n) {
  float r[80];
#pragma unroll
  for (int i = 0; i < 80; ++i) r[i] = x[i * 1024 + threadIdx.x];
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < 80; ++i) r[i] = r[i] * r[(i + 7) % 80] + 1.0f;
  }
#pragma unroll
  for (int i = 0; i < 80; ++i) x[i * 1024 + threadIdx.x] = r[i];
}
)";

}  // namespace lanefold::runtime
