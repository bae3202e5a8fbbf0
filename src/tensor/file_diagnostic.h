// Helpers for diagnostics about files: their place, and texts from files that may hold anything.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace lanefold::tensor {

/// The result, its diagnostic placed in the file where it has no place yet.
template <class T>
Result<T> placed(Result<T> result, const std::string& path) {
  if (result.ok() || !result.error().place.empty()) return result;
  Diagnostic error = result.error();
  error.place = path;
  return error;
}

/// The text as it may be shown: at most 64 bytes of it, control characters as '?'.
inline std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 64;
  std::string shown(text.substr(0, kMost));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  if (text.size() > kMost) shown += "...";
  return shown;
}

}  // namespace lanefold::tensor
