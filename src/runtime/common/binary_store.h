// Compiled code on disk, whatever it is for: bytes under a key, whole or not there.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanefold::runtime {

/// The entries of one kind in a folder. Several processes may use one folder: entries appear by renaming, and a damaged entry is as good
/// as none.
class BinaryStore {
 public:
  using Bytes = std::vector<std::byte>;

  /// The user's folder: $LANEFOLD_CACHE_DIR, else $XDG_CACHE_HOME/lanefold, else ~/.cache/lanefold; no folder when LANEFOLD_CACHE_DIR is
  /// empty but set, or none of them can be told.
  static std::optional<std::filesystem::path> user_folder();
  /// Without a folder nothing is stored or found. `suffix` ends the names of files, such as ".o", and stands in their heads.
  BinaryStore(std::optional<std::filesystem::path> folder, std::string suffix)
      : folder_(std::move(folder)), suffix_(std::move(suffix)) {}

  const std::optional<std::filesystem::path>& folder() const { return folder_; }
  /// The bytes stored under the key, if they are there and whole.
  std::optional<Bytes> find(const std::string& key) const;
  /// Stores an entry of one byte or more; a folder that cannot be written is no error, only slower next time.
  void store(const std::string& key, const Bytes& bytes) const;
  /// Takes an entry away; one that is not there, or cannot be taken away, is no error.
  void remove(const std::string& key) const;

  /// A key for an entry that depends on this text alone.
  static std::string key(std::string_view text);

 private:
  std::string head() const;

  std::optional<std::filesystem::path> folder_;
  std::string suffix_;
};

}  // namespace lanefold::runtime
