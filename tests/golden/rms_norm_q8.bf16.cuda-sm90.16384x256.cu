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
__device__ __forceinline__ float bf16_low(unsigned int pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float bf16_high(unsigned int pair) { return __uint_as_float(pair & 0xffff0000u); }
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
// quantize(x, b) of each of several blocks, four codes to a word. Between the products with reciprocals that are a little too
// small and a little too large lies the rounded quotient: where both round to one integer, it does, unless it is a half. Codes
// stand above 1.5 * 2^23 + 128 in the lowest byte: other bits, or a byte of 0, belong to codes beyond 127, or to no number.
// Where b is a 127th of the largest size, `is_bounded`, there are none of those unless b is neither 0 nor from 2^-120 to 2^120.
template <bool is_bounded, int count>
__device__ __forceinline__ bool quantize_block(const float (&x)[count], float b, unsigned int (&codes)[count / 4]) {
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(b));
  if (!is_bounded && !less(abs(b), 8.507059e37f)) reciprocal = __uint_as_float(0x7fc00000u);
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
  const bool is_far = __float_as_uint(b) - 0x03800000u > 0x78000000u & __float_as_uint(b) != 0;
  return is_bounded ? differing == 0 & !is_far : (differing | together & 0xb4bfff00u | zeros & 0x80808080u) == 0;
}
template <bool is_bounded, int blocks, int count>
__device__ __forceinline__ void quantize_each(float (&x)[blocks][count], const float (&b)[blocks], unsigned int (&codes)[blocks][count / 4]) {
  bool is_sure[blocks], all_are = true;
#pragma unroll
  for (int k = 0; k < blocks; ++k) {
    is_sure[k] = quantize_block<is_bounded>(x[k], b[k], codes[k]);
    all_are &= is_sure[k];
  }
  if (__builtin_expect(all_are, 1)) return;
#pragma unroll
  for (int k = 0; k < blocks; ++k) {
    if (is_sure[k]) continue;
    const Divisor divisor = divisor_of(b[k]);
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const unsigned int code = quantize(x[k][0], divisor);
      // All move up by one place, codes from the last.
#pragma unroll
      for (int n = 0; n + 1 < count; ++n) x[k][n] = x[k][n + 1];
#pragma unroll
      for (int n = 0; n < count / 4; ++n)
        codes[k][n] = codes[k][n] >> 8 | (n + 1 < count / 4 ? codes[k][n + 1] : code) << 24;
    }
  }
}

__device__ __forceinline__ float merge_dot(float a, float b) { return add(a, b); }

__device__ __forceinline__ float merge_max(float a, float b) { return maximum(a, b); }

