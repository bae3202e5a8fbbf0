// Any text read as results gives results or a diagnostic; results that were read are written as a text that reads alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bench/results/results.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto results = lanefold::bench::results_from_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!results) return 0;
  const std::string text = lanefold::bench::to_json(*results);
  const auto again = lanefold::bench::results_from_json(text, "fuzz again");
  if (!again || lanefold::bench::to_json(*again) != text) std::abort();
  return 0;
}
