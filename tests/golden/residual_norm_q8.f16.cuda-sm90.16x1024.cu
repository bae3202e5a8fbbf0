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
__device__ __forceinline__ float neg(float a) {
  float r;
  asm("neg.f32 %0, %1;" : "=f"(r) : "f"(a));
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
__device__ __forceinline__ bool is_nan(float a) {
  int r;
  asm("{ .reg .pred p; setp.nan.f32 p, %1, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a));
  return r != 0;
}
__device__ __forceinline__ float canonical_nan(float a) { return is_nan(a) ? __int_as_float(0x7fc00000) : a; }

// Storage types to f32 and back, to nearest even; every NaN becomes one.
__device__ __forceinline__ float from_f16(f16 bits) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(bits));
  return r;
}
// What quantising by b takes of it: scaled into the middle of its range, so that no remainder that matters is subnormal. Of
// what is no number, or 0, nothing is left.
struct Divisor {
  float minus, reciprocal, scale;
};
__device__ __forceinline__ Divisor divisor_of(float b) {
  const unsigned int size = __float_as_uint(b) & 0x7fffffffu;
  const bool is_number = size - 1u < 0x7f7fffffu;
  Divisor d;
  d.scale = __uint_as_float(size < 0x0d800000u ? 0x5f800000u : size > 0x71800000u ? 0x1f800000u : 0x3f800000u);
  d.minus = neg(mul(b, d.scale));
  asm("rcp.rn.f32 %0, %1;" : "=f"(d.reciprocal) : "f"(mul(b, d.scale)));
  if (!is_number) d.minus = d.reciprocal = d.scale = 0.0f;
  return d;
}
// a / b as an integer, halves away from zero, within 127; 0 where that is NaN or b is 0. The product with the rounded
// reciprocal is within two units in the last place; one correction makes that less than one, another the rounded quotient.
__device__ __forceinline__ int quantize(float a, Divisor b) {
  const float n = mul(a, b.scale);
  float quotient = mul(n, b.reciprocal);
  const unsigned int magnitude = __float_as_uint(quotient) & 0x7fffffffu;
  float corrected = fma(fma(quotient, b.minus, n), b.reciprocal, quotient);
  corrected = fma(fma(corrected, b.minus, n), b.reciprocal, corrected);
  if (magnitude < 0x44800000u) quotient = corrected;  // from 1024 on the code is 127
  asm("{ .reg .f32 t; min.f32 t, %0, 0f42FE0000; max.f32 %0, t, 0fC2FE0000; }" : "+f"(quotient));
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits; halves went to the even one.
  const float nearest = add(quotient, 12582912.0f);
  const unsigned int rest = __float_as_uint(sub(quotient, sub(nearest, 12582912.0f)));
  int code = __float_as_int(nearest) - 0x4b400000;
  if (rest == ((__float_as_uint(quotient) & 0x80000000u) | 0x3f000000u)) code += __float_as_int(quotient) >> 31 | 1;
  return magnitude <= 0x7f800000u ? code : 0;
}

// The same bits on a shorter way, which most arguments take.
// a / b for an odd integer b, up to 2^20, and its rounded reciprocal. No quotient lies halfway between two numbers, and
// what a product leaves of a is a number, subnormal or not: one correction gives the rounded quotient.
__device__ __forceinline__ float div_by(float a, float minus_b, float reciprocal) {
  const float quotient = mul(a, reciprocal);
  const float corrected = fma(fma(quotient, minus_b, a), reciprocal, quotient);
  const float size = abs(quotient);
  return less(0.0f, size) & less(size, __uint_as_float(0x7f800000u)) ? corrected : quotient;
}

__device__ __forceinline__ float merge_dot(float a, float b) { return add(a, b); }

__device__ __forceinline__ float merge_max(float a, float b) { return maximum(a, b); }

