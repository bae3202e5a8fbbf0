#include "driver/cpu/kernel_cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/hash.h"
#include "driver/version.h"

namespace lanefold::driver {
namespace {

constexpr std::string_view kMagic = "lanefold-object-1\n";

}  // namespace

KernelCache KernelCache::user() {
  namespace fs = std::filesystem;
  if (const char* own = std::getenv("LANEFOLD_CACHE_DIR")) {
    if (*own == '\0') return KernelCache(std::nullopt);
    return KernelCache(fs::path(own));
  }
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return KernelCache(fs::path(xdg) / "lanefold");
  if (const char* home = std::getenv("HOME"); home && *home) return KernelCache(fs::path(home) / ".cache" / "lanefold");
  return KernelCache(std::nullopt);
}

std::string KernelCache::key(const lane::Module& module, const target::Target& target) {
  const std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", lane::print(module), target.name, target.llvm_cpu,
                                       target.llvm_features, kVersion, jit::llvm_version(), jit::generator_hash());
  // Two independent 64-bit hashes: a collision would run somebody else's kernel.
  return fmt::format("{:016x}{:016x}", hash_text(text), hash_text(text + "#"));
}

std::optional<jit::Object> KernelCache::find(const std::string& key) const {
  if (!folder_) return std::nullopt;
  std::ifstream file(*folder_ / (key + ".o"), std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t head = kMagic.size() + sizeof(std::uint64_t);
  if (bytes.size() <= head || bytes.compare(0, kMagic.size(), kMagic) != 0) return std::nullopt;
  std::uint64_t expected = 0;
  std::memcpy(&expected, bytes.data() + kMagic.size(), sizeof expected);
  if (hash_bytes(bytes.data() + head, bytes.size() - head) != expected) return std::nullopt;
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return jit::Object(data + head, data + bytes.size());
}

void KernelCache::store(const std::string& key, const jit::Object& object) const {
  if (!folder_) return;
  std::error_code ignored;
  std::filesystem::create_directories(*folder_, ignored);
  static std::atomic<unsigned> number{0};
  const auto temporary = *folder_ / fmt::format("{}.{}.{}.tmp", key, getpid(), number++);
  bool written = false;
  {
    std::ofstream file(temporary, std::ios::binary);
    const std::uint64_t hash = hash_bytes(object.data(), object.size());
    file.write(kMagic.data(), static_cast<std::streamsize>(kMagic.size()));
    file.write(reinterpret_cast<const char*>(&hash), sizeof hash);
    file.write(reinterpret_cast<const char*>(object.data()), static_cast<std::streamsize>(object.size()));
    file.close();
    written = file.good();
  }
  if (written) std::filesystem::rename(temporary, *folder_ / (key + ".o"), ignored);
  if (!written || ignored) std::filesystem::remove(temporary, ignored);
}

}  // namespace lanefold::driver
