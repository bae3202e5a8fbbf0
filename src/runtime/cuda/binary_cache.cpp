#include "runtime/cuda/binary_cache.h"

#include <cstring>

#include <fmt/format.h>

namespace lanefold::runtime {

// An entry is the size of the log, the log, and the cubin: registers and spills are read from the log again.
std::optional<CudaBinary> CudaBinaryCache::find(const std::string& key) const {
  const std::optional<BinaryStore::Bytes> bytes = store_.find(key);
  std::uint64_t log_size = 0;
  if (!bytes || bytes->size() < sizeof log_size) return std::nullopt;
  std::memcpy(&log_size, bytes->data(), sizeof log_size);
  if (log_size > bytes->size() - sizeof log_size) return std::nullopt;
  const std::byte* log = bytes->data() + sizeof log_size;
  CudaBinary binary;
  binary.log.assign(reinterpret_cast<const char*>(log), log_size);
  binary.cubin.assign(log + log_size, bytes->data() + bytes->size());
  binary.usage = parse_resource_usage(binary.log);
  binary.from_disk = true;
  return binary;
}

void CudaBinaryCache::store(const std::string& key, const CudaBinary& binary) const {
  const std::uint64_t log_size = binary.log.size();
  BinaryStore::Bytes bytes;
  for (std::size_t i = 0; i < sizeof log_size; ++i) bytes.push_back(reinterpret_cast<const std::byte*>(&log_size)[i]);
  for (const char c : binary.log) bytes.push_back(static_cast<std::byte>(c));
  bytes.insert(bytes.end(), binary.cubin.begin(), binary.cubin.end());
  store_.store(key, bytes);
}

Result<CudaBinary> CudaBinaryCache::get(const Nvrtc& nvrtc, const CudaSource& source,
                                        std::string_view architecture) const {
  const std::string name = key(nvrtc, source, architecture);
  if (std::optional<CudaBinary> found = find(name)) return *std::move(found);
  LANEFOLD_TRY(CudaBinary binary, nvrtc.compile(source, architecture));
  store(name, binary);
  return binary;
}

std::string CudaBinaryCache::key(const Nvrtc& nvrtc, const CudaSource& source, std::string_view architecture) {
  std::string text = fmt::format("nvrtc {}\n{}\n", nvrtc.version(), source.name);
  for (const std::string& option : Nvrtc::options(source, architecture)) text += option + '\n';
  return BinaryStore::key(text + source.text);
}

}  // namespace lanefold::runtime
