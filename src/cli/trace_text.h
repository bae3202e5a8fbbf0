// `lanefold run --trace`: what each SIMD group has executed, lane by lane, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "verify/module_run.h"

namespace lanefold::cli {

/// Collects the first steps of a run, as text: the machine's values live only while it tells of a step.
class Trace {
 public:
  Trace(const lane::Module& module, std::size_t most_steps) : module_(module), most_(most_steps) {}

  /// Takes one step, or counts it where there are enough.
  void add(const machine::TraceStep& step);

  /// One block per step: its number and statement, then each value with a cell for each lane, eight lanes a line. `·` stands for
  /// a lane that is not active, `?` for what was never written.
  std::string text() const;
  nlohmann::json json() const;

 private:
  /// A value of a step: "%12", its type, and a cell per lane.
  struct Value {
    std::string name, type;
    std::vector<std::string> cells;
  };
  struct Step {
    std::int64_t threadgroup = 0;
    std::uint32_t group = 0;
    std::string kernel, statement, comment;
    std::vector<Value> values;
  };

  const lane::Module& module_;
  std::size_t most_;
  std::size_t all_ = 0;  ///< steps that were executed
  std::vector<Step> steps_;
};

}  // namespace lanefold::cli
