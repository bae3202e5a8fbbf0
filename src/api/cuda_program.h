// What a kernel of the facade runs on a CUDA device, over memory and streams of the caller's.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "ir/order.h"
#include "ir/program.h"
#include "lanefold/lanefold.h"
#include "runtime/common/launch.h"
#include "target/target.h"

namespace lanefold::api {

/// A call whose views lie in the host's memory, as copies.
struct HostCall {
  std::vector<std::vector<std::byte>> memory;
  std::vector<View> inputs, outputs;
  runtime::Call call;
};

/// May be used from several threads at once. The views of all calls lie in memory that the device reaches (call_not_on_device).
class CudaProgram {
 public:
  virtual ~CudaProgram() = default;
  virtual const target::Target& target() const = 0;
  virtual int ordinal() const = 0;

  /// Puts the call into the stream and returns. Refuses to compile while the stream is captured (capture_not_prepared).
  virtual Status run(const runtime::Call& call, Stream stream) = 0;
  /// The same of a call that prepare() has just accepted, without looking at it again.
  virtual Status run_prepared(const runtime::Call& call, Stream stream) = 0;
  /// Compiles what the call runs; refuses what run() refuses, and what it would refuse in the stream, where one is given.
  virtual Status prepare(const runtime::Call& call, const std::optional<Stream>& stream) = 0;
  /// The call with copies of all that its views reach, once all work of the device's context has ended.
  virtual Result<HostCall> on_host(const runtime::Call& call) = 0;
};

/// For the device of the options, or that of the thread's current context, or device 0. device_missing where there is none, or
/// no compiler, or this build has no CUDA runtime.
Result<std::unique_ptr<CudaProgram>> open_cuda(ir::Program program, const Options& options, ir::Order order);

}  // namespace lanefold::api
