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
__device__ __forceinline__ float from_bf16(bf16 bits) { return __uint_as_float(static_cast<unsigned int>(bits) << 16); }

// The same bits on a shorter way, which most arguments take.
// e^x where the result is normal, from -86.98 on: the polynomial, `scale` times, has the exponent added to its bits.
__device__ __forceinline__ float exp_near(float x, float minus_k, float scale, unsigned int exponent) {
  const float r = fma(minus_k, 1.4286068e-06f, fma(minus_k, 0.69314575f, x));
  const float p_3 = fma(fma(scale * 0.0013814598f, r, scale * 0.008368718f), r, scale * 0.04166839f);
  const float p_2 = fma(fma(p_3, r, scale * 0.16666521f), r, scale * 0.49999994f);
  return __uint_as_float(__float_as_uint(fma(fma(p_2, r, scale), r, scale)) + (exponent << 23));
}
// exp_nonpositive of each, where it is known whether all are near.
__device__ __forceinline__ float exp_nonpositive(float x);
template <int count>
__device__ __forceinline__ void exp_nonpositive_each(float (&x)[count], bool all_near) {
  if (__builtin_expect(all_near, 1)) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const float t = fma(x[i], -1.442695f, -12582912.0f);  // minus the rounded exponent and 1.5 * 2^23
      x[i] = exp_near(x[i], add(t, 12582912.0f), 1.0f, __float_as_uint(t));
    }
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i) x[i] = exp_nonpositive(x[i]);
  }
}
// Where it is not known: t is minus the sum of the rounded exponent k and 2^24 - 3, so its upper bits are ones while k is
// -125 to 2, and one is not where x is NaN. Eight times the polynomial makes good the 3.
template <int count>
__device__ __forceinline__ void exp_nonpositive_each(float (&x)[count]) {
  float t[count];
  unsigned int common = 0xffffffffu;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    t[i] = fma(x[i], -1.442695f, -16777213.0f);
    common &= __float_as_uint(t[i]);
  }
  if (__builtin_expect((common & 0xcb7fff80u) == 0xcb7fff80u, 1)) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      x[i] = exp_near(x[i], add(t[i], 16777213.0f), 8.0f, __float_as_uint(t[i]));
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

