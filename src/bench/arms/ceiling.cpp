#include "bench/arms/ceiling.h"

#include "bench/arms/copy_arm.h"
#if LANEFOLD_CUDA
#include "bench/arms/cuda_copy.h"
#endif

namespace lanefold::bench {
namespace {

template <class Copy>
Ceiling ceiling_of(std::unique_ptr<Copy> copy) {
  Ceiling ceiling;
  ceiling.bytes = copy->bytes();
  ceiling.streaming = copy->streaming();
  ceiling.arm = std::move(copy);
  return ceiling;
}

}  // namespace

Result<Ceiling> make_ceiling([[maybe_unused]] std::string_view device, std::int64_t bytes, unsigned threads,
                             std::int64_t copies) {
#if LANEFOLD_CUDA
  if (device == "cuda") {
    LANEFOLD_TRY(std::unique_ptr<CudaCopyArm> copy, CudaCopyArm::make(bytes, copies));
    return ceiling_of(std::move(copy));
  }
#endif
  LANEFOLD_TRY(std::unique_ptr<CopyArm> copy, CopyArm::make(bytes, threads, copies));
  return ceiling_of(std::move(copy));
}

}  // namespace lanefold::bench
