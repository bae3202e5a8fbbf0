// lanefold tune: which of the legal plans is fastest here, measured, and kept for kernels to come.
#include <memory>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/arms/subject.h"
#include "bench/tune/record_json.h"
#include "bench/tune/tune.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/measure_options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/tune_text.h"
#include "cli/values.h"
#include "tensor/staged_files.h"

namespace lanefold::cli {
namespace {

struct Settings {
  std::vector<std::string> kernels;
  std::string shapes, most, pairs, repetitions, repetition_ms, samples, sample_ms, warmup_ms, seed, out;
  bool screen_only = false, dry_run = false;
  MeasureFlags measure;
};

struct ShapeText {
  std::string rows, cols;
};

/// The parts of a list with commas. An empty part is refused: `option` is its place.
Result<std::vector<std::string>> list_of(const std::string& option, const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    if (parts.back().empty())
      return Diagnostic{Code::bad_arguments, fmt::format("the list \"{}\" has an empty part", text),
                        "write the parts with one comma between two of them", option};
    at = comma + 1;
  }
  return parts;
}

Result<std::vector<ShapeText>> shapes_of(const std::string& text) {
  if (text.empty())
    return Diagnostic{Code::shape_unknown, "kernels are tuned for shapes, of which none is given",
                      "give --shapes RxC,..., such as --shapes 1x2560,64x4096", "--shapes"};
  LANEFOLD_TRY(const std::vector<std::string> parts, list_of("--shapes", text));
  std::vector<ShapeText> shapes;
  for (const std::string& part : parts) {
    const std::size_t x = part.find('x');
    if (x == part.npos)
      return Diagnostic{Code::number_invalid, fmt::format("\"{}\" is no shape", part),
                        "write rows, an x and columns, such as 64x4096", "--shapes"};
    ShapeText shape{part.substr(0, x), part.substr(x + 1)};
    LANEFOLD_CHECK(parse_count("--shapes", shape.rows, 1, kMostSize));
    LANEFOLD_CHECK(parse_count("--shapes", shape.cols, 1, kMostSize));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

/// What all cases share.
Result<bench::TuneRequest> request_like(const Settings& settings) {
  bench::TuneRequest request;
  const bool on_cuda = settings.measure.device == "cuda";
  // A device's clock is quiet; a host's times are those of a busy machine.
  if (on_cuda) {
    request.repetitions = 6;
    request.repetition_ms = 2;
  } else {
    request.screening.sample_ms = 10;
    request.screening.settle_ms = 2;
  }
  LANEFOLD_TRY(const int most, parse_repeats("--most", settings.most, static_cast<int>(request.most)));
  request.most = static_cast<std::size_t>(most);
  LANEFOLD_TRY(request.pairs, parse_repeats("--pairs", settings.pairs, request.pairs));
  LANEFOLD_TRY(request.repetitions, parse_repeats("--repetitions", settings.repetitions, request.repetitions));
  LANEFOLD_TRY(request.repetition_ms,
               parse_milliseconds("--repetition-ms", settings.repetition_ms, request.repetition_ms, false));
  LANEFOLD_TRY(request.warmup_ms, parse_milliseconds("--warmup-ms", settings.warmup_ms, request.warmup_ms, true));
  bench::Protocol& screening = request.screening;
  LANEFOLD_TRY(screening.samples, parse_repeats("--samples", settings.samples, screening.samples));
  LANEFOLD_TRY(screening.sample_ms, parse_milliseconds("--sample-ms", settings.sample_ms, screening.sample_ms, false));
  if (!settings.seed.empty()) {
    LANEFOLD_TRY(const std::int64_t seed, parse_count("--seed", settings.seed, 0, kMostSize));
    request.seed = static_cast<std::uint64_t>(seed);
  }
  request.screen_only = settings.screen_only;
  return request;
}

/// Every kernel in every type and shape; the types of a file stand in its text.
Result<std::vector<bench::TuneRequest>> requests_of(const Settings& settings) {
  LANEFOLD_TRY(const bench::TuneRequest like, request_like(settings));
  LANEFOLD_TRY(const std::vector<ShapeText> shapes, shapes_of(settings.shapes));
  std::vector<std::string> types = {""};
  if (!settings.measure.instance.dtype.empty()) {
    LANEFOLD_TRY(types, list_of("--dtype", settings.measure.instance.dtype));
  }
  std::vector<driver::KernelName> names;
  for (const std::string& kernel : settings.kernels) {
    LANEFOLD_TRY(names.emplace_back(), driver::parse_kernel_name(kernel));
  }
  LANEFOLD_CHECK(check_meaning(names, settings.measure.instance, true));
  std::vector<bench::TuneRequest> requests;
  for (const driver::KernelName& name : names) {
    const bool has_type = name.kind == driver::KernelName::Kind::op;
    for (const std::string& type : has_type ? types : std::vector<std::string>{""})
      for (const ShapeText& shape : shapes) {
        MeasureFlags flags = settings.measure;
        flags.instance.dtype = type;
        flags.instance.rows = shape.rows;
        flags.instance.cols = shape.cols;
        bench::TuneRequest request = like;
        request.subject.kernel = name;
        LANEFOLD_TRY(request.subject.instance, measured_instance(name, flags));
        LANEFOLD_CHECK(bench::check_tunable(request.subject));
        requests.push_back(std::move(request));
      }
  }
  return requests;
}

/// Writes the lines so far; the file is whole at any time.
Status write_lines(const std::string& path, const std::string& lines) {
  if (path.empty()) return success();
  tensor::StagedFiles files;
  LANEFOLD_CHECK(files.stage(path, {std::as_bytes(std::span(lines))}));
  return files.commit();
}

Result<int> tune(const Settings& settings, const Context& context) {
  if (settings.kernels.empty())
    return Diagnostic{Code::nothing_asked, "no kernel is named", "name operators or FILE.fold", "KERNEL"};
  LANEFOLD_TRY(const std::vector<bench::TuneRequest> requests, requests_of(settings));
  const driver::TunedPlans plans = driver::TunedPlans::user();
  const int request_pairs = requests.front().pairs;
  const bool keeps = !settings.dry_run && !settings.screen_only;
  Progress progress("tuning", static_cast<std::int64_t>(requests.size()) * 100);
  std::vector<TunedLine> lines;
  std::string text;
  nlohmann::json cases = nlohmann::json::array();
  std::int64_t done = 0;
  bool failed = false;
  bench::TuneContext measuring;
  measuring.progress = [&](int part, int all) { progress.update(done * 100 + part * 100 / all); };
  for (const bench::TuneRequest& request : requests) {
    bench::TuneRecord record = bench::tune_case(request, measuring);
    bool kept = false;
    if (keeps && !record.failure) {
      const target::Target& target = request.subject.instance.options.target;
      LANEFOLD_TRY(const driver::TunedCall call, bench::tuned_call(record, target));
      kept = bench::keep_winner(record, call, plans);
    }
    cases.push_back(bench::record_json(record, kept));
    text += cases.back().dump() + "\n";
    LANEFOLD_CHECK(write_lines(settings.out, text));
    failed = failed || record.failure;
    lines.push_back({std::move(record), kept});
    progress.update(++done * 100);
  }
  if (context.json) {
    print_json({{"cases", std::move(cases)}});
  } else {
    print(tuned_text(lines, keeps));
    if (request_pairs < bench::kFewestPairs && !settings.screen_only)
      print(fmt::format("no difference can be claimed with fewer than {} pairs\n", bench::kFewestPairs));
    if (keeps && !plans.folder())
      print("nothing is stored: LANEFOLD_TUNED is 0, or there is no folder (LANEFOLD_CACHE_DIR)\n");
    if (!settings.out.empty()) print(fmt::format("wrote every plan's times to {}\n", settings.out));
  }
  return failed ? kFailedCheck : kSuccess;
}

}  // namespace

Action declare_tune(Options& options) {
  const auto settings = std::make_shared<Settings>();
  InstanceFlags& instance = settings->measure.instance;
  options.positionals("KERNEL", settings->kernels, "operators, or FILE.fold");
  options.text("--shapes", settings->shapes, "RxC,...", "rows and columns to tune for, such as 1x2560,64x4096");
  options.text("--dtype", instance.dtype, "TYPE,...", "storage types of operators (default: f32)");
  options.text("--order", instance.order, "ORDER", "canonical (default) or free");
  options.text("--device", settings->measure.device, "NAME", "the device to tune for: cpu (default) or cuda");
  options.text("--threads", settings->measure.threads, "N", "threads of the CPU (default: one per processor)");
  declare_sizes(options, instance.sizes);
  options.text("--most", settings->most, "N", "plans to time, the cheapest by their predicted cost (default 24)");
  options.text("--pairs", settings->pairs, "N",
               "pairs of a comparison, and as many null pairs of each side (default 11)");
  options.text("--repetitions", settings->repetitions, "N",
               "batches of a sample of a pair (default 12; on a CUDA device 6)");
  options.text("--repetition-ms", settings->repetition_ms, "MS",
               "milliseconds of a batch (default 5; on a CUDA device 2)");
  options.text("--warmup-ms", settings->warmup_ms, "MS", "milliseconds of calls before a comparison (default 20)");
  options.text("--samples", settings->samples, "N", "samples of each plan in the screening (default 5)");
  options.text("--sample-ms", settings->sample_ms, "MS",
               "milliseconds of a sample of the screening (default 10; on a CUDA device 4)");
  options.text("--seed", settings->seed, "N", "of the random orders");
  options.flag("--screen-only", settings->screen_only, "time the plans and compare none: for tools/fit_cuda_cost.py");
  options.flag("--dry-run", settings->dry_run, "measure everything and store nothing");
  options.text("--out", settings->out, "FILE.jsonl", "file for the times of all plans, a line for each case");
  return [settings](const Context& context) { return tune(*settings, context); };
}

}  // namespace lanefold::cli
