// A CUDA driver without a device, for tests: the functions that Lanefold uses, as far as their callers can tell. It
// refuses what the real one refuses: no current context, too large a threadgroup, more threadgroup memory than was asked
// for, a grid that is no multiple of its cluster; and while a stream is captured, whatever loads, frees or waits in a thread
// that has not said "relaxed".
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <utility>

#include "runtime/cuda/test_fake_state.h"

struct CUctx_st {
  int device;
};
struct CUfunc_st {
  std::string name;
  std::string parameters;
  std::map<int, int> attributes;
};
struct CUmod_st {
  bool real = false;  // an ELF file, of which nothing is known but that it has the kernels that are asked for
  std::map<std::string, CUfunc_st> functions;
};
struct Node {
  std::string kernel;
  std::function<void()> run;
};
struct CUgraph_st {
  std::vector<Node> nodes;
};
struct CUgraphExec_st {
  std::vector<Node> nodes;
};
struct CUstream_st {
  std::unique_ptr<CUgraph_st> capture;
};
struct CUevent_st {
  int recorded = -1;  // launches that had run by then
};

namespace {

using namespace lanefold::runtime;
using namespace lanefold::runtime::cuda_api;

constexpr int kNotReady = 600;
constexpr int kFreeShared = 48 * 1024;

/// One H200 until a test says otherwise: processes that are started with this driver have nobody who would.
fake::State& state() {
  static fake::State& state = []() -> fake::State& {
    static fake::State made;
    made.devices = {fake::h200()};
    return made;
  }();
  return state;
}
CUctx_st primary[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
thread_local std::vector<CUcontext> contexts;
thread_local int capture_mode = 0;
int launches_run = 0;

CUcontext current() { return contexts.empty() ? nullptr : contexts.back(); }

/// Notes the call, and gives the error that it must give, if any.
int begin(const char* function, bool in_context = true) {
  fake::State& s = state();
  if (!s.silent) {
    s.calls.emplace_back(function);
    if (const auto it = s.failures.find(function); it != s.failures.end()) return it->second;
  }
  if (in_context && s.lost != 0) return s.lost;
  if (in_context && current() == nullptr) return kInvalidContext;
  return kSuccess;
}

/// The error of what a capture does not allow.
int captured() {
  return state().captures > 0 && capture_mode != kCaptureRelaxed ? int{kCaptureUnsupported} : int{kSuccess};
}

/// Where an address lies, if not on the device of the context.
const fake::Foreign* foreign(Address address) {
  for (const auto& [begin, piece] : state().foreign) {
    const auto from = reinterpret_cast<Address>(begin);
    if (address >= from && address < from + piece.bytes) return &piece;
  }
  return nullptr;
}

void wait_for_launches() {
  if (state().next_launch_goes_wrong != 0 && launches_run > 0)
    state().lost = std::exchange(state().next_launch_goes_wrong, 0);
}

void run_kernel(const fake::Launch& launch) {
  state().launches.push_back(launch);
  ++launches_run;
  if (launch.kernel == "add_one") ++*reinterpret_cast<int*>(launch.arguments.at(0));
  if (launch.kernel == "store")
    *reinterpret_cast<int*>(launch.arguments.at(0)) = static_cast<int>(launch.arguments.at(1));
}

/// Runs work now, or records it where the stream is being captured.
void submit(CUstream stream, const std::string& kernel, std::function<void()> run) {
  if (stream != nullptr && stream->capture) {
    stream->capture->nodes.push_back({kernel, std::move(run)});
  } else {
    run();
  }
}

}  // namespace

// Begins a function of the driver: locks, notes, and returns the error that is due.
#define FAKE(...)                                        \
  const std::lock_guard<std::mutex> lock(state().mutex); \
  if (const int due = begin(__func__ __VA_OPT__(, ) __VA_ARGS__); due != 0) return due
// The same, of a function that a capture forbids.
#define FAKE_UNCAPTURED() \
  FAKE();                 \
  if (const int due = captured(); due != 0) return due

extern "C" {

fake::State* lanefold_fake_state() { return &state(); }

int cuInit(unsigned) {
  FAKE(false);
  contexts.clear();
  launches_run = 0;
  return state().init_outcome;
}
int cuDriverGetVersion(int* version) {
  *version = state().version;
  return kSuccess;
}
int cuGetErrorName(int error, const char** text) {
  static const std::map<int, const char*> kNames = {{kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
                                                    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
                                                    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
                                                    {kNoBinaryForDevice, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
                                                    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"}};
  const auto it = kNames.find(error);
  *text = it == kNames.end() ? nullptr : it->second;
  return it == kNames.end() ? kInvalidValue : kSuccess;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == kIllegalAddress ? "an illegal memory access was encountered" : "a text";
  return kSuccess;
}

int cuDeviceGet(int* device, int ordinal) {
  FAKE(false);
  *device = ordinal;
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  FAKE(false);
  *count = static_cast<int>(state().devices.size());
  return kSuccess;
}
int cuDeviceGetName(char* name, int size, int device) {
  FAKE(false);
  std::snprintf(name, static_cast<std::size_t>(size), "%s",
                state().devices.at(static_cast<std::size_t>(device)).name.c_str());
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  FAKE(false);
  const auto& attributes = state().devices.at(static_cast<std::size_t>(device)).attributes;
  const auto it = attributes.find(attribute);
  if (it == attributes.end()) return kInvalidValue;
  *value = it->second;
  return kSuccess;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  FAKE(false);
  *bytes = state().devices.at(static_cast<std::size_t>(device)).memory;
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(CUcontext* context, int device) {
  FAKE(false);
  *context = &primary[device];
  ++state().alive["primary context"];
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  FAKE(false);
  --state().alive["primary context"];
  return kSuccess;
}
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  FAKE(false);
  *flags = 0;
  *active = state().alive["primary context"] > 0 ? 1 : 0;
  return kSuccess;
}
int cuCtxGetCurrent(CUcontext* context) {
  FAKE(false);
  *context = current();
  return kSuccess;
}
int cuCtxPushCurrent_v2(CUcontext context) {
  FAKE(false);
  contexts.push_back(context);
  return kSuccess;
}
int cuCtxPopCurrent_v2(CUcontext* context) {
  FAKE(false);
  *context = current();
  if (contexts.empty()) return kInvalidContext;
  contexts.pop_back();
  return kSuccess;
}
int cuCtxGetDevice(int* device) {
  FAKE();
  *device = current()->device;
  return kSuccess;
}
int cuCtxSynchronize() {
  FAKE_UNCAPTURED();
  wait_for_launches();
  return state().lost;
}

int cuModuleLoadData(CUmodule* module, const void* image) {
  FAKE_UNCAPTURED();
  const auto* text = static_cast<const char*>(image);
  auto loaded = std::make_unique<CUmod_st>();
  if (std::memcmp(text, "\177ELF", 4) == 0) {
    loaded->real = true;
  } else {
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    if (line != "fake-cubin") return kInvalidImage;
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      CUfunc_st function;
      words >> function.name >> function.parameters >> function.attributes[kFunctionMaxThreads] >>
          function.attributes[kFunctionSharedBytes] >> function.attributes[kFunctionRegisters];
      function.attributes[kFunctionLocalBytes] = 0;
      loaded->functions[function.name] = function;
    }
  }
  *module = loaded.release();
  ++state().alive["module"];
  return kSuccess;
}
int cuModuleUnload(CUmodule module) {
  FAKE_UNCAPTURED();
  delete module;
  --state().alive["module"];
  return kSuccess;
}
int cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  FAKE();
  if (module->real && !module->functions.contains(name))
    module->functions[name] = {
        name, state().parameters[name], {{kFunctionMaxThreads, 1024}, {kFunctionSharedBytes, 0}}};
  const auto it = module->functions.find(name);
  if (it == module->functions.end()) return kNotFound;
  *function = &it->second;
  return kSuccess;
}
int cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  FAKE();
  const auto it = function->attributes.find(attribute);
  if (it == function->attributes.end()) return kInvalidValue;
  *value = it->second;
  return kSuccess;
}
int cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  FAKE_UNCAPTURED();
  function->attributes[attribute] = value;
  state().function_sets[function->name + " " + std::to_string(attribute)] = value;
  return kSuccess;
}

/// The fake device has no room for clusters where the test says so.
int cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const LaunchConfig*) {
  FAKE();
  *clusters = state().active_clusters;
  return kSuccess;
}

