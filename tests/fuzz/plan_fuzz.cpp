// Any text read as a plan gives a plan or a diagnostic; a plan that was read prints to a text that reads alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "plan/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto plan = lanefold::plan::from_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!plan) return 0;
  const std::string text = lanefold::plan::to_json(*plan);
  const auto again = lanefold::plan::from_json(text, "fuzz again");
  if (!again || lanefold::plan::to_json(*again) != text) std::abort();
  return 0;
}
