// Compiled kernels on disk, keyed by everything that their code depends on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "jit/jit.h"
#include "runtime/common/binary_store.h"

namespace lanefold::driver {

/// A folder of object files. Several processes may use one folder: entries appear by renaming, and a damaged entry is as good as none.
class KernelCache {
 public:
  /// In the user's folder, see runtime::BinaryStore::user_folder.
  static KernelCache user() { return KernelCache(runtime::BinaryStore::user_folder()); }
  explicit KernelCache(std::optional<std::filesystem::path> folder) : store_(std::move(folder), ".o") {}

  const std::optional<std::filesystem::path>& folder() const { return store_.folder(); }
  /// The object stored under the key, if it is there and whole.
  std::optional<jit::Object> find(const std::string& key) const { return store_.find(key); }
  /// Stores an object; a folder that cannot be written is no error, only slower next time.
  void store(const std::string& key, const jit::Object& object) const { store_.store(key, object); }

  /// Key of a module for a target: the hash of its text, of the target, and of the versions of Lanefold and LLVM.
  static std::string key(const lane::Module& module, const target::Target& target);

 private:
  runtime::BinaryStore store_;
};

}  // namespace lanefold::driver
