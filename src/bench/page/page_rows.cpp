#include "bench/page/page_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lanefold::bench {
namespace {

using nlohmann::json;

constexpr int kLabelPx = 13;

}  // namespace

std::string_view series_colour(std::size_t index) {
  // After Okabe and Ito's palette, each lightened or darkened until it stands out on white and on near-black.
  static constexpr std::array<std::string_view, 5> kColours = {"#2f7fd0", "#d9662b", "#2a9d74", "#c264a0", "#b58900"};
  return kColours[index % kColours.size()];
}

json chart_frame(const std::string& description, int height_px) {
  return {{"description", description},
          {"width", "container"},
          {"height", height_px},
          {"background", nullptr},
          {"autosize", {{"type", "fit-x"}, {"contains", "padding"}}},
          {"padding", 4},
          {"config",
           {{"view", {{"stroke", nullptr}}},
            {"axis", {{"labelFontSize", 12}, {"titleFontSize", 12}, {"titleFontWeight", "normal"}, {"labelFlush", 14}}},
            {"legend", {{"labelFontSize", 12}, {"symbolSize", 80}, {"symbolOpacity", 1}, {"labelLimit", 260}}},
            {"text", {{"fontSize", 12}}},
            {"font", "system-ui, sans-serif"}}}};
}

json chart_layer(const json& values, const json& mark, const json& encoding) {
  return {{"data", {{"values", values}}}, {"mark", mark}, {"encoding", encoding}};
}

json colours(std::string_view field, const std::vector<std::string>& names,
             const std::vector<std::string_view>& range) {
  json domain = json::array(), used = json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    domain.push_back(names[i]);
    used.push_back(range[i % range.size()]);
  }
  return {{"field", field},
          {"type", "nominal"},
          {"scale", {{"domain", domain}, {"range", used}}},
          {"legend", {{"orient", "top"}, {"title", nullptr}, {"columns", 3}}}};
}

json tooltip(const std::vector<std::pair<std::string, std::string>>& fields) {
  json list = json::array();
  for (const auto& [field, title] : fields) {
    json entry = {{"field", field}, {"title", title}};
    list.push_back(std::move(entry));
  }
  return list;
}

json field(std::string_view name) { return {{"field", name}}; }

json bar_mark(double opacity) {
  return {{"type", "rule"}, {"strokeWidth", 5}, {"strokeCap", "round"}, {"opacity", opacity}};
}
json dot_mark(double size) { return {{"type", "point"}, {"filled", true}, {"size", size}, {"opacity", 1}}; }
json tick_mark(double height, double opacity) {
  return {{"type", "tick"}, {"orient", "vertical"}, {"size", height}, {"thickness", 1.5}, {"opacity", opacity}};
}

std::pair<double, double> ratio_domain(const std::vector<double>& values) {
  double low = 1, high = 1;
  for (const double value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Some room at both ends, also where all ratios are nearly 1.
  const double margin = std::max(std::pow(high / low, 0.04), 1.005);
  return {low / margin, high * margin};
}

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> ticks;
  if (high / low < 3) {
    double step = std::pow(10.0, std::floor(std::log10((high - low) / 4)));
    for (const double factor : {5.0, 2.0}) {
      if (step * factor <= (high - low) / 3) {
        step *= factor;
        break;
      }
    }
    for (double k = std::ceil(low / step); k * step <= high; ++k) ticks.push_back(k * step);
    return ticks;
  }
  const bool decades_only = high / low > 1000, short_axis = high / low < 10;
  for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10.0, power) <= high; ++power) {
    for (const double factor : {1.0, 2.0, 3.0, 5.0, 7.0}) {
      if (decades_only && factor != 1) continue;
      if (!short_axis && (factor == 3 || factor == 7)) continue;
      const double tick = factor * std::pow(10.0, power);
      if (tick >= low && tick <= high) ticks.push_back(tick);
    }
  }
  return ticks;
}

RowChart::RowChart(std::string description, int row_px, json x)
    : description_(std::move(description)), row_px_(row_px), x_(std::move(x)) {
  x_["type"] = "quantitative";
  x_["axis"]["orient"] = "top";
}

RowChart RowChart::of_ratios(std::string description, int row_px, const std::string& title,
                             const std::vector<double>& values) {
  const auto [low, high] = ratio_domain(values);
  RowChart chart(std::move(description), row_px,
                 {{"scale", {{"type", "log"}, {"domain", {low, high}}, {"nice", false}}},
                  {"axis", {{"title", title}, {"values", log_ticks(low, high)}, {"format", "~g"}}}});
  chart.rule_at_one_ = true;
  return chart;
}

void RowChart::row(const std::vector<std::string>& lines) {
  ++rows_;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    labels_.push_back({{"y", at(4 + static_cast<double>(i) * (kLabelPx + 2))}, {"label", lines[i]}, {"first", i == 0}});
  }
}

json RowChart::x(std::string_view field) const {
  json encoding = x_;
  encoding["field"] = field;
  return encoding;
}

json RowChart::y() const {
  return {{"field", "y"},
          {"type", "quantitative"},
          {"axis", nullptr},
          {"scale", {{"domain", {0, rows_}}, {"reverse", true}, {"nice", false}, {"zero", false}}}};
}

void RowChart::layer(const json& values, const json& mark, json encoding) {
  if (values.empty()) return;
  // The number of rows, which the scale of y needs, is known only in the end.
  if (!encoding.contains("y")) encoding["y"] = nullptr;
  layers_.push_back(chart_layer(values, mark, encoding));
}

json RowChart::spec() const {
  if (rows_ == 0 || layers_.empty()) return nullptr;
  json separators = json::array();
  for (int i = 1; i < rows_; ++i) separators.push_back({{"y", i}});
  json all = json::array();
  if (!separators.empty()) {
    all.push_back(
        chart_layer(separators, {{"type", "rule"}, {"color", kQuietColour}, {"opacity", 0.25}}, {{"y", y()}}));
  }
  if (rule_at_one_) {
    json x_of_one = x("x");
    all.push_back(chart_layer(json::array({{{"x", 1}}}),
                              {{"type", "rule"}, {"color", kQuietColour}, {"strokeWidth", 1.5}}, {{"x", x_of_one}}));
  }
  for (json layer : layers_) {
    layer["encoding"]["y"] = y();
    all.push_back(std::move(layer));
  }
  all.push_back(chart_layer(
      labels_,
      {{"type", "text"}, {"align", "left"}, {"baseline", "top"}, {"limit", {{"expr", "width - 8"}}}, {"dx", 2}},
      {{"x", {{"value", 0}}},
       {"y", y()},
       {"text", {{"field", "label"}}},
       {"opacity", {{"condition", {{"test", "datum.first"}, {"value", 1}}}, {"value", 0.7}}}}));
  json spec = chart_frame(description_, rows_ * row_px_);
  spec["layer"] = std::move(all);
  return spec;
}

}  // namespace lanefold::bench
