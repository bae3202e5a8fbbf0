namespace lanefold_softmax {

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

// Integers that wrap.
__device__ __forceinline__ int wrap_shift(int a, int bits) { return static_cast<int>(static_cast<unsigned int>(a) << bits); }

// Storage types to f32 and back, to nearest even; every NaN becomes one.
__device__ __forceinline__ float from_bf16(bf16 bits) { return __uint_as_float(static_cast<unsigned int>(bits) << 16); }
// Rounded in the upper half; the lower half means nothing.
__device__ __forceinline__ unsigned int round_to_bf16(float a) {
  const unsigned int bits = __float_as_uint(a);
  return is_nan(a) ? 0x7fc00000u : bits + 0x7fffu + (bits >> 16 & 1u);
}
__device__ __forceinline__ bf16 to_bf16(float a) { return static_cast<bf16>(round_to_bf16(a) >> 16); }

__device__ __forceinline__ float merge_max(float a, float b) { return maximum(a, b); }

__device__ __forceinline__ float merge_sum(float a, float b) { return add(a, b); }

__device__ __forceinline__ float exp_nonpositive(float x) {
  const float chosen = less(x, -104.0f) ? -104.0f : x;
  const float term = fma(chosen, 1.442695f, 12583103.0f);
  const float difference = sub(term, 12583103.0f);
  const float term_2 = fma(difference, -1.4286068e-06f, fma(difference, -0.69314575f, chosen));
  const float term_3 = fma(fma(fma(0.0013814598f, term_2, 0.008368718f), term_2, 0.04166839f), term_2, 0.16666521f);
  const float product = mul(fma(fma(fma(term_3, term_2, 0.49999994f), term_2, 1.0f), term_2, 1.0f),
      __int_as_float(wrap_shift(__float_as_int(term), 23)));
  return mul(product, 5.421011e-20f);
}

// Launch: grid = ceil(rows / 2); block = 32; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(32)
softmax(const bf16* x, long long x_row_stride, bf16* y, long long y_row_stride, long long rows, long long cols) {
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float tile0[8];
  float max1[2];
  float guarded2, guarded3, guarded4, guarded5, guarded6, guarded7, guarded8, guarded9;
  float sum10[2];
  float guarded11, guarded12, guarded13, guarded14, guarded15, guarded16, guarded17, guarded18;
  const long long place = threadgroup * 2 + (group * 2 + (lane >> 4));
  const bool is_below = place < rows;
  const long long limit = ::min(place, rows - 1);
  const long long x_row = limit * x_row_stride;
  const long long y_row = limit * y_row_stride;
  const int first = (lane & 15) << 1;

  // fold max
  max1[0] = __uint_as_float(0xff800000u);
  max1[1] = __uint_as_float(0xff800000u);
  const int whole = static_cast<int>(::min(::max(cols, -2147483648LL), 2147483647LL));
  const bool is_below_2 = first < whole;
  const long long place_2 = 1 + first;
  const bool is_below_3 = first + 1 < whole;
  guarded2 = 0.0f;
  if (is_below_2) {
    guarded2 = from_bf16(x[x_row + first]);
  }
  const float larger = maximum(max1[0], guarded2);
  if (is_below_2) {
    max1[0] = larger;
  }
  guarded3 = 0.0f;
  if (is_below_3) {
    guarded3 = from_bf16(x[x_row + place_2]);
  }
  const float larger_2 = maximum(max1[1], guarded3);
  if (is_below_3) {
    max1[1] = larger_2;
  }
  const int whole_2 = static_cast<int>(::min(::max(cols - 32, -2147483648LL), 2147483647LL));
  const long long place_3 = 32 + first;
  const bool is_below_4 = first < whole_2;
  const long long place_4 = 33 + first;
  const bool is_below_5 = first + 1 < whole_2;
  guarded4 = 0.0f;
  if (is_below_4) {
    guarded4 = from_bf16(x[x_row + place_3]);
  }
  const float larger_3 = maximum(max1[0], guarded4);
  if (is_below_4) {
    max1[0] = larger_3;
  }
  guarded5 = 0.0f;
  if (is_below_5) {
    guarded5 = from_bf16(x[x_row + place_4]);
  }
  const float larger_4 = maximum(max1[1], guarded5);
  if (is_below_5) {
    max1[1] = larger_4;
  }
  const int whole_3 = static_cast<int>(::min(::max(cols - 64, -2147483648LL), 2147483647LL));
  const long long place_5 = 64 + first;
  const bool is_below_6 = first < whole_3;
  const long long place_6 = 65 + first;
  const bool is_below_7 = first + 1 < whole_3;
  guarded6 = 0.0f;
  if (is_below_6) {
    guarded6 = from_bf16(x[x_row + place_5]);
  }
  const float larger_5 = maximum(max1[0], guarded6);
  if (is_below_6) {
    max1[0] = larger_5;
  }
  guarded7 = 0.0f;
  if (is_below_7) {
    guarded7 = from_bf16(x[x_row + place_6]);
  }
  const float larger_6 = maximum(max1[1], guarded7);
  if (is_below_7) {
    max1[1] = larger_6;
  }
  const int whole_4 = static_cast<int>(::min(::max(cols - 96, -2147483648LL), 2147483647LL));
  const long long place_7 = 96 + first;
  const bool is_below_8 = first < whole_4;
  const long long place_8 = 97 + first;
  const bool is_below_9 = first + 1 < whole_4;
  guarded8 = 0.0f;
  if (is_below_8) {
    guarded8 = from_bf16(x[x_row + place_7]);
  }
  const float larger_7 = maximum(max1[0], guarded8);
  if (is_below_8) {
    max1[0] = larger_7;
  }
  guarded9 = 0.0f;
  if (is_below_9) {
    guarded9 = from_bf16(x[x_row + place_8]);
  }
  const float larger_8 = maximum(max1[1], guarded9);
  if (is_below_9) {
    max1[1] = larger_8;
  }
  const float max = merge_max(max1[0], max1[1]);
  const float max_2 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 1));
  const float max_3 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 2));
  const float max_4 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 4));
  const float max_5 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 8));

  // fold sum
  sum10[0] = -0.0f;
  sum10[1] = -0.0f;
  const int whole_5 = static_cast<int>(::min(::max(cols, -2147483648LL), 2147483647LL));
  const bool is_below_10 = first < whole_5;
  const long long place_9 = 1 + first;
  const bool is_below_11 = first + 1 < whole_5;
  guarded11 = 0.0f;
  if (is_below_10) {
    guarded11 = from_bf16(x[x_row + first]);
  }
  const float exp_nonpositive_value = exp_nonpositive(sub(guarded11, max_5));
  tile0[0] = exp_nonpositive_value;
  const float sum = add(sum10[0], exp_nonpositive_value);
  if (is_below_10) {
    sum10[0] = sum;
  }
  guarded12 = 0.0f;
  if (is_below_11) {
    guarded12 = from_bf16(x[x_row + place_9]);
  }
  const float exp_nonpositive_value_2 = exp_nonpositive(sub(guarded12, max_5));
  tile0[1] = exp_nonpositive_value_2;
  const float sum_2 = add(sum10[1], exp_nonpositive_value_2);
  if (is_below_11) {
    sum10[1] = sum_2;
  }
  const int whole_6 = static_cast<int>(::min(::max(cols - 32, -2147483648LL), 2147483647LL));
  const long long place_10 = 32 + first;
  const bool is_below_12 = first < whole_6;
  const long long place_11 = 33 + first;
  const bool is_below_13 = first + 1 < whole_6;
  guarded13 = 0.0f;
  if (is_below_12) {
    guarded13 = from_bf16(x[x_row + place_10]);
  }
  const float exp_nonpositive_value_3 = exp_nonpositive(sub(guarded13, max_5));
  tile0[2] = exp_nonpositive_value_3;
  const float sum_3 = add(sum10[0], exp_nonpositive_value_3);
  if (is_below_12) {
    sum10[0] = sum_3;
  }
  guarded14 = 0.0f;
  if (is_below_13) {
    guarded14 = from_bf16(x[x_row + place_11]);
  }
  const float exp_nonpositive_value_4 = exp_nonpositive(sub(guarded14, max_5));
  tile0[3] = exp_nonpositive_value_4;
  const float sum_4 = add(sum10[1], exp_nonpositive_value_4);
  if (is_below_13) {
    sum10[1] = sum_4;
  }
  const int whole_7 = static_cast<int>(::min(::max(cols - 64, -2147483648LL), 2147483647LL));
  const long long place_12 = 64 + first;
  const bool is_below_14 = first < whole_7;
  const long long place_13 = 65 + first;
  const bool is_below_15 = first + 1 < whole_7;
  guarded15 = 0.0f;
  if (is_below_14) {
    guarded15 = from_bf16(x[x_row + place_12]);
  }
  const float exp_nonpositive_value_5 = exp_nonpositive(sub(guarded15, max_5));
  tile0[4] = exp_nonpositive_value_5;
  const float sum_5 = add(sum10[0], exp_nonpositive_value_5);
  if (is_below_14) {
    sum10[0] = sum_5;
  }
  guarded16 = 0.0f;
  if (is_below_15) {
    guarded16 = from_bf16(x[x_row + place_13]);
  }
  const float exp_nonpositive_value_6 = exp_nonpositive(sub(guarded16, max_5));
  tile0[5] = exp_nonpositive_value_6;
  const float sum_6 = add(sum10[1], exp_nonpositive_value_6);
  if (is_below_15) {
    sum10[1] = sum_6;
  }
  const int whole_8 = static_cast<int>(::min(::max(cols - 96, -2147483648LL), 2147483647LL));
  const long long place_14 = 96 + first;
  const bool is_below_16 = first < whole_8;
  const long long place_15 = 97 + first;
  const bool is_below_17 = first + 1 < whole_8;
  guarded17 = 0.0f;
  if (is_below_16) {
    guarded17 = from_bf16(x[x_row + place_14]);
  }
  const float exp_nonpositive_value_7 = exp_nonpositive(sub(guarded17, max_5));
  tile0[6] = exp_nonpositive_value_7;
  const float sum_7 = add(sum10[0], exp_nonpositive_value_7);
  if (is_below_16) {
    sum10[0] = sum_7;
  }
  guarded18 = 0.0f;
  if (is_below_17) {
    guarded18 = from_bf16(x[x_row + place_15]);
  }
  const float exp_nonpositive_value_8 = exp_nonpositive(sub(guarded18, max_5));
  tile0[7] = exp_nonpositive_value_8;
  const float sum_8 = add(sum10[1], exp_nonpositive_value_8);
  if (is_below_17) {
    sum10[1] = sum_8;
  }
  const float sum_9 = merge_sum(sum10[0], sum10[1]);
  const float sum_10 = merge_sum(sum_9, __shfl_xor_sync(0xffffffffu, sum_9, 1));
  const float sum_11 = merge_sum(sum_10, __shfl_xor_sync(0xffffffffu, sum_10, 2));
  const float sum_12 = merge_sum(sum_11, __shfl_xor_sync(0xffffffffu, sum_11, 4));
  const float sum_13 = merge_sum(sum_12, __shfl_xor_sync(0xffffffffu, sum_12, 8));
  const float quotient = div(1.0f, sum_13);

  // store
  const int whole_9 = static_cast<int>(::min(::max(cols, -2147483648LL), 2147483647LL));
  const long long place_16 = 1 + first;
  const float product = mul(tile0[0], quotient);
  const float product_2 = mul(tile0[1], quotient);
  if (first < whole_9 && is_below) {
    y[y_row + first] = to_bf16(product);
  }
  if (first + 1 < whole_9 && is_below) {
    y[y_row + place_16] = to_bf16(product_2);
  }
  const int whole_10 = static_cast<int>(::min(::max(cols - 32, -2147483648LL), 2147483647LL));
  const long long place_17 = 32 + first;
  const long long place_18 = 33 + first;
  const float product_3 = mul(tile0[2], quotient);
  const float product_4 = mul(tile0[3], quotient);
  if (first < whole_10 && is_below) {
    y[y_row + place_17] = to_bf16(product_3);
  }
  if (first + 1 < whole_10 && is_below) {
    y[y_row + place_18] = to_bf16(product_4);
  }
  const int whole_11 = static_cast<int>(::min(::max(cols - 64, -2147483648LL), 2147483647LL));
  const long long place_19 = 64 + first;
  const long long place_20 = 65 + first;
  const float product_5 = mul(tile0[4], quotient);
  const float product_6 = mul(tile0[5], quotient);
  if (first < whole_11 && is_below) {
    y[y_row + place_19] = to_bf16(product_5);
  }
  if (first + 1 < whole_11 && is_below) {
    y[y_row + place_20] = to_bf16(product_6);
  }
  const int whole_12 = static_cast<int>(::min(::max(cols - 96, -2147483648LL), 2147483647LL));
  const long long place_21 = 96 + first;
  const long long place_22 = 97 + first;
  const float product_7 = mul(tile0[6], quotient);
  const float product_8 = mul(tile0[7], quotient);
  if (first < whole_12 && is_below) {
    y[y_row + place_21] = to_bf16(product_7);
  }
  if (first + 1 < whole_12 && is_below) {
    y[y_row + place_22] = to_bf16(product_8);
  }
}

}  // namespace lanefold_softmax
