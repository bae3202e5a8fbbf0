namespace lanefold_rms_norm {

// Arithmetic in PTX, rounded to nearest even and with subnormals: no compiler option, such as --use_fast_math or
// --fmad, changes it.
__device__ __forceinline__ float add(float a, float b) {
  float r;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
__device__ __forceinline__ float mul(float a, float b) {
  float r;
  asm("mul.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
__device__ __forceinline__ float div(float a, float b) {
  float r;
  asm("div.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
__device__ __forceinline__ float fma(float a, float b, float c) {
  float r;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c));
  return r;
}
__device__ __forceinline__ float sqrt(float a) {
  float r;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
__device__ __forceinline__ bool is_nan(float a) {
  int r;
  asm("{ .reg .pred p; setp.nan.f32 p, %1, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a));
  return r != 0;
}
__device__ __forceinline__ float canonical_nan(float a) { return is_nan(a) ? __int_as_float(0x7fc00000) : a; }

__device__ __forceinline__ float merge_dot(float a, float b) { return add(a, b); }

// Launch: grid = rows; block = 1024; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(1024)
rms_norm(const float* x, long long x_row_stride, const float* weight, float* y, long long y_row_stride, long long rows,
    long long cols, float eps, float offset) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  __shared__ __align__(16) float partial0[32];
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float guarded0, guarded1;
  const int whole = static_cast<int>(cols);
  const long long x_row = threadgroup * x_row_stride;
  const long long y_row = threadgroup * y_row_stride;
  const int index = (group << 5) + lane;
  const long long place = index + 1024;
  const long long place_2 = index + 2048;
  const long long place_3 = index + 3072;
  const bool is_below = index + 3072 < whole;

  // load the row
  const float x_value = x[x_row + index];
  const float x_value_2 = x[x_row + place];
  const float x_value_3 = x[x_row + place_2];
  guarded0 = 0.0f;
  if (is_below) {
    guarded0 = x[x_row + place_3];
  }

  // load what comes later
  guarded1 = 0.0f;
  if (is_below) {
    guarded1 = weight[place_3];
  }

  // fold dot
  const float term = fma(x_value_3, x_value_3, fma(x_value_2, x_value_2, mul(x_value, x_value)));
  const float chosen = is_below ? fma(guarded0, guarded0, term) : term;
  const float dot = merge_dot(chosen, __shfl_xor_sync(0xffffffffu, chosen, 1));
  const float dot_2 = merge_dot(dot, __shfl_xor_sync(0xffffffffu, dot, 2));
  const float dot_3 = merge_dot(dot_2, __shfl_xor_sync(0xffffffffu, dot_2, 4));
  const float dot_4 = merge_dot(dot_3, __shfl_xor_sync(0xffffffffu, dot_3, 8));
  const float dot_5 = merge_dot(dot_4, __shfl_xor_sync(0xffffffffu, dot_4, 16));
  if (lane == 0) {
    partial0[group] = dot_5;
  }
  const float weight_value = weight[index];
  const float weight_value_2 = weight[place];
  const float weight_value_3 = weight[place_2];
  __syncthreads();
  const int first = (lane & 3) << 3;
  const float dot_6 = merge_dot(merge_dot(partial0[first], partial0[first + 1]),
      merge_dot(partial0[first + 2], partial0[first + 3]));
  const float dot_7 = merge_dot(merge_dot(partial0[first + 4], partial0[first + 5]),
      merge_dot(partial0[first + 6], partial0[first + 7]));
  const float dot_8 = merge_dot(dot_6, dot_7);
  const float dot_9 = merge_dot(dot_8, __shfl_xor_sync(0xffffffffu, dot_8, 1));
  const float dot_10 = merge_dot(dot_9, __shfl_xor_sync(0xffffffffu, dot_9, 2));
  const float quotient = div(1.0f, sqrt(add(div(dot_10, __int2float_rn(whole)), eps)));

  // store
  y[y_row + index] = canonical_nan(mul(mul(x_value, add(weight_value, offset)), quotient));
  const float result = canonical_nan(mul(mul(x_value_2, add(weight_value_2, offset)), quotient));
  y[y_row + place] = result;
  const float result_2 = canonical_nan(mul(mul(x_value_3, add(weight_value_3, offset)), quotient));
  y[y_row + place_2] = result_2;
  const float result_3 = canonical_nan(mul(mul(guarded0, add(guarded1, offset)), quotient));
  if (is_below) {
    y[y_row + place_3] = result_3;
  }
}

}  // namespace lanefold_rms_norm