// Launch: grid = rows; block = 256; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(256)
residual_norm_q8(const f16* x, long long x_row_stride, const f16* residual, long long residual_row_stride,
    const f16* weight, float* residual_out, long long residual_out_row_stride, signed char* q, long long q_row_stride,
    float* scale, long long scale_row_stride, long long rows, long long cols, float eps, float offset, float x_scale) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  __shared__ __align__(16) float partial0[8];
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float guarded0, guarded1, guarded2;
  const int whole = static_cast<int>(cols);
  const long long x_row = threadgroup * x_row_stride;
  const long long residual_row = threadgroup * residual_row_stride;
  const long long residual_out_row = threadgroup * residual_out_row_stride;
  const long long q_row = threadgroup * q_row_stride;
  const long long scale_row = threadgroup * scale_row_stride;
  const int index = (group << 5) + lane;
  const long long place = index + 256;
  const long long place_2 = index + 512;
  const long long place_3 = index + 768;
  const bool is_below = index + 768 < whole;

  // load the row
  guarded0 = 0.0f;
  if (is_below) {
    guarded0 = from_f16(x[x_row + place_3]);
  }
  guarded1 = 0.0f;
  if (is_below) {
    guarded1 = from_f16(residual[residual_row + place_3]);
  }

  // load what comes later
  guarded2 = 0.0f;
  if (is_below) {
    guarded2 = from_f16(weight[place_3]);
  }

  // fold dot
  const float sum = add(from_f16(residual[residual_row + index]), mul(x_scale, from_f16(x[x_row + index])));
  const float sum_2 = add(from_f16(residual[residual_row + place]), mul(x_scale, from_f16(x[x_row + place])));
  const float sum_3 = add(from_f16(residual[residual_row + place_2]), mul(x_scale, from_f16(x[x_row + place_2])));
  const float term = fma(sum_3, sum_3, fma(sum_2, sum_2, mul(sum, sum)));
  const float sum_4 = add(guarded1, mul(x_scale, guarded0));
  const float chosen = is_below ? fma(sum_4, sum_4, term) : term;
  const float dot = merge_dot(chosen, __shfl_xor_sync(0xffffffffu, chosen, 1));
  const float dot_2 = merge_dot(dot, __shfl_xor_sync(0xffffffffu, dot, 2));
  const float dot_3 = merge_dot(dot_2, __shfl_xor_sync(0xffffffffu, dot_2, 4));
  const float dot_4 = merge_dot(dot_3, __shfl_xor_sync(0xffffffffu, dot_3, 8));
  const float dot_5 = merge_dot(dot_4, __shfl_xor_sync(0xffffffffu, dot_4, 16));
  if (lane == 0) {
    partial0[group] = dot_5;
  }
  const float weight_value = from_f16(weight[index]);
  const float weight_value_2 = from_f16(weight[place]);
  const float weight_value_3 = from_f16(weight[place_2]);
  __syncthreads();
  const float dot_6 = merge_dot(merge_dot(partial0[0], partial0[1]), merge_dot(partial0[2], partial0[3]));
  const float dot_7 = merge_dot(merge_dot(partial0[4], partial0[5]), merge_dot(partial0[6], partial0[7]));
  const float quotient = div(1.0f, sqrt(add(div(merge_dot(dot_6, dot_7), __int2float_rn(whole)), eps)));

  // store
  const float product = mul(mul(sum, add(weight_value, offset)), quotient);
  const float magnitude = abs(product);
  const float max = merge_max(magnitude, __shfl_xor_sync(0xffffffffu, magnitude, 1));
  const float max_2 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 2));
  const float max_3 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 4));
  const float max_4 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 8));
  const float max_5 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 16));
  const float product_2 = mul(mul(sum_2, add(weight_value_2, offset)), quotient);
  const float magnitude_2 = abs(product_2);
  const float max_6 = merge_max(magnitude_2, __shfl_xor_sync(0xffffffffu, magnitude_2, 1));
  const float max_7 = merge_max(max_6, __shfl_xor_sync(0xffffffffu, max_6, 2));
  const float max_8 = merge_max(max_7, __shfl_xor_sync(0xffffffffu, max_7, 4));
  const float max_9 = merge_max(max_8, __shfl_xor_sync(0xffffffffu, max_8, 8));
  const float max_10 = merge_max(max_9, __shfl_xor_sync(0xffffffffu, max_9, 16));
  const float quotient_2 = div_by(max_5, -127.0f, 0.007874016f);
  const float quotient_3 = div_by(max_10, -127.0f, 0.007874016f);
  const Divisor divisor = divisor_of(quotient_2);
  const Divisor divisor_2 = divisor_of(quotient_3);
  residual_out[residual_out_row + index] = canonical_nan(sum);
  residual_out[residual_out_row + place] = canonical_nan(sum_2);
  q[q_row + index] = static_cast<signed char>(quantize(product, divisor));
  q[q_row + place] = static_cast<signed char>(quantize(product_2, divisor_2));
  const int bits = index & 31;
  const bool is_at_least = bits >= 1;
  const long long part = (is_at_least ? place : index) >> 5;
  const float result = canonical_nan(is_at_least ? quotient_3 : quotient_2);
  if (bits < 2) {
    scale[scale_row + part] = result;
  }
  const float product_3 = mul(mul(sum_3, add(weight_value_3, offset)), quotient);
  const float magnitude_3 = abs(product_3);
  const float max_11 = merge_max(magnitude_3, __shfl_xor_sync(0xffffffffu, magnitude_3, 1));
  const float max_12 = merge_max(max_11, __shfl_xor_sync(0xffffffffu, max_11, 2));
  const float max_13 = merge_max(max_12, __shfl_xor_sync(0xffffffffu, max_12, 4));
  const float max_14 = merge_max(max_13, __shfl_xor_sync(0xffffffffu, max_13, 8));
  const float max_15 = merge_max(max_14, __shfl_xor_sync(0xffffffffu, max_14, 16));
  const float product_4 = mul(mul(sum_4, add(guarded2, offset)), quotient);
  const float magnitude_4 = abs(product_4);
  const float max_16 = merge_max(magnitude_4, __shfl_xor_sync(0xffffffffu, magnitude_4, 1));
  const float max_17 = merge_max(max_16, __shfl_xor_sync(0xffffffffu, max_16, 2));
  const float max_18 = merge_max(max_17, __shfl_xor_sync(0xffffffffu, max_17, 4));
  const float max_19 = merge_max(max_18, __shfl_xor_sync(0xffffffffu, max_18, 8));
  const float max_20 = merge_max(max_19, __shfl_xor_sync(0xffffffffu, max_19, 16));
  const float quotient_4 = div_by(max_15, -127.0f, 0.007874016f);
  const float quotient_5 = div_by(max_20, -127.0f, 0.007874016f);
  const Divisor divisor_3 = divisor_of(quotient_4);
  const Divisor divisor_4 = divisor_of(quotient_5);
  const int quantize_value = quantize(product_4, divisor_4);
  residual_out[residual_out_row + place_2] = canonical_nan(sum_3);
  const float result_2 = canonical_nan(sum_4);
  if (is_below) {
    residual_out[residual_out_row + place_3] = result_2;
  }
  q[q_row + place_2] = static_cast<signed char>(quantize(product_3, divisor_3));
  if (is_below) {
    q[q_row + place_3] = static_cast<signed char>(quantize_value);
  }
  const int bits_2 = static_cast<int>(place_2) & 31;
  const bool is_at_least_2 = bits_2 >= 1;
  const long long part_2 = (is_at_least_2 ? place_3 : place_2) >> 5;
  const float result_3 = canonical_nan(is_at_least_2 ? quotient_5 : quotient_4);
  if ((is_at_least_2 ? is_below : true) & (bits_2 < 2)) {
    scale[scale_row + part_2] = result_3;
  }
}

}  // namespace lanefold_residual_norm_q8