#ifdef LANEFOLD_FAKE_OLD
#define cuLaunchKernelEx cuLaunchKernelOfOldDrivers
#endif
int cuLaunchKernelEx(const LaunchConfig* config, CUfunction function, void** parameters, void**) {
  FAKE();
  if (state().silent) return kSuccess;
  fake::Launch launch;
  launch.kernel = function->name;
  std::copy_n(config->grid, 3, launch.grid.begin());
  std::copy_n(config->block, 3, launch.block.begin());
  launch.shared_bytes = config->shared_bytes;
  launch.stream = config->stream;
  launch.context = current();
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id == kClusterDimension) launch.cluster = attribute.value.cluster.x;
    if (attribute.id == kProgrammaticStreamSerialization) launch.programmatic = attribute.value.programmatic != 0;
  }
  const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  const auto allowed = function->attributes.find(kFunctionMaxDynamicShared);
  const int shared = allowed == function->attributes.end() ? kFreeShared : allowed->second;
  if (threads == 0 || threads > 1024 || launch.grid[0] == 0 || launch.grid[0] % launch.cluster != 0 ||
      static_cast<int>(launch.shared_bytes) > shared) {
    return kInvalidValue;
  }
  for (std::size_t i = 0; i < function->parameters.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, parameters[i], function->parameters[i] == 'f' ? 4 : 8);
    launch.arguments.push_back(word);
  }
  submit(config->stream, function->name, [launch] { run_kernel(launch); });
  return kSuccess;
}

