// The part of the CUDA driver's interface that this folder uses, declared here so that building needs no CUDA toolkit.
#pragma once

#include <cstddef>
#include <cstdint>

// Handles are declared as cuda.h declares them, so that a caller who includes it can pass its own.
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
typedef struct CUgraph_st* CUgraph;
typedef struct CUgraphExec_st* CUgraphExec;

namespace lanefold::runtime::cuda_api {

/// A CUresult; 0 is success.
using Outcome = int;
/// A CUdeviceptr.
using Address = unsigned long long;

enum : Outcome {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForDevice = 209,
  kUnsupportedPtxVersion = 222,
  kNotFound = 500,
  kIllegalAddress = 700,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidProgramCounter = 718,
  kLaunchFailed = 719,
  kCaptureUnsupported = 900,
  kGraphUpdateFailed = 910,
};

enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kWarpSize = 10,
  kMultiprocessorCount = 16,
  kMemoryClockKilohertz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kMaxSharedPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kPageableMemoryAccess = 88,
  kMaxSharedPerBlockOptin = 97,
  kClusterLaunch = 120,
};

enum FunctionAttribute : int {
  kFunctionMaxThreads = 0,
  kFunctionSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicShared = 8,
  kFunctionAnyClusterSize = 14,
};

enum LaunchAttributeId : int { kClusterDimension = 4, kProgrammaticStreamSerialization = 6 };

/// A CUlaunchAttribute.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int programmatic;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

/// A CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  CUstream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

/// A CUgraphExecUpdateResultInfo.
struct GraphUpdateInfo {
  int result;
  void* error_node;
  void* error_from_node;
};

enum PointerAttribute : int { kPointerMemoryType = 2, kPointerOnDevice = 3, kPointerDeviceOrdinal = 9 };
enum : unsigned { kMemoryOfNobody = 0, kMemoryOfHost = 1, kMemoryOfDevice = 2 };

enum : unsigned { kStreamNonBlocking = 1 };
/// Thread-local: other threads may go on allocating while one captures. Relaxed: so may this one.
enum : int { kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };
/// A CUstreamCaptureStatus.
enum : int { kNotCapturing = 0 };

}  // namespace lanefold::runtime::cuda_api

