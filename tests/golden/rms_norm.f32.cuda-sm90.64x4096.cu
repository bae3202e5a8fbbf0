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

// Memory.
__device__ __forceinline__ int cluster_rank() {
  int r;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
__device__ __forceinline__ unsigned int shared_address(const void* p) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(p));
}
// Makes the barriers of a kernel's exchanges and tells the cluster; a block may give once all have begun.
__device__ __forceinline__ void begin_exchanges(unsigned long long* arrived, int count) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < count; ++i)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(arrived + i)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_has_begun() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Of all blocks together so many bytes will arrive.
__device__ __forceinline__ void expect(unsigned long long* arrived, int bytes) {
  if (threadIdx.x == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(shared_address(arrived)), "r"(bytes) : "memory");
}
// Lane r writes the bits to the same place in block r of the cluster, where they count as arrived.
__device__ __forceinline__ void give(const void* place, unsigned int bits, const void* arrived, int blocks) {
  const unsigned int block = threadIdx.x % 32;
  if (block < blocks)
    asm volatile("{ .reg .u32 to, by; mapa.shared::cluster.u32 to, %0, %3; mapa.shared::cluster.u32 by, %2, %3; "
                 "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [to], %1, [by]; }"
                 :: "r"(shared_address(place)), "r"(bits), "r"(shared_address(arrived)), "r"(block) : "memory");
}
// Until all that was expected is there.
__device__ __forceinline__ void await(unsigned long long* arrived, int turn) {
  unsigned int done = 0;
  while (done == 0)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; "
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(arrived)), "r"(turn) : "memory");
}

__device__ __forceinline__ float merge_dot(float a, float b) { return add(a, b); }

// Launch: grid = rows * 4; block = 256; cluster = 4; no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(256)
rms_norm(const float* x, long long x_row_stride, const float* weight, float* y, long long y_row_stride, long long rows,
    long long cols, float eps, float offset) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  __shared__ __align__(16) float part0[32];
  // One for each exchange with the other blocks of the cluster: it counts what has arrived of them.
  __shared__ unsigned long long arrived[1];
  begin_exchanges(arrived, 1);
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  const int rank = cluster_rank();
  float guarded0, guarded1;
  const int whole = static_cast<int>(cols);
  const long long part = threadgroup >> 2;
  const long long x_row = part * x_row_stride;
  const long long y_row = part * y_row_stride;
  const int index = ((rank & 3) << 8) + ((group << 5) + lane);
  const long long place = index + 1024;
  const long long place_2 = index + 2048;
  const long long place_3 = index + 3072;
  const bool is_below = index + 3072 < whole;

  // load the row
  const float x_value = x[x_row + index];
  const float x_value_2 = x[x_row + place];
  const float x_value_3 = x[x_row + place_2];
  guarded0 = 0.0f;
  if (is_below) {
    guarded0 = x[x_row + place_3];
  }

  // load what comes later
  guarded1 = 0.0f;
  if (is_below) {
    guarded1 = weight[place_3];
  }

  // fold dot
  const float term = fma(x_value_3, x_value_3, fma(x_value_2, x_value_2, mul(x_value, x_value)));
  const float chosen = is_below ? fma(guarded0, guarded0, term) : term;
  const float dot = merge_dot(chosen, __shfl_xor_sync(0xffffffffu, chosen, 1));
  const float dot_2 = merge_dot(dot, __shfl_xor_sync(0xffffffffu, dot, 2));
  const float dot_3 = merge_dot(dot_2, __shfl_xor_sync(0xffffffffu, dot_2, 4));
  const float dot_4 = merge_dot(dot_3, __shfl_xor_sync(0xffffffffu, dot_3, 8));
  const float dot_5 = merge_dot(dot_4, __shfl_xor_sync(0xffffffffu, dot_4, 16));
  cluster_has_begun();
  expect(&arrived[0], 128);
  give(part0 + cluster_rank() * 8 + threadIdx.x / 32, __float_as_uint(dot_5), &arrived[0], 4);
  await(&arrived[0], 0);
  const float part0_value = part0[lane & 31];
  const float dot_6 = merge_dot(part0_value, __shfl_xor_sync(0xffffffffu, part0_value, 1));
  const float dot_7 = merge_dot(dot_6, __shfl_xor_sync(0xffffffffu, dot_6, 2));
  const float dot_8 = merge_dot(dot_7, __shfl_xor_sync(0xffffffffu, dot_7, 4));
  const float dot_9 = merge_dot(dot_8, __shfl_xor_sync(0xffffffffu, dot_8, 8));
  const float dot_10 = merge_dot(dot_9, __shfl_xor_sync(0xffffffffu, dot_9, 16));
  const float quotient = div(1.0f, sqrt(add(div(dot_10, __int2float_rn(whole)), eps)));

  // store
  const float weight_value = weight[place];
  const float weight_value_2 = weight[place_2];
  y[y_row + index] = canonical_nan(mul(mul(x_value, add(weight[index], offset)), quotient));
  y[y_row + place] = canonical_nan(mul(mul(x_value_2, add(weight_value, offset)), quotient));
  const float result = canonical_nan(mul(mul(x_value_3, add(weight_value_2, offset)), quotient));
  y[y_row + place_2] = result;
  const float result_2 = canonical_nan(mul(mul(guarded0, add(guarded1, offset)), quotient));
  if (is_below) {
    y[y_row + place_3] = result_2;
  }
}

}  // namespace lanefold_rms_norm
