// The results of a run while it goes on: every step is on disk before the next one begins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/arms/sampler.h"
#include "bench/results/environment.h"
#include "bench/results/results_folder.h"

namespace lanefold::bench {

class ResultsRun {
 public:
  /// Makes the folder, and writes results.json without a case. Without a path nothing is written.
  static Result<ResultsRun> begin(const std::string& kind, const std::optional<std::string>& path,
                                  std::vector<std::string> command, const std::string& device,
                                  const std::string& target);

  Results& results() { return results_; }
  const Results& results() const { return results_; }
  /// Keeps the text of a source where `keep`, and its hash.
  Result<SourceRecord> keep_source(const std::string& id, const std::string& stage, const std::string& text, bool keep);
  /// Writes what there is.
  Status save();
  /// Marks the results as complete and writes them.
  Status finish();

 private:
  Results results_;
  EnvironmentWatch watch_;
  std::optional<ResultsFolder> folder_;
};

/// This moment as ISO 8601, UTC, to the second.
std::string utc_now();

/// The protocol as results record it.
std::map<std::string, double> protocol_record(const Protocol& protocol);

}  // namespace lanefold::bench
