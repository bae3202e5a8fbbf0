// What the command prints: results to standard output, diagnostics to standard error or, as JSON, to standard output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace lanefold::cli {

/// Prints text to standard output.
void print(std::string_view text);
/// Prints a JSON value and a line end to standard output.
void print_json(const nlohmann::json& value);

/// Prints a user's error.
void report_error(const Diagnostic& diagnostic, bool json);
/// A diagnostic as it stands in JSON: code, name, message, hint and place.
nlohmann::json diagnostic_json(const Diagnostic& diagnostic);
/// Several of them.
nlohmann::json diagnostics_json(const std::vector<Diagnostic>& diagnostics);
/// Prints a fault of our own.
void report_internal_error(std::string_view message, bool json);

/// Flushes standard output; write_failed where not all of it could be written.
Status finish_output();

/// "1 row", "2 rows".
std::string counted(std::int64_t number, std::string_view what);
/// "6,553,600".
std::string grouped(std::uint64_t number);
/// "1.52 s", "3.10 ms", "12.5 µs".
std::string time_text(double microseconds);

/// A table with a line per row: columns are padded to their widest cell, those of `right` to the left. No trailing spaces.
class Table {
 public:
  explicit Table(std::vector<std::string> head, std::vector<bool> right = {});
  void add(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

}  // namespace lanefold::cli
