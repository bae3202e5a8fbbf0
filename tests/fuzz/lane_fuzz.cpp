// Lane module text: whatever the parser takes must print, parse again, print alike, and go through the verifier.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lane/module.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanefold;
  const Result<lane::Module> module = lane::parse({reinterpret_cast<const char*>(data), size}, "fuzz.lane");
  if (!module) return 0;
  const std::string text = lane::print(*module);
  const Result<lane::Module> again = lane::parse(text, "printed.lane");
  if (!again || lane::print(*again) != text) std::abort();
  if (lane::verify(*module).size() != lane::verify(*again).size()) std::abort();
  return 0;
}
