// Launches recorded once and replayed as one: the host then pays for a replay, not for each launch.
#pragma once

#include <functional>

#include "runtime/cuda/owned.h"

namespace lanefold::runtime {

/// A recorded and instantiated graph.
class CudaGraph {
 public:
  /// Puts work into a stream; what is put there while a graph is recorded runs only when the graph does.
  using Record = std::function<Status(CUstream)>;

  /// Records what `record` puts into the stream, which is not the default one.
  static Result<CudaGraph> capture(std::shared_ptr<const CudaContext> context, CUstream stream, const Record& record);

  /// Records again; where the launches are the same but for their shapes and arguments, that is cheaper than a new graph.
  Status update(CUstream stream, const Record& record);
  /// Puts one replay into the stream.
  Status launch(CUstream stream) const;
  /// Microseconds of the device for one replay, the mean of so many one after another. Waits for the stream.
  Result<double> time(CUstream stream, int replays) const;

 private:
  using Recorded = CudaOwned<CUgraph, &cuda_api::Functions::graph_destroy>;
  using Instance = CudaOwned<CUgraphExec, &cuda_api::Functions::graph_exec_destroy>;
  explicit CudaGraph(Instance instance) : instance_(std::move(instance)) {}
  static Result<Recorded> recorded(const std::shared_ptr<const CudaContext>& context, CUstream stream,
                                   const Record& record);
  static Result<Instance> instantiate(const Recorded& graph);

  Instance instance_;
};

}  // namespace lanefold::runtime