/// LANEFOLD_CUDA_FUNCTION(member, symbol, parameters): every function of the driver that is used. The newest of them came
/// with CUDA 12.0.
#define LANEFOLD_CUDA_FUNCTIONS(LANEFOLD_CUDA_FUNCTION)                                                          \
  LANEFOLD_CUDA_FUNCTION(init, cuInit, (unsigned))                                                               \
  LANEFOLD_CUDA_FUNCTION(driver_version, cuDriverGetVersion, (int*))                                             \
  LANEFOLD_CUDA_FUNCTION(error_name, cuGetErrorName, (Outcome, const char**))                                    \
  LANEFOLD_CUDA_FUNCTION(error_string, cuGetErrorString, (Outcome, const char**))                                \
  LANEFOLD_CUDA_FUNCTION(device_get, cuDeviceGet, (int*, int))                                                   \
  LANEFOLD_CUDA_FUNCTION(device_count, cuDeviceGetCount, (int*))                                                 \
  LANEFOLD_CUDA_FUNCTION(device_name, cuDeviceGetName, (char*, int, int))                                        \
  LANEFOLD_CUDA_FUNCTION(device_attribute, cuDeviceGetAttribute, (int*, int, int))                               \
  LANEFOLD_CUDA_FUNCTION(device_memory, cuDeviceTotalMem_v2, (std::size_t*, int))                                \
  LANEFOLD_CUDA_FUNCTION(primary_retain, cuDevicePrimaryCtxRetain, (CUcontext*, int))                            \
  LANEFOLD_CUDA_FUNCTION(primary_release, cuDevicePrimaryCtxRelease_v2, (int))                                   \
  LANEFOLD_CUDA_FUNCTION(primary_state, cuDevicePrimaryCtxGetState, (int, unsigned*, int*))                      \
  LANEFOLD_CUDA_FUNCTION(context_current, cuCtxGetCurrent, (CUcontext*))                                         \
  LANEFOLD_CUDA_FUNCTION(context_push, cuCtxPushCurrent_v2, (CUcontext))                                         \
  LANEFOLD_CUDA_FUNCTION(context_pop, cuCtxPopCurrent_v2, (CUcontext*))                                          \
  LANEFOLD_CUDA_FUNCTION(context_device, cuCtxGetDevice, (int*))                                                 \
  LANEFOLD_CUDA_FUNCTION(context_synchronize, cuCtxSynchronize, ())                                              \
  LANEFOLD_CUDA_FUNCTION(module_load, cuModuleLoadData, (CUmodule*, const void*))                                \
  LANEFOLD_CUDA_FUNCTION(module_unload, cuModuleUnload, (CUmodule))                                              \
  LANEFOLD_CUDA_FUNCTION(module_function, cuModuleGetFunction, (CUfunction*, CUmodule, const char*))             \
  LANEFOLD_CUDA_FUNCTION(function_attribute, cuFuncGetAttribute, (int*, int, CUfunction))                        \
  LANEFOLD_CUDA_FUNCTION(function_set_attribute, cuFuncSetAttribute, (CUfunction, int, int))                     \
  LANEFOLD_CUDA_FUNCTION(active_clusters, cuOccupancyMaxActiveClusters, (int*, CUfunction, const LaunchConfig*)) \
  LANEFOLD_CUDA_FUNCTION(launch, cuLaunchKernelEx, (const LaunchConfig*, CUfunction, void**, void**))            \
  LANEFOLD_CUDA_FUNCTION(memory_allocate, cuMemAlloc_v2, (Address*, std::size_t))                                \
  LANEFOLD_CUDA_FUNCTION(memory_free, cuMemFree_v2, (Address))                                                   \
  LANEFOLD_CUDA_FUNCTION(memory_allocate_async, cuMemAllocAsync, (Address*, std::size_t, CUstream))              \
  LANEFOLD_CUDA_FUNCTION(memory_free_async, cuMemFreeAsync, (Address, CUstream))                                 \
  LANEFOLD_CUDA_FUNCTION(pointer_attribute, cuPointerGetAttribute, (void*, int, Address))                        \
  LANEFOLD_CUDA_FUNCTION(pointer_attributes, cuPointerGetAttributes, (unsigned, int*, void**, Address))          \
  LANEFOLD_CUDA_FUNCTION(copy_to_device, cuMemcpyHtoD_v2, (Address, const void*, std::size_t))                   \
  LANEFOLD_CUDA_FUNCTION(copy_from_device, cuMemcpyDtoH_v2, (void*, Address, std::size_t))                       \
  LANEFOLD_CUDA_FUNCTION(fill_async, cuMemsetD8Async, (Address, unsigned char, std::size_t, CUstream))           \
  LANEFOLD_CUDA_FUNCTION(stream_create, cuStreamCreate, (CUstream*, unsigned))                                   \
  LANEFOLD_CUDA_FUNCTION(stream_destroy, cuStreamDestroy_v2, (CUstream))                                         \
  LANEFOLD_CUDA_FUNCTION(stream_synchronize, cuStreamSynchronize, (CUstream))                                    \
  LANEFOLD_CUDA_FUNCTION(stream_wait, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                          \
  LANEFOLD_CUDA_FUNCTION(capture_begin, cuStreamBeginCapture_v2, (CUstream, int))                                \
  LANEFOLD_CUDA_FUNCTION(capture_end, cuStreamEndCapture, (CUstream, CUgraph*))                                  \
  LANEFOLD_CUDA_FUNCTION(stream_is_capturing, cuStreamIsCapturing, (CUstream, int*))                             \
  LANEFOLD_CUDA_FUNCTION(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, (int*))                       \
  LANEFOLD_CUDA_FUNCTION(graph_instantiate, cuGraphInstantiateWithFlags, (CUgraphExec*, CUgraph, std::uint64_t)) \
  LANEFOLD_CUDA_FUNCTION(graph_launch, cuGraphLaunch, (CUgraphExec, CUstream))                                   \
  LANEFOLD_CUDA_FUNCTION(graph_update, cuGraphExecUpdate_v2, (CUgraphExec, CUgraph, GraphUpdateInfo*))           \
  LANEFOLD_CUDA_FUNCTION(graph_exec_destroy, cuGraphExecDestroy, (CUgraphExec))                                  \
  LANEFOLD_CUDA_FUNCTION(graph_destroy, cuGraphDestroy, (CUgraph))                                               \
  LANEFOLD_CUDA_FUNCTION(event_create, cuEventCreate, (CUevent*, unsigned))                                      \
  LANEFOLD_CUDA_FUNCTION(event_destroy, cuEventDestroy_v2, (CUevent))                                            \
  LANEFOLD_CUDA_FUNCTION(event_record, cuEventRecord, (CUevent, CUstream))                                       \
  LANEFOLD_CUDA_FUNCTION(event_synchronize, cuEventSynchronize, (CUevent))                                       \
  LANEFOLD_CUDA_FUNCTION(event_elapsed, cuEventElapsedTime, (float*, CUevent, CUevent))

namespace lanefold::runtime::cuda_api {

/// The driver's functions, one pointer each.
struct Functions {
#define LANEFOLD_CUDA_FUNCTION(member, symbol, parameters) Outcome(*member) parameters = nullptr;
  LANEFOLD_CUDA_FUNCTIONS(LANEFOLD_CUDA_FUNCTION)
#undef LANEFOLD_CUDA_FUNCTION
};

}  // namespace lanefold::runtime::cuda_api
