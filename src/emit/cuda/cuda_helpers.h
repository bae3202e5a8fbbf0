// The small functions and types that emitted CUDA source defines for itself.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace lanefold::emit {

/// Collects the helpers that a source uses, and prints those.
class CudaHelpers {
 public:
  /// Marks a helper and what it needs; returns its name.
  std::string_view use(std::string_view name);
  std::string text() const;
  /// The names of all helpers, used or not.
  static std::set<std::string, std::less<>> names();

 private:
  std::set<std::string, std::less<>> used_;
};

}  // namespace lanefold::emit
