#include "base/diagnostic.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace lanefold {
namespace {

struct CodeEntry {
  std::string_view name;
  std::string_view number;
  std::string_view summary;
};

// The last row is not a code: it keeps the array legal whatever the registry holds.
constexpr CodeEntry kEntries[] = {
#define LANEFOLD_CODE(name, number, summary) {#name, number, summary},
#include "base/codes.def"
#undef LANEFOLD_CODE
    {"", "", ""}};

constexpr std::size_t kCodeCount = std::size(kEntries) - 1;

const CodeEntry& entry(Code code) {
  const auto index = static_cast<std::size_t>(code);
  if (index >= kCodeCount) internal_error(fmt::format("no diagnostic code has index {}", index));
  return kEntries[index];
}

}  // namespace

std::string_view code_number(Code code) { return entry(code).number; }
std::string_view code_name(Code code) { return entry(code).name; }
std::string_view code_summary(Code code) { return entry(code).summary; }

const std::vector<Code>& all_codes() {
  static const std::vector<Code> codes = [] {
    std::vector<Code> all;
    for (std::size_t i = 0; i < kCodeCount; ++i) all.push_back(static_cast<Code>(i));
    return all;
  }();
  return codes;
}

std::string Diagnostic::text() const {
  std::string text;
  if (!place.empty()) text = place + ": ";
  text += fmt::format("error {} ({}): {}", code_number(code), code_name(code), message);
  if (!hint.empty()) text += "\nhint: " + hint;
  return text;
}

std::string place_text(std::string_view name, Place place) {
  if (place.line == 0) return std::string(name);
  if (place.column == 0) return fmt::format("{}:{}", name, place.line);
  return fmt::format("{}:{}:{}", name, place.line, place.column);
}

void internal_error(const std::string& message) { throw InternalError(message); }

}  // namespace lanefold
