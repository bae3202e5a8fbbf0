#if LANEFOLD_CUDA
#include "bench/arms/cuda_sets.h"

#include <algorithm>

namespace lanefold::bench {
namespace {

constexpr std::int64_t kCacheBytes = 192 << 20;  // three times the second-level cache of the largest devices
constexpr std::int64_t kFewestSets = 2;
constexpr std::int64_t kMostSets = 48;

std::span<std::byte> contents(const verify::ModuleMemory& memory, std::size_t buffer) {
  const verify::ModuleBuffer& described = memory.buffers()[buffer];
  return {memory.view(buffer).data, static_cast<std::size_t>(described.elements()) * element_bytes(described.type)};
}

}  // namespace

std::size_t sets_beyond_cache(std::int64_t bytes) {
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(kCacheBytes / std::max<std::int64_t>(bytes, 1) + 1, kFewestSets, kMostSets));
}

Result<std::shared_ptr<CudaSets>> CudaSets::create(const runtime::CudaDevice& device,
                                                   const verify::ModuleMemory& memory, std::size_t count) {
  auto sets = std::make_shared<CudaSets>();
  for (std::size_t set = 0; set < count; ++set) {
    std::vector<runtime::CudaBuffer>& buffers = sets->sets_.emplace_back();
    for (std::size_t b = 0; b < memory.buffers().size(); ++b) {
      LANEFOLD_TRY(runtime::CudaBuffer buffer, device.allocate(contents(memory, b).size()));
      buffers.push_back(std::move(buffer));
    }
  }
  return sets;
}

Status CudaSets::upload(const verify::ModuleMemory& memory) const {
  for (std::size_t set = 0; set < sets_.size(); ++set) LANEFOLD_CHECK(upload(memory, set));
  return success();
}

Status CudaSets::upload(const verify::ModuleMemory& memory, std::size_t set) const {
  for (std::size_t b = 0; b < sets_[set].size(); ++b) LANEFOLD_CHECK(sets_[set][b].write(contents(memory, b)));
  return success();
}

Status CudaSets::fetch(const verify::ModuleMemory& memory) const {
  for (std::size_t b = 0; b < memory.buffers().size(); ++b)
    if (memory.buffers()[b].role != lane::Role::input) LANEFOLD_CHECK(sets_[0][b].read(contents(memory, b)));
  return success();
}

}  // namespace lanefold::bench
#endif
