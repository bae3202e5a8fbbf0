// What a measurement leaves behind: results.json, schema "lanefold.results" version 1. docs/results-schema.md describes every field.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/stats/paired.h"

namespace lanefold::bench {

inline constexpr std::string_view kSchemaName = "lanefold.results";
inline constexpr int kSchemaVersion = 1;

/// A file by its content.
struct HashedFile {
  std::string name;  ///< without folders
  std::string sha256;
};

/// Where and with what it was measured.
struct Environment {
  std::string device;       ///< "cpu", "cuda"
  std::string device_name;  ///< as it names itself
  std::string target;       ///< "cpu-avx2"
  std::string driver;       ///< of the device; empty: it needs none
  std::string compiler;     ///< that made the kernels: "LLVM 19.1.7", "NVRTC 13.0"
  std::string built_with;   ///< the C++ compiler of the binary
  std::string system;       ///< operating system and release
  unsigned processors = 0;  ///< that this process may use
  std::uint64_t memory_bytes = 0;
  std::string version;        ///< of Lanefold
  std::string revision;       ///< of the source that the binary was built from; empty: unknown
  std::optional<bool> dirty;  ///< whether that source had uncommitted changes; none: unknown
  HashedFile binary;
  std::vector<HashedFile> libraries;         ///< shared libraries that the process had loaded
  std::vector<double> load_begin, load_end;  ///< processes that wanted to run: means of 1, 5 and 15 minutes
  std::optional<double> stolen;  ///< share of processor time that the hypervisor gave to others, begin to end
};

/// Why a case was not timed.
struct Failure {
  std::string stage;                      ///< "prepare", "plan", "check", "sample"
  std::string code, name, message, hint;  ///< of the diagnostic
};

struct OutputCheck {
  std::string output;
  std::int64_t elements = 0, wrong = 0;
  double max_error = 0;  ///< the greatest |y − r| of finite elements
};

/// Every element against the FP64 oracle: right where |y − r| ≤ absolute + relative·|r|, integer codes within `code`.
struct Check {
  double absolute = 0, relative = 0;
  int code = 0;
  std::vector<OutputCheck> outputs;
  /// Whether there are outputs, and none of them has a wrong element.
  bool ok() const;
};

/// Samples of one arm. Times are µs per call.
struct ArmRecord {
  std::string name;           ///< "lanefold", "copy", "onnxruntime", a kernel's name
  std::string role;           ///< "subject", "ceiling", "peer"
  std::string version;        ///< of a peer, with its settings
  std::string output_policy;  ///< "preallocated" or "allocated per call"
  std::string declined;       ///< of a peer: why it does not have the case; then there are no samples
  std::uint64_t calls = 0;    ///< of each sample
  std::int64_t bytes = 0;     ///< that a call moves; 0: as many as the case's
  std::vector<double> wall_us, device_us;
  std::vector<int> turns;  ///< place of each sample within its round; empty, or as many as wall_us; so is device_us
  std::optional<Check> check;
  std::optional<Failure> failure;  ///< of a peer: it takes nothing from the case
  std::string own_tolerance =
      {};  ///< of a peer: why `check` is within a tolerance of its own; empty: it is the operator's
};

struct PhaseRecord {
  std::string phase;  ///< "plan", "lower", "compile", "setup", "upload", "first_call", "download"
  double us = 0;
};

struct SourceRecord {
  std::string stage;  ///< "lane", "llvm", "asm", "cuda"
  std::string sha256;
  std::string file;  ///< within the results' folder; empty: not kept
};

/// What a kernel takes of a device's multiprocessor, as it was compiled.
struct ResourceRecord {
  std::string kernel;
  std::uint32_t registers = 0;     ///< of a lane
  std::uint32_t spill_bytes = 0;   ///< of a lane, stored and loaded for want of registers
  std::uint32_t shared_bytes = 0;  ///< of a threadgroup
};

/// One kernel on one shape.
struct CaseRecord {
  std::string id;        ///< "rms_norm 64x4096 f32 canonical": equal where two runs measured the same thing
  std::string suite;     ///< empty: kernels named one by one
  std::string kernel;    ///< as it was named
  std::string made_for;  ///< "64 rows of 4096 columns", or a module's sizes
  std::int64_t rows = 0, cols = 0;
  std::string dtype, order, device;
  unsigned threads = 0;
  std::int64_t launches = 1;  ///< of one call: a suite may put several launches into one
  bool as_module = false;     ///< a row program whose lane module was launched directly, not through the kernel cache
  std::optional<Failure> failure;
  std::string plan;       ///< the plan that ran, in its JSON form; empty: a module without one
  std::string plan_line;  ///< the same for people
  std::vector<PhaseRecord> phases;
  std::vector<SourceRecord> sources;
  std::optional<Check> check;
  std::int64_t bytes_read = 0, bytes_written = 0;  ///< of one call, each element once
  std::vector<double> single_us;                   ///< calls timed one by one
  std::vector<ArmRecord> arms;                     ///< the subject first
  std::vector<ResourceRecord> resources = {};      ///< of a device with multiprocessors
  std::vector<double> enqueue_us = {};             ///< host time of putting a call into a device's queue

