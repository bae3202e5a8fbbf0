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

// Launch: grid = ceil(rows / 16); block = 256; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(256)
softmax(const bf16* x, long long x_row_stride, bf16* y, long long y_row_stride, long long rows, long long cols) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float guarded0, guarded1;
  const int whole = static_cast<int>(cols);
  const long long place = threadgroup * 16 + (group * 2 + (lane >> 4));
  const bool is_below = place < rows;
  const long long limit = ::min(place, rows - 1);
  const long long x_row = limit * x_row_stride;
  const long long y_row = limit * y_row_stride;
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

  // fold max
  const float larger = maximum(maximum(x_value, x_value_3), x_value_5);
  const float larger_2 = maximum(maximum(x_value_2, x_value_4), x_value_6);
  const float max = merge_max(is_below_2 ? maximum(larger, guarded0) : larger, is_below_3 ? maximum(larger_2, guarded1)
      : larger_2);
  const float max_2 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 1));
  const float max_3 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 2));
  const float max_4 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 4));
  const float max_5 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 8));

  // fold sum
  const float exp_nonpositive_value = exp_nonpositive(sub(x_value, max_5));
  const float exp_nonpositive_value_2 = exp_nonpositive(sub(x_value_2, max_5));
  const float exp_nonpositive_value_3 = exp_nonpositive(sub(x_value_3, max_5));
  const float exp_nonpositive_value_4 = exp_nonpositive(sub(x_value_4, max_5));
  const float exp_nonpositive_value_5 = exp_nonpositive(sub(x_value_5, max_5));
  const float exp_nonpositive_value_6 = exp_nonpositive(sub(x_value_6, max_5));
  const float exp_nonpositive_value_7 = exp_nonpositive(sub(guarded0, max_5));
  const float exp_nonpositive_value_8 = exp_nonpositive(sub(guarded1, max_5));
  const float sum = add(add(exp_nonpositive_value, exp_nonpositive_value_3), exp_nonpositive_value_5);
  const float sum_2 = add(add(exp_nonpositive_value_2, exp_nonpositive_value_4), exp_nonpositive_value_6);
  const float chosen = is_below_2 ? add(sum, exp_nonpositive_value_7) : sum;
  const float chosen_2 = is_below_3 ? add(sum_2, exp_nonpositive_value_8) : sum_2;
  const float sum_3 = merge_sum(by_bit(0, chosen, chosen_2), trade(0, chosen, chosen_2));
  const float sum_4 = merge_sum(sum_3, __shfl_xor_sync(0xffffffffu, sum_3, 2));
  const float sum_5 = merge_sum(sum_4, __shfl_xor_sync(0xffffffffu, sum_4, 4));
  const float sum_6 = merge_sum(sum_5, __shfl_xor_sync(0xffffffffu, sum_5, 8));
  const float sum_7 = merge_sum(sum_6, __shfl_xor_sync(0xffffffffu, sum_6, 1));
  const float quotient = div(1.0f, sum_7);

  // store
  const float product = mul(exp_nonpositive_value, quotient);
  const float product_2 = mul(exp_nonpositive_value_2, quotient);
  if (is_below) {
    y[y_row + bits] = to_bf16(product);
  }
  if (is_below) {
    y[y_row + place_2] = to_bf16(product_2);
  }
  const float product_3 = mul(exp_nonpositive_value_3, quotient);
  const float product_4 = mul(exp_nonpositive_value_4, quotient);
  if (is_below) {
    y[y_row + place_3] = to_bf16(product_3);
  }
  if (is_below) {
    y[y_row + place_4] = to_bf16(product_4);
  }
  const float product_5 = mul(exp_nonpositive_value_5, quotient);
  const float product_6 = mul(exp_nonpositive_value_6, quotient);
  if (is_below) {
    y[y_row + place_5] = to_bf16(product_5);
  }
  if (is_below) {
    y[y_row + place_6] = to_bf16(product_6);
  }
  const float product_7 = mul(exp_nonpositive_value_7, quotient);
  const float product_8 = mul(exp_nonpositive_value_8, quotient);
  if (is_below_2 & is_below) {
    y[y_row + place_7] = to_bf16(product_7);
  }
  if (is_below_3 & is_below) {
    y[y_row + place_8] = to_bf16(product_8);
  }
}

}  // namespace lanefold_softmax
