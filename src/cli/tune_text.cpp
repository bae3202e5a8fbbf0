#include "cli/tune_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/tune/record_json.h"
#include "cli/report.h"
#include "plan/describe.h"

namespace lanefold::cli {
namespace {

std::string us_text(double us) { return fmt::format("{:.4g}", us); }

/// Why the default plan stays, or that another takes its place.
std::string verdict_of(const bench::TuneRecord& record) {
  const bench::Decision& decision = record.decision;
  if (!record.compared) return "not compared";
  if (decision.winner) return "faster, confirmed";
  if (decision.trials.empty()) return "default kept: none was faster in the screening";
  const bench::Trial& last = decision.trials.back();
  return fmt::format("default kept: {}{}", bench::claim_name(last.verdict.claim),
                     last.confirms ? " when confirming" : "");
}

/// The fastest plan of the screening; the default plan among equals.
const bench::ScreenedPlan& fastest_of(const bench::TuneRecord& record) {
  const bench::ScreenedPlan* fastest = &record.plans.front();
  for (const bench::ScreenedPlan& plan : record.plans)
    if (plan.us() && *plan.us() < *fastest->us()) fastest = &plan;
  return *fastest;
}

/// How much longer the default plans take than the fastest ones of the screening. The fastest of many is fast by luck, too.
std::string lost_line(const std::vector<TunedLine>& lines) {
  double sum = 0, most = 0;
  int cases = 0;
  for (const TunedLine& line : lines) {
    if (line.record.failure) continue;
    const double lost = *line.record.plans.front().us() / *fastest_of(line.record).us();
    sum += lost;
    most = std::max(most, lost);
    ++cases;
  }
  return fmt::format(
      "screened: the default plan took {:.3f} times as long as the fastest in the mean, {:.3f} at most\n", sum / cases,
      most);
}

std::string stored_of(const TunedLine& line, bool keeps) {
  if (!line.record.decision.winner) return "";
  return line.kept ? "stored" : keeps ? "not stored" : "not asked for";
}

}  // namespace

std::string tuned_text(const std::vector<TunedLine>& lines, bool keeps) {
  Table table({"case", "plans", "default µs", "tried", "its µs", "ratio", "spread", "null", "verdict", ""},
              {false, true, true, false, true, true, true, true, false, false});
  std::string below;
  bool any = false;
  for (const TunedLine& line : lines) {
    const bench::TuneRecord& record = line.record;
    if (record.failure) {
      below += fmt::format("failed      {}\n            {}: {} ({}): {}\n", record.id, record.failure->stage,
                           record.failure->code, record.failure->name, record.failure->message);
      continue;
    }
    any = true;
    const std::string timed = std::to_string(record.plans.size());
    const std::string default_us = us_text(*record.plans.front().us());
    if (!record.compared) {
      const bench::ScreenedPlan& fastest = fastest_of(record);
      table.add({record.id, timed, default_us, bench::layout_name(fastest.plan), us_text(*fastest.us()),
                 fmt::format("{:.3f}", *fastest.us() / *record.plans.front().us()), "", "", verdict_of(record), ""});
      continue;
    }
    if (record.decision.trials.empty()) {
      table.add({record.id, timed, default_us, "", "", "", "", "", verdict_of(record), ""});
      continue;
    }
    const bench::Trial& last = record.decision.trials.back();
    const bench::PairedVerdict& v = last.verdict;
    const plan::Plan& tried = record.plans[last.plan].plan;
    table.add({record.id, timed, us_text(last.default_us), bench::layout_name(tried), us_text(last.plan_us),
               fmt::format("{:.3f}", v.ratio), fmt::format("{:.3f} to {:.3f}", v.ratio_low, v.ratio_high),
               fmt::format("{:.3f} to {:.3f}", v.null_low, v.null_high), verdict_of(record), stored_of(line, keeps)});
    if (record.decision.winner)
      below += fmt::format("winner      {}\n            {}\n            instead of {}\n", record.id,
                           plan::plan_line(tried), plan::plan_line(record.plans.front().plan));
  }
  return any ? table.text() + lost_line(lines) + below : below;
}

}  // namespace lanefold::cli
