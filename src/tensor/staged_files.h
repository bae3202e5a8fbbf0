// Files that appear whole or not at all, several of them together.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace lanefold::tensor {

/// Writes files under temporary names beside their targets, then renames them. Until commit() no target changes; when
/// commit() fails, or the object dies without it, the targets are what they were and the temporary files are gone.
class StagedFiles {
 public:
  StagedFiles() = default;
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;
  ~StagedFiles();

  /// Writes the pieces, one after the other, to a temporary file for `path`, and flushes it to the device. A link at
  /// `path` is followed. write_failed where it cannot be written, and where a device or a pipe is at the path; output_repeated for a path staged before.
  Status stage(const std::string& path, std::initializer_list<std::span<const std::byte>> pieces);
  /// The same for pieces that are not known when writing the call.
  Status stage(const std::string& path, std::span<const std::span<const std::byte>> pieces);

  /// Renames every staged file to its target, or none.
  Status commit();

 private:
  struct File {
    std::string path;    ///< as the caller named it
    std::string target;  ///< with links followed
    std::string temporary;
    std::string backup;  ///< the old target's other name, while there is one
    bool renamed = false;
  };

  void roll_back();

  std::vector<File> files_;
};

/// The path with links and "." and ".." resolved as far as it exists: equal for two names of one file.
std::string resolved_path(const std::string& path);

}  // namespace lanefold::tensor
