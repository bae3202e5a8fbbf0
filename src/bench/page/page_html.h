// Pieces of a page: text that may hold anything, numbers for people, tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>
#include <nlohmann/json.hpp>

namespace lanefold::bench {

/// Text as it may stand between tags and within quoted attributes: & < > " ' become entities, and what no page may
/// hold, as bytes that are no UTF-8, becomes U+FFFD.
std::string escape(std::string_view text);
/// JSON as it may stand within a script element: no "<" in it, and U+FFFD for whatever is no UTF-8.
std::string script_json(const nlohmann::json& value);
/// The source expression of a Content-Security-Policy that allows exactly this script: 'sha256-…'.
std::string policy_hash(std::string_view script);

/// Three significant digits, more before the point where there are more; exponents only below 0.001 and from 10^7 on;
/// "–" for no finite number.
std::string number(double value);
/// A number that was set rather than measured, with the digits it was given with: 1e-06, 11.
std::string setting(double value);
/// A share as "87 %".
std::string percent(double share);
/// A count of bytes as "1.5 MiB".
std::string bytes(double count);

/// `text` in a code element.
std::string code(std::string_view text);
/// A details element, closed: the summary is text, the body HTML.
std::string details(std::string_view summary, std::string_view body_html, std::string_view id = {});

/// One cell: HTML, and the classes it has ("n": a number, "good", "bad", "quiet").
struct Cell {
  std::string html;
  std::string classes;
};
Cell text_cell(std::string_view text);
Cell number_cell(double value);

/// A table that scrolls sideways within itself.
class Table {
 public:
  /// Heads are text; those that begin with '#' stand over numbers. The rows of a table of the class "stack" are blocks
  /// on a narrow screen, each cell with its head before it.
  explicit Table(const std::vector<std::string>& heads, std::string_view classes = {});
  void row(const std::vector<Cell>& cells);
  bool empty() const { return rows_ == 0; }
  std::string html() const;

 private:
  std::string html_;
  std::vector<std::string> stacked_heads_;
  int rows_ = 0;
};

}  // namespace lanefold::bench
