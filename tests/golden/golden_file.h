// Golden files: what a test's text should be, in this folder. LANEFOLD_REWRITE_GOLDEN=1 writes them anew.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace lanefold::testing {

inline std::filesystem::path golden_file(const std::string& name) {
  return std::filesystem::path(LANEFOLD_SOURCE_DIR) / "tests" / "golden" / name;
}

inline bool rewrites() {
  const char* set = std::getenv("LANEFOLD_REWRITE_GOLDEN");
  return set != nullptr && std::string_view(set) == "1";
}

inline std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The number and both versions of the first line that differs.
inline std::string first_difference(const std::string& got, const std::string& expected) {
  std::istringstream left(got), right(expected);
  std::string a, b;
  for (int line = 1;; ++line) {
    const bool more_a = static_cast<bool>(std::getline(left, a)), more_b = static_cast<bool>(std::getline(right, b));
    if (!more_a && !more_b) return "only in how the last line ends";
    if (more_a != more_b || a != b)
      return "at line " + std::to_string(line) + ":\n  now:    " + (more_a ? a : "(nothing)") +
             "\n  golden: " + (more_b ? b : "(nothing)");
  }
}

inline void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = golden_file(name);
  if (rewrites()) std::ofstream(path, std::ios::binary) << text;
  ASSERT_TRUE(std::filesystem::exists(path)) << name << " is missing; LANEFOLD_REWRITE_GOLDEN=1 writes it";
  const std::string golden = content(path);
  EXPECT_TRUE(text == golden) << name << " differs " << first_difference(text, golden);
}

}  // namespace lanefold::testing
