// Calls on a CUDA device, recorded as graphs and timed by the device's clock.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bench/arms/arm.h"
#include "runtime/cuda/device.h"

namespace lanefold::bench {

/// One launch of a call, with its arguments for every set of buffers.
struct CudaStep {
  std::shared_ptr<const runtime::CudaKernel> kernel;
  runtime::LaunchShape shape;
  std::vector<std::vector<lane::ArgumentWord>> words;  ///< [set][argument]
};

/// A call that takes sets of buffers in turn.
class CudaTimer {
 public:
  /// The steps of one call, in order; every one has words for so many sets. `call_us`: about how long a call takes, which decides how many
  /// are recorded in a graph.
  static Result<std::unique_ptr<CudaTimer>> create(runtime::CudaDevice device, std::vector<CudaStep> steps,
                                                   std::size_t sets, double call_us);

  /// One call on the first set; waits for it.
  Status once() const;
  /// So many calls by replays of graphs: the host's time from before the first replay until the last call has ended, and the device's between
  /// the same moments. Whatever has to be recorded is recorded before.
  Result<Timing> run(std::uint64_t calls);
  /// The host's time to put one call into a stream without a graph, µs: so many samples, each the mean of a few calls.
  Result<std::vector<double>> enqueue_us(int samples) const;

  /// Calls of the graph that is replayed most.
  std::uint64_t recorded() const { return recorded_; }

 private:
  CudaTimer(runtime::CudaDevice device, std::vector<CudaStep> steps, std::size_t sets, runtime::CudaStream stream,
            runtime::CudaEvent begin, runtime::CudaEvent end)
      : device_(std::move(device)),
        steps_(std::move(steps)),
        sets_(sets),
        stream_(std::move(stream)),
        begin_(std::move(begin)),
        end_(std::move(end)) {}
  Status put(std::uint64_t calls, CUstream stream) const;
  /// The graph of so many calls, beginning with the first set.
  Result<const runtime::CudaGraph*> graph(std::uint64_t calls);

  runtime::CudaDevice device_;
  std::vector<CudaStep> steps_;
  std::size_t sets_;
  runtime::CudaStream stream_;
  runtime::CudaEvent begin_, end_;
  std::uint64_t recorded_ = 1;
  std::optional<runtime::CudaGraph> long_;
  std::optional<runtime::CudaGraph> tail_;  ///< what a number of calls has over whole long ones
  std::uint64_t tail_calls_ = 0;
};

}  // namespace lanefold::bench
