// Diagnostics: what a user is told when something cannot be done, and our own internal errors.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lanefold {

/// Every diagnostic code, from the registry in codes.def.
enum class Code : std::uint16_t {
#define LANEFOLD_CODE(name, number, summary) name,
#include "base/codes.def"
#undef LANEFOLD_CODE
};

/// The stable printed form of a code, such as "LF0101".
std::string_view code_number(Code code);
/// The identifier of a code in the registry, such as "unknown_name".
std::string_view code_name(Code code);
/// One line that says what the code means, whatever the place.
std::string_view code_summary(Code code);
/// Every registered code, in registry order.
const std::vector<Code>& all_codes();

/// A position in a text; line and column count from 1, and 0 means "no position".
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// One message for the user: what is wrong, where, why, and what would help.
struct Diagnostic {
  Code code;
  std::string message;
  std::string hint;
  std::string place;  ///< a file, "file:3:7", an argument such as "--in x=...", or a statement; may be empty

  /// "place: error LF0101 (unknown_name): message" and, on a second line, "hint: ...".
  std::string text() const;
};

/// A place in a named text: "name:line:column", or only the name where no position is known.
std::string place_text(std::string_view name, Place place);

/// A fault of our own. The command line reports it and exits with 70.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws InternalError with the message.
[[noreturn]] void internal_error(const std::string& message);

}  // namespace lanefold