// Launch: grid = ceil(rows / 32); block = 256; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(256)
rms_norm_q8(const bf16* x, long long x_row_stride, const bf16* weight, signed char* q, long long q_row_stride,
    float* scale, long long scale_row_stride, long long rows, long long cols, float eps, float offset) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  const int whole = static_cast<int>(cols);
  const long long place = threadgroup * 32 + (group * 4 + (lane >> 3));
  const bool is_below = place < rows;
  const long long limit = ::min(place, rows - 1);
  const long long x_row = limit * x_row_stride;
  const long long q_row = limit * q_row_stride;
  const long long scale_row = limit * scale_row_stride;
  const int first = (lane & 7) << 3;
  const long long place_2 = first + 64;
  const long long place_3 = first + 128;
  const long long place_4 = first + 192;
  const bool is_below_2 = first + 192 < whole;

  // load the row
  const long long place_5 = x_row + first;
  const uint4 x_values = *reinterpret_cast<const uint4*>(x + place_5);
  const float x_values_2 = bf16_low(x_values.x);
  const float x_values_3 = bf16_high(x_values.x);
  const float x_values_4 = bf16_low(x_values.y);
  const float x_values_5 = bf16_high(x_values.y);
  const float x_values_6 = bf16_low(x_values.z);
  const float x_values_7 = bf16_high(x_values.z);
  const float x_values_8 = bf16_low(x_values.w);
  const float x_values_9 = bf16_high(x_values.w);
  const long long place_6 = x_row + place_2;
  const uint4 x_values_10 = *reinterpret_cast<const uint4*>(x + place_6);
  const float x_values_11 = bf16_low(x_values_10.x);
  const float x_values_12 = bf16_high(x_values_10.x);
  const float x_values_13 = bf16_low(x_values_10.y);
  const float x_values_14 = bf16_high(x_values_10.y);
  const float x_values_15 = bf16_low(x_values_10.z);
  const float x_values_16 = bf16_high(x_values_10.z);
  const float x_values_17 = bf16_low(x_values_10.w);
  const float x_values_18 = bf16_high(x_values_10.w);
  const long long place_7 = x_row + place_3;
  const uint4 x_values_19 = *reinterpret_cast<const uint4*>(x + place_7);
  const float x_values_20 = bf16_low(x_values_19.x);
  const float x_values_21 = bf16_high(x_values_19.x);
  const float x_values_22 = bf16_low(x_values_19.y);
  const float x_values_23 = bf16_high(x_values_19.y);
  const float x_values_24 = bf16_low(x_values_19.z);
  const float x_values_25 = bf16_high(x_values_19.z);
  const float x_values_26 = bf16_low(x_values_19.w);
  const float x_values_27 = bf16_high(x_values_19.w);
  uint4 x_guarded = {};
  if (is_below_2) {
    const long long place_8 = x_row + place_4;
    x_guarded = *reinterpret_cast<const uint4*>(x + place_8);
  }

  // load what comes later
  const uint4 weight_values = *reinterpret_cast<const uint4*>(weight + first);
  const uint4 weight_values_2 = *reinterpret_cast<const uint4*>(weight + place_2);
  const uint4 weight_values_3 = *reinterpret_cast<const uint4*>(weight + place_3);
  uint4 weight_guarded = {};
  if (is_below_2) {
    weight_guarded = *reinterpret_cast<const uint4*>(weight + place_4);
  }

  // fold dot
  const float term = fma(x_values_20, x_values_20, fma(x_values_11, x_values_11, mul(x_values_2, x_values_2)));
  const float term_2 = fma(x_values_21, x_values_21, fma(x_values_12, x_values_12, mul(x_values_3, x_values_3)));
  const float term_3 = fma(x_values_22, x_values_22, fma(x_values_13, x_values_13, mul(x_values_4, x_values_4)));
  const float term_4 = fma(x_values_23, x_values_23, fma(x_values_14, x_values_14, mul(x_values_5, x_values_5)));
  const float term_5 = fma(x_values_24, x_values_24, fma(x_values_15, x_values_15, mul(x_values_6, x_values_6)));
  const float term_6 = fma(x_values_25, x_values_25, fma(x_values_16, x_values_16, mul(x_values_7, x_values_7)));
  const float term_7 = fma(x_values_26, x_values_26, fma(x_values_17, x_values_17, mul(x_values_8, x_values_8)));
  const float term_8 = fma(x_values_27, x_values_27, fma(x_values_18, x_values_18, mul(x_values_9, x_values_9)));
  const float chosen = is_below_2 ? fma(bf16_low(x_guarded.x), bf16_low(x_guarded.x), term) : term;
  const float chosen_2 = is_below_2 ? fma(bf16_high(x_guarded.x), bf16_high(x_guarded.x), term_2) : term_2;
  const float chosen_3 = is_below_2 ? fma(bf16_low(x_guarded.y), bf16_low(x_guarded.y), term_3) : term_3;
  const float chosen_4 = is_below_2 ? fma(bf16_high(x_guarded.y), bf16_high(x_guarded.y), term_4) : term_4;
  const float chosen_5 = is_below_2 ? fma(bf16_low(x_guarded.z), bf16_low(x_guarded.z), term_5) : term_5;
  const float chosen_6 = is_below_2 ? fma(bf16_high(x_guarded.z), bf16_high(x_guarded.z), term_6) : term_6;
  const float chosen_7 = is_below_2 ? fma(bf16_low(x_guarded.w), bf16_low(x_guarded.w), term_7) : term_7;
  const float chosen_8 = is_below_2 ? fma(bf16_high(x_guarded.w), bf16_high(x_guarded.w), term_8) : term_8;
  const float dot = merge_dot(merge_dot(merge_dot(chosen, chosen_2), merge_dot(chosen_3, chosen_4)),
      merge_dot(merge_dot(chosen_5, chosen_6), merge_dot(chosen_7, chosen_8)));
  const float dot_2 = merge_dot(dot, __shfl_xor_sync(0xffffffffu, dot, 1));
  const float dot_3 = merge_dot(dot_2, __shfl_xor_sync(0xffffffffu, dot_2, 2));
  const float dot_4 = merge_dot(dot_3, __shfl_xor_sync(0xffffffffu, dot_3, 4));
  const float quotient = div(1.0f, sqrt(add(div(dot_4, __int2float_rn(whole)), eps)));

  // store
  const float product = mul(mul(x_values_2, add(bf16_low(weight_values.x), offset)), quotient);
  const float product_2 = mul(mul(x_values_3, add(bf16_high(weight_values.x), offset)), quotient);
  const float product_3 = mul(mul(x_values_4, add(bf16_low(weight_values.y), offset)), quotient);
  const float product_4 = mul(mul(x_values_5, add(bf16_high(weight_values.y), offset)), quotient);
  const float product_5 = mul(mul(x_values_6, add(bf16_low(weight_values.z), offset)), quotient);
  const float product_6 = mul(mul(x_values_7, add(bf16_high(weight_values.z), offset)), quotient);
  const float product_7 = mul(mul(x_values_8, add(bf16_low(weight_values.w), offset)), quotient);
  const float product_8 = mul(mul(x_values_9, add(bf16_high(weight_values.w), offset)), quotient);
  const float max = merge_max(merge_max(abs(product), abs(product_2)), merge_max(abs(product_3), abs(product_4)));
  const float max_2 = merge_max(merge_max(abs(product_5), abs(product_6)), merge_max(abs(product_7), abs(product_8)));
  const float max_3 = merge_max(max, max_2);
  const float max_4 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 1));
  const float max_5 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 2));
  const float product_9 = mul(mul(x_values_11, add(bf16_low(weight_values_2.x), offset)), quotient);
  const float product_10 = mul(mul(x_values_12, add(bf16_high(weight_values_2.x), offset)), quotient);
  const float product_11 = mul(mul(x_values_13, add(bf16_low(weight_values_2.y), offset)), quotient);
  const float product_12 = mul(mul(x_values_14, add(bf16_high(weight_values_2.y), offset)), quotient);
  const float product_13 = mul(mul(x_values_15, add(bf16_low(weight_values_2.z), offset)), quotient);
  const float product_14 = mul(mul(x_values_16, add(bf16_high(weight_values_2.z), offset)), quotient);
  const float product_15 = mul(mul(x_values_17, add(bf16_low(weight_values_2.w), offset)), quotient);
  const float product_16 = mul(mul(x_values_18, add(bf16_high(weight_values_2.w), offset)), quotient);
  const float max_6 = merge_max(merge_max(abs(product_9), abs(product_10)),
      merge_max(abs(product_11), abs(product_12)));
  const float max_7 = merge_max(merge_max(abs(product_13), abs(product_14)),
      merge_max(abs(product_15), abs(product_16)));
  const float max_8 = merge_max(max_6, max_7);
  const float max_9 = merge_max(max_8, __shfl_xor_sync(0xffffffffu, max_8, 1));
  const float max_10 = merge_max(max_9, __shfl_xor_sync(0xffffffffu, max_9, 2));
  const float quotient_2 = div_by(max_5, -127.0f, 0.007874016f);
  const float quotient_3 = div_by(max_10, -127.0f, 0.007874016f);
  float numerators[2][8] = {{product, product_2, product_3, product_4, product_5, product_6, product_7, product_8},
      {product_9, product_10, product_11, product_12, product_13, product_14, product_15, product_16}};
  const float divisors[2] = {quotient_2, quotient_3};
  unsigned int codes[2][2];
  quantize_each<true>(numerators, divisors, codes);
  if (is_below) {
    const long long place_8 = q_row + first;
    *reinterpret_cast<uint2*>(q + place_8) = make_uint2(codes[0][0], codes[0][1]);
  }
  if (is_below) {
    const long long place_8 = q_row + place_2;
    *reinterpret_cast<uint2*>(q + place_8) = make_uint2(codes[1][0], codes[1][1]);
  }
  const int bits = first & 31;
  const bool is_at_least = bits >= 8;
  const long long part = (is_at_least ? place_2 : first) >> 5;
  const float result = canonical_nan(is_at_least ? quotient_3 : quotient_2);
  if ((bits < 16) & is_below) {
    scale[scale_row + part] = result;
  }
  const float product_17 = mul(mul(x_values_20, add(bf16_low(weight_values_3.x), offset)), quotient);
  const float product_18 = mul(mul(x_values_21, add(bf16_high(weight_values_3.x), offset)), quotient);
  const float product_19 = mul(mul(x_values_22, add(bf16_low(weight_values_3.y), offset)), quotient);
  const float product_20 = mul(mul(x_values_23, add(bf16_high(weight_values_3.y), offset)), quotient);
  const float product_21 = mul(mul(x_values_24, add(bf16_low(weight_values_3.z), offset)), quotient);
  const float product_22 = mul(mul(x_values_25, add(bf16_high(weight_values_3.z), offset)), quotient);
  const float product_23 = mul(mul(x_values_26, add(bf16_low(weight_values_3.w), offset)), quotient);
  const float product_24 = mul(mul(x_values_27, add(bf16_high(weight_values_3.w), offset)), quotient);
  const float max_11 = merge_max(merge_max(abs(product_17), abs(product_18)),
      merge_max(abs(product_19), abs(product_20)));
  const float max_12 = merge_max(merge_max(abs(product_21), abs(product_22)),
      merge_max(abs(product_23), abs(product_24)));
  const float max_13 = merge_max(max_11, max_12);
  const float max_14 = merge_max(max_13, __shfl_xor_sync(0xffffffffu, max_13, 1));
  const float max_15 = merge_max(max_14, __shfl_xor_sync(0xffffffffu, max_14, 2));
  const float product_25 = mul(mul(bf16_low(x_guarded.x), add(bf16_low(weight_guarded.x), offset)), quotient);
  const float product_26 = mul(mul(bf16_high(x_guarded.x), add(bf16_high(weight_guarded.x), offset)), quotient);
  const float product_27 = mul(mul(bf16_low(x_guarded.y), add(bf16_low(weight_guarded.y), offset)), quotient);
  const float product_28 = mul(mul(bf16_high(x_guarded.y), add(bf16_high(weight_guarded.y), offset)), quotient);
  const float product_29 = mul(mul(bf16_low(x_guarded.z), add(bf16_low(weight_guarded.z), offset)), quotient);
  const float product_30 = mul(mul(bf16_high(x_guarded.z), add(bf16_high(weight_guarded.z), offset)), quotient);
  const float product_31 = mul(mul(bf16_low(x_guarded.w), add(bf16_low(weight_guarded.w), offset)), quotient);
  const float product_32 = mul(mul(bf16_high(x_guarded.w), add(bf16_high(weight_guarded.w), offset)), quotient);
  const float max_16 = merge_max(merge_max(abs(product_25), abs(product_26)),
      merge_max(abs(product_27), abs(product_28)));
  const float max_17 = merge_max(merge_max(abs(product_29), abs(product_30)),
      merge_max(abs(product_31), abs(product_32)));
  const float max_18 = merge_max(max_16, max_17);
  const float max_19 = merge_max(max_18, __shfl_xor_sync(0xffffffffu, max_18, 1));
  const float max_20 = merge_max(max_19, __shfl_xor_sync(0xffffffffu, max_19, 2));
  const float quotient_4 = div_by(max_15, -127.0f, 0.007874016f);
  const float quotient_5 = div_by(max_20, -127.0f, 0.007874016f);
  float numerators_2[2][8] = {{product_17, product_18, product_19, product_20, product_21, product_22, product_23,
      product_24}, {product_25, product_26, product_27, product_28, product_29, product_30, product_31, product_32}};
  const float divisors_2[2] = {quotient_4, quotient_5};
  unsigned int codes_2[2][2];
  quantize_each<true>(numerators_2, divisors_2, codes_2);
  if (is_below) {
    const long long place_8 = q_row + place_3;
    *reinterpret_cast<uint2*>(q + place_8) = make_uint2(codes_2[0][0], codes_2[0][1]);
  }
  if (is_below_2 & is_below) {
    const long long place_8 = q_row + place_4;
    *reinterpret_cast<uint2*>(q + place_8) = make_uint2(codes_2[1][0], codes_2[1][1]);
  }
  const int bits_2 = static_cast<int>(place_3) & 31;
  const bool is_at_least_2 = bits_2 >= 8;
  const long long part_2 = (is_at_least_2 ? place_4 : place_3) >> 5;
  const float result_2 = canonical_nan(is_at_least_2 ? quotient_5 : quotient_4);
  if (((is_at_least_2 ? is_below_2 : true) & (bits_2 < 16)) & is_below) {
    scale[scale_row + part_2] = result_2;
  }
}

}  // namespace lanefold_rms_norm_q8
