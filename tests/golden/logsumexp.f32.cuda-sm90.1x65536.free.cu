namespace lanefold_logsumexp {

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

// Exchange between the lanes of a warp.
// `clear` in lanes whose bit `bit` is 0, `set` in the others.
template <class T>
__device__ __forceinline__ T by_bit(int bit, T clear, T set) { return (threadIdx.x >> bit & 1u) != 0 ? set : clear; }

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

struct merge_logsumexp_result {
  float v0;
  float v1;
};

__device__ __forceinline__ merge_logsumexp_result merge_logsumexp(float a0, float a1, float b0, float b1) {
  const float larger = maximum(a0, b0);
  const float sum = a1 * (a0 == larger ? 1.0f : fast_exp(a0 - larger))
      + b1 * (b0 == larger ? 1.0f : fast_exp(b0 - larger));
  return merge_logsumexp_result{larger, sum};
}

// Launch: grid = rows * 16; block = 256; cluster = 16 (not portable: the kernel must be allowed it); no dynamic shared memory.
extern "C" __global__ void __launch_bounds__(256)
logsumexp(const float* x, long long x_row_stride, float* y, long long y_row_stride, long long rows, long long cols) {
  // What the launch before has stored is there after the wait; the next one may begin then, and wait in turn.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
  __shared__ __align__(16) float part0[128];
  __shared__ __align__(16) float part1[128];
  // One for each exchange with the other blocks of the cluster: it counts what has arrived of them.
  __shared__ unsigned long long arrived[1];
  begin_exchanges(arrived, 1);
  const int lane = threadIdx.x % 32;
  const int group = threadIdx.x / 32;
  const long long threadgroup = blockIdx.x;
  const int rank = cluster_rank();
  const long long part = threadgroup >> 4;
  const long long x_row = part * x_row_stride;
  const long long y_row = part * y_row_stride;
  const int index = ((rank & 15) << 10) + ((group << 7) + (lane << 2));
  const long long place = index + 49152;
  const bool is_below = index + 49152 < static_cast<int>(cols);

  // load the row
  const long long place_2 = x_row + index;
  const float4 x_values = *reinterpret_cast<const float4*>(x + place_2);
  const long long place_3 = x_row + (index + 16384);
  const float4 x_values_2 = *reinterpret_cast<const float4*>(x + place_3);
  const long long place_4 = x_row + (index + 32768);
  const float4 x_values_3 = *reinterpret_cast<const float4*>(x + place_4);
  float4 x_guarded = {};
  if (is_below) {
    const long long place_5 = x_row + place;
    x_guarded = *reinterpret_cast<const float4*>(x + place_5);
  }

  // fold max of each lane's own elements
  const float larger = maximum(maximum(maximum(x_values.x, x_values.z), x_values_2.x), x_values_2.z);
  const float larger_2 = maximum(maximum(maximum(x_values.y, x_values.w), x_values_2.y), x_values_2.w);
  const float larger_3 = maximum(maximum(larger, x_values_3.x), x_values_3.z);
  const float larger_4 = maximum(maximum(larger_2, x_values_3.y), x_values_3.w);
  const float chosen = is_below ? maximum(larger_3, x_guarded.x) : larger_3;
  const float chosen_2 = is_below ? maximum(larger_4, x_guarded.y) : larger_4;
  const float max = merge_max(is_below ? maximum(chosen, x_guarded.z) : chosen, is_below
      ? maximum(chosen_2, x_guarded.w) : chosen_2);
  const float chosen_3 = max == __uint_as_float(0xff800000u) ? 0.0f : max;

  // fold sum of the exponentials, shifted by that maximum
  const float sum = fast_exp(x_values.x - chosen_3) + fast_exp(x_values_2.x - chosen_3)
      + fast_exp(x_values_3.x - chosen_3);
  const float sum_2 = fast_exp(x_values.y - chosen_3) + fast_exp(x_values_2.y - chosen_3)
      + fast_exp(x_values_3.y - chosen_3);
  const float sum_3 = fast_exp(x_values.z - chosen_3) + fast_exp(x_values_2.z - chosen_3)
      + fast_exp(x_values_3.z - chosen_3);
  const float sum_4 = fast_exp(x_values.w - chosen_3) + fast_exp(x_values_2.w - chosen_3)
      + fast_exp(x_values_3.w - chosen_3);
  const float sum_5 = merge_sum(is_below ? sum + fast_exp(x_guarded.x - chosen_3) : sum, is_below ? sum_2
      + fast_exp(x_guarded.y - chosen_3) : sum_2);
  const float sum_6 = merge_sum(is_below ? sum_3 + fast_exp(x_guarded.z - chosen_3) : sum_3, is_below ? sum_4
      + fast_exp(x_guarded.w - chosen_3) : sum_4);
  const float sum_7 = merge_sum(sum_5, sum_6);
  const float received = __shfl_xor_sync(0xffffffffu, max, 1);
  const float received_2 = __shfl_xor_sync(0xffffffffu, sum_7, 1);
  const merge_logsumexp_result logsumexp_2 = merge_logsumexp(by_bit(0, max, received), by_bit(0, sum_7, received_2),
      by_bit(0, received, max), by_bit(0, received_2, sum_7));
  const float received_3 = __shfl_xor_sync(0xffffffffu, logsumexp_2.v0, 2);
  const float received_4 = __shfl_xor_sync(0xffffffffu, logsumexp_2.v1, 2);
  const merge_logsumexp_result logsumexp_3 = merge_logsumexp(by_bit(1, logsumexp_2.v0, received_3),
      by_bit(1, logsumexp_2.v1, received_4), by_bit(1, received_3, logsumexp_2.v0),
      by_bit(1, received_4, logsumexp_2.v1));
  const float received_5 = __shfl_xor_sync(0xffffffffu, logsumexp_3.v0, 4);
  const float received_6 = __shfl_xor_sync(0xffffffffu, logsumexp_3.v1, 4);
  const merge_logsumexp_result logsumexp_4 = merge_logsumexp(by_bit(2, logsumexp_3.v0, received_5),
      by_bit(2, logsumexp_3.v1, received_6), by_bit(2, received_5, logsumexp_3.v0),
      by_bit(2, received_6, logsumexp_3.v1));
  const float received_7 = __shfl_xor_sync(0xffffffffu, logsumexp_4.v0, 8);
  const float received_8 = __shfl_xor_sync(0xffffffffu, logsumexp_4.v1, 8);
  const merge_logsumexp_result logsumexp_5 = merge_logsumexp(by_bit(3, logsumexp_4.v0, received_7),
      by_bit(3, logsumexp_4.v1, received_8), by_bit(3, received_7, logsumexp_4.v0),
      by_bit(3, received_8, logsumexp_4.v1));
  const float received_9 = __shfl_xor_sync(0xffffffffu, logsumexp_5.v0, 16);
  const float received_10 = __shfl_xor_sync(0xffffffffu, logsumexp_5.v1, 16);
  const merge_logsumexp_result logsumexp_6 = merge_logsumexp(by_bit(4, logsumexp_5.v0, received_9),
      by_bit(4, logsumexp_5.v1, received_10), by_bit(4, received_9, logsumexp_5.v0),
      by_bit(4, received_10, logsumexp_5.v1));
  cluster_has_begun();
  expect(&arrived[0], 1024);
  give(part0 + cluster_rank() * 8 + threadIdx.x / 32, __float_as_uint(logsumexp_6.v0), &arrived[0], 16);
  give(part1 + cluster_rank() * 8 + threadIdx.x / 32, __float_as_uint(logsumexp_6.v1), &arrived[0], 16);
  await(&arrived[0], 0);
  const int bits = lane & 31;
  const int index_2 = bits + 32;
  const int index_3 = bits + 64;
  const int index_4 = bits + 96;
  const merge_logsumexp_result logsumexp_7 = merge_logsumexp(part0[bits], part1[bits], part0[index_2], part1[index_2]);
  const merge_logsumexp_result logsumexp_8 = merge_logsumexp(part0[index_3], part1[index_3], part0[index_4],
      part1[index_4]);
  const merge_logsumexp_result logsumexp_9 = merge_logsumexp(logsumexp_7.v0, logsumexp_7.v1, logsumexp_8.v0,
      logsumexp_8.v1);
  const float received_11 = __shfl_xor_sync(0xffffffffu, logsumexp_9.v0, 1);
  const float received_12 = __shfl_xor_sync(0xffffffffu, logsumexp_9.v1, 1);
  const merge_logsumexp_result logsumexp_10 = merge_logsumexp(by_bit(0, logsumexp_9.v0, received_11),
      by_bit(0, logsumexp_9.v1, received_12), by_bit(0, received_11, logsumexp_9.v0),
      by_bit(0, received_12, logsumexp_9.v1));
  const float received_13 = __shfl_xor_sync(0xffffffffu, logsumexp_10.v0, 2);
  const float received_14 = __shfl_xor_sync(0xffffffffu, logsumexp_10.v1, 2);
  const merge_logsumexp_result logsumexp_11 = merge_logsumexp(by_bit(1, logsumexp_10.v0, received_13),
      by_bit(1, logsumexp_10.v1, received_14), by_bit(1, received_13, logsumexp_10.v0),
      by_bit(1, received_14, logsumexp_10.v1));
  const float received_15 = __shfl_xor_sync(0xffffffffu, logsumexp_11.v0, 4);
  const float received_16 = __shfl_xor_sync(0xffffffffu, logsumexp_11.v1, 4);
  const merge_logsumexp_result logsumexp_12 = merge_logsumexp(by_bit(2, logsumexp_11.v0, received_15),
      by_bit(2, logsumexp_11.v1, received_16), by_bit(2, received_15, logsumexp_11.v0),
      by_bit(2, received_16, logsumexp_11.v1));
  const float received_17 = __shfl_xor_sync(0xffffffffu, logsumexp_12.v0, 8);
  const float received_18 = __shfl_xor_sync(0xffffffffu, logsumexp_12.v1, 8);
  const merge_logsumexp_result logsumexp_13 = merge_logsumexp(by_bit(3, logsumexp_12.v0, received_17),
      by_bit(3, logsumexp_12.v1, received_18), by_bit(3, received_17, logsumexp_12.v0),
      by_bit(3, received_18, logsumexp_12.v1));
  const float received_19 = __shfl_xor_sync(0xffffffffu, logsumexp_13.v0, 16);
  const float received_20 = __shfl_xor_sync(0xffffffffu, logsumexp_13.v1, 16);
  const merge_logsumexp_result logsumexp_14 = merge_logsumexp(by_bit(4, logsumexp_13.v0, received_19),
      by_bit(4, logsumexp_13.v1, received_20), by_bit(4, received_19, logsumexp_13.v0),
      by_bit(4, received_20, logsumexp_13.v1));
  const float sum_8 = logsumexp_14.v0 + __logf(logsumexp_14.v1 + (logsumexp_14.v0 - logsumexp_14.v0));
  const float chosen_4 = fabsf(logsumexp_14.v0) == __uint_as_float(0x7f800000u) ? logsumexp_14.v0 : sum_8;
  if ((((lane & 31) == 0) & (group == 0)) & (rank == 0)) {
    y[y_row] = chosen_4;
  }
}

}  // namespace lanefold_logsumexp
