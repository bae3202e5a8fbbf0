// A target with known faults, by which standalone_test.py checks the driver: aborts and an exception.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("abort")) std::abort();
  if (text.starts_with("throw")) throw std::runtime_error("planted");
  if (std::count(text.begin(), text.end(), 'x') >= 3) std::abort();
  return 0;
}
