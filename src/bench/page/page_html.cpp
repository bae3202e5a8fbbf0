#include "bench/page/page_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/sha256.h"

namespace lanefold::bench {

namespace {

constexpr auto kReplace = nlohmann::json::error_handler_t::replace;

/// U+FFFD for whatever is no UTF-8.
std::string as_utf8(std::string_view text) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return std::string(text);
  return nlohmann::json::parse(nlohmann::json(text).dump(-1, ' ', false, kReplace)).get<std::string>();
}

}  // namespace

std::string escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : as_utf8(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      case '\t':
      case '\n': escaped += c; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          escaped += "\uFFFD";
        } else {
          escaped += c;
        }
    }
  }
  return escaped;
}

std::string script_json(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', false, kReplace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    // Only within strings can there be a "<".
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string policy_hash(std::string_view script) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = sha256_hex(script.data(), script.size());
  // 32 bytes: 43 digits of six bits, the last with two zero bits, and one "=".
  std::string base64;
  std::uint32_t bits = 0;
  int held = 0;
  const auto nibble = [](char c) { return static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  for (const char c : hex) {
    bits = (bits << 4) | nibble(c);
    held += 4;
    if (held >= 6) {
      held -= 6;
      base64 += kDigits[(bits >> held) & 63];
    }
  }
  if (held > 0) base64 += kDigits[(bits << (6 - held)) & 63];
  return fmt::format("'sha256-{}='", base64);
}

std::string number(double value) {
  if (!std::isfinite(value)) return "–";
  if (value == 0) return "0";
  const double magnitude = std::fabs(value);
  if (magnitude < 1e-3 || magnitude >= 1e7) return fmt::format("{:.2e}", value);
  const int before = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  return fmt::format("{:.{}f}", value, before >= 3 ? 0 : 3 - before);
}

std::string setting(double value) { return fmt::format("{:g}", value); }

std::string percent(double share) {
  if (!std::isfinite(share)) return "–";
  return fmt::format("{:.{}f} %", share * 100, std::fabs(share) < 0.1 ? 1 : 0);
}

std::string bytes(double count) {
  static constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; count >= 1024 && unit + 1 < kUnits.size(); ++unit) count /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", count) : fmt::format("{} {}", number(count), kUnits[unit]);
}

std::string code(std::string_view text) { return fmt::format("<code>{}</code>", escape(text)); }

std::string details(std::string_view summary, std::string_view body_html, std::string_view id) {
  const std::string attribute = id.empty() ? "" : fmt::format(" id=\"{}\"", escape(id));
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", attribute, escape(summary), body_html);
}

Cell text_cell(std::string_view text) { return {escape(text), ""}; }
Cell number_cell(double value) { return {number(value), "n"}; }

Table::Table(const std::vector<std::string>& heads, std::string_view classes) {
  html_ = fmt::format("<div class=\"scroll\"><table class=\"{}\"><thead><tr>", escape(classes));
  for (const std::string& head : heads) {
    const bool numbers = head.starts_with('#');
    html_ += fmt::format("<th scope=\"col\"{}>{}</th>", numbers ? " class=\"n\"" : "", escape(head.substr(numbers)));
  }
  html_ += "</tr></thead><tbody>\n";
  if (classes == "stack") stacked_heads_ = heads;
}

void Table::row(const std::vector<Cell>& cells) {
  html_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    html_ += "<td";
    if (!cells[i].classes.empty()) html_ += fmt::format(" class=\"{}\"", cells[i].classes);
    if (i < stacked_heads_.size()) html_ += fmt::format(" data-head=\"{}\"", escape(stacked_heads_[i]));
    html_ += fmt::format(">{}</td>", cells[i].html);
  }
  html_ += "</tr>\n";
  ++rows_;
}

std::string Table::html() const { return html_ + "</tbody></table></div>\n"; }

}  // namespace lanefold::bench
