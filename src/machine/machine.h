// The lane machine: runs a lane module lane by lane, on numbers or on symbols; checks it and counts what it does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "lane/module.h"
#include "machine/counts.h"
#include "machine/evaluator.h"
#include "machine/global_memory.h"

namespace lanefold::machine {

/// One statement that a SIMD group has executed; a branch when its condition is looked at, a loop at each iteration.
struct TraceStep {
  std::int64_t threadgroup = 0;
  std::uint32_t group = 0;
  const lane::Kernel* kernel = nullptr;
  const lane::Statement* statement = nullptr;
  LaneMask mask = 0;                   ///< the active lanes
  std::span<const LaneVector> values;  ///< its results, or the operands of a statement that has none
  std::vector<ElementType> types;      ///< theirs
};

struct Options {
  /// Of the order in which SIMD groups, and clusters, take turns; the same seed gives the same order.
  std::uint64_t seed = 0;
  /// Threadgroups [begin, end) of the launch are run; without an end, all. Multiples of the cluster's size.
  std::int64_t begin = 0;
  std::optional<std::int64_t> end = {};
  /// Expressions instead of numbers; memory must be symbolic too.
  Symbols* symbols = nullptr;
  /// On symbols: what each function of the module means; none: all are looked into.
  std::span<const Helper> helpers = {};
  std::function<void(const TraceStep&)> trace = {};
  /// Statements and steps of control that the SIMD groups may execute in all; 0: as many as they like.
  std::uint64_t most_steps = 0;
};

struct Report {
  /// What is wrong with the module, in the order in which it was found; each code at most once per statement. A fault that makes
  /// going on meaningless (a barrier that not all lanes reach, an address computed from nothing) is the last.
  std::vector<Diagnostic> findings;
  Counts counts;
};

/// Launches one kernel over `rows` and `cols`. `arguments` has one word per kernel argument: an i64 or f32 for scalars; buffers are found
/// in `memory` by name (an internal error where one is missing). Whether outputs are complete is for the caller to ask
/// (unwritten_outputs) once all launches are done.
Report run(const lane::Module& module, const lane::Kernel& kernel, std::span<const lane::ArgumentWord> arguments,
           std::int64_t rows, std::int64_t cols, GlobalMemory& memory, const Options& options = {});

/// A finding for each output of which something was never written.
std::vector<Diagnostic> unwritten_outputs(GlobalMemory& memory);

}  // namespace lanefold::machine
