// CUDA machine code on disk, keyed by everything that it depends on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/common/binary_store.h"
#include "runtime/cuda/nvrtc.h"

namespace lanefold::runtime {

/// A folder of machine code with what the compiler said about it. It has the guarantees of BinaryStore.
class CudaBinaryCache {
 public:
  /// In the user's folder, see BinaryStore::user_folder.
  static CudaBinaryCache user() { return CudaBinaryCache(BinaryStore::user_folder()); }
  explicit CudaBinaryCache(std::optional<std::filesystem::path> folder) : store_(std::move(folder), ".cubin-entry") {}

  const std::optional<std::filesystem::path>& folder() const { return store_.folder(); }
  /// The binary stored under the key, if it is there and whole.
  std::optional<CudaBinary> find(const std::string& key) const;
  /// Stores a binary; a folder that cannot be written is no error, only slower next time.
  void store(const std::string& key, const CudaBinary& binary) const;
  /// The binary of a source: from the disk, else compiled (see Nvrtc::compile) and stored.
  Result<CudaBinary> get(const Nvrtc& nvrtc, const CudaSource& source, std::string_view architecture) const;

  /// Key of a source: the hash of its text and name, of the compiler's options and of its version.
  static std::string key(const Nvrtc& nvrtc, const CudaSource& source, std::string_view architecture);

 private:
  BinaryStore store_;
};

}  // namespace lanefold::runtime
