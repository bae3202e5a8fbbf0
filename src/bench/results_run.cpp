#include "bench/results_run.h"

#include <chrono>

#include <fmt/chrono.h>

#include "base/sha256.h"

namespace lanefold::bench {

std::string utc_now() {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

Result<ResultsRun> ResultsRun::begin(const std::string& kind, const std::optional<std::string>& path,
                                     std::vector<std::string> command, const std::string& device,
                                     const std::string& target) {
  ResultsRun run;
  run.results_.kind = kind;
  run.results_.command = std::move(command);
  run.results_.started = utc_now();
  // Hashing takes a moment, in which nobody should find a folder without results.
  run.results_.environment = run.watch_.begin(device, target);
  if (path) {
    LANEFOLD_TRY(run.folder_, ResultsFolder::create(*path));
  }
  LANEFOLD_CHECK(run.save());
  return run;
}

Result<SourceRecord> ResultsRun::keep_source(const std::string& id, const std::string& stage, const std::string& text,
                                             bool keep) {
  if (folder_) return folder_->keep_source(id, stage, text, keep);
  return SourceRecord{stage, sha256_hex(text.data(), text.size()), ""};
}

Status ResultsRun::save() {
  results_.finished = utc_now();
  watch_.end(results_.environment);
  return folder_ ? folder_->write(results_) : success();
}

Status ResultsRun::finish() {
  results_.complete = true;
  return save();
}

std::map<std::string, double> protocol_record(const Protocol& protocol) {
  return {{"samples", protocol.samples},
          {"sample_ms", protocol.sample_ms},
          {"warmup_ms", protocol.warmup_ms},
          {"settle_ms", protocol.settle_ms},
          {"single_calls", protocol.single_calls}};
}

}  // namespace lanefold::bench
