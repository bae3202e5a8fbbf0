#include "base/diagnostic.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "base/result.h"

namespace lanefold {
namespace {

TEST(Diagnostic, RegistryIsSortedUniqueAndWellFormed) {
  std::set<std::string> names;
  std::string previous;
  for (const Code code : all_codes()) {
    const std::string number(code_number(code));
    ASSERT_EQ(number.size(), 6u) << number;
    EXPECT_EQ(number.substr(0, 2), "LF");
    for (const char c : number.substr(2)) EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(c))) << number;
    EXPECT_LT(previous, number) << "codes.def is not sorted by number";
    previous = number;
    EXPECT_TRUE(names.insert(std::string(code_name(code))).second) << code_name(code);
    EXPECT_FALSE(code_summary(code).empty()) << number;
    EXPECT_EQ(code_summary(code).find('\n'), std::string_view::npos) << number;
  }
  EXPECT_FALSE(names.empty());
}

TEST(Diagnostic, TextHasPlaceCodeMessageAndHint) {
  ASSERT_FALSE(all_codes().empty());
  const Code code = all_codes().front();
  const std::string head = "error " + std::string(code_number(code)) + " (" + std::string(code_name(code)) + "): ";
  EXPECT_EQ((Diagnostic{code, "no x here", "", ""}.text()), head + "no x here");
  EXPECT_EQ((Diagnostic{code, "no x here", "say x", "a.fold:3:7"}.text()),
            "a.fold:3:7: " + head + "no x here\nhint: say x");
}

TEST(Diagnostic, PlaceText) {
  EXPECT_EQ(place_text("a.fold", {3, 7}), "a.fold:3:7");
  EXPECT_EQ(place_text("a.fold", {3, 0}), "a.fold:3");
  EXPECT_EQ(place_text("a.fold", {}), "a.fold");
}

TEST(Diagnostic, UnknownCodeIsAnInternalError) {
  EXPECT_THROW(code_number(static_cast<Code>(all_codes().size())), InternalError);
}

Result<int> half(int value) {
  if (value % 2 != 0) return Diagnostic{all_codes().front(), "odd", "", ""};
  return value / 2;
}

Result<int> quarter(int value) {
  LANEFOLD_TRY(const int once, half(value));
  LANEFOLD_TRY(const int twice, half(once));
  return twice;
}

TEST(Result, CarriesValueOrDiagnostic) {
  EXPECT_EQ(quarter(12).value(), 3);
  ASSERT_FALSE(quarter(6).ok());
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_THROW((void)quarter(6).value(), InternalError);
  EXPECT_TRUE(success().ok());
}

}  // namespace
}  // namespace lanefold
