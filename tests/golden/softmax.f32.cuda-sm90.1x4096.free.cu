namespace lanefold_softmax {

// Arithmetic in PTX, rounded to nearest even and with subnormals: no compiler option, such as --use_fast_math or
// --fmad, changes it.
__device__ __forceinline__ float maximum(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}

__device__ __forceinline__ float merge_max(float a, float b) { return maximum(a, b); }

__device__ __forceinline__ float merge_sum(float a, float b) { return a + b; }

// Launch: grid = rows; block = 512; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(512)
softmax(const float* x, long long x_row_stride, float* y, long long y_row_stride, long long rows, long long cols) {
  __shared__ __align__(16) float partial0[16];
  __shared__ __align__(16) float partial1[16];
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float tile0[8];
  float max1[4];
  float guarded2, guarded3, guarded4, guarded5, guarded6, guarded7, guarded8, guarded9;
  float sum10[4];
  float guarded11, guarded12, guarded13, guarded14, guarded15, guarded16, guarded17, guarded18;
  const long long x_row = threadgroup * x_row_stride;
  const long long y_row = threadgroup * y_row_stride;
  const int first = lane << 2;

  // fold max
  max1[0] = __uint_as_float(0xff800000u);
  max1[1] = __uint_as_float(0xff800000u);
  max1[2] = __uint_as_float(0xff800000u);
  max1[3] = __uint_as_float(0xff800000u);
  const long long wide = group << 7;
  const int whole = static_cast<int>(::min(::max(cols - wide, -2147483648LL), 2147483647LL));
  const long long place = wide + first;
  const bool is_below = first < whole;
  const long long place_2 = wide + 1 + first;
  const bool is_below_2 = first + 1 < whole;
  const long long place_3 = wide + 2 + first;
  const bool is_below_3 = first + 2 < whole;
  const long long place_4 = wide + 3 + first;
  const bool is_below_4 = first + 3 < whole;
  guarded2 = 0.0f;
  if (is_below) {
    guarded2 = x[x_row + place];
  }
  const float larger = maximum(max1[0], guarded2);
  if (is_below) {
    max1[0] = larger;
  }
  guarded3 = 0.0f;
  if (is_below_2) {
    guarded3 = x[x_row + place_2];
  }
  const float larger_2 = maximum(max1[1], guarded3);
  if (is_below_2) {
    max1[1] = larger_2;
  }
  guarded4 = 0.0f;
  if (is_below_3) {
    guarded4 = x[x_row + place_3];
  }
  const float larger_3 = maximum(max1[2], guarded4);
  if (is_below_3) {
    max1[2] = larger_3;
  }
  guarded5 = 0.0f;
  if (is_below_4) {
    guarded5 = x[x_row + place_4];
  }
  const float larger_4 = maximum(max1[3], guarded5);
  if (is_below_4) {
    max1[3] = larger_4;
  }
  const long long place_5 = wide + 2048;
  const int whole_2 = static_cast<int>(::min(::max(cols - place_5, -2147483648LL), 2147483647LL));
  const long long place_6 = place_5 + first;
  const bool is_below_5 = first < whole_2;
  const long long place_7 = place_5 + 1 + first;
  const bool is_below_6 = first + 1 < whole_2;
  const long long place_8 = place_5 + 2 + first;
  const bool is_below_7 = first + 2 < whole_2;
  const long long place_9 = place_5 + 3 + first;
  const bool is_below_8 = first + 3 < whole_2;
  guarded6 = 0.0f;
  if (is_below_5) {
    guarded6 = x[x_row + place_6];
  }
  const float larger_5 = maximum(max1[0], guarded6);
  if (is_below_5) {
    max1[0] = larger_5;
  }
  guarded7 = 0.0f;
  if (is_below_6) {
    guarded7 = x[x_row + place_7];
  }
  const float larger_6 = maximum(max1[1], guarded7);
  if (is_below_6) {
    max1[1] = larger_6;
  }
  guarded8 = 0.0f;
  if (is_below_7) {
    guarded8 = x[x_row + place_8];
  }
  const float larger_7 = maximum(max1[2], guarded8);
  if (is_below_7) {
    max1[2] = larger_7;
  }
  guarded9 = 0.0f;
  if (is_below_8) {
    guarded9 = x[x_row + place_9];
  }
  const float larger_8 = maximum(max1[3], guarded9);
  if (is_below_8) {
    max1[3] = larger_8;
  }
  const float max = merge_max(merge_max(max1[0], max1[1]), merge_max(max1[2], max1[3]));
  const float max_2 = merge_max(max, __shfl_xor_sync(0xffffffffu, max, 1));
  const float max_3 = merge_max(max_2, __shfl_xor_sync(0xffffffffu, max_2, 2));
  const float max_4 = merge_max(max_3, __shfl_xor_sync(0xffffffffu, max_3, 4));
  const float max_5 = merge_max(max_4, __shfl_xor_sync(0xffffffffu, max_4, 8));
  const float max_6 = merge_max(max_5, __shfl_xor_sync(0xffffffffu, max_5, 16));
  const float received = __shfl_sync(0xffffffffu, max_6, 0);
  if (lane == 0) {
    partial0[group] = received;
  }
  __syncthreads();
  const float partial0_value = partial0[lane & 15];
  const float max_7 = merge_max(partial0_value, __shfl_xor_sync(0xffffffffu, partial0_value, 1));
  const float max_8 = merge_max(max_7, __shfl_xor_sync(0xffffffffu, max_7, 2));
  const float max_9 = merge_max(max_8, __shfl_xor_sync(0xffffffffu, max_8, 4));
  const float max_10 = merge_max(max_9, __shfl_xor_sync(0xffffffffu, max_9, 8));
  const float received_2 = __shfl_sync(0xffffffffu, max_10, 0);

  // fold sum
  sum10[0] = -0.0f;
  sum10[1] = -0.0f;
  sum10[2] = -0.0f;
  sum10[3] = -0.0f;
  const long long wide_2 = group << 7;
  const int whole_3 = static_cast<int>(::min(::max(cols - wide_2, -2147483648LL), 2147483647LL));
  const long long place_10 = wide_2 + first;
  const bool is_below_9 = first < whole_3;
  const long long place_11 = wide_2 + 1 + first;
  const bool is_below_10 = first + 1 < whole_3;
  const long long place_12 = wide_2 + 2 + first;
  const bool is_below_11 = first + 2 < whole_3;
  const long long place_13 = wide_2 + 3 + first;
  const bool is_below_12 = first + 3 < whole_3;
  guarded11 = 0.0f;
  if (is_below_9) {
    guarded11 = x[x_row + place_10];
  }
  const float exp_nonpositive_value = __expf(guarded11 - received_2);
  tile0[0] = exp_nonpositive_value;
  const float sum = sum10[0] + exp_nonpositive_value;
  if (is_below_9) {
    sum10[0] = sum;
  }
  guarded12 = 0.0f;
  if (is_below_10) {
    guarded12 = x[x_row + place_11];
  }
  const float exp_nonpositive_value_2 = __expf(guarded12 - received_2);
  tile0[1] = exp_nonpositive_value_2;
  const float sum_2 = sum10[1] + exp_nonpositive_value_2;
  if (is_below_10) {
    sum10[1] = sum_2;
  }
  guarded13 = 0.0f;
  if (is_below_11) {
    guarded13 = x[x_row + place_12];
  }
  const float exp_nonpositive_value_3 = __expf(guarded13 - received_2);
  tile0[2] = exp_nonpositive_value_3;
  const float sum_3 = sum10[2] + exp_nonpositive_value_3;
  if (is_below_11) {
    sum10[2] = sum_3;
  }
  guarded14 = 0.0f;
  if (is_below_12) {
    guarded14 = x[x_row + place_13];
  }
  const float exp_nonpositive_value_4 = __expf(guarded14 - received_2);
  tile0[3] = exp_nonpositive_value_4;
  const float sum_4 = sum10[3] + exp_nonpositive_value_4;
  if (is_below_12) {
    sum10[3] = sum_4;
  }
  const long long place_14 = wide_2 + 2048;
  const int whole_4 = static_cast<int>(::min(::max(cols - place_14, -2147483648LL), 2147483647LL));
  const long long place_15 = place_14 + first;
  const bool is_below_13 = first < whole_4;
  const long long place_16 = place_14 + 1 + first;
  const bool is_below_14 = first + 1 < whole_4;
  const long long place_17 = place_14 + 2 + first;
  const bool is_below_15 = first + 2 < whole_4;
  const long long place_18 = place_14 + 3 + first;
  const bool is_below_16 = first + 3 < whole_4;
  guarded15 = 0.0f;
  if (is_below_13) {
    guarded15 = x[x_row + place_15];
  }
  const float exp_nonpositive_value_5 = __expf(guarded15 - received_2);
  tile0[4] = exp_nonpositive_value_5;
  const float sum_5 = sum10[0] + exp_nonpositive_value_5;
  if (is_below_13) {
    sum10[0] = sum_5;
  }
  guarded16 = 0.0f;
  if (is_below_14) {
    guarded16 = x[x_row + place_16];
  }
  const float exp_nonpositive_value_6 = __expf(guarded16 - received_2);
  tile0[5] = exp_nonpositive_value_6;
  const float sum_6 = sum10[1] + exp_nonpositive_value_6;
  if (is_below_14) {
    sum10[1] = sum_6;
  }
  guarded17 = 0.0f;
  if (is_below_15) {
    guarded17 = x[x_row + place_17];
  }
  const float exp_nonpositive_value_7 = __expf(guarded17 - received_2);
  tile0[6] = exp_nonpositive_value_7;
  const float sum_7 = sum10[2] + exp_nonpositive_value_7;
  if (is_below_15) {
    sum10[2] = sum_7;
  }
  guarded18 = 0.0f;
  if (is_below_16) {
    guarded18 = x[x_row + place_18];
  }
  const float exp_nonpositive_value_8 = __expf(guarded18 - received_2);
  tile0[7] = exp_nonpositive_value_8;
  const float sum_8 = sum10[3] + exp_nonpositive_value_8;
  if (is_below_16) {
    sum10[3] = sum_8;
  }
  const float sum_9 = merge_sum(merge_sum(sum10[0], sum10[1]), merge_sum(sum10[2], sum10[3]));
  const float sum_10 = merge_sum(sum_9, __shfl_xor_sync(0xffffffffu, sum_9, 1));
  const float sum_11 = merge_sum(sum_10, __shfl_xor_sync(0xffffffffu, sum_10, 2));
  const float sum_12 = merge_sum(sum_11, __shfl_xor_sync(0xffffffffu, sum_11, 4));
  const float sum_13 = merge_sum(sum_12, __shfl_xor_sync(0xffffffffu, sum_12, 8));
  const float sum_14 = merge_sum(sum_13, __shfl_xor_sync(0xffffffffu, sum_13, 16));
  const float received_3 = __shfl_sync(0xffffffffu, sum_14, 0);
  if (lane == 0) {
    partial1[group] = received_3;
  }
  __syncthreads();
  const float partial1_value = partial1[lane & 15];
  const float sum_15 = merge_sum(partial1_value, __shfl_xor_sync(0xffffffffu, partial1_value, 1));
  const float sum_16 = merge_sum(sum_15, __shfl_xor_sync(0xffffffffu, sum_15, 2));
  const float sum_17 = merge_sum(sum_16, __shfl_xor_sync(0xffffffffu, sum_16, 4));
  const float sum_18 = merge_sum(sum_17, __shfl_xor_sync(0xffffffffu, sum_17, 8));
  const float received_4 = __shfl_sync(0xffffffffu, sum_18, 0);
  const float quotient = 1.0f / received_4;

  // store
  const long long wide_3 = group << 7;
  const int whole_5 = static_cast<int>(::min(::max(cols - wide_3, -2147483648LL), 2147483647LL));
  const long long place_19 = wide_3 + first;
  const long long place_20 = wide_3 + 1 + first;
  const long long place_21 = wide_3 + 2 + first;
  const long long place_22 = wide_3 + 3 + first;
  const float product = tile0[0] * quotient;
  const float product_2 = tile0[1] * quotient;
  const float product_3 = tile0[2] * quotient;
  const float product_4 = tile0[3] * quotient;
  if (first < whole_5) {
    y[y_row + place_19] = product;
  }
  if (first + 1 < whole_5) {
    y[y_row + place_20] = product_2;
  }
  if (first + 2 < whole_5) {
    y[y_row + place_21] = product_3;
  }
  if (first + 3 < whole_5) {
    y[y_row + place_22] = product_4;
  }
  const long long place_23 = (group << 7) + 2048;
  const int whole_6 = static_cast<int>(::min(::max(cols - place_23, -2147483648LL), 2147483647LL));
  const long long place_24 = place_23 + first;
  const long long place_25 = place_23 + 1 + first;
  const long long place_26 = place_23 + 2 + first;
  const long long place_27 = place_23 + 3 + first;
  const float product_5 = tile0[4] * quotient;
  const float product_6 = tile0[5] * quotient;
  const float product_7 = tile0[6] * quotient;
  const float product_8 = tile0[7] * quotient;
  if (first < whole_6) {
    y[y_row + place_24] = product_5;
  }
  if (first + 1 < whole_6) {
    y[y_row + place_25] = product_6;
  }
  if (first + 2 < whole_6) {
    y[y_row + place_26] = product_7;
  }
  if (first + 3 < whole_6) {
    y[y_row + place_27] = product_8;
  }
}

}  // namespace lanefold_softmax
