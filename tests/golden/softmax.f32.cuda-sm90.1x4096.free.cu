namespace lanefold_softmax {

// Arithmetic in PTX, rounded to nearest even and with subnormals: no compiler option, such as --use_fast_math or
// --fmad, changes it.
__device__ __forceinline__ float maximum(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}

// What the device has, not rounded as IEEE 754 says.
// Results below 2^-126 become 0, which saves the scaling that __expf takes for them.
__device__ __forceinline__ float fast_exp(float a) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a * 1.44269504f));
  return r;
}

__device__ __forceinline__ float merge_max(float a, float b) { return maximum(a, b); }

__device__ __forceinline__ float merge_sum(float a, float b) { return a + b; }

// Launch: grid = rows; block = 512; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(512)
softmax(const float* x, long long x_row_stride, float* y, long long y_row_stride, long long rows, long long cols) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  __shared__ __align__(16) float partial0[16];
  __shared__ __align__(16) float partial1[16];
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float guarded0;
  const long long x_row = threadgroup * x_row_stride;
  const long long y_row = threadgroup * y_row_stride;
  const int index = (group << 5) + lane;
  const long long place = index + 512;
  const long long place_2 = index + 1024;
  const long long place_3 = index + 1536;
  const long long place_4 = index + 2048;
  const long long place_5 = index + 2560;
  const long long place_6 = index + 3072;
  const long long place_7 = index + 3584;
  const bool is_below = index + 3584 < static_cast<int>(cols);

  // load the row
  const float x_value = x[x_row + index];
  const float x_value_2 = x[x_row + place];
  const float x_value_3 = x[x_row + place_2];
  const float x_value_4 = x[x_row + place_3];
  const float x_value_5 = x[x_row + place_4];
  const float x_value_6 = x[x_row + place_5];
  const float x_value_7 = x[x_row + place_6];
  guarded0 = 0.0f;
  if (is_below) {
    guarded0 = x[x_row + place_7];
  }

  // fold max
  const float larger = maximum(maximum(maximum(maximum(x_value, x_value_2), x_value_3), x_value_4), x_value_5);
  const float larger_2 = maximum(maximum(larger, x_value_6), x_value_7);
  const float chosen = is_below ? maximum(larger_2, guarded0) : larger_2;
  const float max = merge_max(chosen, __shfl_xor_sync(0xffffffffu, chosen, 1));
  const float max_2 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 2));
  const float max_3 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 4));
  const float max_4 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 8));
  const float max_5 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 16));
  if (lane == 0) {
    partial0[group] = max_5;
  }
  __syncthreads();
  const int first = (lane & 1) << 3;
  const float max_6 = merge_max(merge_max(partial0[first], partial0[first + 1]),
      merge_max(partial0[first + 2], partial0[first + 3]));
  const float max_7 = merge_max(merge_max(partial0[first + 4], partial0[first + 5]),
      merge_max(partial0[first + 6], partial0[first + 7]));
  const float max_8 = merge_max(max_6, max_7);
  const float max_9 = merge_max(max_8, __shfl_xor_sync(0xffffffffu, max_8, 1));

  // fold sum
  const float exp_nonpositive_value = fast_exp(x_value - max_9);
  const float exp_nonpositive_value_2 = fast_exp(x_value_2 - max_9);
  const float exp_nonpositive_value_3 = fast_exp(x_value_3 - max_9);
  const float sum = exp_nonpositive_value + exp_nonpositive_value_2 + exp_nonpositive_value_3;
  const float exp_nonpositive_value_4 = fast_exp(x_value_4 - max_9);
  const float exp_nonpositive_value_5 = fast_exp(x_value_5 - max_9);
  const float exp_nonpositive_value_6 = fast_exp(x_value_6 - max_9);
  const float sum_2 = sum + exp_nonpositive_value_4 + exp_nonpositive_value_5 + exp_nonpositive_value_6;
  const float exp_nonpositive_value_7 = fast_exp(x_value_7 - max_9);
  const float sum_3 = sum_2 + exp_nonpositive_value_7;
  const float exp_nonpositive_value_8 = fast_exp(guarded0 - max_9);
  const float chosen_2 = is_below ? sum_3 + exp_nonpositive_value_8 : sum_3;
  const float sum_4 = merge_sum(chosen_2, __shfl_xor_sync(0xffffffffu, chosen_2, 1));
  const float sum_5 = merge_sum(sum_4, __shfl_xor_sync(0xffffffffu, sum_4, 2));
  const float sum_6 = merge_sum(sum_5, __shfl_xor_sync(0xffffffffu, sum_5, 4));
  const float sum_7 = merge_sum(sum_6, __shfl_xor_sync(0xffffffffu, sum_6, 8));
  const float sum_8 = merge_sum(sum_7, __shfl_xor_sync(0xffffffffu, sum_7, 16));
  if (lane == 0) {
    partial1[group] = sum_8;
  }
  __syncthreads();
  const int first_2 = (lane & 1) << 3;
  const float sum_9 = merge_sum(merge_sum(partial1[first_2], partial1[first_2 + 1]),
      merge_sum(partial1[first_2 + 2], partial1[first_2 + 3]));
  const float sum_10 = merge_sum(merge_sum(partial1[first_2 + 4], partial1[first_2 + 5]),
      merge_sum(partial1[first_2 + 6], partial1[first_2 + 7]));
  const float sum_11 = merge_sum(sum_9, sum_10);
  const float sum_12 = merge_sum(sum_11, __shfl_xor_sync(0xffffffffu, sum_11, 1));
  const float quotient = 1.0f / sum_12;

  // store
  y[y_row + index] = exp_nonpositive_value * quotient;
  y[y_row + place] = exp_nonpositive_value_2 * quotient;
  y[y_row + place_2] = exp_nonpositive_value_3 * quotient;
  y[y_row + place_3] = exp_nonpositive_value_4 * quotient;
  y[y_row + place_4] = exp_nonpositive_value_5 * quotient;
  y[y_row + place_5] = exp_nonpositive_value_6 * quotient;
  y[y_row + place_6] = exp_nonpositive_value_7 * quotient;
  const float product = exp_nonpositive_value_8 * quotient;
  if (is_below) {
    y[y_row + place_7] = product;
  }
}

}  // namespace lanefold_softmax