// Launch: grid = ceil(rows / 2); block = 32; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(32)
logsumexp(const bf16* x, long long x_row_stride, float* y, long long y_row_stride, long long rows, long long cols) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float guarded0, guarded1, guarded2, guarded3, guarded4, guarded5, guarded6, guarded7;
  const int whole = static_cast<int>(cols);
  const long long place = threadgroup * 2 + (group * 2 + (lane >> 4));
  const long long limit = ::min(place, rows - 1);
  const long long x_row = limit * x_row_stride;
  const long long y_row = limit * y_row_stride;
  const int bits = lane & 15;
  const long long place_2 = bits + 384;
  const bool is_below = bits + 384 < whole;
  const long long place_3 = bits + 400;
  const bool is_below_2 = bits + 400 < whole;
  const long long place_4 = bits + 416;
  const bool is_below_3 = bits + 416 < whole;
  const long long place_5 = bits + 432;
  const bool is_below_4 = bits + 432 < whole;
  const long long place_6 = bits + 448;
  const bool is_below_5 = bits + 448 < whole;
  const long long place_7 = bits + 464;
  const bool is_below_6 = bits + 464 < whole;
  const long long place_8 = bits + 480;
  const bool is_below_7 = bits + 480 < whole;
  const long long place_9 = bits + 496;
  const bool is_below_8 = bits + 496 < whole;

  // load the row
  const float x_value = from_bf16(x[x_row + bits]);
  const float x_value_2 = from_bf16(x[x_row + (bits + 16)]);
  const float x_value_3 = from_bf16(x[x_row + (bits + 32)]);
  const float x_value_4 = from_bf16(x[x_row + (bits + 48)]);
  const float x_value_5 = from_bf16(x[x_row + (bits + 64)]);
  const float x_value_6 = from_bf16(x[x_row + (bits + 80)]);
  const float x_value_7 = from_bf16(x[x_row + (bits + 96)]);
  const float x_value_8 = from_bf16(x[x_row + (bits + 112)]);
  const float x_value_9 = from_bf16(x[x_row + (bits + 128)]);
  const float x_value_10 = from_bf16(x[x_row + (bits + 144)]);
  const float x_value_11 = from_bf16(x[x_row + (bits + 160)]);
  const float x_value_12 = from_bf16(x[x_row + (bits + 176)]);
  const float x_value_13 = from_bf16(x[x_row + (bits + 192)]);
  const float x_value_14 = from_bf16(x[x_row + (bits + 208)]);
  const float x_value_15 = from_bf16(x[x_row + (bits + 224)]);
  const float x_value_16 = from_bf16(x[x_row + (bits + 240)]);
  const float x_value_17 = from_bf16(x[x_row + (bits + 256)]);
  const float x_value_18 = from_bf16(x[x_row + (bits + 272)]);
  const float x_value_19 = from_bf16(x[x_row + (bits + 288)]);
  const float x_value_20 = from_bf16(x[x_row + (bits + 304)]);
  const float x_value_21 = from_bf16(x[x_row + (bits + 320)]);
  const float x_value_22 = from_bf16(x[x_row + (bits + 336)]);
  const float x_value_23 = from_bf16(x[x_row + (bits + 352)]);
  const float x_value_24 = from_bf16(x[x_row + (bits + 368)]);
  guarded0 = 0.0f;
  if (is_below) {
    guarded0 = from_bf16(x[x_row + place_2]);
  }
  guarded1 = 0.0f;
  if (is_below_2) {
    guarded1 = from_bf16(x[x_row + place_3]);
  }
  guarded2 = 0.0f;
  if (is_below_3) {
    guarded2 = from_bf16(x[x_row + place_4]);
  }
  guarded3 = 0.0f;
  if (is_below_4) {
    guarded3 = from_bf16(x[x_row + place_5]);
  }
  guarded4 = 0.0f;
  if (is_below_5) {
    guarded4 = from_bf16(x[x_row + place_6]);
  }
  guarded5 = 0.0f;
  if (is_below_6) {
    guarded5 = from_bf16(x[x_row + place_7]);
  }
  guarded6 = 0.0f;
  if (is_below_7) {
    guarded6 = from_bf16(x[x_row + place_8]);
  }
  guarded7 = 0.0f;
  if (is_below_8) {
    guarded7 = from_bf16(x[x_row + place_9]);
  }

  // fold max
  const float larger = maximum(maximum(maximum(maximum(x_value, x_value_3), x_value_5), x_value_7), x_value_9);
  const float larger_2 = maximum(maximum(maximum(maximum(x_value_2, x_value_4), x_value_6), x_value_8), x_value_10);
  const float larger_3 = maximum(maximum(maximum(maximum(larger, x_value_11), x_value_13), x_value_15), x_value_17);
  const float larger_4 = maximum(maximum(maximum(maximum(larger_2, x_value_12), x_value_14), x_value_16), x_value_18);
  const float larger_5 = maximum(maximum(maximum(larger_3, x_value_19), x_value_21), x_value_23);
  const float larger_6 = maximum(maximum(maximum(larger_4, x_value_20), x_value_22), x_value_24);
  const float chosen = is_below ? maximum(larger_5, guarded0) : larger_5;
  const float chosen_2 = is_below_2 ? maximum(larger_6, guarded1) : larger_6;
  const float chosen_3 = is_below_3 ? maximum(chosen, guarded2) : chosen;
  const float chosen_4 = is_below_4 ? maximum(chosen_2, guarded3) : chosen_2;
  const float chosen_5 = is_below_5 ? maximum(chosen_3, guarded4) : chosen_3;
  const float chosen_6 = is_below_6 ? maximum(chosen_4, guarded5) : chosen_4;
  const float max = merge_max(is_below_7 ? maximum(chosen_5, guarded6) : chosen_5, is_below_8
      ? maximum(chosen_6, guarded7) : chosen_6);
  const float max_2 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 1));
  const float max_3 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 2));
  const float max_4 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 4));
  const float max_5 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 8));

  // fold sum
  float powers[16] = {sub(x_value, max_5), sub(x_value_2, max_5), sub(x_value_3, max_5), sub(x_value_4, max_5),
      sub(x_value_5, max_5), sub(x_value_6, max_5), sub(x_value_7, max_5), sub(x_value_8, max_5), sub(x_value_9, max_5),
      sub(x_value_10, max_5), sub(x_value_11, max_5), sub(x_value_12, max_5), sub(x_value_13, max_5),
      sub(x_value_14, max_5), sub(x_value_15, max_5), sub(x_value_16, max_5)};
  exp_nonpositive_each(powers);
  float powers_2[16] = {sub(x_value_17, max_5), sub(x_value_18, max_5), sub(x_value_19, max_5), sub(x_value_20, max_5),
      sub(x_value_21, max_5), sub(x_value_22, max_5), sub(x_value_23, max_5), sub(x_value_24, max_5),
      sub(guarded0, max_5), sub(guarded1, max_5), sub(guarded2, max_5), sub(guarded3, max_5), sub(guarded4, max_5),
      sub(guarded5, max_5), sub(guarded6, max_5), sub(guarded7, max_5)};
  exp_nonpositive_each(powers_2);
  const float sum = add(add(powers[0], powers[8]), powers_2[0]);
  const float sum_2 = add(add(powers[1], powers[9]), powers_2[1]);
  const float sum_3 = add(add(powers[2], powers[10]), powers_2[2]);
  const float sum_4 = add(add(powers[3], powers[11]), powers_2[3]);
  const float sum_5 = add(add(powers[4], powers[12]), powers_2[4]);
  const float sum_6 = add(add(powers[5], powers[13]), powers_2[5]);
  const float sum_7 = add(add(powers[6], powers[14]), powers_2[6]);
  const float sum_8 = add(add(powers[7], powers[15]), powers_2[7]);
  const float chosen_7 = is_below ? add(sum, powers_2[8]) : sum;
  const float chosen_8 = is_below_2 ? add(sum_2, powers_2[9]) : sum_2;
  const float chosen_9 = is_below_3 ? add(sum_3, powers_2[10]) : sum_3;
  const float chosen_10 = is_below_4 ? add(sum_4, powers_2[11]) : sum_4;
  const float chosen_11 = is_below_5 ? add(sum_5, powers_2[12]) : sum_5;
  const float chosen_12 = is_below_6 ? add(sum_6, powers_2[13]) : sum_6;
  const float chosen_13 = is_below_7 ? add(sum_7, powers_2[14]) : sum_7;
  const float chosen_14 = is_below_8 ? add(sum_8, powers_2[15]) : sum_8;
  const float sum_9 = merge_sum(by_bit(0, chosen_7, chosen_8), trade(0, chosen_7, chosen_8));
  const float sum_10 = merge_sum(by_bit(0, chosen_9, chosen_10), trade(0, chosen_9, chosen_10));
  const float sum_11 = merge_sum(by_bit(0, chosen_11, chosen_12), trade(0, chosen_11, chosen_12));
  const float sum_12 = merge_sum(by_bit(0, chosen_13, chosen_14), trade(0, chosen_13, chosen_14));
  const float sum_13 = merge_sum(by_bit(1, sum_9, sum_10), trade(1, sum_9, sum_10));
  const float sum_14 = merge_sum(by_bit(1, sum_11, sum_12), trade(1, sum_11, sum_12));
  const float sum_15 = merge_sum(by_bit(2, sum_13, sum_14), trade(2, sum_13, sum_14));
  const float sum_16 = merge_sum(sum_15, __shfl_xor_sync(0xffffffffu, sum_15, 8));
  const float sum_17 = merge_sum(sum_16, __shfl_xor_sync(0xffffffffu, sum_16, 1));
  const float sum_18 = merge_sum(sum_17, __shfl_xor_sync(0xffffffffu, sum_17, 2));
  const float sum_19 = merge_sum(sum_18, __shfl_xor_sync(0xffffffffu, sum_18, 4));
  const float chosen_15 = equal(abs(max_5), __uint_as_float(0x7f800000u)) ? max_5 : add(max_5, log(sum_19));
  const float result = canonical_nan(chosen_15);
  if (((lane & 15) == 0) & (place < rows)) {
    y[y_row] = result;
  }
}

}  // namespace lanefold_logsumexp
