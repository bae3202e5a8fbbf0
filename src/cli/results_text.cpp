#include "cli/results_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/results/ratios.h"
#include "bench/stats/statistics.h"
#include "cli/report.h"

namespace lanefold::cli {
namespace {

using bench::ArmRecord;
using bench::CaseRecord;

std::string failure_text(const std::string& id, const bench::Failure& failure) {
  std::string text = fmt::format("failed      {}\n            {}: {} ({}): {}\n", id, failure.stage, failure.code,
                                 failure.name, failure.message);
  if (!failure.hint.empty()) text += fmt::format("            hint: {}\n", failure.hint);
  return text;
}

/// A ratio with three digits, small ones too.
std::string ratio_text(double ratio) {
  return ratio < 0.1 ? fmt::format("{:.3g}", ratio) : fmt::format("{:.3f}", ratio);
}

std::string error_text(const std::optional<bench::Check>& check) {
  if (!check || check->outputs.empty()) return "unchecked";
  double error = 0;
  for (const bench::OutputCheck& output : check->outputs) error = std::max(error, output.max_error);
  return fmt::format("{:.1e}", error);
}

/// The line of an arm that stands beside the subject: its own times, and the subject's time over its own.
std::vector<std::string> beside(const CaseRecord& c, const ArmRecord& arm) {
  const std::string name =
      fmt::format("  beside {}{}{}", arm.name, arm.output_policy == "allocated per call" ? " (allocates)" : "",
                  arm.own_tolerance.empty() ? "" : " (own tolerance)");
  const bench::RatioSpread ratio = bench::ratio_spread(bench::same_round_ratios(*c.arm("subject"), arm));
  return {name,
          short_time(bench::median(bench::judged_us(arm))),
          short_time(bench::quantile(bench::judged_us(arm), 0.9)),
          "",
          "",
          "",
          fmt::format("{} [{}, {}]", ratio_text(ratio.median), ratio_text(ratio.low), ratio_text(ratio.high)),
          arm.own_tolerance.empty() ? "" : error_text(arm.check)};
}

/// What only a device with a queue of its own has; else empty.
std::string device_line(const CaseRecord& c) {
  if (c.enqueue_us.empty()) return "";
  std::string line =
      fmt::format("  by the device's clock; the host puts a call in {} µs", short_time(bench::median(c.enqueue_us)));
  for (const bench::ResourceRecord& kernel : c.resources)
    line += fmt::format("; {} registers{}", kernel.registers,
                        kernel.spill_bytes == 0 ? "" : fmt::format(", {} bytes spilled", kernel.spill_bytes));
  return line;
}

std::string cases_text(const std::vector<CaseRecord>& cases) {
  Table table({"case", "p50 µs", "p90 µs", "one call", "GB/s", "of copy", "ratio", "max error"},
              {false, true, true, true, true, true, true, true});
  for (const CaseRecord& c : cases) {
    const ArmRecord* subject = c.arm("subject");
    if (!c.ok() || subject == nullptr || subject->wall_us.empty()) continue;
    const std::vector<double>& us = bench::judged_us(*subject);
    const double p50 = bench::median(us);
    const std::optional<double> share = c.share_of_ceiling();
    table.add({c.id, short_time(p50), short_time(bench::quantile(us, 0.9)),
               c.single_us.empty() ? "-" : short_time(bench::median(c.single_us)),
               p50 > 0 ? fmt::format("{:.2f}", static_cast<double>(c.bytes_read + c.bytes_written) / p50 / 1e3) : "-",
               share ? fmt::format("{:.2f}", *share) : "-", "", error_text(c.check)});
    if (const std::string line = device_line(c); !line.empty()) table.add({line, "", "", "", "", "", "", ""});
    for (const ArmRecord& arm : c.arms)
      if (arm.role != "subject" && arm.role != "ceiling" && !arm.wall_us.empty()) table.add(beside(c, arm));
  }
  return table.text();
}

std::string fits_text(const std::vector<bench::FitRecord>& fits) {
  Table table({"grows", "other size", "kernel", "launch µs", "GB/s", "worst fit"},
              {false, true, false, true, true, true});
  for (const bench::FitRecord& fit : fits)
    table.add({fit.grows, std::to_string(fit.fixed), fmt::format("{} {}", fit.kernel, fit.dtype),
               short_time(fit.launch_us), fmt::format("{:.2f}", fit.gb_per_s),
               fmt::format("{:.0f} %", fit.worst * 100)});
  return table.text();
}

std::string number_text(const std::optional<double>& value) {
  if (!value) return "-";
  return *value == static_cast<double>(static_cast<std::int64_t>(*value)) && *value >= 0
             ? grouped(static_cast<std::uint64_t>(*value))
             : fmt::format("{:.3g}", *value);
}

/// Of A and B in the pairs where they meet, µs.
std::pair<double, double> median_times(const bench::ComparisonRecord& c) {
  std::vector<double> a, b;
  for (const bench::Pair& pair : c.pairs) {
    if (pair.turn.kind != bench::PairKind::ab) continue;
    a.push_back(pair.first_us);
    b.push_back(pair.second_us);
  }
  return {bench::median(a), bench::median(b)};
}

std::string comparison_text(const bench::ComparisonRecord& c) {
  // A module's weights stand among its sizes.
  const std::string type = c.made_for.ends_with(c.dtype) ? "" : c.dtype;
  const std::string threads = c.threads == 0 ? "" : ", " + counted(c.threads, "thread");
  std::string text = fmt::format("A           {}\nB           {}\nmade for    {}{}{}, on {}{}\n", c.a, c.b, c.made_for,
                                 type.empty() ? "" : ", ", type, c.device, threads);
  text += fmt::format("bytes       {}{}{}\n", c.bytes, c.bytes_detail.empty() ? "" : ": ", c.bytes_detail);
  if (c.verdict) {
    const bench::PairedVerdict& v = *c.verdict;
    const auto [a, b] = median_times(c);
    text += fmt::format("time        A {} µs, B {} µs a call, medians of {} pairs\n", short_time(a), short_time(b),
                        c.pairs.size() / 3);
    text += fmt::format("B / A       {}, spread {} to {}; the null's spread {} to {}; p = {:.4f}\n",
                        ratio_text(v.ratio), ratio_text(v.ratio_low), ratio_text(v.ratio_high), ratio_text(v.null_low),
                        ratio_text(v.null_high), v.probability);
    text += fmt::format("verdict     {}\n", bench::claim_name(v.claim) == "no difference shown"
                                                ? std::string("no difference shown")
                                                : fmt::format("B is {} than A", bench::claim_name(v.claim)));
  }
  if (!c.figures.empty()) {
    Table table({"", "A", "B", "unit"}, {false, true, true, false});
    for (const bench::StaticFigure& figure : c.figures)
      table.add({figure.name, number_text(figure.a), number_text(figure.b), figure.unit});
    text += "\n" + table.text();
  }
  return text;
}

std::string replay_text(const bench::ReplayRecord& replay) {
  std::string text = fmt::format("{}, {} rounds\n", replay.id, replay.rounds);
  Table table({"plan", "median µs", "ratio", "least", "greatest"}, {false, true, true, true, true});
  for (const bench::ReplayArm& arm : replay.arms)
    table.add({arm.name, short_time(bench::median(arm.device_us.empty() ? arm.wall_us : arm.device_us)),
               fmt::format("{:.3f}", arm.ratio_median), fmt::format("{:.3f}", arm.ratio_least),
               fmt::format("{:.3f}", arm.ratio_greatest)});
  return text + table.text();
}

}  // namespace

std::string short_time(double microseconds) {
  if (microseconds < 10) return fmt::format("{:.3f}", microseconds);
  return microseconds < 1000 ? fmt::format("{:.1f}", microseconds) : fmt::format("{:.0f}", microseconds);
}

std::string comparisons_text(const std::vector<bench::Results>& results) {
  Table table({"A", "B", "made for", "bytes", "A µs", "B µs", "B / A", "spread", "null", "p", "B is"},
              {false, false, false, false, true, true, true, true, true, true, false});
  bool any = false;
  for (const bench::Results& run : results)
    for (const bench::ComparisonRecord& c : run.comparisons) {
      any = true;
      std::string bytes = c.max_ulp ? fmt::format("≤ {:.0f} ulp", *c.max_ulp) : c.bytes;
      if (!c.verdict) {
        table.add({c.a, c.b, c.made_for, bytes, "-", "-", "-", "-", "-", "-", c.failure ? "failed" : "not timed"});
        continue;
      }
      const auto [a, b] = median_times(c);
      const bench::PairedVerdict& v = *c.verdict;
      table.add({c.a, c.b, c.made_for.ends_with(c.dtype) ? c.made_for : fmt::format("{} {}", c.made_for, c.dtype),
                 bytes, short_time(a), short_time(b), ratio_text(v.ratio),
                 fmt::format("{}…{}", ratio_text(v.ratio_low), ratio_text(v.ratio_high)),
                 fmt::format("{}…{}", ratio_text(v.null_low), ratio_text(v.null_high)),
                 fmt::format("{:.4f}", v.probability), std::string(bench::claim_name(v.claim))});
    }
  return any ? table.text() : "";
}

std::string change_text(const bench::ResultsChange& change) {
  std::string text;
  for (const std::string& id : change.failed_now) text += fmt::format("failed now  {}\n", id);
  Table table({"case", "old µs", "new µs", "new / old", "in copies", "p", ""},
              {false, true, true, true, true, true, false});
  std::vector<bench::CaseChange> cases = change.cases;
  std::stable_sort(cases.begin(), cases.end(),
                   [](const bench::CaseChange& a, const bench::CaseChange& b) { return a.ratio > b.ratio; });
  for (const bench::CaseChange& c : cases)
    table.add({c.id, short_time(c.old_us), short_time(c.new_us), fmt::format("{:.3f}", c.ratio),
               fmt::format("{:.3f}", c.of_copy), fmt::format("{:.4f}", c.probability),
               c.enough ? std::string(bench::claim_name(c.claim)) : "too few samples to judge"});
  if (!cases.empty()) text += table.text();
  for (const std::string& id : change.only_old) text += fmt::format("only old    {}\n", id);
  for (const std::string& id : change.only_new) text += fmt::format("only new    {}\n", id);
  for (const std::string& difference : change.differences) text += fmt::format("not alike   {}\n", difference);
  return text;
}

bool has_failures(const bench::Results& results) {
  const auto failed = [](const auto& record) { return record.failure.has_value(); };
  const auto baseline_failed = [&](const CaseRecord& c) {
    return std::any_of(c.arms.begin(), c.arms.end(),
                       [&](const ArmRecord& arm) { return arm.role == "baseline" && failed(arm); });
  };
  return std::any_of(results.cases.begin(), results.cases.end(), failed) ||
         std::any_of(results.cases.begin(), results.cases.end(), baseline_failed) ||
         std::any_of(results.comparisons.begin(), results.comparisons.end(), failed) ||
         std::any_of(results.replays.begin(), results.replays.end(), failed);
}

std::string results_text(const bench::Results& results) {
  std::string text;
  if (!results.complete) text += "partial: the run has not come to its end, and this is what it had\n";
  for (const CaseRecord& c : results.cases) {
    if (c.failure) text += failure_text(c.id, *c.failure);
    for (const ArmRecord& arm : c.arms)
      if (arm.failure) text += failure_text(fmt::format("{} beside {}", arm.name, c.id), *arm.failure);
  }
  for (const bench::ComparisonRecord& c : results.comparisons)
    if (c.failure) text += failure_text(fmt::format("{} and {}", c.a, c.b), *c.failure);
  for (const bench::ReplayRecord& r : results.replays)
    if (r.failure) text += failure_text(r.id, *r.failure);
  if (!text.empty()) text += "\n";
  const auto timed = [](const CaseRecord& c) { return c.ok() && c.arm("subject") != nullptr; };
  if (std::any_of(results.cases.begin(), results.cases.end(), timed)) text += cases_text(results.cases);
  if (!results.fits.empty()) text += "\n" + fits_text(results.fits);
  for (const bench::ComparisonRecord& c : results.comparisons)
    if (!c.failure || c.verdict) text += comparison_text(c) + (&c == &results.comparisons.back() ? "" : "\n");
  for (const bench::ReplayRecord& r : results.replays)
    if (!r.failure) text += replay_text(r) + (&r == &results.replays.back() ? "" : "\n");
  return text;
}

}  // namespace lanefold::cli
