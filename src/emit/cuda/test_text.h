// What tests ask of emitted text.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace lanefold::emit {

/// The text has these parts, in this order.
inline void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  std::size_t at = 0;
  for (const char* part : parts) {
    const std::size_t found = text.find(part, at);
    ASSERT_NE(found, text.npos) << part << "\n(after place " << at << ") is not in\n" << text;
    at = found + std::string_view(part).size();
  }
}

inline void expect_without(const std::string& text, const char* part) { EXPECT_EQ(text.find(part), text.npos) << text; }

}  // namespace lanefold::emit
