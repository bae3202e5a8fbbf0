// Peers: other frameworks, each in a process of its own that speaks a small protocol of JSON lines (docs/measuring.md), timed by the same sampler.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/view.h"
#include "bench/arms/arm.h"

namespace lanefold::bench {

/// What a peer is asked to do: an operator of the library on given inputs.
struct PeerCase {
  struct Buffer {
    std::string name;
    std::vector<std::int64_t> shape;  ///< outermost axis first
    View view;                        ///< inputs: contiguous contents, for the time of prepare()
    ElementType type = ElementType::f32;
  };
  std::string op;  ///< "softmax"
  std::int64_t rows = 0, cols = 0;
  std::string dtype;  ///< of the operator: "f32", "bf16", "f16"
  unsigned threads = 1;
  std::map<std::string, float> parameters;  ///< "eps"
  std::vector<Buffer> inputs, outputs;
};

/// How far a peer's own outputs may be from the FP64 meaning, as it claims: |y − r| ≤ absolute + relative·|r|. Of floating outputs; for
/// integer codes the operator's tolerance holds.
struct ClaimedTolerance {
  double absolute = 0, relative = 0;
  std::string why;  ///< what it does otherwise than it was asked: "x is rounded to q8_0"
};

/// What the peer said to a case.
struct PeerOffer {
  std::string declined;                       ///< why it does not have the case; empty: it is ready
  std::string call;                           ///< how it computes it: "torch.nn.functional.softmax"
  std::string output_policy;                  ///< "preallocated" or "allocated per call"
  std::optional<ClaimedTolerance> tolerance;  ///< none: the operator's
};

/// How long a peer may take to answer, in ms; then it is killed.
struct PeerLimits {
  std::chrono::milliseconds greeting{120'000};  ///< importing a framework is slow
  std::chrono::milliseconds answer{600'000};    ///< to anything else
};

/// A running peer. One case at a time. The first failure ends it: every later call returns that failure again.
class Peer final : public Arm {
 public:
  /// Starts a command, split at spaces (quotes group), and waits for its greeting. peer_not_started, peer_protocol.
  static Result<std::unique_ptr<Peer>> start(const std::string& command, const PeerLimits& limits = {});
  ~Peer() override;

  const std::string& name() const { return name_; }        ///< "onnxruntime"
  const std::string& version() const { return version_; }  ///< "1.32.0"

  /// Hands the case over; replaces the one before. The inputs go through files in a private temporary folder, which is gone when this returns.
  /// peer_protocol where the peer has died or answers otherwise than it should, write_failed where the folder cannot be made or written.
  Result<PeerOffer> prepare(const PeerCase& what);
  /// The outputs of the last call, contiguous, in the order of the case's outputs. For a case that the peer was ready for.
  Result<std::vector<std::vector<std::byte>>> outputs();
  /// Timed by the peer itself, around the calls only. For a case that the peer was ready for.
  Result<Timing> run(std::uint64_t calls) override;

 private:
  struct Process;
  explicit Peer(std::unique_ptr<Process> process);
  std::unique_ptr<Process> process_;
  std::string name_, version_;
};

}  // namespace lanefold::bench
