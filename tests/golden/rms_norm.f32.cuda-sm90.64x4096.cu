namespace lanefold_rms_norm {

// Arithmetic in PTX, rounded to nearest even and with subnormals: no compiler option, such as --use_fast_math or
// --fmad, changes it.
__device__ __forceinline__ float add(float a, float b) {
  float r;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
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
__device__ __forceinline__ float sqrt(float a) {
  float r;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
__device__ __forceinline__ bool is_nan(float a) {
  int r;
  asm("{ .reg .pred p; setp.nan.f32 p, %1, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a));
  return r != 0;
}
__device__ __forceinline__ float canonical_nan(float a) { return is_nan(a) ? __int_as_float(0x7fc00000) : a; }

__device__ __forceinline__ float merge_dot(float a, float b) { return add(a, b); }

// Launch: grid = rows; block = 256; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(256)
rms_norm(const float* x, long long x_row_stride, const float* weight, float* y, long long y_row_stride, long long rows,
    long long cols, float eps, float offset) {
  __shared__ __align__(16) float partial0[8];
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  float dot0[4];
  float guarded1, guarded2, guarded3, guarded4, guarded5, guarded6, guarded7, guarded8, guarded9, guarded10, guarded11,
      guarded12, guarded13, guarded14, guarded15, guarded16, guarded17, guarded18, guarded19, guarded20, guarded21,
      guarded22, guarded23, guarded24;
  const long long x_row = threadgroup * x_row_stride;
  const long long y_row = threadgroup * y_row_stride;
  const int first = lane << 2;

  // fold dot
  dot0[0] = -0.0f;
  dot0[1] = -0.0f;
  dot0[2] = -0.0f;
  dot0[3] = -0.0f;
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
  guarded1 = 0.0f;
  if (is_below) {
    guarded1 = x[x_row + place];
  }
  const float term = fma(guarded1, guarded1, dot0[0]);
  if (is_below) {
    dot0[0] = term;
  }
  guarded2 = 0.0f;
  if (is_below_2) {
    guarded2 = x[x_row + place_2];
  }
  const float term_2 = fma(guarded2, guarded2, dot0[1]);
  if (is_below_2) {
    dot0[1] = term_2;
  }
  guarded3 = 0.0f;
  if (is_below_3) {
    guarded3 = x[x_row + place_3];
  }
  const float term_3 = fma(guarded3, guarded3, dot0[2]);
  if (is_below_3) {
    dot0[2] = term_3;
  }
  guarded4 = 0.0f;
  if (is_below_4) {
    guarded4 = x[x_row + place_4];
  }
  const float term_4 = fma(guarded4, guarded4, dot0[3]);
  if (is_below_4) {
    dot0[3] = term_4;
  }
  const long long place_5 = wide + 1024;
  const int whole_2 = static_cast<int>(::min(::max(cols - place_5, -2147483648LL), 2147483647LL));
  const long long place_6 = place_5 + first;
  const bool is_below_5 = first < whole_2;
  const long long place_7 = place_5 + 1 + first;
  const bool is_below_6 = first + 1 < whole_2;
  const long long place_8 = place_5 + 2 + first;
  const bool is_below_7 = first + 2 < whole_2;
  const long long place_9 = place_5 + 3 + first;
  const bool is_below_8 = first + 3 < whole_2;
  guarded5 = 0.0f;
  if (is_below_5) {
    guarded5 = x[x_row + place_6];
  }
  const float term_5 = fma(guarded5, guarded5, dot0[0]);
  if (is_below_5) {
    dot0[0] = term_5;
  }
  guarded6 = 0.0f;
  if (is_below_6) {
    guarded6 = x[x_row + place_7];
  }
  const float term_6 = fma(guarded6, guarded6, dot0[1]);
  if (is_below_6) {
    dot0[1] = term_6;
  }
  guarded7 = 0.0f;
  if (is_below_7) {
    guarded7 = x[x_row + place_8];
  }
  const float term_7 = fma(guarded7, guarded7, dot0[2]);
  if (is_below_7) {
    dot0[2] = term_7;
  }
  guarded8 = 0.0f;
  if (is_below_8) {
    guarded8 = x[x_row + place_9];
  }
  const float term_8 = fma(guarded8, guarded8, dot0[3]);
  if (is_below_8) {
    dot0[3] = term_8;
  }
  const long long place_10 = wide + 2048;
  const int whole_3 = static_cast<int>(::min(::max(cols - place_10, -2147483648LL), 2147483647LL));
  const long long place_11 = place_10 + first;
  const bool is_below_9 = first < whole_3;
  const long long place_12 = place_10 + 1 + first;
  const bool is_below_10 = first + 1 < whole_3;
  const long long place_13 = place_10 + 2 + first;
  const bool is_below_11 = first + 2 < whole_3;
  const long long place_14 = place_10 + 3 + first;
  const bool is_below_12 = first + 3 < whole_3;
  guarded9 = 0.0f;
  if (is_below_9) {
    guarded9 = x[x_row + place_11];
  }
  const float term_9 = fma(guarded9, guarded9, dot0[0]);
  if (is_below_9) {
    dot0[0] = term_9;
  }
  guarded10 = 0.0f;
  if (is_below_10) {
    guarded10 = x[x_row + place_12];
  }
  const float term_10 = fma(guarded10, guarded10, dot0[1]);
  if (is_below_10) {
    dot0[1] = term_10;
  }
  guarded11 = 0.0f;
  if (is_below_11) {
    guarded11 = x[x_row + place_13];
  }
  const float term_11 = fma(guarded11, guarded11, dot0[2]);
  if (is_below_11) {
    dot0[2] = term_11;
  }
  guarded12 = 0.0f;
  if (is_below_12) {
    guarded12 = x[x_row + place_14];
  }
  const float term_12 = fma(guarded12, guarded12, dot0[3]);
  if (is_below_12) {
    dot0[3] = term_12;
  }
  const long long place_15 = wide + 3072;
  const int whole_4 = static_cast<int>(::min(::max(cols - place_15, -2147483648LL), 2147483647LL));
  const long long place_16 = place_15 + first;
  const bool is_below_13 = first < whole_4;
  const long long place_17 = place_15 + 1 + first;
  const bool is_below_14 = first + 1 < whole_4;
  const long long place_18 = place_15 + 2 + first;
  const bool is_below_15 = first + 2 < whole_4;
  const long long place_19 = place_15 + 3 + first;
  const bool is_below_16 = first + 3 < whole_4;
  guarded13 = 0.0f;
  if (is_below_13) {
    guarded13 = x[x_row + place_16];
  }
  const float term_13 = fma(guarded13, guarded13, dot0[0]);
  if (is_below_13) {
    dot0[0] = term_13;
  }
  guarded14 = 0.0f;
  if (is_below_14) {
    guarded14 = x[x_row + place_17];
  }
  const float term_14 = fma(guarded14, guarded14, dot0[1]);
  if (is_below_14) {
    dot0[1] = term_14;
  }
  guarded15 = 0.0f;
  if (is_below_15) {
    guarded15 = x[x_row + place_18];
  }
  const float term_15 = fma(guarded15, guarded15, dot0[2]);
  if (is_below_15) {
    dot0[2] = term_15;
  }
  guarded16 = 0.0f;
  if (is_below_16) {
    guarded16 = x[x_row + place_19];
  }
  const float term_16 = fma(guarded16, guarded16, dot0[3]);
  if (is_below_16) {
    dot0[3] = term_16;
  }
  const float dot = merge_dot(merge_dot(dot0[0], dot0[1]), merge_dot(dot0[2], dot0[3]));
  const float dot_2 = merge_dot(dot, __shfl_xor_sync(0xffffffffu, dot, 1));
  const float dot_3 = merge_dot(dot_2, __shfl_xor_sync(0xffffffffu, dot_2, 2));
  const float dot_4 = merge_dot(dot_3, __shfl_xor_sync(0xffffffffu, dot_3, 4));
  const float dot_5 = merge_dot(dot_4, __shfl_xor_sync(0xffffffffu, dot_4, 8));
  const float dot_6 = merge_dot(dot_5, __shfl_xor_sync(0xffffffffu, dot_5, 16));
  const float received = __shfl_sync(0xffffffffu, dot_6, 0);
  if (lane == 0) {
    partial0[group] = received;
  }
  __syncthreads();
  const float partial0_value = partial0[lane & 7];
  const float dot_7 = merge_dot(partial0_value, __shfl_xor_sync(0xffffffffu, partial0_value, 1));
  const float dot_8 = merge_dot(dot_7, __shfl_xor_sync(0xffffffffu, dot_7, 2));
  const float dot_9 = merge_dot(dot_8, __shfl_xor_sync(0xffffffffu, dot_8, 4));
  const float received_2 = __shfl_sync(0xffffffffu, dot_9, 0);
  const float quotient = div(1.0f, sqrt(add(div(received_2, __int2float_rn(static_cast<int>(cols))), eps)));

  // store
  const long long start = (cols >> 10) * 1024;
  const long long wide_2 = group << 7;
  for (long long i = 0; i < start; i += 1024) {
    const long long place_20 = wide_2 + i;
    const long long place_21 = place_20 + first;
    const long long place_22 = x_row + place_21;
    const float result = canonical_nan(mul(mul(x[place_22], add(weight[place_21], offset)), quotient));
    const float product = mul(mul(x[place_22 + 1], add(weight[place_21 + 1], offset)), quotient);
    const float product_2 = mul(mul(x[place_22 + 2], add(weight[place_21 + 2], offset)), quotient);
    const float product_3 = mul(mul(x[place_22 + 3], add(weight[place_21 + 3], offset)), quotient);
    y[y_row + place_21] = result;
    y[y_row + (place_20 + 1 + first)] = canonical_nan(product);
    y[y_row + (place_20 + 2 + first)] = canonical_nan(product_2);
    y[y_row + (place_20 + 3 + first)] = canonical_nan(product_3);
  }
  const long long place_20 = wide_2 + start;
  if (place_20 < cols) {
    const int whole_5 = static_cast<int>(::min(::max(cols - place_20, -2147483648LL), 2147483647LL));
    const long long place_21 = place_20 + first;
    const bool is_below_17 = first < whole_5;
    const long long place_22 = place_20 + 1 + first;
    const bool is_below_18 = first + 1 < whole_5;
    const long long place_23 = place_20 + 2 + first;
    const bool is_below_19 = first + 2 < whole_5;
    const long long place_24 = place_20 + 3 + first;
    const bool is_below_20 = first + 3 < whole_5;
    guarded17 = 0.0f;
    if (is_below_17) {
      guarded17 = x[x_row + place_21];
    }
    guarded18 = 0.0f;
    if (is_below_17) {
      guarded18 = weight[place_21];
    }
    guarded19 = 0.0f;
    if (is_below_18) {
      guarded19 = x[x_row + place_22];
    }
    guarded20 = 0.0f;
    if (is_below_18) {
      guarded20 = weight[place_22];
    }
    guarded21 = 0.0f;
    if (is_below_19) {
      guarded21 = x[x_row + place_23];
    }
    guarded22 = 0.0f;
    if (is_below_19) {
      guarded22 = weight[place_23];
    }
    guarded23 = 0.0f;
    if (is_below_20) {
      guarded23 = x[x_row + place_24];
    }
    guarded24 = 0.0f;
    if (is_below_20) {
      guarded24 = weight[place_24];
    }
    const float result = canonical_nan(mul(mul(guarded17, add(guarded18, offset)), quotient));
    if (is_below_17) {
      y[y_row + place_21] = result;
    }
    const float result_2 = canonical_nan(mul(mul(guarded19, add(guarded20, offset)), quotient));
    if (is_below_18) {
      y[y_row + place_22] = result_2;
    }
    const float result_3 = canonical_nan(mul(mul(guarded21, add(guarded22, offset)), quotient));
    if (is_below_19) {
      y[y_row + place_23] = result_3;
    }
    const float result_4 = canonical_nan(mul(mul(guarded23, add(guarded24, offset)), quotient));
    if (is_below_20) {
      y[y_row + place_24] = result_4;
    }
  }
}

}  // namespace lanefold_rms_norm
