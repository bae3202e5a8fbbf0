namespace lanefold_logsumexp {

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
__device__ __forceinline__ float minimum(float a, float b) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
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
__device__ __forceinline__ bool less_equal(float a, float b) {
  int r;
  asm("{ .reg .pred p; setp.le.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a), "f"(b));
  return r != 0;
}
__device__ __forceinline__ bool greater(float a, float b) {
  int r;
  asm("{ .reg .pred p; setp.gt.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a), "f"(b));
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

// Integers that wrap.
__device__ __forceinline__ int wrap_sub(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) - static_cast<unsigned int>(b)); }
__device__ __forceinline__ int wrap_shift(int a, int bits) { return static_cast<int>(static_cast<unsigned int>(a) << bits); }

// Storage types to f32 and back, to nearest even; every NaN becomes one.
__device__ __forceinline__ float bf16_low(unsigned int pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float bf16_high(unsigned int pair) { return __uint_as_float(pair & 0xffff0000u); }
__device__ __forceinline__ unsigned int minimum_pair(unsigned int a, unsigned int b) {
  unsigned int r;
  asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ __forceinline__ unsigned int maximum_pair(unsigned int a, unsigned int b) {
  unsigned int r;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}

// The same bits on a shorter way, which most arguments take.
// exp_nonpositive of each, where it is known whether all are near, from -86 on: the result is then normal, and the exponent is added
// to the bits of the polynomial.
__device__ __forceinline__ float exp_nonpositive(float x);
template <int count>
__device__ __forceinline__ void exp_nonpositive_each(float (&x)[count], bool all_near) {
  if (__builtin_expect(all_near, 1)) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const float t = fma(x[i], -1.442695f, -12582912.0f);  // minus the rounded exponent and 1.5 * 2^23
      const float minus_k = add(t, 12582912.0f);
      const float r = fma(minus_k, 1.4286068e-06f, fma(minus_k, 0.69314575f, x[i]));
      const float p_3 = fma(fma(0.0013814598f, r, 0.008368718f), r, 0.04166839f);
      const float p = fma(fma(fma(fma(p_3, r, 0.16666521f), r, 0.49999994f), r, 1.0f), r, 1.0f);
      x[i] = __uint_as_float(__float_as_uint(p) + (__float_as_uint(t) << 23));
    }
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) x[i] = exp_nonpositive(x[i]);
  }
}

// Exchange between the lanes of a warp.
// `clear` in lanes whose bit `bit` is 0, `set` in the others.
template <class T>
__device__ __forceinline__ T by_bit(int bit, T clear, T set) { return (threadIdx.x >> bit & 1u) != 0 ? set : clear; }
// Each lane keeps one and gives the other to the lane across the bit: what it gets for it.
template <class T>
__device__ __forceinline__ T trade(int bit, T clear, T set) { return __shfl_xor_sync(0xffffffffu, by_bit(bit, set, clear), 1 << bit); }

__device__ __forceinline__ float merge_max(float a, float b) { return maximum(a, b); }

__device__ __forceinline__ float merge_sum(float a, float b) { return add(a, b); }

__device__ __forceinline__ float exp_nonpositive(float x) {
  const float chosen = maximum(x, -104.0f);
  const float term = fma(chosen, 1.442695f, 12583103.0f);
  const float difference = sub(term, 12583103.0f);
  const float term_2 = fma(difference, -1.4286068e-06f, fma(difference, -0.69314575f, chosen));
  const float term_3 = fma(fma(fma(0.0013814598f, term_2, 0.008368718f), term_2, 0.04166839f), term_2, 0.16666521f);
  const float product = mul(fma(fma(fma(term_3, term_2, 0.49999994f), term_2, 1.0f), term_2, 1.0f),
      __int_as_float(wrap_shift(__float_as_int(term), 23)));
  return mul(product, 5.421011e-20f);
}

__device__ __forceinline__ float log(float x) {
  const bool is_below = less(x, 1.1754944e-38f);
  const int bits = __float_as_int(is_below ? mul(x, 8388608.0f) : x);
  const int bits_2 = wrap_sub(bits, 1059760811) & -8388608;
  const float sum = add(__int2float_rn(bits_2), is_below ? -192937980.0f : 0.0f);
  const float difference = sub(__int_as_float(wrap_sub(bits, bits_2)), 1.0f);
  const float term = fma(fma(-0.12891684f, difference, 0.13984382f), difference, -0.12184259f);
  const float term_2 = fma(fma(fma(term, difference, 0.1400588f), difference, -0.16680488f), difference, 0.20010406f);
  const float term_3 = fma(fma(fma(term_2, difference, -0.24999797f), difference, 0.33333215f), difference, -0.5f);
  const float term_4 = fma(sum, 8.262941e-08f, difference);
  const float term_5 = fma(sum, 1.703032e-13f, sub(difference, fma(sum, -8.262941e-08f, term_4)));
  const float chosen = equal(x, 0.0f) ? __uint_as_float(0xff800000u) : __uint_as_float(0x7fc00000u);
  const float chosen_2 = greater(x, 0.0f) ? add(term_4, fma(mul(difference, difference), term_3, term_5)) : chosen;
  return less(x, __uint_as_float(0x7f800000u)) ? chosen_2 : x;
}

// Launch: grid = ceil(rows / 64); block = 256; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(256)
logsumexp(const bf16* x, long long x_row_stride, float* y, long long y_row_stride, long long rows, long long cols) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  const int whole = static_cast<int>(cols);
  const long long place = threadgroup * 64 + (group * 8 + (lane >> 2));
  const long long limit = ::min(place, rows - 1);
  const long long x_row = limit * x_row_stride;
  const long long y_row = limit * y_row_stride;
  const int first = (lane & 3) << 3;
  const long long place_2 = first + 192;
  const bool is_below = first + 192 < whole;
  const long long place_3 = first + 224;
  const bool is_below_2 = first + 224 < whole;

  // load the row
  const long long place_4 = x_row + first;
  const uint4 x_values = *reinterpret_cast<const uint4*>(x + place_4);
  const float x_values_2 = bf16_low(x_values.x);
  const float x_values_3 = bf16_high(x_values.x);
  const float x_values_4 = bf16_low(x_values.y);
  const float x_values_5 = bf16_high(x_values.y);
  const float x_values_6 = bf16_low(x_values.z);
  const float x_values_7 = bf16_high(x_values.z);
  const float x_values_8 = bf16_low(x_values.w);
  const float x_values_9 = bf16_high(x_values.w);
  const long long place_5 = x_row + (first + 32);
  const uint4 x_values_10 = *reinterpret_cast<const uint4*>(x + place_5);
  const float x_values_11 = bf16_low(x_values_10.x);
  const float x_values_12 = bf16_high(x_values_10.x);
  const float x_values_13 = bf16_low(x_values_10.y);
  const float x_values_14 = bf16_high(x_values_10.y);
  const float x_values_15 = bf16_low(x_values_10.z);
  const float x_values_16 = bf16_high(x_values_10.z);
  const float x_values_17 = bf16_low(x_values_10.w);
  const float x_values_18 = bf16_high(x_values_10.w);
  const long long place_6 = x_row + (first + 64);
  const uint4 x_values_19 = *reinterpret_cast<const uint4*>(x + place_6);
  const float x_values_20 = bf16_low(x_values_19.x);
  const float x_values_21 = bf16_high(x_values_19.x);
  const float x_values_22 = bf16_low(x_values_19.y);
  const float x_values_23 = bf16_high(x_values_19.y);
  const float x_values_24 = bf16_low(x_values_19.z);
  const float x_values_25 = bf16_high(x_values_19.z);
  const float x_values_26 = bf16_low(x_values_19.w);
  const float x_values_27 = bf16_high(x_values_19.w);
  const long long place_7 = x_row + (first + 96);
  const uint4 x_values_28 = *reinterpret_cast<const uint4*>(x + place_7);
  const float x_values_29 = bf16_low(x_values_28.x);
  const float x_values_30 = bf16_high(x_values_28.x);
  const float x_values_31 = bf16_low(x_values_28.y);
  const float x_values_32 = bf16_high(x_values_28.y);
  const float x_values_33 = bf16_low(x_values_28.z);
  const float x_values_34 = bf16_high(x_values_28.z);
  const float x_values_35 = bf16_low(x_values_28.w);
  const float x_values_36 = bf16_high(x_values_28.w);
  const long long place_8 = x_row + (first + 128);
  const uint4 x_values_37 = *reinterpret_cast<const uint4*>(x + place_8);
  const float x_values_38 = bf16_low(x_values_37.x);
  const float x_values_39 = bf16_high(x_values_37.x);
  const float x_values_40 = bf16_low(x_values_37.y);
  const float x_values_41 = bf16_high(x_values_37.y);
  const float x_values_42 = bf16_low(x_values_37.z);
  const float x_values_43 = bf16_high(x_values_37.z);
  const float x_values_44 = bf16_low(x_values_37.w);
  const float x_values_45 = bf16_high(x_values_37.w);
  const long long place_9 = x_row + (first + 160);
  const uint4 x_values_46 = *reinterpret_cast<const uint4*>(x + place_9);
  const float x_values_47 = bf16_low(x_values_46.x);
  const float x_values_48 = bf16_high(x_values_46.x);
  const float x_values_49 = bf16_low(x_values_46.y);
  const float x_values_50 = bf16_high(x_values_46.y);
  const float x_values_51 = bf16_low(x_values_46.z);
  const float x_values_52 = bf16_high(x_values_46.z);
  const float x_values_53 = bf16_low(x_values_46.w);
  const float x_values_54 = bf16_high(x_values_46.w);
  uint4 x_guarded = {};
  if (is_below) {
    const long long place_10 = x_row + place_2;
    x_guarded = *reinterpret_cast<const uint4*>(x + place_10);
  }
  uint4 x_guarded_2 = {};
  if (is_below_2) {
    const long long place_10 = x_row + place_3;
    x_guarded_2 = *reinterpret_cast<const uint4*>(x + place_10);
  }

  // fold max
  const unsigned int larger_pair = maximum_pair(x_values.x, x_values.y);
  const unsigned int larger_pair_2 = maximum_pair(larger_pair, x_values.z);
  const unsigned int larger_pair_3 = maximum_pair(larger_pair_2, x_values.w);
  const unsigned int larger_pair_4 = maximum_pair(larger_pair_3, x_values_10.x);
  const unsigned int larger_pair_5 = maximum_pair(larger_pair_4, x_values_10.y);
  const unsigned int larger_pair_6 = maximum_pair(larger_pair_5, x_values_10.z);
  const unsigned int larger_pair_7 = maximum_pair(larger_pair_6, x_values_10.w);
  const unsigned int larger_pair_8 = maximum_pair(larger_pair_7, x_values_19.x);
  const unsigned int larger_pair_9 = maximum_pair(larger_pair_8, x_values_19.y);
  const unsigned int larger_pair_10 = maximum_pair(larger_pair_9, x_values_19.z);
  const unsigned int larger_pair_11 = maximum_pair(larger_pair_10, x_values_19.w);
  const unsigned int larger_pair_12 = maximum_pair(larger_pair_11, x_values_28.x);
  const unsigned int larger_pair_13 = maximum_pair(larger_pair_12, x_values_28.y);
  const unsigned int larger_pair_14 = maximum_pair(larger_pair_13, x_values_28.z);
  const unsigned int larger_pair_15 = maximum_pair(larger_pair_14, x_values_28.w);
  const unsigned int larger_pair_16 = maximum_pair(larger_pair_15, x_values_37.x);
  const unsigned int larger_pair_17 = maximum_pair(larger_pair_16, x_values_37.y);
  const unsigned int larger_pair_18 = maximum_pair(larger_pair_17, x_values_37.z);
  const unsigned int larger_pair_19 = maximum_pair(larger_pair_18, x_values_37.w);
  const unsigned int larger_pair_20 = maximum_pair(larger_pair_19, x_values_46.x);
  const unsigned int larger_pair_21 = maximum_pair(larger_pair_20, x_values_46.y);
  const unsigned int larger_pair_22 = maximum_pair(larger_pair_21, x_values_46.z);
  const unsigned int larger_pair_23 = maximum_pair(larger_pair_22, x_values_46.w);
  const unsigned int larger_pair_24 = maximum_pair(larger_pair_23, x_guarded.x);
  const unsigned int chosen_pair = is_below ? larger_pair_24 : larger_pair_23;
  const unsigned int larger_pair_25 = maximum_pair(chosen_pair, x_guarded.y);
  const unsigned int chosen_pair_2 = is_below ? larger_pair_25 : chosen_pair;
  const unsigned int larger_pair_26 = maximum_pair(chosen_pair_2, x_guarded.z);
  const unsigned int chosen_pair_3 = is_below ? larger_pair_26 : chosen_pair_2;
  const unsigned int larger_pair_27 = maximum_pair(chosen_pair_3, x_guarded.w);
  const unsigned int chosen_pair_4 = is_below ? larger_pair_27 : chosen_pair_3;
  const unsigned int larger_pair_28 = maximum_pair(chosen_pair_4, x_guarded_2.x);
  const unsigned int chosen_pair_5 = is_below_2 ? larger_pair_28 : chosen_pair_4;
  const unsigned int larger_pair_29 = maximum_pair(chosen_pair_5, x_guarded_2.y);
  const unsigned int chosen_pair_6 = is_below_2 ? larger_pair_29 : chosen_pair_5;
  const unsigned int larger_pair_30 = maximum_pair(chosen_pair_6, x_guarded_2.z);
  const unsigned int chosen_pair_7 = is_below_2 ? larger_pair_30 : chosen_pair_6;
  const unsigned int larger_pair_31 = maximum_pair(chosen_pair_7, x_guarded_2.w);
  const unsigned int chosen_pair_8 = is_below_2 ? larger_pair_31 : chosen_pair_7;
  const float max = merge_max(bf16_low(chosen_pair_8), bf16_high(chosen_pair_8));
  const float max_2 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 1));
  const float max_3 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 2));

  // fold sum
  const unsigned int least_pair = minimum_pair(x_values.x, x_values.y);
  const unsigned int least_pair_2 = minimum_pair(least_pair, x_values.z);
  const unsigned int least_pair_3 = minimum_pair(least_pair_2, x_values.w);
  const unsigned int least_pair_4 = minimum_pair(least_pair_3, x_values_10.x);
  const unsigned int least_pair_5 = minimum_pair(least_pair_4, x_values_10.y);
  const unsigned int least_pair_6 = minimum_pair(least_pair_5, x_values_10.z);
  const unsigned int least_pair_7 = minimum_pair(least_pair_6, x_values_10.w);
  const unsigned int least_pair_8 = minimum_pair(least_pair_7, x_values_19.x);
  const unsigned int least_pair_9 = minimum_pair(least_pair_8, x_values_19.y);
  const unsigned int least_pair_10 = minimum_pair(least_pair_9, x_values_19.z);
  const unsigned int least_pair_11 = minimum_pair(least_pair_10, x_values_19.w);
  const unsigned int least_pair_12 = minimum_pair(least_pair_11, x_values_28.x);
  const unsigned int least_pair_13 = minimum_pair(least_pair_12, x_values_28.y);
  const unsigned int least_pair_14 = minimum_pair(least_pair_13, x_values_28.z);
  const unsigned int least_pair_15 = minimum_pair(least_pair_14, x_values_28.w);
  const unsigned int least_pair_16 = minimum_pair(least_pair_15, x_values_37.x);
  const unsigned int least_pair_17 = minimum_pair(least_pair_16, x_values_37.y);
  const unsigned int least_pair_18 = minimum_pair(least_pair_17, x_values_37.z);
  const unsigned int least_pair_19 = minimum_pair(least_pair_18, x_values_37.w);
  const unsigned int least_pair_20 = minimum_pair(least_pair_19, x_values_46.x);
  const unsigned int least_pair_21 = minimum_pair(least_pair_20, x_values_46.y);
  const unsigned int least_pair_22 = minimum_pair(least_pair_21, x_values_46.z);
  const unsigned int least_pair_23 = minimum_pair(least_pair_22, x_values_46.w);
  const unsigned int least_pair_24 = minimum_pair(least_pair_23, x_guarded.x);
  const unsigned int least_pair_25 = minimum_pair(least_pair_24, x_guarded.y);
  const unsigned int least_pair_26 = minimum_pair(least_pair_25, x_guarded.z);
  const unsigned int least_pair_27 = minimum_pair(least_pair_26, x_guarded.w);
  const unsigned int least_pair_28 = minimum_pair(least_pair_27, x_guarded_2.x);
  const unsigned int least_pair_29 = minimum_pair(least_pair_28, x_guarded_2.y);
  const unsigned int least_pair_30 = minimum_pair(least_pair_29, x_guarded_2.z);
  const unsigned int least_pair_31 = minimum_pair(least_pair_30, x_guarded_2.w);
  const bool all_near = less_equal(-86.0f, sub(minimum(bf16_low(least_pair_31), bf16_high(least_pair_31)), max_3));
  float powers[8] = {sub(x_values_2, max_3), sub(x_values_3, max_3), sub(x_values_4, max_3), sub(x_values_5, max_3),
      sub(x_values_6, max_3), sub(x_values_7, max_3), sub(x_values_8, max_3), sub(x_values_9, max_3)};
  exp_nonpositive_each(powers, all_near);
  float powers_2[8] = {sub(x_values_11, max_3), sub(x_values_12, max_3), sub(x_values_13, max_3),
      sub(x_values_14, max_3), sub(x_values_15, max_3), sub(x_values_16, max_3), sub(x_values_17, max_3),
      sub(x_values_18, max_3)};
  exp_nonpositive_each(powers_2, all_near);
  float powers_3[8] = {sub(x_values_20, max_3), sub(x_values_21, max_3), sub(x_values_22, max_3),
      sub(x_values_23, max_3), sub(x_values_24, max_3), sub(x_values_25, max_3), sub(x_values_26, max_3),
      sub(x_values_27, max_3)};
  exp_nonpositive_each(powers_3, all_near);
  float powers_4[8] = {sub(x_values_29, max_3), sub(x_values_30, max_3), sub(x_values_31, max_3),
      sub(x_values_32, max_3), sub(x_values_33, max_3), sub(x_values_34, max_3), sub(x_values_35, max_3),
      sub(x_values_36, max_3)};
  exp_nonpositive_each(powers_4, all_near);
  float powers_5[8] = {sub(x_values_38, max_3), sub(x_values_39, max_3), sub(x_values_40, max_3),
      sub(x_values_41, max_3), sub(x_values_42, max_3), sub(x_values_43, max_3), sub(x_values_44, max_3),
      sub(x_values_45, max_3)};
  exp_nonpositive_each(powers_5, all_near);
  const float sum = add(add(powers[0], powers_3[0]), powers_5[0]);
  const float sum_2 = add(add(powers[1], powers_3[1]), powers_5[1]);
  const float sum_3 = add(add(powers[2], powers_3[2]), powers_5[2]);
  const float sum_4 = add(add(powers[3], powers_3[3]), powers_5[3]);
  const float sum_5 = add(add(powers[4], powers_3[4]), powers_5[4]);
  const float sum_6 = add(add(powers[5], powers_3[5]), powers_5[5]);
  const float sum_7 = add(add(powers[6], powers_3[6]), powers_5[6]);
  const float sum_8 = add(add(powers[7], powers_3[7]), powers_5[7]);
  float powers_6[8] = {sub(x_values_47, max_3), sub(x_values_48, max_3), sub(x_values_49, max_3),
      sub(x_values_50, max_3), sub(x_values_51, max_3), sub(x_values_52, max_3), sub(x_values_53, max_3),
      sub(x_values_54, max_3)};
  exp_nonpositive_each(powers_6, all_near);
  const float sum_9 = add(add(powers_2[0], powers_4[0]), powers_6[0]);
  const float sum_10 = add(add(powers_2[1], powers_4[1]), powers_6[1]);
  const float sum_11 = add(add(powers_2[2], powers_4[2]), powers_6[2]);
  const float sum_12 = add(add(powers_2[3], powers_4[3]), powers_6[3]);
  const float sum_13 = add(add(powers_2[4], powers_4[4]), powers_6[4]);
  const float sum_14 = add(add(powers_2[5], powers_4[5]), powers_6[5]);
  const float sum_15 = add(add(powers_2[6], powers_4[6]), powers_6[6]);
  const float sum_16 = add(add(powers_2[7], powers_4[7]), powers_6[7]);
  float powers_7[8] = {sub(bf16_low(x_guarded.x), max_3), sub(bf16_high(x_guarded.x), max_3),
      sub(bf16_low(x_guarded.y), max_3), sub(bf16_high(x_guarded.y), max_3), sub(bf16_low(x_guarded.z), max_3),
      sub(bf16_high(x_guarded.z), max_3), sub(bf16_low(x_guarded.w), max_3), sub(bf16_high(x_guarded.w), max_3)};
  exp_nonpositive_each(powers_7, all_near);
  float powers_8[8] = {sub(bf16_low(x_guarded_2.x), max_3), sub(bf16_high(x_guarded_2.x), max_3),
      sub(bf16_low(x_guarded_2.y), max_3), sub(bf16_high(x_guarded_2.y), max_3), sub(bf16_low(x_guarded_2.z), max_3),
      sub(bf16_high(x_guarded_2.z), max_3), sub(bf16_low(x_guarded_2.w), max_3), sub(bf16_high(x_guarded_2.w), max_3)};
  exp_nonpositive_each(powers_8, all_near);
  const float sum_17 = merge_sum(is_below ? add(sum, powers_7[0]) : sum, is_below ? add(sum_2, powers_7[1]) : sum_2);
  const float sum_18 = merge_sum(is_below ? add(sum_3, powers_7[2]) : sum_3, is_below ? add(sum_4, powers_7[3])
      : sum_4);
  const float sum_19 = merge_sum(is_below ? add(sum_5, powers_7[4]) : sum_5, is_below ? add(sum_6, powers_7[5])
      : sum_6);
  const float sum_20 = merge_sum(is_below ? add(sum_7, powers_7[6]) : sum_7, is_below ? add(sum_8, powers_7[7])
      : sum_8);
  const float sum_21 = merge_sum(is_below_2 ? add(sum_9, powers_8[0]) : sum_9, is_below_2 ? add(sum_10, powers_8[1])
      : sum_10);
  const float sum_22 = merge_sum(is_below_2 ? add(sum_11, powers_8[2]) : sum_11, is_below_2 ? add(sum_12, powers_8[3])
      : sum_12);
  const float sum_23 = merge_sum(is_below_2 ? add(sum_13, powers_8[4]) : sum_13, is_below_2 ? add(sum_14, powers_8[5])
      : sum_14);
  const float sum_24 = merge_sum(is_below_2 ? add(sum_15, powers_8[6]) : sum_15, is_below_2 ? add(sum_16, powers_8[7])
      : sum_16);
  const float sum_25 = merge_sum(merge_sum(sum_17, sum_18), merge_sum(sum_19, sum_20));
  const float sum_26 = merge_sum(merge_sum(sum_21, sum_22), merge_sum(sum_23, sum_24));
  const float sum_27 = merge_sum(by_bit(0, sum_25, sum_26), trade(0, sum_25, sum_26));
  const float sum_28 = merge_sum(sum_27, __shfl_xor_sync(0xffffffffu, sum_27, 2));
  const float sum_29 = merge_sum(sum_28, __shfl_xor_sync(0xffffffffu, sum_28, 1));
  const float chosen = equal(abs(max_3), __uint_as_float(0x7f800000u)) ? max_3 : add(max_3, log(sum_29));
  const float result = canonical_nan(chosen);
  if (((lane & 3) == 0) & (place < rows)) {
    y[y_row] = result;
  }
}

}  // namespace lanefold_logsumexp
