// Where a toolkit is installed, our declarations are held against its header.
#include "runtime/cuda/driver_api.h"

#include <type_traits>

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

// The header gives the version that a name stands for by macros of the same name.
#define LANEFOLD_TEXT_(text) #text
#define LANEFOLD_TEXT(text) LANEFOLD_TEXT_(text)

namespace lanefold::runtime::cuda_api {
namespace {

/// Whether a parameter of ours has the size and the kind (pointer or number) of theirs.
template <class Ours, class Theirs>
constexpr bool kSame = sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
template <class Ours, class Theirs>
struct Agree : std::false_type {};
template <class... Ours, class... Theirs>
struct Agree<Outcome (*)(Ours...), CUresult (*)(Theirs...)> {
  static constexpr bool check() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs)) return (kSame<Ours, Theirs> && ...);
    return false;
  }
};

TEST(DriverApi, FunctionsHaveTheHeadersParameters) {
#define AGREE(member, function) \
  static_assert(Agree<decltype(Functions::member), decltype(&function)>::check(), #function)
  AGREE(init, cuInit);
  AGREE(driver_version, cuDriverGetVersion);
  AGREE(error_name, cuGetErrorName);
  AGREE(error_string, cuGetErrorString);
  AGREE(device_get, cuDeviceGet);
  AGREE(device_count, cuDeviceGetCount);
  AGREE(device_name, cuDeviceGetName);
  AGREE(device_attribute, cuDeviceGetAttribute);
  AGREE(device_memory, cuDeviceTotalMem);
  AGREE(primary_retain, cuDevicePrimaryCtxRetain);
  AGREE(primary_release, cuDevicePrimaryCtxRelease);
  AGREE(primary_state, cuDevicePrimaryCtxGetState);
  AGREE(context_current, cuCtxGetCurrent);
  AGREE(context_push, cuCtxPushCurrent);
  AGREE(context_pop, cuCtxPopCurrent);
  AGREE(context_device, cuCtxGetDevice);
  AGREE(context_synchronize, cuCtxSynchronize);
  AGREE(module_load, cuModuleLoadData);
  AGREE(module_unload, cuModuleUnload);
  AGREE(module_function, cuModuleGetFunction);
  AGREE(function_attribute, cuFuncGetAttribute);
  AGREE(function_set_attribute, cuFuncSetAttribute);
  AGREE(launch, cuLaunchKernelEx);
  AGREE(memory_allocate, cuMemAlloc);
  AGREE(memory_free, cuMemFree);
  AGREE(memory_allocate_async, cuMemAllocAsync);
  AGREE(memory_free_async, cuMemFreeAsync);
  AGREE(pointer_attribute, cuPointerGetAttribute);
  AGREE(pointer_attributes, cuPointerGetAttributes);
  AGREE(copy_to_device, cuMemcpyHtoD);
  AGREE(copy_from_device, cuMemcpyDtoH);
  AGREE(fill_async, cuMemsetD8Async);
  AGREE(stream_create, cuStreamCreate);
  AGREE(stream_destroy, cuStreamDestroy);
  AGREE(stream_synchronize, cuStreamSynchronize);
  AGREE(stream_wait, cuStreamWaitEvent);
  AGREE(capture_begin, cuStreamBeginCapture);
  AGREE(capture_end, cuStreamEndCapture);
  AGREE(stream_is_capturing, cuStreamIsCapturing);
  AGREE(exchange_capture_mode, cuThreadExchangeStreamCaptureMode);
  AGREE(graph_instantiate, cuGraphInstantiate);
  AGREE(graph_launch, cuGraphLaunch);
  AGREE(graph_update, cuGraphExecUpdate);
  AGREE(graph_exec_destroy, cuGraphExecDestroy);
  AGREE(graph_destroy, cuGraphDestroy);
  AGREE(event_create, cuEventCreate);
  AGREE(event_destroy, cuEventDestroy);
  AGREE(event_record, cuEventRecord);
  AGREE(event_synchronize, cuEventSynchronize);
  AGREE(event_elapsed, cuEventElapsedTime);
#undef AGREE
  EXPECT_STREQ(LANEFOLD_TEXT(cuMemAlloc), "cuMemAlloc_v2") << "the versions are part of the symbols that are looked up";
}

TEST(DriverApi, RecordsHaveTheHeadersLayout) {
  EXPECT_EQ(sizeof(LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(LaunchConfig, block), offsetof(CUlaunchConfig, blockDimX));
  EXPECT_EQ(offsetof(LaunchConfig, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(LaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(GraphUpdateInfo), sizeof(CUgraphExecUpdateResultInfo));
}

TEST(DriverApi, NumbersAreTheHeaders) {
  const std::pair<int, int> pairs[] = {
      {kSuccess, CUDA_SUCCESS},
      {kInvalidValue, CUDA_ERROR_INVALID_VALUE},
      {kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY},
      {kNoDevice, CUDA_ERROR_NO_DEVICE},
      {kInvalidImage, CUDA_ERROR_INVALID_IMAGE},
      {kInvalidContext, CUDA_ERROR_INVALID_CONTEXT},
      {kNoBinaryForDevice, CUDA_ERROR_NO_BINARY_FOR_GPU},
      {kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
      {kNotFound, CUDA_ERROR_NOT_FOUND},
      {kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS},
      {kAssert, CUDA_ERROR_ASSERT},
      {kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR},
      {kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION},
      {kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS},
      {kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE},
      {kInvalidProgramCounter, CUDA_ERROR_INVALID_PC},
      {kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED},
      {kCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {kGraphUpdateFailed, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE},
      {kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
      {kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
      {kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {kMemoryClockKilohertz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
      {kMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
      {kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
      {kMaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
      {kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {kMaxSharedPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
      {kMaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
      {kPageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
      {kMaxSharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
      {kClusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH},
      {kFunctionMaxThreads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
      {kFunctionSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
      {kFunctionLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
      {kFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS},
      {kFunctionMaxDynamicShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
      {kClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION},
      {kProgrammaticStreamSerialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION},
      {kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
      {kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED},
      {kNotCapturing, CU_STREAM_CAPTURE_STATUS_NONE},
      {kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
      {kPointerOnDevice, CU_POINTER_ATTRIBUTE_DEVICE_POINTER},
      {kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL},
      {kMemoryOfHost, CU_MEMORYTYPE_HOST},
      {kMemoryOfDevice, CU_MEMORYTYPE_DEVICE},
  };
  for (std::size_t i = 0; i < std::size(pairs); ++i) EXPECT_EQ(pairs[i].first, pairs[i].second) << "pair " << i;
}

}  // namespace
}  // namespace lanefold::runtime::cuda_api

#else

TEST(DriverApi, AgreesWithTheHeader) { GTEST_SKIP() << "cuda.h is not installed"; }

#endif
