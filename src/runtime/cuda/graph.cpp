#include "runtime/cuda/graph.h"

#include "runtime/cuda/stream.h"

namespace lanefold::runtime {
namespace {

using cuda_api::Functions;

/// Ends a capture whatever happens, so that the stream is of use again.
class Capture {
 public:
  Capture(const Functions& functions, CUstream stream) : functions_(functions), stream_(stream) {}
  ~Capture() {
    CUgraph graph = nullptr;
    if (open_ && functions_.capture_end(stream_, &graph) == cuda_api::kSuccess && graph != nullptr)
      functions_.graph_destroy(graph);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cuda_api::Outcome end(CUgraph* graph) {
    open_ = false;
    return functions_.capture_end(stream_, graph);
  }

 private:
  const Functions& functions_;
  CUstream stream_;
  bool open_ = true;
};

}  // namespace

Result<CudaGraph::Recorded> CudaGraph::recorded(const std::shared_ptr<const CudaContext>& context, CUstream stream,
                                                const Record& record) {
  const CudaDriver& driver = context->driver();
  const Functions& f = driver.functions();
  const ContextScope scope(*context);
  LANEFOLD_CHECK(driver.check(scope.outcome(), "cuCtxPushCurrent"));
  LANEFOLD_CHECK(driver.check(f.capture_begin(stream, cuda_api::kCaptureThreadLocal), "cuStreamBeginCapture"));
  Capture capture(f, stream);
  LANEFOLD_CHECK(record(stream));
  CUgraph graph = nullptr;
  LANEFOLD_CHECK(driver.check(capture.end(&graph), "cuStreamEndCapture"));
  return Recorded(context, graph);
}

Result<CudaGraph::Instance> CudaGraph::instantiate(const Recorded& graph) {
  CUgraphExec instance = nullptr;
  LANEFOLD_CHECK(in_context(*graph.context(), "cuGraphInstantiate",
                            [&](const Functions& f) { return f.graph_instantiate(&instance, graph.get(), 0); }));
  return Instance(graph.context(), instance);
}

Result<CudaGraph> CudaGraph::capture(std::shared_ptr<const CudaContext> context, CUstream stream,
                                     const Record& record) {
  LANEFOLD_TRY(const Recorded graph, recorded(context, stream, record));
  LANEFOLD_TRY(Instance instance, instantiate(graph));
  return CudaGraph(std::move(instance));
}

Status CudaGraph::update(CUstream stream, const Record& record) {
  LANEFOLD_TRY(const Recorded graph, recorded(instance_.context(), stream, record));
  cuda_api::Outcome outcome = cuda_api::kSuccess;
  Status status = in_context(*instance_.context(), "cuGraphExecUpdate", [&](const Functions& f) {
    cuda_api::GraphUpdateInfo info{};
    return outcome = f.graph_update(instance_.get(), graph.get(), &info);
  });
  if (outcome != cuda_api::kGraphUpdateFailed) return status;
  // Other launches than before: that takes a new instance.
  LANEFOLD_TRY(instance_, instantiate(graph));
  return success();
}

Status CudaGraph::launch(CUstream stream) const {
  return in_context(*instance_.context(), "cuGraphLaunch",
                    [&](const Functions& f) { return f.graph_launch(instance_.get(), stream); });
}

Result<double> CudaGraph::time(CUstream stream, int replays) const {
  LANEFOLD_TRY(const CudaEvent begin, CudaEvent::create(instance_.context()));
  LANEFOLD_TRY(const CudaEvent end, CudaEvent::create(instance_.context()));
  LANEFOLD_CHECK(begin.record(stream));
  for (int i = 0; i < replays; ++i) LANEFOLD_CHECK(launch(stream));
  LANEFOLD_CHECK(end.record(stream));
  LANEFOLD_CHECK(end.synchronize());
  LANEFOLD_TRY(const double total, end.microseconds_since(begin));
  return total / replays;
}

}  // namespace lanefold::runtime