  /// The first arm of the role, or null.
  const ArmRecord* arm(std::string_view role) const;
  bool ok() const { return !failure.has_value(); }
  /// Bandwidth of the subject over that of the copy, which moves as many bytes, of their medians: by the device's clock where both have it, else by
  /// the host's. None where either has no samples.
  std::optional<double> share_of_ceiling() const;
};

/// time = launch + bytes / bandwidth, fitted to cases of which one size grows.
struct FitRecord {
  std::string kernel, dtype;
  std::string grows;       ///< "cols" or "rows"
  std::int64_t fixed = 0;  ///< the other size
  double launch_us = 0;
  double gb_per_s = 0;             ///< 10^9 bytes, read plus written
  double worst = 0;                ///< the largest |fitted / measured − 1|
  std::vector<std::string> cases;  ///< ids
};

/// One figure of a kernel that running does not change, for both arms.
struct StaticFigure {
  std::string name, unit;
  std::optional<double> a, b;
};

/// lanefold ab: B beside A.
struct ComparisonRecord {
  std::string a, b, made_for, dtype, device;
  unsigned threads = 0;
  std::string bytes;              ///< "equal for all inputs", "equal on these bytes", "differ"
  std::string bytes_detail;       ///< what was proved or compared; the greatest distance in ulp
  std::optional<double> max_ulp;  ///< where they differ
  std::vector<CaseRecord> arms;   ///< A and B as cases: plan, phases, check, sources; no samples
  std::vector<StaticFigure> figures;
  int repetitions = 0;                     ///< timed batches of a sample, whose median is its time
  std::uint64_t calls_a = 0, calls_b = 0;  ///< of a batch
  std::vector<Pair> pairs;
  std::optional<PairedVerdict> verdict;  ///< none where nothing was timed
  std::optional<Failure> failure;
};

/// Same-round ratios of one frozen plan to the first arm of its group.
struct ReplayArm {
  std::string name;  ///< the case's id and where its plan came from
  std::string plan;
  std::vector<double> wall_us;  ///< one per round
  double ratio_median = 1, ratio_least = 1, ratio_greatest = 1;
  std::vector<double> device_us =
      {};  ///< the same by the device's clock, which the ratios are then by; empty: it has none
};
struct ReplayRecord {
  std::string id;
  int rounds = 0;
  std::vector<ReplayArm> arms;  ///< the reference first
  std::optional<Failure> failure;
};

struct Results {
  std::string kind;       ///< "bench", "ab" or "replay"
  bool complete = false;  ///< false: the run has not come to its end, and this is what it had
  std::vector<std::string> command;
  std::string started, finished;           ///< ISO 8601, UTC
  std::map<std::string, double> protocol;  ///< "samples", "sample_ms", "warmup_ms", …
  Environment environment;
  std::vector<CaseRecord> cases;
  std::vector<FitRecord> fits;
  std::vector<ComparisonRecord> comparisons;
  std::vector<ReplayRecord> replays;
};

/// The JSON text of results.json. A number that is not finite, or a plan that is no JSON object, is an internal error.
std::string to_json(const Results& results);
/// The results in a text. `place` stands in diagnostics: results_truncated where the text ends early, results_malformed where it is no JSON or a field is
/// missing or of another type, results_schema where it is of another schema or version.
Result<Results> results_from_json(std::string_view text, const std::string& place);
/// Reads DIR/results.json, or the file itself.
Result<Results> read_results(const std::string& path);

}  // namespace lanefold::bench
