// The chart of time over size.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/page/page_charts.h"
#include "bench/page/page_html.h"
#include "bench/page/page_rows.h"
#include "bench/stats/statistics.h"

namespace lanefold::bench {

using nlohmann::json;

namespace {

bool positive(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

json growth_chart(const Growth& growth) {
  const std::string fitted = "fitted", copy = "copy", measured = "measured";
  json points = json::array(), lines = json::array();
  const CaseRecord* before = nullptr;
  std::set<std::string> series;
  const auto bytes_of = [](const CaseRecord& r) {
    return static_cast<double>(r.bytes_read) + static_cast<double>(r.bytes_written);
  };
  const auto fitted_at = [&](double size, double moved) {
    const double us = growth.fit->launch_us + moved / (growth.fit->gb_per_s * 1e3);
    if (!positive(us)) return;
    lines.push_back({{"size", size}, {"us", us}, {"series", fitted}});
    series.insert(fitted);
  };
  for (const CaseRecord* record : growth.cases) {
    const double size = static_cast<double>(growing_size(growth, *record));
    const std::vector<double>& taken = record->arm("subject")->wall_us;
    points.push_back({{"size", size},
                      {"us", median(taken)},
                      {"low", quantile(taken, 0.1)},
                      {"high", quantile(taken, 0.9)},
                      {"series", measured},
                      {"case", record->id},
                      {"shown", number(median(taken)) + " µs"}});
    const double from = before == nullptr ? size : static_cast<double>(growing_size(growth, *before));
    if (growth.fit != nullptr && growth.fit->gb_per_s > 0) {
      // A sum is no straight line on logarithmic axes: some points between two sizes too, where the bytes grow evenly.
      for (int step = 1; from < size && step < 4; ++step) {
        const double at = from * std::pow(size / from, step / 4.0);
        fitted_at(at, bytes_of(*before) + (bytes_of(*record) - bytes_of(*before)) * (at - from) / (size - from));
      }
      fitted_at(size, bytes_of(*record));
    }
    const ArmRecord* ceiling = record->arm("ceiling");
    if (ceiling != nullptr && !ceiling->wall_us.empty() && positive(median(ceiling->wall_us))) {
      lines.push_back({{"size", size}, {"us", median(ceiling->wall_us)}, {"series", copy}});
      series.insert(copy);
    }
    before = record;
  }
  if (points.empty()) return nullptr;
  std::vector<std::string> names = {measured};
  std::vector<std::string_view> range = {kSubjectColour};
  for (const auto& [name, colour] : {std::pair{fitted, series_colour(1)}, std::pair{copy, kQuietColour}}) {
    if (!series.contains(name)) continue;
    names.push_back(name);
    range.push_back(colour);
  }
  const json colour = colours("series", names, range);
  std::vector<double> us, sizes;
  for (const json& point : points) {
    sizes.push_back(point["size"]);
    us.insert(us.end(), {point["low"].get<double>(), point["high"].get<double>()});
  }
  for (const json& line : lines) us.push_back(line["us"]);
  const auto axis = [](std::string_view name, const std::string& title, const std::vector<double>& values,
                       std::string_view format) -> json {
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    const double low = *least / 1.15, high = *greatest * 1.15;
    return {{"field", name},
            {"type", "quantitative"},
            {"scale", {{"type", "log"}, {"domain", {low, high}}, {"nice", false}}},
            {"axis", {{"title", title}, {"format", format}, {"values", log_ticks(low, high)}}}};
  };
  const json x = axis("size", growth.grows, sizes, "~s");
  const auto y = [&](std::string_view name) { return axis(name, "µs per call", us, "~g"); };
  json spec = chart_frame(fmt::format("Time of {} over {}", growth.kernel, growth.grows), 280);
  json layers = json::array();
  if (!lines.empty()) {
    layers.push_back(
        chart_layer(lines, {{"type", "line"}, {"strokeWidth", 2}}, {{"x", x}, {"y", y("us")}, {"color", colour}}));
  }
  layers.push_back(
      chart_layer(points, bar_mark(0.4), {{"x", x}, {"y", y("low")}, {"y2", field("high")}, {"color", colour}}));
  layers.push_back(chart_layer(
      points, dot_mark(45),
      {{"x", x}, {"y", y("us")}, {"color", colour}, {"tooltip", tooltip({{"case", "case"}, {"shown", "p50"}})}}));
  spec["layer"] = std::move(layers);
  return spec;
}

}  // namespace lanefold::bench
