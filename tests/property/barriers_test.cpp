// Kernels drawn at random, full of barriers, loops, branches and exchanges: the JIT's bytes are the lane machine's.
#if LANEFOLD_JIT  // these compare the JIT with the lane machine

#include "property/random_kernel.h"
#include "property/seed.h"

namespace lanefold::testing {
namespace {

constexpr std::uint64_t kKernels = 12;  // per part; each takes a tenth of a second, nearly all of it in LLVM
constexpr std::int64_t kThreadgroups = 2;

/// Parts draw different kernels and can run side by side.
class RandomBarriers : public ::testing::TestWithParam<int> {};

TEST_P(RandomBarriers, RunAlikeOnTheLaneMachineAndTheCpu) {
  for (std::uint64_t k = 0; k < kKernels; ++k) {
    Numbers numbers(property_seed() + 1000003 * static_cast<std::uint64_t>(GetParam()) + k);
    const lane::Module module = KernelDraw(numbers).draw();
    const lane::Kernel& kernel = module.kernels[0];
    std::vector<float> real(KernelDraw::kElements + 4);
    std::vector<std::int32_t> integer(KernelDraw::kElements + 4);
    for (float& v : real) v = static_cast<float>(static_cast<std::int32_t>(numbers.below(400)) - 200) / 64;
    for (std::int32_t& v : integer) v = static_cast<std::int32_t>(numbers.below(40)) - 8;
    const std::size_t slots = std::size_t{kThreadgroups} * kernel.simd_width * kernel.simd_groups * KernelDraw::kSlots;
    verify::run_everywhere(
        module,
        {verify::bytes_of(real), verify::bytes_of(integer), verify::bytes_of(std::vector<float>(slots, 0.25f)),
         verify::bytes_of(std::vector<std::int32_t>(slots, 7))},
        kThreadgroups);
    if (HasFailure()) FAIL() << "kernel " << k << '\n' << lane::print(module);
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, RandomBarriers, ::testing::Range(0, 4));

}  // namespace
}  // namespace lanefold::testing

#endif
