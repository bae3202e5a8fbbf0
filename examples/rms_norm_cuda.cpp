// Normalises rows in a GPU's memory, in a stream of the caller's. No CUDA header is needed for it.
#include <cstdio>

#include "lanefold/lanefold.h"

constexpr std::int64_t kWidth = 4096;

/// For the device of the thread's CUDA context, or device 0.
lanefold::Kernel compile_norm() {
  return lanefold::Kernel::compile_operator("rms_norm", lanefold::Type::bf16, {.device = lanefold::Device::cuda});
}

/// Normalises `rows` rows in place when the stream, a cudaStream_t or CUstream, comes so far.
void put_norm(const lanefold::Kernel& norm, void* x, const void* weight, std::int64_t rows, void* stream) {
  const lanefold::ConstMatrix inputs[] = {{x, lanefold::Type::bf16, rows, kWidth},
                                          {weight, lanefold::Type::bf16, 1, kWidth}};
  const lanefold::Matrix outputs[] = {{x, lanefold::Type::bf16, rows, kWidth}};
  norm.run(inputs, outputs, rows, kWidth, {}, {stream});
}

int main() try {
  const lanefold::Kernel norm = compile_norm();
  std::printf("CUDA device %d: %s\n", norm.cuda_device(), norm.plan_line(64, kWidth).c_str());
} catch (const lanefold::Error& error) {
  // Without a GPU, its driver or NVRTC, this says what is missing.
  std::printf("%s\n", error.what());
  return error.name() == "device_missing" ? 0 : 1;
}