int cuMemAlloc_v2(Address* address, std::size_t bytes) {
  FAKE_UNCAPTURED();
  if (bytes == 0) return kInvalidValue;
  if (bytes > state().devices.front().memory) return kOutOfMemory;
  *address = reinterpret_cast<Address>(::operator new(bytes));
  ++state().alive["memory"];
  return kSuccess;
}
int cuMemFree_v2(Address address) {
  FAKE_UNCAPTURED();
  ::operator delete(reinterpret_cast<void*>(address));
  --state().alive["memory"];
  return kSuccess;
}
int cuMemAllocAsync(Address* address, std::size_t bytes, CUstream) {
  FAKE();
  if (bytes == 0) return kInvalidValue;
  *address = reinterpret_cast<Address>(::operator new(bytes));
  ++state().alive["memory of streams"];
  return kSuccess;
}
int cuMemFreeAsync(Address address, CUstream) {
  FAKE();
  ::operator delete(reinterpret_cast<void*>(address));
  --state().alive["memory of streams"];
  return kSuccess;
}
int cuPointerGetAttribute(void* value, int attribute, Address address) {
  FAKE();
  const fake::Foreign* const elsewhere = foreign(address);
  if (attribute != kPointerOnDevice || (elsewhere != nullptr && !elsewhere->peer_access)) return kInvalidValue;
  std::memcpy(value, &address, sizeof address);
  return kSuccess;
}
int cuPointerGetAttributes(unsigned count, int* attributes, void** values, Address address) {
  FAKE();
  const fake::Foreign* const elsewhere = foreign(address);
  const bool unknown = elsewhere != nullptr && elsewhere->device < 0;
  if (unknown && state().unknown_memory_is_an_error) return kInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned type = unknown ? kMemoryOfNobody : kMemoryOfDevice;
    const int ordinal = unknown ? -2 : elsewhere != nullptr ? elsewhere->device : current()->device;
    if (attributes[i] == kPointerMemoryType) std::memcpy(values[i], &type, sizeof type);
    if (attributes[i] == kPointerDeviceOrdinal) std::memcpy(values[i], &ordinal, sizeof ordinal);
  }
  return kSuccess;
}
int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  FAKE_UNCAPTURED();
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}
int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  FAKE_UNCAPTURED();
  wait_for_launches();
  if (state().lost != 0) return state().lost;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}
