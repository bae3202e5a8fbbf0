#include "bench/page/page_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/page/page_html.h"
#include "bench/page/page_rows.h"
#include "bench/stats/statistics.h"

namespace lanefold::bench {
namespace {

using nlohmann::json;

bool positive(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

json ratio_chart(const std::vector<CaseRecord>& cases) {
  const std::vector<std::string> names = rival_names(cases);
  std::vector<double> extent;
  const auto ratio_of = [](const CaseRecord& record, const ArmRecord& rival) {
    const ArmRecord* subject = record.arm("subject");
    return record.ok() && subject != nullptr ? time_ratio(*subject, rival) : std::nullopt;
  };
  for (const CaseRecord& record : cases) {
    for (const ArmRecord* rival : rivals(record)) {
      if (const auto ratio = ratio_of(record, *rival))
        extent.insert(extent.end(), {ratio->median, ratio->low, ratio->high});
    }
  }
  constexpr int kTop = 24, kEach = 15;
  RowChart chart = RowChart::of_ratios("Time of each case over its peers'",
                                       kTop + kEach * static_cast<int>(std::max<std::size_t>(names.size(), 1)) + 4,
                                       "time over the peer's (left of 1: faster)", extent);
  json values = json::array();
  for (const CaseRecord& record : cases) {
    bool begun = false;
    for (const ArmRecord* rival : rivals(record)) {
      const auto ratio = ratio_of(record, *rival);
      if (!ratio) continue;
      if (!begun) chart.row({record.id});
      begun = true;
      const auto place = std::find(names.begin(), names.end(), rival->name) - names.begin();
      values.push_back(
          {{"case", record.id},
           {"peer", rival->name},
           {"y", chart.at(kTop + kEach * (static_cast<double>(place) + 0.5))},
           {"ratio", ratio->median},
           {"low", ratio->low},
           {"high", ratio->high},
           {"shown", fmt::format("{} ({} to {})", number(ratio->median), number(ratio->low), number(ratio->high))}});
    }
  }
  std::vector<std::string_view> range;
  for (std::size_t i = 0; i < names.size(); ++i) range.push_back(series_colour(i + 1));
  if (range.empty()) return nullptr;
  const json colour = colours("peer", names, range);
  const json told = tooltip({{"case", "case"}, {"peer", "peer"}, {"shown", "ratio"}});
  chart.layer(values, bar_mark(0.45),
              {{"x", chart.x("low")}, {"x2", field("high")}, {"color", colour}, {"tooltip", told}});
  chart.layer(values, dot_mark(70), {{"x", chart.x("ratio")}, {"color", colour}, {"tooltip", told}});
  return chart.spec();
}

json bandwidth_chart(const std::vector<CaseRecord>& cases) {
  std::vector<const CaseRecord*> shown;
  double greatest = 0;
  for (const CaseRecord& record : cases) {
    const auto subject = subject_gb_per_s(record), ceiling = ceiling_gb_per_s(record);
    if (!record.ok() || !subject || !ceiling) continue;
    shown.push_back(&record);
    greatest = std::max({greatest, *subject, *ceiling});
  }
  // Room for the share, which is written to the right of the greater of the two.
  RowChart chart("Bandwidth of each case and of a copy", 42,
                 {{"scale", {{"domain", {0, greatest * 1.18}}, {"nice", false}}},
                  {"axis", {{"title", "GB/s, read plus written"}, {"tickCount", 5}}}});
  json lines = json::array(), points = json::array();
  for (const CaseRecord* record : shown) {
    const double subject = *subject_gb_per_s(*record), ceiling = *ceiling_gb_per_s(*record);
    const std::string name = record->arm("subject")->name, copy = record->arm("ceiling")->name;
    chart.row({record->id});
    const double y = chart.at(30);
    const std::string told = fmt::format("{}: {} GB/s; {}: {} GB/s", name, number(subject), copy, number(ceiling));
    lines.push_back({{"y", y},
                     {"subject", subject},
                     {"ceiling", ceiling},
                     {"end", std::max(subject, ceiling)},
                     {"share", percent(subject / ceiling)},
                     {"told", told}});
    points.push_back({{"y", y}, {"gbs", subject}, {"what", "subject"}, {"told", told}});
    points.push_back({{"y", y}, {"gbs", ceiling}, {"what", "ceiling"}, {"told", told}});
  }
  if (shown.empty()) return nullptr;
  const std::vector<std::string> names = {shown.front()->arm("subject")->name, shown.front()->arm("ceiling")->name};
  for (json& point : points) point["what"] = names[point["what"] == "ceiling"];
  const json colour = colours("what", names, {kSubjectColour, kQuietColour});
  chart.layer(lines, {{"type", "rule"}, {"color", kQuietColour}, {"opacity", 0.5}, {"strokeWidth", 2}},
              {{"x", chart.x("subject")}, {"x2", field("ceiling")}});
  chart.layer(points, dot_mark(80),
              {{"x", chart.x("gbs")}, {"color", colour}, {"tooltip", tooltip({{"told", "case"}})}});
  chart.layer(lines, {{"type", "text"}, {"align", "left"}, {"dx", 8}},
              {{"x", chart.x("end")}, {"text", field("share")}});
  return chart.spec();
}

json sample_chart(const CaseRecord& record) {
  std::vector<double> all;
  for (const ArmRecord& arm : record.arms) {
    for (const double us : arm.wall_us) {
      if (positive(us)) all.push_back(us);
    }
  }
  if (all.empty()) return nullptr;
  const auto [least, greatest] = std::minmax_element(all.begin(), all.end());
  const double margin = std::max(std::pow(*greatest / *least, 0.04), 1.005);
  const double low = *least / margin, high = *greatest * margin;
  RowChart chart("Samples of " + record.id, 36,
                 {{"scale", {{"type", "log"}, {"domain", {low, high}}, {"nice", false}}},
                  {"axis", {{"title", "µs per call"}, {"values", log_ticks(low, high)}, {"format", "~g"}}}});
  json values = json::array();
  for (const ArmRecord& arm : record.arms) {
    if (arm.wall_us.empty()) continue;
    chart.row({arm.name});
    for (const double us : arm.wall_us) {
      if (positive(us)) values.push_back({{"y", chart.at(26)}, {"us", us}});
    }
  }
  json mark = tick_mark(12, 0.7);
  mark["color"] = kSubjectColour;
  chart.layer(values, mark, {{"x", chart.x("us")}, {"tooltip", tooltip({{"us", "µs"}})}});
  return chart.spec();
}

json comparison_chart(const std::vector<ComparisonRecord>& comparisons) {
  std::vector<double> extent;
  for (const ComparisonRecord& c : comparisons) {
    if (!c.verdict) continue;
    extent.insert(extent.end(),
                  {c.verdict->ratio_low, c.verdict->ratio_high, c.verdict->null_low, c.verdict->null_high});
    for (const Pair& pair : c.pairs) extent.push_back(pair.second_us / pair.first_us);
  }
  std::erase_if(extent, [](double v) { return !positive(v); });
  constexpr int kRow = 74, kBand = 36;
  RowChart chart =
      RowChart::of_ratios("Time of B over A's", kRow, "B's time over A's (left of 1: B is faster)", extent);
  json bands = json::array(), ticks = json::array(), nulls = json::array(), values = json::array();
  for (const ComparisonRecord& c : comparisons) {
    if (!c.verdict || !positive(c.verdict->ratio)) continue;
    const PairedVerdict& v = *c.verdict;
    chart.row({fmt::format("{} → {}", c.a, c.b), fmt::format("{}, {}", c.made_for, c.dtype)});
    bands.push_back({{"y", chart.at(kBand)}, {"y2", chart.at(kRow - 4)}, {"low", v.null_low}, {"high", v.null_high}});
    for (const Pair& pair : c.pairs) {
      const double ratio = pair.second_us / pair.first_us;
      if (!positive(ratio)) continue;
      const bool is_null = pair.turn.kind != PairKind::ab;
      (is_null ? nulls : ticks).push_back({{"y", chart.at(is_null ? kRow - 9 : kBand + 20)}, {"ratio", ratio}});
    }
    values.push_back({{"y", chart.at(kBand + 8)},
                      {"ratio", v.ratio},
                      {"low", v.ratio_low},
                      {"high", v.ratio_high},
                      {"claim", claim_name(v.claim)},
                      {"told", fmt::format("{} ({} to {}); null {} to {}", number(v.ratio), number(v.ratio_low),
                                           number(v.ratio_high), number(v.null_low), number(v.null_high))}});
  }
  const std::vector<std::string> claims = {std::string(claim_name(Claim::faster)),
                                           std::string(claim_name(Claim::slower)),
                                           std::string(claim_name(Claim::no_difference_shown))};
  const json colour = colours("claim", claims, {series_colour(2), series_colour(1), kQuietColour});
  const json told = tooltip({{"told", "ratio"}, {"claim", "claim"}});
  chart.layer(bands, {{"type", "rect"}, {"color", kQuietColour}, {"opacity", 0.22}},
              {{"x", chart.x("low")}, {"x2", field("high")}, {"y2", field("y2")}});
  json tick = tick_mark(9, 0.6);
  tick["color"] = kSubjectColour;
  chart.layer(ticks, tick, {{"x", chart.x("ratio")}});
  json null_tick = tick_mark(6, 0.6);
  null_tick["color"] = kQuietColour;
  chart.layer(nulls, null_tick, {{"x", chart.x("ratio")}});
  chart.layer(values, bar_mark(0.5),
              {{"x", chart.x("low")}, {"x2", field("high")}, {"color", colour}, {"tooltip", told}});
  chart.layer(values, dot_mark(90), {{"x", chart.x("ratio")}, {"color", colour}, {"tooltip", told}});
  return chart.spec();
}

json replay_chart(const std::vector<ReplayRecord>& replays) {
  std::vector<double> extent;
  for (const ReplayRecord& replay : replays) {
    for (const ReplayArm& arm : replay.arms) extent.insert(extent.end(), {arm.ratio_least, arm.ratio_greatest});
  }
  std::erase_if(extent, [](double v) { return !positive(v); });
  RowChart chart = RowChart::of_ratios("Time of each frozen plan over the reference's", 42,
                                       "time over the reference's (left of 1: faster)", extent);
  json values = json::array();
  for (const ReplayRecord& replay : replays) {
    for (std::size_t i = 1; i < replay.arms.size(); ++i) {
      const ReplayArm& arm = replay.arms[i];
      if (!positive(arm.ratio_median) || !positive(arm.ratio_least) || !positive(arm.ratio_greatest)) continue;
      chart.row({arm.name});
      values.push_back({{"y", chart.at(30)},
                        {"ratio", arm.ratio_median},
                        {"low", arm.ratio_least},
                        {"high", arm.ratio_greatest},
                        {"told", fmt::format("{} ({} to {})", number(arm.ratio_median), number(arm.ratio_least),
                                             number(arm.ratio_greatest))}});
    }
  }
  const json told = tooltip({{"told", "ratio"}});
  json bar = bar_mark(0.45), dot = dot_mark(80);
  bar["color"] = dot["color"] = kSubjectColour;
  chart.layer(values, bar, {{"x", chart.x("low")}, {"x2", field("high")}, {"tooltip", told}});
  chart.layer(values, dot, {{"x", chart.x("ratio")}, {"tooltip", told}});
  return chart.spec();
}

}  // namespace lanefold::bench
