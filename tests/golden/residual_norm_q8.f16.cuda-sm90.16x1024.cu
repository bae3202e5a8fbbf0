namespace lanefold_residual_norm_q8 {

// Storage types, by their bits.
using f16 = unsigned short;

// Arithmetic in PTX, rounded to nearest even and with subnormals: no compiler option, such as --use_fast_math or
// --fmad, changes it.
__device__ __forceinline__ float add(float a, float b) {
  float r;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
__device__ __forceinline__ float sub(float a, float b) {
  float r;
  asm("sub.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
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
__device__ __forceinline__ float abs(float a) {
  float r;
  asm("abs.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
__device__ __forceinline__ float sqrt(float a) {
  float r;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
__device__ __forceinline__ float trunc(float a) {
  float r;
  asm("cvt.rzi.f32.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
__device__ __forceinline__ float maximum(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
__device__ __forceinline__ bool less(float a, float b) {
  int r;
  asm("{ .reg .pred p; setp.lt.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a), "f"(b));
  return r != 0;
}
__device__ __forceinline__ bool greater(float a, float b) {
  int r;
  asm("{ .reg .pred p; setp.gt.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a), "f"(b));
  return r != 0;
}
__device__ __forceinline__ bool greater_equal(float a, float b) {
  int r;
  asm("{ .reg .pred p; setp.ge.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a), "f"(b));
  return r != 0;
}
__device__ __forceinline__ bool equal(float a, float b) {
  int r;
  asm("{ .reg .pred p; setp.eq.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a), "f"(b));
  return r != 0;
}
__device__ __forceinline__ bool not_equal(float a, float b) {
  int r;
  asm("{ .reg .pred p; setp.neu.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a), "f"(b));
  return r != 0;
}
__device__ __forceinline__ bool is_nan(float a) {
  int r;
  asm("{ .reg .pred p; setp.nan.f32 p, %1, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a));
  return r != 0;
}
__device__ __forceinline__ float canonical_nan(float a) { return is_nan(a) ? __int_as_float(0x7fc00000) : a; }
__device__ __forceinline__ int to_i32(float a) {
  int r;
  asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(a));
  return r;
}

// Storage types to f32 and back, to nearest even; every NaN becomes one.
__device__ __forceinline__ float from_f16(f16 bits) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(bits));
  return r;
}

__device__ __forceinline__ float merge_dot(float a, float b) { return add(a, b); }

__device__ __forceinline__ float merge_max(float a, float b) { return maximum(a, b); }

__device__ __forceinline__ float round(float x) {
  const float whole = trunc(x);
  const float sum = add(whole, __int_as_float((__float_as_int(x) & (-2147483647 - 1)) | 1065353216));
  return greater_equal(abs(sub(x, whole)), 0.5f) ? sum : whole;
}

__device__ __forceinline__ int quantize(float a, float b) {
  const float round_value = round(div(a, b));
  const float chosen = less(round_value, -127.0f) ? -127.0f : (greater(round_value, 127.0f) ? 127.0f : round_value);
  const int whole = to_i32(equal(round_value, round_value) && not_equal(b, 0.0f) ? chosen : 0.0f);
  return whole;
}

// Launch: grid = rows; block = 256; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(256)
residual_norm_q8(const f16* x, long long x_row_stride, const f16* residual, long long residual_row_stride,
    const f16* weight, float* residual_out, long long residual_out_row_stride, signed char* q, long long q_row_stride,
    float* scale, long long scale_row_stride, long long rows, long long cols, float eps, float offset, float x_scale) {
  __shared__ __align__(16) float partial0[8];
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float dot0, guarded1, guarded2, guarded3, guarded4, guarded5, guarded6, guarded7, guarded8, guarded9, guarded10,
      guarded11;
  const long long x_row = threadgroup * x_row_stride;
  const long long residual_row = threadgroup * residual_row_stride;
  const long long residual_out_row = threadgroup * residual_out_row_stride;
  const long long q_row = threadgroup * q_row_stride;
  const long long scale_row = threadgroup * scale_row_stride;

  // fold dot
  dot0 = -0.0f;
  const long long wide = group << 5;
  const long long place = wide + lane;
  const bool is_below = lane < static_cast<int>(::min(::max(cols - wide, -2147483648LL), 2147483647LL));
  guarded1 = 0.0f;
  if (is_below) {
    guarded1 = from_f16(residual[residual_row + place]);
  }
  guarded2 = 0.0f;
  if (is_below) {
    guarded2 = from_f16(x[x_row + place]);
  }
  const float sum = add(guarded1, mul(x_scale, guarded2));
  const float term = fma(sum, sum, dot0);
  if (is_below) {
    dot0 = term;
  }
  const long long place_2 = wide + 256;
  const int whole = static_cast<int>(::min(::max(cols - place_2, -2147483648LL), 2147483647LL));
  const long long place_3 = place_2 + lane;
  const bool is_below_2 = lane < whole;
  guarded3 = 0.0f;
  if (is_below_2) {
    guarded3 = from_f16(residual[residual_row + place_3]);
  }
  guarded4 = 0.0f;
  if (is_below_2) {
    guarded4 = from_f16(x[x_row + place_3]);
  }
  const float sum_2 = add(guarded3, mul(x_scale, guarded4));
  const float term_2 = fma(sum_2, sum_2, dot0);
  if (is_below_2) {
    dot0 = term_2;
  }
  const long long place_4 = wide + 512;
  const int whole_2 = static_cast<int>(::min(::max(cols - place_4, -2147483648LL), 2147483647LL));
  const long long place_5 = place_4 + lane;
  const bool is_below_3 = lane < whole_2;
  guarded5 = 0.0f;
  if (is_below_3) {
    guarded5 = from_f16(residual[residual_row + place_5]);
  }
  guarded6 = 0.0f;
  if (is_below_3) {
    guarded6 = from_f16(x[x_row + place_5]);
  }
  const float sum_3 = add(guarded5, mul(x_scale, guarded6));
  const float term_3 = fma(sum_3, sum_3, dot0);
  if (is_below_3) {
    dot0 = term_3;
  }
  const long long place_6 = wide + 768;
  const int whole_3 = static_cast<int>(::min(::max(cols - place_6, -2147483648LL), 2147483647LL));
  const long long place_7 = place_6 + lane;
  const bool is_below_4 = lane < whole_3;
  guarded7 = 0.0f;
  if (is_below_4) {
    guarded7 = from_f16(residual[residual_row + place_7]);
  }
  guarded8 = 0.0f;
  if (is_below_4) {
    guarded8 = from_f16(x[x_row + place_7]);
  }
  const float sum_4 = add(guarded7, mul(x_scale, guarded8));
  const float term_4 = fma(sum_4, sum_4, dot0);
  if (is_below_4) {
    dot0 = term_4;
  }
  const float dot0_value = dot0;
  const float dot = merge_dot(dot0_value, __shfl_xor_sync(0xffffffffu, dot0_value, 1));
  const float dot_2 = merge_dot(dot, __shfl_xor_sync(0xffffffffu, dot, 2));
  const float dot_3 = merge_dot(dot_2, __shfl_xor_sync(0xffffffffu, dot_2, 4));
  const float dot_4 = merge_dot(dot_3, __shfl_xor_sync(0xffffffffu, dot_3, 8));
  const float dot_5 = merge_dot(dot_4, __shfl_xor_sync(0xffffffffu, dot_4, 16));
  const float received = __shfl_sync(0xffffffffu, dot_5, 0);
  if (lane == 0) {
    partial0[group] = received;
  }
  __syncthreads();
  const float partial0_value = partial0[lane & 7];
  const float dot_6 = merge_dot(partial0_value, __shfl_xor_sync(0xffffffffu, partial0_value, 1));
  const float dot_7 = merge_dot(dot_6, __shfl_xor_sync(0xffffffffu, dot_6, 2));
  const float dot_8 = merge_dot(dot_7, __shfl_xor_sync(0xffffffffu, dot_7, 4));
  const float received_2 = __shfl_sync(0xffffffffu, dot_8, 0);
  const float quotient = div(1.0f, sqrt(add(div(received_2, __int2float_rn(static_cast<int>(cols))), eps)));

  // store
  const long long start = (cols >> 8) * 256;
  const long long wide_2 = group << 5;
  for (long long i = 0; i < start; i += 256) {
    const long long place_8 = wide_2 + i + lane;
    const float sum_5 = add(from_f16(residual[residual_row + place_8]), mul(x_scale, from_f16(x[x_row + place_8])));
    const float product = mul(mul(sum_5, add(from_f16(weight[place_8]), offset)), quotient);
    const float magnitude = abs(product);
    const float max = merge_max(magnitude, __shfl_xor_sync(0xffffffffu, magnitude, 1));
    const float max_2 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 2));
    const float max_3 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 4));
    const float max_4 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 8));
    const float max_5 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 16));
    const float quotient_2 = div(max_5, 127.0f);
    residual_out[residual_out_row + place_8] = canonical_nan(sum_5);
    q[q_row + place_8] = static_cast<signed char>(quantize(product, quotient_2));
    const long long part = place_8 >> 5;
    const float result = canonical_nan(quotient_2);
    if ((static_cast<int>(place_8) & 31) == 0) {
      scale[scale_row + part] = result;
    }
  }
  const long long place_8 = wide_2 + start;
  const int whole_4 = static_cast<int>(::min(::max(cols - place_8, -2147483648LL), 2147483647LL));
  const long long place_9 = place_8 + lane;
  const bool is_below_5 = lane < whole_4;
  guarded9 = 0.0f;
  if (is_below_5) {
    guarded9 = from_f16(residual[residual_row + place_9]);
  }
  guarded10 = 0.0f;
  if (is_below_5) {
    guarded10 = from_f16(x[x_row + place_9]);
  }
  const float sum_5 = add(guarded9, mul(x_scale, guarded10));
  guarded11 = 0.0f;
  if (is_below_5) {
    guarded11 = from_f16(weight[place_9]);
  }
  const float product = mul(mul(sum_5, add(guarded11, offset)), quotient);
  const float magnitude = abs(product);
  const float max = merge_max(magnitude, __shfl_xor_sync(0xffffffffu, magnitude, 1));
  const float max_2 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 2));
  const float max_3 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 4));
  const float max_4 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 8));
  const float max_5 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 16));
  const float quotient_2 = div(max_5, 127.0f);
  const int quantize_value = quantize(product, quotient_2);
  const float result = canonical_nan(sum_5);
  if (is_below_5) {
    residual_out[residual_out_row + place_9] = result;
  }
  if (is_below_5) {
    q[q_row + place_9] = static_cast<signed char>(quantize_value);
  }
  const long long part = place_9 >> 5;
  const float result_2 = canonical_nan(quotient_2);
  if (is_below_5 && (static_cast<int>(place_9) & 31) == 0) {
    scale[scale_row + part] = result_2;
  }
}

}  // namespace lanefold_residual_norm_q8
