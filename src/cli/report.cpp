#include "cli/report.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lanefold::cli {
namespace {

using nlohmann::json;

/// Characters of UTF-8 text: bytes that begin one.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json(const json& value) { print(value.dump(2, ' ', false, json::error_handler_t::replace) + "\n"); }

json diagnostic_json(const Diagnostic& diagnostic) {
  return {{"code", code_number(diagnostic.code)},
          {"name", code_name(diagnostic.code)},
          {"message", diagnostic.message},
          {"hint", diagnostic.hint},
          {"place", diagnostic.place}};
}

json diagnostics_json(const std::vector<Diagnostic>& diagnostics) {
  json list = json::array();
  for (const Diagnostic& diagnostic : diagnostics) list.push_back(diagnostic_json(diagnostic));
  return list;
}

void report_error(const Diagnostic& diagnostic, bool as_json) {
  if (as_json) {
    print_json({{"error", diagnostic_json(diagnostic)}});
    return;
  }
  std::fflush(stdout);
  std::string text = diagnostic.text();
  if (text.empty() || text.back() != '\n') text += '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void report_internal_error(std::string_view message, bool as_json) {
  constexpr std::string_view kWhose =
      "this is a fault of Lanefold, not yours: please report it with the command that you ran";
  if (as_json) {
    print_json(
        {{"error",
          {{"code", "internal"}, {"name", "internal_error"}, {"message", message}, {"hint", kWhose}, {"place", ""}}}});
    return;
  }
  std::fflush(stdout);
  const std::string text = fmt::format("internal error: {}\n{}\n", message, kWhose);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

Status finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return success();
  return Diagnostic{Code::write_failed, "standard output could not be written", "is the disk full, or the reader gone?",
                    "standard output"};
}

std::string counted(std::int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t from_end = 3; from_end < text.size(); from_end += 4) text.insert(text.size() - from_end, 1, ',');
  return text;
}

std::string time_text(double microseconds) {
  if (microseconds >= 1e6) return fmt::format("{:.2f} s", microseconds / 1e6);
  if (microseconds >= 1e3) return fmt::format("{:.2f} ms", microseconds / 1e3);
  return fmt::format("{:.1f} µs", microseconds);
}

Table::Table(std::vector<std::string> head, std::vector<bool> right) : right_(std::move(right)) {
  right_.resize(head.size(), false);
  rows_.push_back(std::move(head));
}

void Table::add(std::vector<std::string> cells) {
  cells.resize(right_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (right_[i] ? padding + row[i] : row[i] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace lanefold::cli
