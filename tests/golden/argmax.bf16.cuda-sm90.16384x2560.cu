namespace lanefold_argmax {

// Storage types, by their bits.
using bf16 = unsigned short;

// Arithmetic in PTX, rounded to nearest even and with subnormals: no compiler option, such as --use_fast_math or
// --fmad, changes it.
__device__ __forceinline__ float add(float a, float b) {
  float r;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
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
__device__ __forceinline__ bool not_equal(float a, float b) {
  int r;
  asm("{ .reg .pred p; setp.neu.f32 p, %1, %2; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a), "f"(b));
  return r != 0;
}

// Integers that wrap.
__device__ __forceinline__ int wrap_add(int a, int b) { return static_cast<int>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b)); }

// Storage types to f32 and back, to nearest even; every NaN becomes one.
__device__ __forceinline__ float bf16_low(unsigned int pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float bf16_high(unsigned int pair) { return __uint_as_float(pair & 0xffff0000u); }
__device__ __forceinline__ unsigned int maximum_pair(unsigned int a, unsigned int b) {
  unsigned int r;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}

// Both halves of words of two bf16 are compared: 0xffff in a half where it is so, else 0.
__device__ __forceinline__ unsigned int greater_pair(unsigned int a, unsigned int b) {
  unsigned int r;
#if __CUDA_ARCH__ >= 900
  asm("set.gt.u32.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
#else
  asm("{ .reg .b32 a, b, c, d; shl.b32 a, %1, 16; shl.b32 b, %2, 16; and.b32 c, %1, 0xffff0000; "
      "and.b32 d, %2, 0xffff0000; set.gt.u32.f32 a, a, b; set.gt.u32.f32 c, c, d; "
      "prmt.b32 %0, a, c, 0x7610; }" : "=r"(r) : "r"(a), "r"(b));
#endif
  return r;
}
__device__ __forceinline__ unsigned int equal_pair(unsigned int a, unsigned int b) {
  unsigned int r;
#if __CUDA_ARCH__ >= 900
  asm("set.eq.u32.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
#else
  asm("{ .reg .b32 a, b, c, d; shl.b32 a, %1, 16; shl.b32 b, %2, 16; and.b32 c, %1, 0xffff0000; "
      "and.b32 d, %2, 0xffff0000; set.eq.u32.f32 a, a, b; set.eq.u32.f32 c, c, d; "
      "prmt.b32 %0, a, c, 0x7610; }" : "=r"(r) : "r"(a), "r"(b));
#endif
  return r;
}
__device__ __forceinline__ unsigned int equal_or_nan_pair(unsigned int a, unsigned int b) {
  unsigned int r;
#if __CUDA_ARCH__ >= 900
  asm("set.equ.u32.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
#else
  asm("{ .reg .b32 a, b, c, d; shl.b32 a, %1, 16; shl.b32 b, %2, 16; and.b32 c, %1, 0xffff0000; "
      "and.b32 d, %2, 0xffff0000; set.equ.u32.f32 a, a, b; set.equ.u32.f32 c, c, d; "
      "prmt.b32 %0, a, c, 0x7610; }" : "=r"(r) : "r"(a), "r"(b));
#endif
  return r;
}
__device__ __forceinline__ unsigned int nan_pair(unsigned int a, unsigned int b) {
  unsigned int r;
#if __CUDA_ARCH__ >= 900
  asm("set.nan.u32.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
#else
  asm("{ .reg .b32 a, b, c, d; shl.b32 a, %1, 16; shl.b32 b, %2, 16; and.b32 c, %1, 0xffff0000; "
      "and.b32 d, %2, 0xffff0000; set.nan.u32.f32 a, a, b; set.nan.u32.f32 c, c, d; "
      "prmt.b32 %0, a, c, 0x7610; }" : "=r"(r) : "r"(a), "r"(b));
#endif
  return r;
}

// The same bits on a shorter way, which most arguments take.
// The steps over the low halves, and over the high halves, of the pairs, whose columns ascend: the leading pair, and its offsets.
template <int count>
__device__ __forceinline__ void argmax_of_pairs(const unsigned int (&pairs)[count], const unsigned int (&offsets)[count], unsigned int& leading, unsigned int& at) {
  leading = pairs[0];
  at = offsets[0];
#pragma unroll
  for (int i = 1; i < count; ++i) {
    const unsigned int takes = greater_pair(pairs[i], leading);
    at = offsets[i] & takes | at & ~takes;
    leading = maximum_pair(leading, pairs[i]);
  }
  // A NaN has stayed to the end, and a zero may have lost its sign: the first NaN leads, or the first of equals.
  if (__builtin_expect(equal_or_nan_pair(leading, 0) == 0, 1)) return;
  const unsigned int found = leading;
#pragma unroll
  for (int i = count - 1; i >= 0; --i) {
    const unsigned int takes = equal_pair(pairs[i], found) | nan_pair(pairs[i], pairs[i]);
    at = offsets[i] & takes | at & ~takes;
    leading = pairs[i] & takes | leading & ~takes;
  }
}

// Exchange between the lanes of a warp.
// The merge of all lanes: NaN comes first, then what leads as an integer, then the lowest column; of several lanes that have it, the first.
__device__ __forceinline__ void argmax_of_lanes(float& value, int& column) {
  // A sum is never -0, and its NaN is 0x7fffffff.
  const int bits = __float_as_int(add(value, 0.0f)), order = bits ^ (bits >> 31 & 0x7fffffff);
  const bool leads = order == __reduce_max_sync(0xffffffffu, order);
  const int lowest = __reduce_min_sync(0xffffffffu, leads ? column : 0x7fffffff);
  const unsigned int lanes = __ballot_sync(0xffffffffu, leads & column == lowest);
  value = __shfl_sync(0xffffffffu, value, __ffs(lanes) - 1);
  column = lowest;
}

struct merge_argmax_result {
  float v0;
  int v1;
};

__device__ __forceinline__ merge_argmax_result merge_argmax(float a0, int a1, float b0, int b1) {
  const bool differs = not_equal(b0, b0);
  const bool is_below = b1 < a1;
  const bool flag = not_equal(a0, a0) ? differs & is_below : (differs | greater(b0, a0)) | (equal(b0, a0) & is_below);
  return merge_argmax_result{flag ? b0 : a0, flag ? b1 : a1};
}

// Launch: grid = rows; block = 64; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(64)
argmax(const bf16* x, long long x_row_stride, int* y, long long y_row_stride, long long rows, long long cols) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  __shared__ __align__(16) float partial0[2];
  __shared__ __align__(16) int partial1[2];
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  const int whole = static_cast<int>(cols);
  const long long x_row = threadgroup * x_row_stride;
  const long long y_row = threadgroup * y_row_stride;
  const int index = (group << 9) + (lane << 3);
  const long long place = index + 256;
  const long long place_2 = index + 1024;
  const long long place_3 = index + 1280;
  const long long place_4 = index + 2048;
  const bool is_below = index + 2048 < whole;
  const long long place_5 = index + 2304;
  const bool is_below_2 = index + 2304 < whole;

  // load the row
  const long long place_6 = x_row + index;
  const uint4 x_values = *reinterpret_cast<const uint4*>(x + place_6);
  const long long place_7 = x_row + place;
  const uint4 x_values_2 = *reinterpret_cast<const uint4*>(x + place_7);
  const long long place_8 = x_row + place_2;
  const uint4 x_values_3 = *reinterpret_cast<const uint4*>(x + place_8);
  const long long place_9 = x_row + place_3;
  const uint4 x_values_4 = *reinterpret_cast<const uint4*>(x + place_9);
  uint4 x_guarded = {};
  if (is_below) {
    const long long place_10 = x_row + place_4;
    x_guarded = *reinterpret_cast<const uint4*>(x + place_10);
  }
  uint4 x_guarded_2 = {};
  if (is_below_2) {
    const long long place_10 = x_row + place_5;
    x_guarded_2 = *reinterpret_cast<const uint4*>(x + place_10);
  }

  // fold argmax
  const unsigned int pairs[24] = {x_values.x, x_values.y, x_values.z, x_values.w, x_values_2.x, x_values_2.y,
      x_values_2.z, x_values_2.w, x_values_3.x, x_values_3.y, x_values_3.z, x_values_3.w, x_values_4.x, x_values_4.y,
      x_values_4.z, x_values_4.w, is_below ? x_guarded.x : 0xff80ff80u, is_below ? x_guarded.y : 0xff80ff80u, is_below
      ? x_guarded.z : 0xff80ff80u, is_below ? x_guarded.w : 0xff80ff80u, is_below_2 ? x_guarded_2.x : 0xff80ff80u,
      is_below_2 ? x_guarded_2.y : 0xff80ff80u, is_below_2 ? x_guarded_2.z : 0xff80ff80u, is_below_2 ? x_guarded_2.w
      : 0xff80ff80u};
  const unsigned int offsets[24] = {0x10000u, 0x30002u, 0x50004u, 0x70006u, 0x1010100u, 0x1030102u, 0x1050104u,
      0x1070106u, 0x4010400u, 0x4030402u, 0x4050404u, 0x4070406u, 0x5010500u, 0x5030502u, 0x5050504u, 0x5070506u,
      0x8010800u, 0x8030802u, 0x8050804u, 0x8070806u, 0x9010900u, 0x9030902u, 0x9050904u, 0x9070906u};
  unsigned int leading, at;
  argmax_of_pairs(pairs, offsets, leading, at);
  const merge_argmax_result argmax_2 = merge_argmax(bf16_low(leading), wrap_add(index, at & 0xffffu),
      bf16_high(leading), wrap_add(index, at >> 16));
  float leading_value = argmax_2.v0;
  int leading_index = argmax_2.v1;
  argmax_of_lanes(leading_value, leading_index);
  if (lane == 0) {
    partial0[group] = leading_value;
    partial1[group] = leading_index;
  }
  __syncthreads();
  const merge_argmax_result argmax_3 = merge_argmax(partial0[0], partial1[0], partial0[1], partial1[1]);
  if (((lane & 31) == 0) & (group == 0)) {
    y[y_row] = argmax_3.v1;
  }
}

}  // namespace lanefold_argmax
