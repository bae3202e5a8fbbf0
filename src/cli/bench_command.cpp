// lanefold bench: kernels timed beside a copy and the peers, after every element was checked.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/case_checks.h"
#include "bench/replay.h"
#include "bench/results/fit.h"
#include "bench/results_run.h"
#include "bench/suites.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/measure_options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/results_text.h"

namespace lanefold::cli {
namespace {

struct Settings {
  std::vector<std::string> kernels, peers;
  std::string suite, samples, sample_ms, warmup_ms, settle_ms, out, replay, rounds;
  bool capture_sources = false;
  MeasureFlags measure;
};

Result<bench::Protocol> protocol_of(const Settings& settings) {
  bench::Protocol protocol;
  LANEFOLD_TRY(protocol.samples, parse_repeats("--samples", settings.samples, protocol.samples));
  LANEFOLD_TRY(protocol.sample_ms, parse_milliseconds("--sample-ms", settings.sample_ms, protocol.sample_ms, false));
  LANEFOLD_TRY(protocol.warmup_ms, parse_milliseconds("--warmup-ms", settings.warmup_ms, protocol.warmup_ms, true));
  LANEFOLD_TRY(protocol.settle_ms, parse_milliseconds("--settle-ms", settings.settle_ms, protocol.settle_ms, true));
  return protocol;
}

Result<std::vector<driver::KernelName>> kernel_names(const Settings& settings) {
  std::vector<driver::KernelName> names;
  for (const std::string& text : settings.kernels) {
    LANEFOLD_TRY(names.emplace_back(), driver::parse_kernel_name(text));
  }
  return names;
}

Result<std::vector<bench::CaseRequest>> requested_cases(const Settings& settings) {
  LANEFOLD_TRY(const std::vector<driver::KernelName> names, kernel_names(settings));
  std::vector<bench::CaseRequest> cases;
  if (!settings.suite.empty()) {
    LANEFOLD_TRY(const bench::Suite* suite, bench::find_suite(settings.suite));
    const InstanceFlags& flags = settings.measure.instance;
    for (const auto& [option, text] : {std::pair("--rows", &flags.rows), std::pair("--cols", &flags.cols)})
      if (!text->empty())
        return Diagnostic{Code::option_not_for_kernel, fmt::format("the suite {} has its own sizes", suite->name),
                          fmt::format("leave {} out, or name kernels without --suite", option), option};
    for (const driver::KernelName& name : names)
      if (sort_of(name) != Sort::program || !name.plan_path.empty())
        return Diagnostic{
            Code::kernel_not_for_verb,
            fmt::format("{} is no row program without a plan, so it has not the suite's sizes", name.text),
            "name an operator (see `lanefold ops`) or a FILE.fold", name.text};
    // A suite's own kernels are operators, each as good as any other for what options mean.
    const std::vector<driver::KernelName> own = {driver::parse_kernel_name("rms_norm").value()};
    LANEFOLD_CHECK(check_meaning(names.empty() ? own : names, flags, true));
    LANEFOLD_TRY(const verify::InstanceRequest like, measured_like(settings.measure));
    return bench::suite_cases(*suite, names, like);
  }
  if (names.empty())
    return Diagnostic{Code::nothing_asked, "no kernel is named", "name kernels, or give --suite NAME", "KERNEL"};
  LANEFOLD_CHECK(check_meaning(names, settings.measure.instance, true));
  for (const driver::KernelName& name : names) {
    bench::CaseRequest request;
    request.subject.kernel = name;
    LANEFOLD_TRY(request.subject.instance, measured_instance(name, settings.measure));
    LANEFOLD_CHECK(bench::check_request(request.subject));
    cases.push_back(std::move(request));
  }
  return cases;
}

Result<int> print_results(const bench::Results& results, const Settings& settings, const Context& context) {
  if (context.json) {
    print(bench::to_json(results) + "\n");
  } else {
    print(results_text(results));
    if (!settings.out.empty())
      print(fmt::format("\nwrote {0}/results.json; `lanefold report {0} --out FILE.html` draws it\n", settings.out));
  }
  return has_failures(results) ? kFailedCheck : kSuccess;
}

Result<bench::ResultsRun> begin(const Settings& settings, const std::string& kind, const bench::Protocol& protocol,
                                const verify::DeviceOptions& device) {
  LANEFOLD_TRY(bench::ResultsRun run,
               bench::ResultsRun::begin(kind, settings.out.empty() ? std::nullopt : std::optional(settings.out),
                                        given_command(), device.device, device.target.name));
  run.results().protocol = bench::protocol_record(protocol);
  return run;
}

Result<int> bench_cases(const Settings& settings, const Context& context) {
  if (!settings.rounds.empty())
    return Diagnostic{Code::bad_arguments, "--rounds is for --replay", "give --samples, or --replay FILE", "--rounds"};
  LANEFOLD_TRY(const bench::Protocol protocol, protocol_of(settings));
  LANEFOLD_TRY(const std::vector<bench::CaseRequest> cases, requested_cases(settings));
  std::vector<std::unique_ptr<bench::Peer>> peers;
  for (const std::string& command : settings.peers) {
    LANEFOLD_TRY(peers.emplace_back(), bench::Peer::start(command));
  }
  LANEFOLD_TRY(bench::ResultsRun run, begin(settings, "bench", protocol, cases.front().subject.instance.options));
  Progress progress("measuring", static_cast<std::int64_t>(cases.size()) * 100);
  std::int64_t done = 0;
  bench::CaseContext measuring;
  measuring.protocol = protocol;
  measuring.peers = peers;
  measuring.capture_sources = settings.capture_sources;
  measuring.keep_source = [&](const std::string& id, const std::string& stage, const std::string& text) {
    return run.keep_source(id, stage, text, settings.capture_sources);
  };
  measuring.progress = [&](const std::string&, int part, int all) { progress.update(done * 100 + part * 100 / all); };
  for (const bench::CaseRequest& request : cases) {
    LANEFOLD_TRY(bench::CaseRecord record, bench::measure_case(request, measuring));
    run.results().cases.push_back(std::move(record));
    LANEFOLD_CHECK(run.save());
    progress.update(++done * 100);
  }
  run.results().fits = bench::fit_growth(run.results().cases);
  LANEFOLD_CHECK(run.finish());
  return print_results(run.results(), settings, context);
}

Result<int> replay(const Settings& settings, const Context& context) {
  if (!settings.kernels.empty() || !settings.suite.empty() || !settings.peers.empty() || settings.capture_sources ||
      !settings.samples.empty() || !given_options(settings.measure.instance).empty())
    return Diagnostic{Code::bad_arguments, "--replay takes its kernels, sizes and plans from the file",
                      "leave out everything but --replay, --rounds, --threads, --sample-ms, --warmup-ms and --out",
                      "--replay"};
  LANEFOLD_TRY(const bench::Protocol protocol, protocol_of(settings));
  LANEFOLD_TRY(const int rounds, parse_repeats("--rounds", settings.rounds, 12));
  LANEFOLD_TRY(const bench::Results old, bench::read_results(settings.replay));
  LANEFOLD_TRY(const verify::InstanceRequest like, measured_like(settings.measure));
  LANEFOLD_TRY(const std::vector<bench::ReplayGroup> groups, bench::replay_groups(old, like.options, settings.replay));
  LANEFOLD_TRY(bench::ResultsRun run, begin(settings, "replay", protocol, like.options));
  run.results().protocol["rounds"] = rounds;
  Progress progress("replaying", static_cast<std::int64_t>(groups.size()));
  for (const bench::ReplayGroup& group : groups) {
    run.results().replays.push_back(bench::replay_group(group, protocol, rounds));
    LANEFOLD_CHECK(run.save());
    progress.update(static_cast<std::int64_t>(run.results().replays.size()));
  }
  LANEFOLD_CHECK(run.finish());
  return print_results(run.results(), settings, context);
}

}  // namespace

Action declare_bench(Options& options) {
  const auto settings = std::make_shared<Settings>();
  options.positionals("KERNEL", settings->kernels, "the kernels");
  options.text("--suite", settings->suite, "NAME",
               "published, norms, library, floor, decode-norms or growth, instead of sizes");
  declare_measure(options, settings->measure);
  options.text("--samples", settings->samples, "N", "samples of each arm (default 11)");
  options.text("--sample-ms", settings->sample_ms, "MS", "milliseconds of a sample (default 100)");
  options.text("--warmup-ms", settings->warmup_ms, "MS", "milliseconds of calls before the first sample (default 100)");
  options.text("--settle-ms", settings->settle_ms, "MS",
               "milliseconds of calls between another arm's sample and the next (default 40)");
  options.list("--peer", settings->peers, "COMMAND",
               "a peer that takes turns, such as \"python3 bench/peers/numpy_peer.py\"");
  options.flag("--capture-sources", settings->capture_sources,
               "keep lane modules, LLVM IR and assembly in DIR/sources");
  options.text("--replay", settings->replay, "RESULTS", "time the plans of earlier results again, in rotated rounds");
  options.text("--rounds", settings->rounds, "N", "rounds of a replay (default 12; rounded up to even turns)");
  options.text("--out", settings->out, "DIR", "a new folder for results.json");
  return [settings](const Context& context) {
    if (settings->capture_sources && settings->out.empty())
      return Result<int>(Diagnostic{Code::bad_arguments, "--capture-sources needs a folder to keep them in",
                                    "give --out DIR", "--capture-sources"});
    return settings->replay.empty() ? bench_cases(*settings, context) : replay(*settings, context);
  };
}

}  // namespace lanefold::cli
