// The C ABI on CUDA devices that are not there.
#if LANEFOLD_CUDA
#include <cstddef>
#include <cstring>

#include "api/test_c.h"
#include "api/test_cuda.h"
#include "lanefold/c.h"

namespace lanefold::api {
namespace {

using CAbiOnCuda = FacadeOnCuda;

lanefold_options on_cuda_in_c() {
  lanefold_options options = no_disk();
  options.threads = 0;
  options.device = LANEFOLD_DEVICE_CUDA;
  return options;
}

/// What a call that must be a user's error says of itself.
template <class Action>
std::string name_of_error(Action&& action) {
  lanefold_error* error = nullptr;
  EXPECT_EQ(action(&error), LANEFOLD_USER_ERROR);
  const std::string name = error ? error->name : "";
  lanefold_error_free(error);
  return name;
}

TEST_F(CAbiOnCuda, RunsInAStream) {
  lanefold_options options = on_cuda_in_c();
  options.cuda_device = 1;
  lanefold_kernel* kernel = nullptr;
  ASSERT_EQ(lanefold_compile_operator("rms_norm", LANEFOLD_TYPE_F32, &options, &kernel, nullptr), LANEFOLD_OK);
  EXPECT_EQ(lanefold_kernel_device(kernel), LANEFOLD_DEVICE_CUDA);
  EXPECT_EQ(lanefold_kernel_cuda_device(kernel), 1);
  {
    const runtime::CudaStream stream = device(1).stream().value();
    NormCall call(2, 8);
    const lanefold_const_view in[] = {read_view(call.x(), 2, 8), vector_view(call.weight(), 8)};
    const lanefold_view out[] = {write_view(call.y(), 2, 8)};
    ASSERT_EQ(lanefold_prepare(kernel, in, 2, out, 1, nullptr), LANEFOLD_OK);
    EXPECT_TRUE(state().launches.empty());
    ASSERT_EQ(lanefold_run_on_stream(kernel, in, 2, out, 1, nullptr, 0, stream.handle(), nullptr), LANEFOLD_OK);
    ASSERT_EQ(lanefold_run(kernel, in, 2, out, 1, nullptr, 0, nullptr), LANEFOLD_OK);
    ASSERT_EQ(state().launches.size(), 2u);
    EXPECT_EQ(state().launches[0].stream, stream.handle());
    EXPECT_EQ(state().launches[1].stream, nullptr);
    NormCall other(2, 8);
    state().foreign = {{other.x(), {.bytes = 4}}};
    const lanefold_const_view elsewhere[] = {read_view(other.x(), 2, 8), vector_view(call.weight(), 8)};
    EXPECT_EQ(name_of_error([&](lanefold_error** error) {
                return lanefold_run_on_stream(kernel, elsewhere, 2, out, 1, nullptr, 0, nullptr, error);
              }),
              code_name(Code::call_not_on_device));
    EXPECT_EQ(name_of_error([&](lanefold_error** error) {
                return lanefold_run_on_stream(nullptr, in, 2, out, 1, nullptr, 0, nullptr, error);
              }),
              code_name(Code::bad_arguments));
  }
  char* text = nullptr;
  ASSERT_EQ(lanefold_emit(kernel, 4, 256, LANEFOLD_EMIT_CUDA, &text, nullptr), LANEFOLD_OK);
  EXPECT_NE(std::strstr(text, "__global__"), nullptr);
  lanefold_string_free(text);
  lanefold_kernel_free(kernel);
}

TEST_F(CAbiOnCuda, OptionsOfAnOlderHeaderHaveNoNumber) {
  lanefold_options options = on_cuda_in_c();
  options.struct_size = offsetof(lanefold_options, cuda_device);
  options.cuda_device = 7;  // behind what the caller says is there
  lanefold_kernel* kernel = nullptr;
  ASSERT_EQ(lanefold_compile_operator("rms_norm", LANEFOLD_TYPE_F32, &options, &kernel, nullptr), LANEFOLD_OK);
  EXPECT_EQ(lanefold_kernel_cuda_device(kernel), 0);
  lanefold_kernel_free(kernel);
  options = on_cuda_in_c();
  options.cuda_device = 7;
  EXPECT_EQ(name_of_error([&](lanefold_error** error) {
              return lanefold_compile_operator("rms_norm", LANEFOLD_TYPE_F32, &options, &kernel, error);
            }),
            code_name(Code::device_missing));
  EXPECT_EQ(kernel, nullptr);
  EXPECT_EQ(lanefold_kernel_cuda_device(nullptr), -1);
}

TEST(CAbi, KernelsOfTheCpuHaveNoStreams) {
  const OwnedKernel norm("rms_norm");
  Small s;
  EXPECT_EQ(lanefold_kernel_cuda_device(norm.kernel), -1);
  EXPECT_EQ(name_of_error([&](lanefold_error** error) {
              return lanefold_run_on_stream(norm.kernel, s.in, 2, s.out, 1, nullptr, 0, nullptr, error);
            }),
            code_name(Code::call_has_no_stream));
  for (const float value : s.y) EXPECT_EQ(value, 0.0f);
}

}  // namespace
}  // namespace lanefold::api
#endif
