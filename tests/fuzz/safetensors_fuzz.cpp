// Headers of safetensors files: any bytes are parsed or refused, and what is accepted lies inside the file, without
// overlaps, in the size that its shape needs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanefold;
  const auto entries = tensor::parse_safetensors_header(std::as_bytes(std::span(data, size)));
  if (!entries) {
    require(!entries.error().message.empty());
    return 0;
  }
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const tensor::SafetensorsEntry& entry : *entries) {
    require(entry.begin <= entry.end && entry.end <= size);
    ranges.emplace_back(entry.begin, entry.end);
    if (!entry.type) continue;
    const auto bytes = tensor::byte_count(entry.shape, *entry.type);
    require(bytes.ok() && static_cast<std::uint64_t>(*bytes) == entry.end - entry.begin);
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) require(ranges[i - 1].second <= ranges[i].first);
  return 0;
}