int cuMemsetD8Async(Address address, unsigned char value, std::size_t bytes, CUstream stream) {
  FAKE();
  submit(stream, "memset", [=] { std::memset(reinterpret_cast<void*>(address), value, bytes); });
  return kSuccess;
}

int cuStreamCreate(CUstream* stream, unsigned) {
  FAKE();
  *stream = new CUstream_st;
  ++state().alive["stream"];
  return kSuccess;
}
int cuStreamDestroy_v2(CUstream stream) {
  FAKE();
  delete stream;
  --state().alive["stream"];
  return kSuccess;
}
int cuStreamSynchronize(CUstream) {
  FAKE();
  wait_for_launches();
  return state().lost;
}
int cuStreamWaitEvent(CUstream, CUevent, unsigned) {
  FAKE();
  return kSuccess;
}
int cuStreamBeginCapture_v2(CUstream stream, int) {
  FAKE();
  if (stream == nullptr || stream->capture) return kCaptureUnsupported;
  stream->capture = std::make_unique<CUgraph_st>();
  ++state().captures;
  return kSuccess;
}
int cuStreamIsCapturing(CUstream stream, int* status) {
  FAKE();
  *status = stream != nullptr && stream->capture ? 1 : kNotCapturing;
  return kSuccess;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  FAKE(false);
  std::swap(*mode, capture_mode);
  return kSuccess;
}
int cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  FAKE();
  if (!stream->capture) return kInvalidValue;
  *graph = stream->capture.release();
  --state().captures;
  ++state().alive["graph"];
  return kSuccess;
}
int cuGraphDestroy(CUgraph graph) {
  FAKE();
  delete graph;
  --state().alive["graph"];
  return kSuccess;
}
int cuGraphInstantiateWithFlags(CUgraphExec* instance, CUgraph graph, std::uint64_t) {
  FAKE();
  *instance = new CUgraphExec_st{graph->nodes};
  ++state().alive["graph instance"];
  return kSuccess;
}
int cuGraphExecDestroy(CUgraphExec instance) {
  FAKE();
  delete instance;
  --state().alive["graph instance"];
  return kSuccess;
}
int cuGraphLaunch(CUgraphExec instance, CUstream) {
  FAKE();
  for (const Node& node : instance->nodes) node.run();
  return kSuccess;
}
int cuGraphExecUpdate_v2(CUgraphExec instance, CUgraph graph, GraphUpdateInfo*) {
  FAKE();
  if (instance->nodes.size() != graph->nodes.size()) return kGraphUpdateFailed;
  for (std::size_t i = 0; i < graph->nodes.size(); ++i)
    if (instance->nodes[i].kernel != graph->nodes[i].kernel) return kGraphUpdateFailed;
  instance->nodes = graph->nodes;
  return kSuccess;
}

int cuEventCreate(CUevent* event, unsigned) {
  FAKE();
  *event = new CUevent_st;
  ++state().alive["event"];
  return kSuccess;
}
int cuEventDestroy_v2(CUevent event) {
  FAKE();
  delete event;
  --state().alive["event"];
  return kSuccess;
}
int cuEventRecord(CUevent event, CUstream) {
  FAKE();
  event->recorded = launches_run;
  return kSuccess;
}
int cuEventSynchronize(CUevent) {
  FAKE_UNCAPTURED();
  wait_for_launches();
  return state().lost;
}
/// A launch takes 2 milliseconds.
int cuEventElapsedTime(float* milliseconds, CUevent first, CUevent second) {
  FAKE();
  if (first->recorded < 0 || second->recorded < 0) return kNotReady;
  *milliseconds = 2.0f * static_cast<float>(second->recorded - first->recorded);
  return kSuccess;
}

}  // extern "C"
