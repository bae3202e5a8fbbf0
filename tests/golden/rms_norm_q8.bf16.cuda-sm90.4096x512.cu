namespace lanefold_rms_norm_q8 {

// Storage types, by their bits.
using bf16 = unsigned short;

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
__device__ __forceinline__ float from_bf16(bf16 bits) { return __uint_as_float(static_cast<unsigned int>(bits) << 16); }
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

// Exchange between the lanes of a warp.
// `clear` in lanes whose bit `bit` is 0, `set` in the others.
template <class T>
__device__ __forceinline__ T by_bit(int bit, T clear, T set) { return (threadIdx.x >> bit & 1u) != 0 ? set : clear; }
// Each lane keeps one and gives the other to the lane across the bit: what it gets for it.
template <class T>
__device__ __forceinline__ T trade(int bit, T clear, T set) { return __shfl_xor_sync(0xffffffffu, by_bit(bit, set, clear), 1 << bit); }

__device__ __forceinline__ float merge_dot(float a, float b) { return add(a, b); }

__device__ __forceinline__ float merge_max(float a, float b) { return maximum(a, b); }

// Launch: grid = rows; block = 64; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(64)
rms_norm_q8(const bf16* x, long long x_row_stride, const bf16* weight, signed char* q, long long q_row_stride,
    float* scale, long long scale_row_stride, long long rows, long long cols, float eps, float offset) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  __shared__ __align__(16) float partial0[2];
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float guarded0, guarded1, guarded2, guarded3;
  const int whole = static_cast<int>(cols);
  const long long x_row = threadgroup * x_row_stride;
  const long long q_row = threadgroup * q_row_stride;
  const long long scale_row = threadgroup * scale_row_stride;
  const int index = (group << 6) + lane;
  const long long place = index + 32;
  const long long place_2 = index + 128;
  const long long place_3 = index + 160;
  const long long place_4 = index + 256;
  const long long place_5 = index + 288;
  const long long place_6 = index + 384;
  const bool is_below = index + 384 < whole;
  const long long place_7 = index + 416;
  const bool is_below_2 = index + 416 < whole;

  // load the row
  const float x_value = from_bf16(x[x_row + index]);
  const float x_value_2 = from_bf16(x[x_row + place]);
  const float x_value_3 = from_bf16(x[x_row + place_2]);
  const float x_value_4 = from_bf16(x[x_row + place_3]);
  const float x_value_5 = from_bf16(x[x_row + place_4]);
  const float x_value_6 = from_bf16(x[x_row + place_5]);
  guarded0 = 0.0f;
  if (is_below) {
    guarded0 = from_bf16(x[x_row + place_6]);
  }
  guarded1 = 0.0f;
  if (is_below_2) {
    guarded1 = from_bf16(x[x_row + place_7]);
  }

  // load what comes later
  guarded2 = 0.0f;
  if (is_below) {
    guarded2 = from_bf16(weight[place_6]);
  }
  guarded3 = 0.0f;
  if (is_below_2) {
    guarded3 = from_bf16(weight[place_7]);
  }

  // fold dot
  const float term = fma(x_value_5, x_value_5, fma(x_value_3, x_value_3, mul(x_value, x_value)));
  const float term_2 = fma(x_value_6, x_value_6, fma(x_value_4, x_value_4, mul(x_value_2, x_value_2)));
  const float chosen = is_below ? fma(guarded0, guarded0, term) : term;
  const float chosen_2 = is_below_2 ? fma(guarded1, guarded1, term_2) : term_2;
  const float dot = merge_dot(by_bit(0, chosen, chosen_2), trade(0, chosen, chosen_2));
  const float dot_2 = merge_dot(dot, __shfl_xor_sync(0xffffffffu, dot, 2));
  const float dot_3 = merge_dot(dot_2, __shfl_xor_sync(0xffffffffu, dot_2, 4));
  const float dot_4 = merge_dot(dot_3, __shfl_xor_sync(0xffffffffu, dot_3, 8));
  const float dot_5 = merge_dot(dot_4, __shfl_xor_sync(0xffffffffu, dot_4, 16));
  const float dot_6 = merge_dot(dot_5, __shfl_xor_sync(0xffffffffu, dot_5, 1));
  if (lane == 0) {
    partial0[group] = dot_6;
  }
  const float weight_value = from_bf16(weight[index]);
  const float weight_value_2 = from_bf16(weight[place]);
  const float weight_value_3 = from_bf16(weight[place_2]);
  const float weight_value_4 = from_bf16(weight[place_3]);
  const float weight_value_5 = from_bf16(weight[place_4]);
  const float weight_value_6 = from_bf16(weight[place_5]);
  __syncthreads();
  const float sum = add(div(merge_dot(partial0[0], partial0[1]), __int2float_rn(whole)), eps);
  const float quotient = div(1.0f, sqrt(sum));

  // store
  const float product = mul(mul(x_value, add(weight_value, offset)), quotient);
  const float product_2 = mul(mul(x_value_2, add(weight_value_2, offset)), quotient);
  const float magnitude = abs(product);
  const float max = merge_max(magnitude, __shfl_xor_sync(0xffffffffu, magnitude, 1));
  const float magnitude_2 = abs(product_2);
  const float max_2 = merge_max(magnitude_2, __shfl_xor_sync(0xffffffffu, magnitude_2, 1));
  const float max_3 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 2));
  const float max_4 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 2));
  const float max_5 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 4));
  const float max_6 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 4));
  const float max_7 = merge_max(max_5, __shfl_xor_sync(0xffffffffu, max_5, 8));
  const float max_8 = merge_max(max_6, __shfl_xor_sync(0xffffffffu, max_6, 8));
  const float max_9 = merge_max(max_7, __shfl_xor_sync(0xffffffffu, max_7, 16));
  const float max_10 = merge_max(max_8, __shfl_xor_sync(0xffffffffu, max_8, 16));
  const float quotient_2 = div_by(max_9, -127.0f, 0.007874016f);
  const Divisor divisor = divisor_of(quotient_2);
  const float quotient_3 = div_by(max_10, -127.0f, 0.007874016f);
  const Divisor divisor_2 = divisor_of(quotient_3);
  q[q_row + index] = static_cast<signed char>(quantize(product, divisor));
  q[q_row + place] = static_cast<signed char>(quantize(product_2, divisor_2));
  const long long part = index >> 5;
  const float result = canonical_nan(quotient_2);
  if ((index & 31) == 0) {
    scale[scale_row + part] = result;
  }
  const long long part_2 = place >> 5;
  const float result_2 = canonical_nan(quotient_3);
  if ((static_cast<int>(place) & 31) == 0) {
    scale[scale_row + part_2] = result_2;
  }
  const float product_3 = mul(mul(x_value_3, add(weight_value_3, offset)), quotient);
  const float product_4 = mul(mul(x_value_4, add(weight_value_4, offset)), quotient);
  const float magnitude_3 = abs(product_3);
  const float max_11 = merge_max(magnitude_3, __shfl_xor_sync(0xffffffffu, magnitude_3, 1));
  const float magnitude_4 = abs(product_4);
  const float max_12 = merge_max(magnitude_4, __shfl_xor_sync(0xffffffffu, magnitude_4, 1));
  const float max_13 = merge_max(max_11, __shfl_xor_sync(0xffffffffu, max_11, 2));
  const float max_14 = merge_max(max_12, __shfl_xor_sync(0xffffffffu, max_12, 2));
  const float max_15 = merge_max(max_13, __shfl_xor_sync(0xffffffffu, max_13, 4));
  const float max_16 = merge_max(max_14, __shfl_xor_sync(0xffffffffu, max_14, 4));
  const float max_17 = merge_max(max_15, __shfl_xor_sync(0xffffffffu, max_15, 8));
  const float max_18 = merge_max(max_16, __shfl_xor_sync(0xffffffffu, max_16, 8));
  const float max_19 = merge_max(max_17, __shfl_xor_sync(0xffffffffu, max_17, 16));
  const float max_20 = merge_max(max_18, __shfl_xor_sync(0xffffffffu, max_18, 16));
  const float quotient_4 = div_by(max_19, -127.0f, 0.007874016f);
  const Divisor divisor_3 = divisor_of(quotient_4);
  const float quotient_5 = div_by(max_20, -127.0f, 0.007874016f);
  const Divisor divisor_4 = divisor_of(quotient_5);
  q[q_row + place_2] = static_cast<signed char>(quantize(product_3, divisor_3));
  q[q_row + place_3] = static_cast<signed char>(quantize(product_4, divisor_4));
  const long long part_3 = place_2 >> 5;
  const float result_3 = canonical_nan(quotient_4);
  if ((static_cast<int>(place_2) & 31) == 0) {
    scale[scale_row + part_3] = result_3;
  }
  const long long part_4 = place_3 >> 5;
  const float result_4 = canonical_nan(quotient_5);
  if ((static_cast<int>(place_3) & 31) == 0) {
    scale[scale_row + part_4] = result_4;
  }
  const float product_5 = mul(mul(x_value_5, add(weight_value_5, offset)), quotient);
  const float product_6 = mul(mul(x_value_6, add(weight_value_6, offset)), quotient);
  const float magnitude_5 = abs(product_5);
  const float max_21 = merge_max(magnitude_5, __shfl_xor_sync(0xffffffffu, magnitude_5, 1));
  const float magnitude_6 = abs(product_6);
  const float max_22 = merge_max(magnitude_6, __shfl_xor_sync(0xffffffffu, magnitude_6, 1));
  const float max_23 = merge_max(max_21, __shfl_xor_sync(0xffffffffu, max_21, 2));
  const float max_24 = merge_max(max_22, __shfl_xor_sync(0xffffffffu, max_22, 2));
  const float max_25 = merge_max(max_23, __shfl_xor_sync(0xffffffffu, max_23, 4));
  const float max_26 = merge_max(max_24, __shfl_xor_sync(0xffffffffu, max_24, 4));
  const float max_27 = merge_max(max_25, __shfl_xor_sync(0xffffffffu, max_25, 8));
  const float max_28 = merge_max(max_26, __shfl_xor_sync(0xffffffffu, max_26, 8));
  const float max_29 = merge_max(max_27, __shfl_xor_sync(0xffffffffu, max_27, 16));
  const float max_30 = merge_max(max_28, __shfl_xor_sync(0xffffffffu, max_28, 16));
  const float quotient_6 = div_by(max_29, -127.0f, 0.007874016f);
  const Divisor divisor_5 = divisor_of(quotient_6);
  const float quotient_7 = div_by(max_30, -127.0f, 0.007874016f);
  const Divisor divisor_6 = divisor_of(quotient_7);
  q[q_row + place_4] = static_cast<signed char>(quantize(product_5, divisor_5));
  q[q_row + place_5] = static_cast<signed char>(quantize(product_6, divisor_6));
  const long long part_5 = place_4 >> 5;
  const float result_5 = canonical_nan(quotient_6);
  if ((static_cast<int>(place_4) & 31) == 0) {
    scale[scale_row + part_5] = result_5;
  }
  const long long part_6 = place_5 >> 5;
  const float result_6 = canonical_nan(quotient_7);
  if ((static_cast<int>(place_5) & 31) == 0) {
    scale[scale_row + part_6] = result_6;
  }
  const float product_7 = mul(mul(guarded0, add(guarded2, offset)), quotient);
  const float product_8 = mul(mul(guarded1, add(guarded3, offset)), quotient);
  const float magnitude_7 = abs(product_7);
  const float max_31 = merge_max(magnitude_7, __shfl_xor_sync(0xffffffffu, magnitude_7, 1));
  const float magnitude_8 = abs(product_8);
  const float max_32 = merge_max(magnitude_8, __shfl_xor_sync(0xffffffffu, magnitude_8, 1));
  const float max_33 = merge_max(max_31, __shfl_xor_sync(0xffffffffu, max_31, 2));
  const float max_34 = merge_max(max_32, __shfl_xor_sync(0xffffffffu, max_32, 2));
  const float max_35 = merge_max(max_33, __shfl_xor_sync(0xffffffffu, max_33, 4));
  const float max_36 = merge_max(max_34, __shfl_xor_sync(0xffffffffu, max_34, 4));
  const float max_37 = merge_max(max_35, __shfl_xor_sync(0xffffffffu, max_35, 8));
  const float max_38 = merge_max(max_36, __shfl_xor_sync(0xffffffffu, max_36, 8));
  const float max_39 = merge_max(max_37, __shfl_xor_sync(0xffffffffu, max_37, 16));
  const float max_40 = merge_max(max_38, __shfl_xor_sync(0xffffffffu, max_38, 16));
  const float quotient_8 = div_by(max_39, -127.0f, 0.007874016f);
  const Divisor divisor_7 = divisor_of(quotient_8);
  const int quantize_value = quantize(product_7, divisor_7);
  const float quotient_9 = div_by(max_40, -127.0f, 0.007874016f);
  const Divisor divisor_8 = divisor_of(quotient_9);
  const int quantize_value_2 = quantize(product_8, divisor_8);
  if (is_below) {
    q[q_row + place_6] = static_cast<signed char>(quantize_value);
  }
  if (is_below_2) {
    q[q_row + place_7] = static_cast<signed char>(quantize_value_2);
  }
  const long long part_7 = place_6 >> 5;
  const float result_7 = canonical_nan(quotient_8);
  if (is_below & ((static_cast<int>(place_6) & 31) == 0)) {
    scale[scale_row + part_7] = result_7;
  }
  const long long part_8 = place_7 >> 5;
  const float result_8 = canonical_nan(quotient_9);
  if (is_below_2 & ((static_cast<int>(place_7) & 31) == 0)) {
    scale[scale_row + part_8] = result_8;
  }
}

}  // namespace lanefold_rms_norm_q8
