// What the tests of the C ABI share.
#pragma once

#include <gtest/gtest.h>

#include "api/c_guard.h"
#include "lanefold/c.h"

namespace lanefold::api {

inline constexpr char kTwo[] = R"(program two(x: f32[rows, cols], bias: f32[rows] = 0.0, factor = 2.0)
  store y: f32[rows, cols]   = x * factor + bias
  store top: f32[rows, cols/4] = fold<4> max x
)";

inline lanefold_options no_disk() {
  lanefold_options options = LANEFOLD_OPTIONS_INIT;
  options.disk_cache = 0;
  options.threads = 2;
  return options;
}

/// Frees what it holds at the end of a test.
struct OwnedKernel {
  explicit OwnedKernel(const char* name) {
    const lanefold_options options = no_disk();
    EXPECT_EQ(lanefold_compile_operator(name, LANEFOLD_TYPE_F32, &options, &kernel, nullptr), LANEFOLD_OK);
  }
  OwnedKernel(const OwnedKernel&) = delete;
  OwnedKernel& operator=(const OwnedKernel&) = delete;
  ~OwnedKernel() { lanefold_kernel_free(kernel); }
  lanefold_kernel* kernel = nullptr;
};

inline lanefold_const_view vector_view(const float* data, std::int64_t cols) {
  return {data, LANEFOLD_TYPE_F32, 1, {cols, 0, 0, 0}, {1, 0, 0, 0}};
}
inline lanefold_const_view read_view(const float* data, std::int64_t rows, std::int64_t cols) {
  return {data, LANEFOLD_TYPE_F32, 2, {rows, cols, 0, 0}, {cols, 1, 0, 0}};
}
inline lanefold_view write_view(float* data, std::int64_t rows, std::int64_t cols) {
  return {data, LANEFOLD_TYPE_F32, 2, {rows, cols, 0, 0}, {cols, 1, 0, 0}};
}

/// A small call of rms_norm that is right, for tests to spoil.
struct Small {
  float x[16] = {1, 2, 3, 4, 5, 6, 7, 8, -1, 2, -3, 4, -5, 6, -7, 8};
  float weight[8] = {1, 1, 1, 1, 1, 1, 1, 2};
  float y[16] = {};
  lanefold_const_view in[2] = {read_view(x, 2, 8), vector_view(weight, 8)};
  lanefold_view out[1] = {write_view(y, 2, 8)};
};

}  // namespace lanefold::api
