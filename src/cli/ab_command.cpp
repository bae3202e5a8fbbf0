// lanefold ab: two kernels side by side, first their bytes, then their times in pairs.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/ab.h"
#include "bench/results_run.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/measure_options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/results_text.h"
#include "cli/values.h"

namespace lanefold::cli {
namespace {

struct Settings {
  std::string a, b, pairs, repetitions, repetition_ms, warmup_ms, seed, require, fail_if, out;
  bool all = false, no_proof = false, capture_sources = false;
  MeasureFlags measure;
};

/// One word that an option may have.
Status check_word(const std::string& option, const std::string& given, const std::string& word) {
  if (given.empty() || given == word) return success();
  return Diagnostic{Code::bad_arguments, fmt::format("{} \"{}\" is not known", option, given),
                    fmt::format("give {} {}", option, word), option};
}

Result<bench::AbRequest> request_of(const Settings& settings) {
  bench::AbRequest request;
  LANEFOLD_CHECK(check_word("--require", settings.require, "bytes"));
  LANEFOLD_CHECK(check_word("--fail-if", settings.fail_if, "slower"));
  LANEFOLD_TRY(request.pairs, parse_repeats("--pairs", settings.pairs, request.pairs));
  LANEFOLD_TRY(request.repetitions, parse_repeats("--repetitions", settings.repetitions, request.repetitions));
  LANEFOLD_TRY(request.repetition_ms,
               parse_milliseconds("--repetition-ms", settings.repetition_ms, request.repetition_ms, false));
  LANEFOLD_TRY(request.warmup_ms, parse_milliseconds("--warmup-ms", settings.warmup_ms, request.warmup_ms, true));
  if (!settings.seed.empty()) {
    LANEFOLD_TRY(const std::int64_t seed, parse_count("--seed", settings.seed, 0, kMostSize));
    request.seed = static_cast<std::uint64_t>(seed);
  }
  if (settings.all && settings.no_proof)
    return Diagnostic{Code::bad_arguments, "--all and --no-proof are given together", "leave one of them out", "--all"};
  request.proof = settings.all        ? bench::ProofEffort::all
                  : settings.no_proof ? bench::ProofEffort::none
                                      : bench::ProofEffort::some;
  LANEFOLD_TRY(request.a.kernel, driver::parse_kernel_name(settings.a));
  LANEFOLD_TRY(request.b.kernel, driver::parse_kernel_name(settings.b));
  const driver::KernelName names[] = {request.a.kernel, request.b.kernel};
  LANEFOLD_CHECK(check_meaning(names, settings.measure.instance, true));
  // A row program beside a lane module is launched as one, so that both pay for a launch alike.
  const bool modules = verify::names_lane_module(names[0]) || verify::names_lane_module(names[1]);
  for (bench::SubjectRequest* side : {&request.a, &request.b}) {
    LANEFOLD_TRY(side->instance, measured_instance(side->kernel, settings.measure));
    side->as_module = modules;
    side->instance.in_stages = !modules;
  }
  return request;
}

Result<int> status_of(const bench::ComparisonRecord& record, const Settings& settings) {
  if (record.failure) return kFailedCheck;
  if (!settings.require.empty() && record.max_ulp) return kFailedCheck;
  if (!settings.fail_if.empty() && record.verdict && record.verdict->claim == bench::Claim::slower) return kFailedCheck;
  return kSuccess;
}

Result<int> compare(const Settings& settings, const Context& context) {
  LANEFOLD_TRY(const bench::AbRequest request, request_of(settings));
  LANEFOLD_CHECK(bench::check_comparable(request));
  LANEFOLD_TRY(
      bench::ResultsRun run,
      bench::ResultsRun::begin("ab", settings.out.empty() ? std::nullopt : std::optional(settings.out), given_command(),
                               request.a.instance.options.device, request.a.instance.options.target.name));
  run.results().protocol = {{"pairs", request.pairs},
                            {"repetitions", request.repetitions},
                            {"repetition_ms", request.repetition_ms},
                            {"warmup_ms", request.warmup_ms},
                            {"seed", static_cast<double>(request.seed)}};
  Progress progress("pairs", 3 * request.pairs);
  bench::AbContext measuring;
  measuring.sources.capture_sources = settings.capture_sources;
  measuring.sources.keep_source = [&](const std::string& id, const std::string& stage, const std::string& text) {
    return run.keep_source(id, stage, text, settings.capture_sources);
  };
  measuring.progress = [&](int done, int) { progress.update(done); };
  LANEFOLD_TRY(const bench::ComparisonRecord record, bench::compare_kernels(request, measuring));
  run.results().comparisons.push_back(record);
  LANEFOLD_CHECK(run.finish());
  if (context.json) {
    print(bench::to_json(run.results()) + "\n");
  } else {
    print(results_text(run.results()));
    if (request.pairs < bench::kFewestPairs && record.verdict)
      print(fmt::format("no difference can be claimed with fewer than {} pairs\n", bench::kFewestPairs));
  }
  return status_of(record, settings);
}

}  // namespace

Action declare_ab(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positional("A", settings->a, "a kernel");
  options.positional("B", settings->b, "the kernel to judge beside it");
  declare_measure(options, settings->measure);
  options.text("--pairs", settings->pairs, "N", "pairs of A and B, and as many of each with its twin (default 9)");
  options.text("--repetitions", settings->repetitions, "N",
               "batches of a sample, whose median is its time (default 12)");
  options.text("--repetition-ms", settings->repetition_ms, "MS", "milliseconds of a batch (default 5)");
  options.text("--warmup-ms", settings->warmup_ms, "MS", "milliseconds of calls before the first sample (default 100)");
  options.text("--seed", settings->seed, "N", "of the random order of pairs");
  options.text("--require", settings->require, "bytes", "exit 1 where the bytes differ");
  options.text("--fail-if", settings->fail_if, "slower", "exit 1 where B is slower than A");
  options.flag("--all", settings->all, "prove all rows or threadgroups, however long it takes");
  options.flag("--no-proof", settings->no_proof, "compare bytes on a few inputs only");
  options.flag("--capture-sources", settings->capture_sources,
               "keep lane modules, LLVM IR and assembly in DIR/sources");
  options.text("--out", settings->out, "DIR", "a new folder for results.json");
  return [settings](const Context& context) {
    if (settings->capture_sources && settings->out.empty())
      return Result<int>(Diagnostic{Code::bad_arguments, "--capture-sources needs a folder to keep them in",
                                    "give --out DIR", "--capture-sources"});
    return compare(*settings, context);
  };
}

}  // namespace lanefold::cli
