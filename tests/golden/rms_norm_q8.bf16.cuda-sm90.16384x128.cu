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
__device__ __forceinline__ bool equal(float a, float b) {
  int r;
  asm("{ .reg .pred p; setp.eq.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a), "f"(b));
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
__device__ __forceinline__ int signed_byte(unsigned int word, int index) { return static_cast<signed char>(word >> (8 * index)); }
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
// quantize(x, b) of each, four to a word. Between the products with reciprocals that are a little too small and a little
// too large lies the rounded quotient: where both round to one integer, it does, unless it is a half. Codes stand above
// 1.5 * 2^23 + 128 in the lowest byte: other bits, or a byte of 0, belong to codes beyond 127, or to no number.
template <int count>
__device__ __forceinline__ void quantize_each(float (&x)[count], float b, unsigned int (&codes)[count / 4]) {
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(b));
  if (!less(abs(b), 8.507059e37f)) reciprocal = __uint_as_float(0x7fc00000u);
  if (equal(b, 0.0f)) reciprocal = 0.0f;
  const float least = mul(reciprocal, 0.99999964f), most = mul(reciprocal, 1.00000036f);
  unsigned int differing = 0, together = 0, zeros = 0;
#pragma unroll
  for (int k = 0; k < count / 4; ++k) {
    unsigned int sums[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums[i] = __float_as_uint(fma(x[4 * k + i], least, 12583040.0f));
      differing |= sums[i] ^ __float_as_uint(fma(x[4 * k + i], most, 12583040.0f));
      together |= sums[i];
    }
    codes[k] = __byte_perm(__byte_perm(sums[0], sums[1], 0x0040), __byte_perm(sums[2], sums[3], 0x0040), 0x5410);
    zeros |= codes[k] - 0x01010101u & ~codes[k];
    codes[k] ^= 0x80808080u;
  }
  if (__builtin_expect((differing | together & 0xb4bfff00u | zeros & 0x80808080u) == 0, 1)) return;
  const Divisor divisor = divisor_of(b);
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    const unsigned int code = quantize(x[0], divisor);
    // All move up by one place, codes from the last.
#pragma unroll
    for (int k = 0; k + 1 < count; ++k) x[k] = x[k + 1];
#pragma unroll
    for (int k = 0; k < count / 4; ++k)
      codes[k] = codes[k] >> 8 | (k + 1 < count / 4 ? codes[k + 1] : code) << 24;
  }
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

// Launch: grid = ceil(rows / 4); block = 64; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(64)
rms_norm_q8(const bf16* x, long long x_row_stride, const bf16* weight, signed char* q, long long q_row_stride,
    float* scale, long long scale_row_stride, long long rows, long long cols, float eps, float offset) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float guarded0, guarded1, guarded2, guarded3;
  const int whole = static_cast<int>(cols);
  const long long place = threadgroup * 4 + (group * 2 + (lane >> 4));
  const bool is_below = place < rows;
  const long long limit = ::min(place, rows - 1);
  const long long x_row = limit * x_row_stride;
  const long long q_row = limit * q_row_stride;
  const long long scale_row = limit * scale_row_stride;
  const int bits = lane & 15;
  const long long place_2 = bits + 16;
  const long long place_3 = bits + 32;
  const long long place_4 = bits + 48;
  const long long place_5 = bits + 64;
  const long long place_6 = bits + 80;
  const long long place_7 = bits + 96;
  const bool is_below_2 = bits + 96 < whole;
  const long long place_8 = bits + 112;
  const bool is_below_3 = bits + 112 < whole;

  // load the row
  const float x_value = from_bf16(x[x_row + bits]);
  const float x_value_2 = from_bf16(x[x_row + place_2]);
  const float x_value_3 = from_bf16(x[x_row + place_3]);
  const float x_value_4 = from_bf16(x[x_row + place_4]);
  const float x_value_5 = from_bf16(x[x_row + place_5]);
  const float x_value_6 = from_bf16(x[x_row + place_6]);
  guarded0 = 0.0f;
  if (is_below_2) {
    guarded0 = from_bf16(x[x_row + place_7]);
  }
  guarded1 = 0.0f;
  if (is_below_3) {
    guarded1 = from_bf16(x[x_row + place_8]);
  }

  // load what comes later
  guarded2 = 0.0f;
  if (is_below_2) {
    guarded2 = from_bf16(weight[place_7]);
  }
  guarded3 = 0.0f;
  if (is_below_3) {
    guarded3 = from_bf16(weight[place_8]);
  }

  // fold dot
  const float term = fma(x_value_5, x_value_5, fma(x_value_3, x_value_3, mul(x_value, x_value)));
  const float term_2 = fma(x_value_6, x_value_6, fma(x_value_4, x_value_4, mul(x_value_2, x_value_2)));
  const float chosen = is_below_2 ? fma(guarded0, guarded0, term) : term;
  const float chosen_2 = is_below_3 ? fma(guarded1, guarded1, term_2) : term_2;
  const float dot = merge_dot(by_bit(0, chosen, chosen_2), trade(0, chosen, chosen_2));
  const float dot_2 = merge_dot(dot, __shfl_xor_sync(0xffffffffu, dot, 2));
  const float dot_3 = merge_dot(dot_2, __shfl_xor_sync(0xffffffffu, dot_2, 4));
  const float dot_4 = merge_dot(dot_3, __shfl_xor_sync(0xffffffffu, dot_3, 8));
  const float dot_5 = merge_dot(dot_4, __shfl_xor_sync(0xffffffffu, dot_4, 1));
  const float quotient = div(1.0f, sqrt(add(div(dot_5, __int2float_rn(whole)), eps)));

  // store
  const float product = mul(mul(x_value, add(from_bf16(weight[bits]), offset)), quotient);
  const float product_2 = mul(mul(x_value_2, add(from_bf16(weight[place_2]), offset)), quotient);
  const float max = merge_max(abs(product), abs(product_2));
  const float max_2 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 1));
  const float max_3 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 2));
  const float max_4 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 4));
  const float max_5 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 8));
  const float quotient_2 = div_by(max_5, -127.0f, 0.007874016f);
  float numerators[4] = {product, product_2};
  unsigned int codes[1];
  quantize_each(numerators, quotient_2, codes);
  const float weight_value = from_bf16(weight[place_3]);
  const float weight_value_2 = from_bf16(weight[place_4]);
  const float weight_value_3 = from_bf16(weight[place_5]);
  const float weight_value_4 = from_bf16(weight[place_6]);
  if (is_below) {
    q[q_row + bits] = static_cast<signed char>(signed_byte(codes[0], 0));
  }
  if (is_below) {
    q[q_row + place_2] = static_cast<signed char>(signed_byte(codes[0], 1));
  }
  const long long part = bits >> 5;
  const float result = canonical_nan(quotient_2);
  if (((bits & 31) == 0) & is_below) {
    scale[scale_row + part] = result;
  }
  const float product_3 = mul(mul(x_value_3, add(weight_value, offset)), quotient);
  const float product_4 = mul(mul(x_value_4, add(weight_value_2, offset)), quotient);
  const float max_6 = merge_max(abs(product_3), abs(product_4));
  const float max_7 = merge_max(max_6, __shfl_xor_sync(0xffffffffu, max_6, 1));
  const float max_8 = merge_max(max_7, __shfl_xor_sync(0xffffffffu, max_7, 2));
  const float max_9 = merge_max(max_8, __shfl_xor_sync(0xffffffffu, max_8, 4));
  const float max_10 = merge_max(max_9, __shfl_xor_sync(0xffffffffu, max_9, 8));
  const float quotient_3 = div_by(max_10, -127.0f, 0.007874016f);
  float numerators_2[4] = {product_3, product_4};
  unsigned int codes_2[1];
  quantize_each(numerators_2, quotient_3, codes_2);
  if (is_below) {
    q[q_row + place_3] = static_cast<signed char>(signed_byte(codes_2[0], 0));
  }
  if (is_below) {
    q[q_row + place_4] = static_cast<signed char>(signed_byte(codes_2[0], 1));
  }
  const long long part_2 = place_3 >> 5;
  const float result_2 = canonical_nan(quotient_3);
  if (((static_cast<int>(place_3) & 31) == 0) & is_below) {
    scale[scale_row + part_2] = result_2;
  }
  const float product_5 = mul(mul(x_value_5, add(weight_value_3, offset)), quotient);
  const float product_6 = mul(mul(x_value_6, add(weight_value_4, offset)), quotient);
  const float max_11 = merge_max(abs(product_5), abs(product_6));
  const float max_12 = merge_max(max_11, __shfl_xor_sync(0xffffffffu, max_11, 1));
  const float max_13 = merge_max(max_12, __shfl_xor_sync(0xffffffffu, max_12, 2));
  const float max_14 = merge_max(max_13, __shfl_xor_sync(0xffffffffu, max_13, 4));
  const float max_15 = merge_max(max_14, __shfl_xor_sync(0xffffffffu, max_14, 8));
  const float quotient_4 = div_by(max_15, -127.0f, 0.007874016f);
  float numerators_3[4] = {product_5, product_6};
  unsigned int codes_3[1];
  quantize_each(numerators_3, quotient_4, codes_3);
  if (is_below) {
    q[q_row + place_5] = static_cast<signed char>(signed_byte(codes_3[0], 0));
  }
  if (is_below) {
    q[q_row + place_6] = static_cast<signed char>(signed_byte(codes_3[0], 1));
  }
  const long long part_3 = place_5 >> 5;
  const float result_3 = canonical_nan(quotient_4);
  if (((static_cast<int>(place_5) & 31) == 0) & is_below) {
    scale[scale_row + part_3] = result_3;
  }
  const float product_7 = mul(mul(guarded0, add(guarded2, offset)), quotient);
  const float product_8 = mul(mul(guarded1, add(guarded3, offset)), quotient);
  const float max_16 = merge_max(abs(product_7), abs(product_8));
  const float max_17 = merge_max(max_16, __shfl_xor_sync(0xffffffffu, max_16, 1));
  const float max_18 = merge_max(max_17, __shfl_xor_sync(0xffffffffu, max_17, 2));
  const float max_19 = merge_max(max_18, __shfl_xor_sync(0xffffffffu, max_18, 4));
  const float max_20 = merge_max(max_19, __shfl_xor_sync(0xffffffffu, max_19, 8));
  const float quotient_5 = div_by(max_20, -127.0f, 0.007874016f);
  float numerators_4[4] = {product_7, product_8};
  unsigned int codes_4[1];
  quantize_each(numerators_4, quotient_5, codes_4);
  if (is_below_2 & is_below) {
    q[q_row + place_7] = static_cast<signed char>(signed_byte(codes_4[0], 0));
  }
  if (is_below_3 & is_below) {
    q[q_row + place_8] = static_cast<signed char>(signed_byte(codes_4[0], 1));
  }
  const long long part_4 = place_7 >> 5;
  const float result_4 = canonical_nan(quotient_5);
  if ((is_below_2 & ((static_cast<int>(place_7) & 31) == 0)) & is_below) {
    scale[scale_row + part_4] = result_4;
  }
}

}  // namespace lanefold_rms_norm_q8
