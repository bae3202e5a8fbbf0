// lanefold report: results as tables, as one page, or old ones beside new ones.
#include <filesystem>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/page/page.h"
#include "bench/results/compare.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "cli/results_text.h"
#include "cli/values.h"
#include "tensor/staged_files.h"

namespace lanefold::cli {
namespace {

using nlohmann::json;

struct Settings {
  std::vector<std::string> folders;
  std::string out, least;
  bool compare = false;
};

Result<std::vector<bench::LoadedResults>> load(const std::vector<std::string>& folders) {
  std::vector<bench::LoadedResults> runs;
  for (const std::string& folder : folders) {
    LANEFOLD_TRY(bench::Results results, bench::read_results(folder));
    runs.push_back({folder, std::move(results)});
  }
  return runs;
}

json names(const std::vector<std::string>& texts) { return texts; }

Result<int> compare(const Settings& settings, const Context& context) {
  if (settings.folders.size() != 2 || !settings.out.empty())
    return Diagnostic{Code::bad_arguments, "--compare takes two results, the old and the new one, and prints",
                      "give `lanefold report --compare OLD NEW`", "--compare"};
  float least = 1.05f;
  if (!settings.least.empty()) {
    LANEFOLD_TRY(least, parse_real("--least", settings.least));
    if (!(least >= 1 && least < 1e6))
      return Diagnostic{Code::number_invalid, fmt::format("\"{}\" is no ratio of at least 1", settings.least),
                        "give --least 1.05 for five percent", "--least"};
  }
  LANEFOLD_TRY(const std::vector<bench::LoadedResults> runs, load(settings.folders));
  LANEFOLD_TRY(const bench::ResultsChange change,
               bench::compare_results(runs[0].results, runs[1].results, static_cast<double>(least)));
  if (context.json) {
    json cases = json::array();
    for (const bench::CaseChange& c : change.cases)
      cases.push_back({{"id", c.id},
                       {"old_us", c.old_us},
                       {"new_us", c.new_us},
                       {"ratio", c.ratio},
                       {"of_copy", c.of_copy},
                       {"probability", c.probability},
                       {"enough_samples", c.enough},
                       {"claim", bench::claim_name(c.claim)}});
    print_json({{"regressed", change.regressed()},
                {"cases", cases},
                {"failed_now", names(change.failed_now)},
                {"only_old", names(change.only_old)},
                {"only_new", names(change.only_new)},
                {"differences", names(change.differences)}});
  } else {
    print(change_text(change));
  }
  return change.regressed() ? kFailedCheck : kSuccess;
}

Result<int> report(const Settings& settings, const Context& context) {
  if (settings.folders.empty())
    return Diagnostic{Code::nothing_asked, "no results are named",
                      "name folders that `lanefold bench` or `ab` has written", "DIR"};
  if (!settings.least.empty())
    return Diagnostic{Code::bad_arguments, "--least is for --compare", "leave --least out", "--least"};
  LANEFOLD_TRY(const std::vector<bench::LoadedResults> runs, load(settings.folders));
  if (settings.out.empty()) {
    if (context.json) {
      json all = json::array();
      for (const bench::LoadedResults& run : runs) all.push_back(json::parse(bench::to_json(run.results)));
      print_json(all);
      return kSuccess;
    }
    std::vector<bench::Results> pairs;
    for (const bench::LoadedResults& run : runs) {
      if (runs.size() > 1 && run.results.kind == "ab" && run.results.complete && !has_failures(run.results)) {
        pairs.push_back(run.results);
        continue;
      }
      print(fmt::format("{}\n{}\n", run.label, results_text(run.results)));
    }
    print(comparisons_text(pairs));
    return kSuccess;
  }
  for (const std::string& folder : settings.folders)
    for (const std::filesystem::path& input :
         {std::filesystem::path(folder), std::filesystem::path(folder) / "results.json"}) {
      std::error_code absent;
      if (std::filesystem::equivalent(input, settings.out, absent))
        return Diagnostic{Code::bad_arguments, fmt::format("the page would replace the results {}", settings.out),
                          "name another file", "--out"};
    }
  const std::string page = bench::report_page(runs);
  tensor::StagedFiles files;
  LANEFOLD_CHECK(files.stage(settings.out, {std::as_bytes(std::span(page))}));
  LANEFOLD_CHECK(files.commit());
  if (context.json) {
    print_json({{"wrote", settings.out}, {"bytes", page.size()}});
  } else {
    print(fmt::format("wrote {}: one page, {} KiB, that needs no network\n", settings.out, page.size() / 1024));
  }
  return kSuccess;
}

}  // namespace

Action declare_report(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positionals("DIR", settings->folders, "folders with a results.json, or such files");
  options.text("--out", settings->out, "FILE.html", "one page instead of tables");
  options.flag("--compare", settings->compare,
               "two results, the old and the new one: exit 1 where something became slower");
  options.text("--least", settings->least, "RATIO", "the smallest change that counts (default 1.05)");
  return [settings](const Context& context) {
    return settings->compare ? compare(*settings, context) : report(*settings, context);
  };
}

}  // namespace lanefold::cli
