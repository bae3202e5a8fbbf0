// The frame of tests that run kernels of the facade on a CUDA device which is not there.
#pragma once

#include <cstdlib>
#include <vector>

#include "api/test_calls.h"
#include "driver/pipeline.h"
#include "emit/cuda/cuda_source.h"
#include "kernels/registry.h"
#include "plan/layout.h"
#include "runtime/cuda/test_fake_driver.h"
#include "runtime/cuda/test_nvrtc.h"

namespace lanefold::api {

/// Memory is the host's, which the driver takes for its own unless a test says otherwise. Kernels run nothing.
class FacadeOnCuda : public runtime::fake::FakeDriverTest {
 protected:
  void SetUp() override {
    FakeDriverTest::SetUp();
    state().devices = {runtime::fake::h200(), runtime::fake::h200()};
    driver_ = runtime::CudaDriver::load(LANEFOLD_FAKE_CUDA).value();
    const auto nvrtc = runtime::Nvrtc::get();
    if (!nvrtc.ok() && runtime::nvrtc_required()) FAIL() << nvrtc.error().text();
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().text();
  }

  static Options on_cuda() {
    Options result;
    result.device = Device::cuda;
    result.disk_cache = false;
    return result;
  }
  static Kernel norm(const Options& options = on_cuda()) {
    return Kernel::compile_operator("rms_norm", Type::f32, options);
  }
  runtime::CudaStream new_stream() const { return device().stream().value(); }

  /// Says of rms_norm's kernels which arguments they have, so that launches tell them; gives the arguments.
  static std::vector<lane::Argument> tell_arguments(std::int64_t rows, std::int64_t cols) {
    plan::Request request;
    request.rows = rows;
    request.cols = cols;
    request.alignment = plan::dense_alignment(cols);
    const ir::Program program = kernels::build(*kernels::find("rms_norm"), ElementType::f32).value();
    const lane::Module module =
        driver::lower_program(program, target::find("cuda-sm90").value(), request).value().module;
    const lane::Kernel& kernel = module.kernels[0];
    std::string letters;
    for (const lane::Argument& argument : kernel.arguments)
      letters += argument.buffer ? 'p' : argument.role == lane::Role::parameter ? 'f' : 'q';
    state().parameters[emit::cuda_kernel_name(kernel)] = letters;
    return kernel.arguments;
  }
  /// The address that a launch gives a buffer.
  static const void* address(const std::vector<lane::Argument>& arguments, const runtime::fake::Launch& launch,
                             lane::Role role, std::uint32_t index) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].buffer && arguments[i].role == role && arguments[i].index == index)
        return reinterpret_cast<const void*>(launch.arguments.at(i));
    return nullptr;
  }

  /// Nothing has waited, copied or allocated.
  static void expect_no_hidden_work() {
    for (const char* function : {"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuMemAlloc_v2",
                                 "cuMemAllocAsync", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"})
      EXPECT_EQ(calls_of(function), 0) << function;
  }
};

/// A call of rms_norm over memory that is aligned as a device's is.
struct NormCall {
  explicit NormCall(std::int64_t the_rows = 6, std::int64_t the_cols = 1024) : rows(the_rows), cols(the_cols) {}
  float* at(std::int64_t element) { return lines.data()->values + element; }
  float* x() { return at(0); }
  float* weight() { return at(rows * cols); }
  float* y() { return at((rows + 1) * cols); }
  std::vector<ConstMatrix> inputs() { return {matrix(x(), rows, cols), per_column(weight(), cols)}; }
  std::vector<Matrix> outputs() { return {matrix(y(), rows, cols)}; }

  std::int64_t rows, cols;
  struct alignas(64) Line {
    float values[16] = {};
  };
  std::vector<Line> lines = std::vector<Line>(static_cast<std::size_t>((2 * rows + 1) * cols / 16 + 1));
};

}  // namespace lanefold::api
