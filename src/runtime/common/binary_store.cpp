#include "runtime/common/binary_store.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/hash.h"

namespace lanefold::runtime {

std::optional<std::filesystem::path> BinaryStore::user_folder() {
  namespace fs = std::filesystem;
  if (const char* own = std::getenv("LANEFOLD_CACHE_DIR")) {
    if (*own == '\0') return std::nullopt;
    return fs::path(own);
  }
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return fs::path(xdg) / "lanefold";
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache" / "lanefold";
  return std::nullopt;
}

std::string BinaryStore::key(std::string_view text) {
  // Two independent 64-bit hashes: a collision would run somebody else's kernel.
  return fmt::format("{:016x}{:016x}", hash_text(text), hash_text(std::string(text) + "#"));
}

std::string BinaryStore::head() const { return fmt::format("lanefold-entry-1 {}\n", suffix_); }

std::optional<BinaryStore::Bytes> BinaryStore::find(const std::string& key) const {
  if (!folder_) return std::nullopt;
  std::ifstream file(*folder_ / (key + suffix_), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string magic = head();
  const std::size_t begin = magic.size() + sizeof(std::uint64_t);
  if (bytes.size() <= begin || bytes.compare(0, magic.size(), magic) != 0) return std::nullopt;
  std::uint64_t expected = 0;
  std::memcpy(&expected, bytes.data() + magic.size(), sizeof expected);
  if (hash_bytes(bytes.data() + begin, bytes.size() - begin) != expected) return std::nullopt;
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return Bytes(data + begin, data + bytes.size());
}

void BinaryStore::store(const std::string& key, const Bytes& bytes) const {
  if (!folder_) return;
  std::error_code ignored;
  std::filesystem::create_directories(*folder_, ignored);
  static std::atomic<unsigned> number{0};
  const auto temporary = *folder_ / fmt::format("{}{}.{}.{}.tmp", key, suffix_, getpid(), number++);
  bool written = false;
  {
    std::ofstream file(temporary, std::ios::binary);
    const std::string magic = head();
    const std::uint64_t hash = hash_bytes(bytes.data(), bytes.size());
    file.write(magic.data(), static_cast<std::streamsize>(magic.size()));
    file.write(reinterpret_cast<const char*>(&hash), sizeof hash);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    written = file.good();
  }
  if (written) std::filesystem::rename(temporary, *folder_ / (key + suffix_), ignored);
  if (!written || ignored) std::filesystem::remove(temporary, ignored);
}

void BinaryStore::remove(const std::string& key) const {
  std::error_code ignored;
  if (folder_) std::filesystem::remove(*folder_ / (key + suffix_), ignored);
}

}  // namespace lanefold::runtime
