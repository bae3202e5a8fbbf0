#include "bench/page/page.h"

#include <fmt/format.h>

#include "bench/page/page_assets.h"
#include "bench/page/page_bundle.h"
#include "bench/page/page_html.h"
#include "bench/page/page_sections.h"

namespace lanefold::bench {
namespace {

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string things(const Results& results) {
  if (results.kind == "ab") return plural(results.comparisons.size(), "comparison");
  if (results.kind == "replay") return plural(results.replays.size(), "replay");
  return plural(results.cases.size(), "case");
}

std::string_view what_was_done(const Results& results) {
  if (results.kind == "ab") return "Kernels beside each other, in pairs of random order";
  if (results.kind == "replay") return "Frozen plans beside each other, in rounds";
  return "Kernels beside peers and a copy, in rotated rounds";
}

/// Of all runs, so that nobody takes a page without its failures for a good one.
std::string failures(std::span<const LoadedResults> runs) {
  Table table({"run", "case", "stage", "code", "message", "hint"}, "stack");
  Table peers({"run", "case", "peer", "stage", "code", "message", "hint"}, "stack");
  int failed = 0, peers_failed = 0;
  const auto add = [&](const LoadedResults& run, const std::string& id, const std::optional<Failure>& f) {
    if (!f) return;
    ++failed;
    table.row({text_cell(run.label),
               text_cell(id),
               text_cell(f->stage),
               text_cell(fmt::format("{} {}", f->code, f->name)),
               {escape(f->message), "wide"},
               {escape(f->hint), "wide"}});
  };
  for (const LoadedResults& run : runs) {
    for (const CaseRecord& record : run.results.cases) {
      add(run, record.id, record.failure);
      for (const ArmRecord& arm : record.arms) {
        if (!arm.failure) continue;
        const Failure& f = *arm.failure;
        ++peers_failed;
        peers.row({text_cell(run.label),
                   text_cell(record.id),
                   text_cell(arm.name),
                   text_cell(f.stage),
                   text_cell(fmt::format("{} {}", f.code, f.name)),
                   {escape(f.message), "wide"},
                   {escape(f.hint), "wide"}});
      }
    }
    for (const ComparisonRecord& c : run.results.comparisons) {
      const std::string id = fmt::format("{} → {}, {}, {}", c.a, c.b, c.made_for, c.dtype);
      add(run, id, c.failure);
      if (c.failure) continue;
      for (const CaseRecord& arm : c.arms) add(run, arm.id, arm.failure);
    }
    for (const ReplayRecord& replay : run.results.replays) add(run, replay.id, replay.failure);
  }
  std::string html = failed == 0
                         ? std::string("<p class=\"fine\">No failed case.</p>\n")
                         : fmt::format("<section class=\"failed\" id=\"failed\"><h2>{} failed</h2>\n{}</section>\n",
                                       plural(static_cast<std::size_t>(failed), "case"), table.html());
  if (peers_failed > 0) {
    html += fmt::format(
        "<section class=\"fine\"><h3>Peers that failed</h3>\n<p>The cases themselves stand without "
        "them.</p>\n{}</section>\n",
        peers.html());
  }
  return html;
}

std::string banners(std::span<const LoadedResults> runs) {
  std::string html;
  for (const LoadedResults& run : runs) {
    if (run.results.complete) continue;
    html += fmt::format("<p class=\"partial\">{}: partial: the run ended before its end; {}</p>\n", escape(run.label),
                        things(run.results));
  }
  return html;
}

std::string navigation(std::span<const LoadedResults> runs) {
  if (runs.size() < 2) return "";
  std::string items;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    items += fmt::format("<li><a href=\"#r{}\">{}</a> <span class=\"quiet\">{}</span></li>", i, escape(runs[i].label),
                         things(runs[i].results));
  }
  return fmt::format("<nav aria-label=\"Runs\"><ul>{}</ul></nav>\n", items);
}

std::string section(const LoadedResults& run, const std::string& anchor) {
  const Results& results = run.results;
  std::string html = fmt::format("<section id=\"{}\"><h2>{}</h2>\n", anchor, escape(run.label));
  html +=
      fmt::format("<p>{}: {}. Started {}{}.</p>\n", what_was_done(results), things(results), escape(results.started),
                  results.complete ? ", finished " + escape(results.finished) : std::string(", not finished"));
  html += environment_section(results);
  html +=
      "<noscript><p class=\"note\">The charts of this page need JavaScript; the tables have what they "
      "show.</p></noscript>\n";
  if (results.kind == "ab") {
    html += comparison_section(results);
  } else if (results.kind == "replay") {
    html += replay_section(results);
  } else {
    html += bench_section(results, anchor);
  }
  return html + "</section>\n";
}

}  // namespace

std::string report_page(std::span<const LoadedResults> runs) {
  // Only these two scripts run, and nothing is loaded, whatever a result has in its text. Vega sets styles of elements.
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {} {}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
      policy_hash(vega_bundle()), policy_hash(page_script()));
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy);
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Lanefold report</title>\n";
  html += fmt::format("<style>{}</style>\n</head>\n<body>\n", page_style());
  html += "<h1>Lanefold report</h1>\n";
  html += banners(runs);
  html +=
      "<p>Times of generated row kernels. Every case was compared with an FP64 oracle, element by element, before it "
      "was "
      "timed; a case that failed has no times and stands in the list of failures.</p>\n";
  html += failures(runs);
  html += navigation(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) html += section(runs[i], fmt::format("r{}", i));
  html +=
      "<footer><p class=\"note\">This page is complete in itself: it loads nothing. Charts by Vega and Vega-Lite "
      "(BSD-3-Clause), which are part of it.</p></footer>\n";
  html += fmt::format("<script>{}</script>\n<script>{}</script>\n</body>\n</html>\n", vega_bundle(), page_script());
  return html;
}

}  // namespace lanefold::bench
