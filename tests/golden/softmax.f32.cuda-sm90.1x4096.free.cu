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

// Arithmetic in PTX, rounded to nearest even and with subnormals: no compiler option, such as --use_fast_math or
// --fmad, changes it.
__device__ __forceinline__ bool is_nan(float a) {
  int r;
  asm("{ .reg .pred p; setp.nan.f32 p, %1, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "f"(a));
  return r != 0;
}

// Exchange between the lanes of a warp.
// Of all lanes, as integers of the same order; NaN comes first.
__device__ __forceinline__ float maximum_of_lanes(float value) {
  const int bits = __float_as_int(value), order = is_nan(value) ? 0x7fffffff : bits ^ (bits >> 31 & 0x7fffffff);
  const int first = __reduce_max_sync(0xffffffffu, order);
  return __int_as_float(first ^ (first >> 31 & 0x7fffffff));
}

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

__device__ __forceinline__ float merge_max(float a, float b) { return maximum(a, b); }

__device__ __forceinline__ float merge_sum(float a, float b) { return a + b; }

// Launch: grid = rows * 16; block = 128; cluster = 16 (not portable: the kernel must be allowed it); no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(128)
softmax(const float* x, long long x_row_stride, float* y, long long y_row_stride, long long rows, long long cols) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  __shared__ __align__(16) float part0[64];
  __shared__ __align__(16) float part1[64];
  // One for each exchange with the other blocks of the cluster: it counts what has arrived of them.
  __shared__ unsigned long long arrived[2];
  begin_exchanges(arrived, 2);
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  const int rank = cluster_rank();
  float guarded0;
  const long long part = threadgroup >> 4;
  const long long x_row = part * x_row_stride;
  const long long y_row = part * y_row_stride;
  const int index = ((rank & 15) << 7) + ((group << 5) + lane);
  const long long place = index + 2048;
  const bool is_below = index + 2048 < static_cast<int>(cols);

  // load the row
  const float x_value = x[x_row + index];
  guarded0 = 0.0f;
  if (is_below) {
    guarded0 = x[x_row + place];
  }

  // fold max
  const float max = maximum_of_lanes(is_below ? maximum(x_value, guarded0) : x_value);
  cluster_has_begun();
  expect(&arrived[0], 256);
  give(part0 + cluster_rank() * 4 + threadIdx.x / 32, __float_as_uint(max), &arrived[0], 16);
  await(&arrived[0], 0);
  const int bits = lane & 31;
  const float max_2 = maximum_of_lanes(merge_max(part0[bits], part0[bits + 32]));

  // fold sum
  const float exp_nonpositive_value = fast_exp(x_value - max_2);
  const float exp_nonpositive_value_2 = fast_exp(guarded0 - max_2);
  const float chosen = is_below ? exp_nonpositive_value + exp_nonpositive_value_2 : exp_nonpositive_value;
  const float sum = merge_sum(chosen, __shfl_xor_sync(0xffffffffu, chosen, 1));
  const float sum_2 = merge_sum(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
  const float sum_3 = merge_sum(sum_2, __shfl_xor_sync(0xffffffffu, sum_2, 4));
  const float sum_4 = merge_sum(sum_3, __shfl_xor_sync(0xffffffffu, sum_3, 8));
  const float sum_5 = merge_sum(sum_4, __shfl_xor_sync(0xffffffffu, sum_4, 16));
  expect(&arrived[1], 256);
  give(part1 + cluster_rank() * 4 + threadIdx.x / 32, __float_as_uint(sum_5), &arrived[1], 16);
  await(&arrived[1], 0);
  const int bits_2 = lane & 31;
  const float sum_6 = merge_sum(part1[bits_2], part1[bits_2 + 32]);
  const float sum_7 = merge_sum(sum_6, __shfl_xor_sync(0xffffffffu, sum_6, 1));
  const float sum_8 = merge_sum(sum_7, __shfl_xor_sync(0xffffffffu, sum_7, 2));
  const float sum_9 = merge_sum(sum_8, __shfl_xor_sync(0xffffffffu, sum_8, 4));
  const float sum_10 = merge_sum(sum_9, __shfl_xor_sync(0xffffffffu, sum_9, 8));
  const float sum_11 = merge_sum(sum_10, __shfl_xor_sync(0xffffffffu, sum_10, 16));
  const float quotient = 1.0f / sum_11;

  // store
  y[y_row + index] = exp_nonpositive_value * quotient;
  const float product = exp_nonpositive_value_2 * quotient;
  if (is_below) {
    y[y_row + place] = product;
  }
}

}  // namespace lanefold_softmax
