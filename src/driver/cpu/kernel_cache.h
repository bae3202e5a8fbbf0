// Compiled kernels on disk, keyed by everything that their code depends on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "jit/jit.h"

namespace lanefold::driver {

/// A folder of object files. Several processes may use one folder: entries appear by renaming, and a damaged entry is as good as none.
class KernelCache {
 public:
  /// The user's folder: $LANEFOLD_CACHE_DIR, else $XDG_CACHE_HOME/lanefold, else ~/.cache/lanefold; no folder when LANEFOLD_CACHE_DIR is
  /// empty but set, or none of them can be told.
  static KernelCache user();
  explicit KernelCache(std::optional<std::filesystem::path> folder) : folder_(std::move(folder)) {}

  const std::optional<std::filesystem::path>& folder() const { return folder_; }
  /// The object stored under the key, if it is there and whole.
  std::optional<jit::Object> find(const std::string& key) const;
  /// Stores an object; a folder that cannot be written is no error, only slower next time.
  void store(const std::string& key, const jit::Object& object) const;

  /// Key of a module for a target: the hash of its text, of the target, and of the versions of Lanefold and LLVM.
  static std::string key(const lane::Module& module, const target::Target& target);

 private:
  std::optional<std::filesystem::path> folder_;
};

}  // namespace lanefold::driver
