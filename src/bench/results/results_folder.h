// The folder that a measurement leaves behind: results.json and, where asked for, the sources of its kernels.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/results/results.h"

namespace lanefold::bench {

class ResultsFolder {
 public:
  /// Makes a new folder, and the folders above it. output_folder_exists where there is anything at the path, a link that leads nowhere too;
  /// write_failed where it cannot be made.
  static Result<ResultsFolder> create(const std::string& path);

  const std::string& path() const { return path_; }

  /// Replaces results.json at once: whoever reads it, and whenever this process ends, there is a whole file. write_failed.
  Status write(const Results& results);

  /// Hashes the text of a case's kernel in a stage ("lane", "llvm", "asm"), and writes it below sources/ if it is to be kept. The files of one case
  /// have one name with different endings. write_failed.
  Result<SourceRecord> keep_source(const std::string& id, const std::string& stage, std::string_view text, bool keep);

 private:
  explicit ResultsFolder(std::string path) : path_(std::move(path)) {}
  std::string source_name(const std::string& id, const std::string& stage);

  std::string path_;
  std::map<std::string, std::string> stems_;  ///< of the latest files of each case, by its id
  std::set<std::string> taken_;               ///< stems and names of files, in lower case
};

}  // namespace lanefold::bench
