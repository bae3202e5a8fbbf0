// Comparisons and replays: what was taken in pairs or rounds of the same arms.
#include <fmt/format.h>

#include <algorithm>

#include "bench/page/page_charts.h"
#include "bench/page/page_html.h"
#include "bench/page/page_sections.h"
#include "bench/stats/statistics.h"

namespace lanefold::bench {
namespace {

Cell range_cell(double low, double high) { return {fmt::format("{} to {}", number(low), number(high)), "n"}; }
Cell none_cell() { return {"–", "n quiet"}; }

std::string figures_table(const ComparisonRecord& c) {
  Table table({"figure", "#A", "#B", "unit"});
  for (const StaticFigure& f : c.figures) {
    table.row({text_cell(f.name), f.a ? number_cell(*f.a) : none_cell(), f.b ? number_cell(*f.b) : none_cell(),
               text_cell(f.unit)});
  }
  return table.empty() ? "" : table.html();
}

std::string pairs_table(const ComparisonRecord& c) {
  Table table({"pair", "first", "#A, µs", "#B or twin, µs", "#ratio"});
  for (const Pair& pair : c.pairs) {
    table.row({text_cell(pair_kind_name(pair.turn.kind)), text_cell(pair.turn.second_first ? "second" : "first"),
               number_cell(pair.first_us), number_cell(pair.second_us), number_cell(pair.second_us / pair.first_us)});
  }
  return table.empty() ? "" : details(fmt::format("{} pairs", c.pairs.size()), table.html());
}

std::string arm_list(const ComparisonRecord& c) {
  std::string html;
  for (std::size_t i = 0; i < c.arms.size(); ++i) {
    const CaseRecord& arm = c.arms[i];
    std::string list = fmt::format("<dt>plan</dt><dd>{}</dd>", code(arm.plan_line));
    if (arm.check) list += fmt::format("<dt>check</dt><dd>{}</dd>", arm.check->ok() ? "right" : "wrong elements");
    for (const PhaseRecord& phase : arm.phases) {
      list += fmt::format("<dt>{}</dt><dd>{} µs</dd>", escape(phase.phase), number(phase.us));
    }
    for (const SourceRecord& source : arm.sources) {
      list += fmt::format("<dt>{}</dt><dd>{} {}</dd>", escape(source.stage), escape(source.file), code(source.sha256));
    }
    html += fmt::format("<h4>{}: {}</h4><dl>{}</dl>\n", i == 0 ? "A" : "B", escape(arm.id), list);
    if (!arm.plan.empty()) html += details("plan as JSON", fmt::format("<p>{}</p>", code(arm.plan)));
  }
  return html;
}

}  // namespace

std::string comparison_section(const Results& results) {
  if (results.comparisons.empty()) return "<p>No comparison.</p>\n";
  Table table({"A → B", "#B over A", "B is", "#null's spread", "#p", "outputs"}, "cases");
  std::string each;
  for (const ComparisonRecord& c : results.comparisons) {
    const std::string size =
        fmt::format("{}, {}, {} thread{}", c.made_for, c.dtype, c.threads, c.threads == 1 ? "" : "s");
    std::vector<Cell> cells = {{fmt::format("{} → {}<small>{}</small>", escape(c.a), escape(c.b), escape(size)), ""}};
    if (c.verdict) {
      const PairedVerdict& v = *c.verdict;
      const std::string classes = v.claim == Claim::faster ? "good" : v.claim == Claim::slower ? "bad" : "";
      cells.push_back(
          {fmt::format("{}<small>{} to {}</small>", number(v.ratio), number(v.ratio_low), number(v.ratio_high)),
           "n " + classes});
      cells.push_back({escape(claim_name(v.claim)), classes});
      cells.push_back(range_cell(v.null_low, v.null_high));
      cells.push_back(number_cell(v.probability));
    } else {
      cells.push_back(none_cell());
      cells.push_back(c.failure ? Cell{"failed", "bad"} : Cell{"not timed", "quiet"});
      cells.insert(cells.end(), 2, none_cell());
    }
    cells.push_back({escape(c.bytes), ""});
    if (c.max_ulp) cells.back().html += fmt::format("<small>by up to {} ulp</small>", number(*c.max_ulp));
    table.row(cells);
    std::string body = c.bytes_detail.empty() ? "" : fmt::format("<p>{}</p>\n", escape(c.bytes_detail));
    body += figures_table(c) + arm_list(c);
    if (!c.pairs.empty()) {
      body += fmt::format("<p class=\"note\">{} batches a sample; a batch has {} calls of A or {} of B.</p>\n",
                          c.repetitions, c.calls_a, c.calls_b);
    }
    each += details(fmt::format("{} → {}, {}", c.a, c.b, size), body + pairs_table(c));
  }
  std::string html = "<h3>Comparisons</h3>\n" + table.html();
  html +=
      "<p class=\"note\">\"B over A\" is the median of B's time over A's of the same pair, below it the 10 to 90 % "
      "range; below 1 B is faster. The null's spread is what pairs of a kernel with its own twin show: 90 % of them "
      "lie within it. A difference is claimed where p of the signed-rank test is at most "
      "0.01 and the median lies outside the null's spread.</p>\n";
  html +=
      figure(comparison_chart(results.comparisons), "Ratios of pairs",
             "Dots are medians, bars the 10 to 90 % range, the grey band the null's spread. Small lines: each pair; "
             "grey ones below: each null pair.");
  return html + "<h3>Each comparison</h3>\n" + each;
}

std::string replay_section(const Results& results) {
  if (results.replays.empty()) return "<p>No replay.</p>\n";
  Table table({"case", "plan", "#rounds", "#p50, µs", "#over the reference", "#least to greatest"}, "cases");
  std::string each;
  for (const ReplayRecord& replay : results.replays) {
    if (replay.failure) {
      table.row({text_cell(replay.id), none_cell(), none_cell(), {"failed", "n bad"}, none_cell(), none_cell()});
    }
    std::string plans;
    for (std::size_t i = 0; i < replay.arms.size(); ++i) {
      const ReplayArm& arm = replay.arms[i];
      const bool reference = i == 0;
      const std::string side = arm.ratio_greatest < 1 ? " good" : arm.ratio_least > 1 ? " bad" : "";
      table.row({text_cell(replay.id),
                 text_cell(arm.name),
                 {fmt::format("{}", replay.rounds), "n"},
                 arm.wall_us.empty() ? none_cell() : number_cell(median(arm.wall_us)),
                 reference ? Cell{"reference", "n quiet"} : Cell{number(arm.ratio_median), "n" + side},
                 reference ? none_cell() : range_cell(arm.ratio_least, arm.ratio_greatest)});
      if (!arm.plan.empty()) plans += fmt::format("<h4>{}</h4><p>{}</p>\n", escape(arm.name), code(arm.plan));
    }
    if (!plans.empty()) each += details("Plans of " + replay.id, plans);
  }
  std::string html = "<h3>Replayed plans</h3>\n" + table.html();
  html +=
      "<p class=\"note\">Each plan's time over the reference's of the same round: the median, and from the least to "
      "the greatest; below 1 the plan is faster. Coloured where every round lies on one side of 1.</p>\n";
  html += figure(replay_chart(results.replays), "Same-round ratios",
                 "Dots are medians, bars reach from the least to the greatest round.");
  return html + each;
}

}  // namespace lanefold::bench
