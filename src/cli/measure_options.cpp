#include "cli/measure_options.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "bench/arms/subject.h"
#include "cli/values.h"
#include "verify/cuda_device.h"

namespace lanefold::cli {
namespace {

constexpr std::int64_t kMostRepeats = 1'000'000;
constexpr double kMostMilliseconds = 3'600'000;
constexpr std::int64_t kMostThreads = 1024;

std::vector<std::string>& words_of_command() {
  static std::vector<std::string> words;
  return words;
}

bool on_cuda(const MeasureFlags& flags) { return flags.device == "cuda"; }

/// What kernels are made for where no target is named.
Result<target::Target> standard_target(const MeasureFlags& flags) {
  if (!on_cuda(flags)) return target::host();
  LANEFOLD_CHECK(bench::check_timed_device(flags.device));
  return verify::cuda_target();
}

Status on_cuda_device(const MeasureFlags& flags, const verify::InstanceRequest& request) {
  LANEFOLD_TRY(const target::Target here, verify::cuda_target());
  if (request.options.target.name != here.name)
    return Diagnostic{Code::target_not_here,
                      fmt::format("the CUDA device is {}, not {}", here.name, request.options.target.name),
                      "`lanefold count` and `lanefold plan` take any target", "--target"};
  if (flags.threads.empty()) return success();
  return Diagnostic{Code::bad_arguments, "--threads is for the CPU; a plan says how many threads a device runs",
                    "leave --threads out", "--threads"};
}

Status on_device(const MeasureFlags& flags, verify::InstanceRequest& request) {
  request.options.device = flags.device.empty() ? "cpu" : flags.device;
  request.options.tuned = !flags.untuned;
  LANEFOLD_CHECK(bench::check_timed_device(request.options.device));
  if (on_cuda(flags)) return on_cuda_device(flags, request);
  if (!verify::runs_here(request.options.target))
    return Diagnostic{Code::target_not_here,
                      fmt::format("this machine's processor does not run {}; it runs {}", request.options.target.name,
                                  target::host().name),
                      "`lanefold count` and `lanefold plan` take any target", "--target"};
  if (!flags.threads.empty()) {
    LANEFOLD_TRY(const std::int64_t threads, parse_count("--threads", flags.threads, 1, kMostThreads));
    // More threads than processors take turns, and their times are those of the turns.
    const auto processors = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
    if (threads > processors)
      return Diagnostic{Code::number_invalid,
                        fmt::format("{} threads cannot run at once on {} processors", threads, processors),
                        fmt::format("give --threads 1 to {}", processors), "--threads"};
    request.options.threads = static_cast<unsigned>(threads);
  }
  return success();
}

}  // namespace

void declare_measure(Options& options, MeasureFlags& flags) {
  declare_instance(options, flags.instance);
  options.text("--device", flags.device, "NAME", "the device to time on: cpu (default) or cuda");
  options.text("--threads", flags.threads, "N", "threads of the CPU, 1 to 1024 (default: one per processor)");
  options.flag("--untuned", flags.untuned, "take the cost basis's plans, even where `lanefold tune` has stored others");
}

Result<int> parse_repeats(const std::string& option, const std::string& text, int otherwise) {
  if (text.empty()) return otherwise;
  LANEFOLD_TRY(const std::int64_t number, parse_count(option, text, 0, kMostRepeats));
  if (number > 0) return static_cast<int>(number);
  return Diagnostic{Code::no_samples, fmt::format("{} 0 measures nothing", option),
                    fmt::format("leave {} out for {}", option, otherwise), option};
}

Result<double> parse_milliseconds(const std::string& option, const std::string& text, double otherwise,
                                  bool may_be_zero) {
  if (text.empty()) return otherwise;
  LANEFOLD_TRY(const float number, parse_real(option, text));
  if (number <= kMostMilliseconds && (number > 0 || (may_be_zero && number == 0))) return static_cast<double>(number);
  return Diagnostic{
      Code::number_invalid,
      fmt::format("\"{}\" is no time in milliseconds {} 3600000", text, may_be_zero ? "from 0 to" : "above 0, up to"),
      fmt::format("leave {} out for {}", option, otherwise), option};
}

Result<verify::InstanceRequest> measured_instance(const driver::KernelName& name, const MeasureFlags& flags) {
  LANEFOLD_TRY(const target::Target standard, standard_target(flags));
  LANEFOLD_TRY(verify::InstanceRequest request, instance_request(name, flags.instance, standard));
  request.in_stages = true;
  LANEFOLD_CHECK(on_device(flags, request));
  return request;
}

Result<verify::InstanceRequest> measured_like(const MeasureFlags& flags) {
  verify::InstanceRequest request;
  request.in_stages = true;
  if (!flags.instance.dtype.empty()) {
    LANEFOLD_TRY(request.build.storage, parse_storage(flags.instance.dtype));
  }
  LANEFOLD_TRY(
      request.options,
      device_options(
          {.device = "lane-machine", .target = flags.instance.target, .order = flags.instance.order, .threads = ""},
          std::nullopt));
  if (flags.instance.target.empty()) {
    LANEFOLD_TRY(request.options.target, standard_target(flags));
  }
  request.options.cost_basis = flags.instance.cost_basis;
  LANEFOLD_CHECK(on_device(flags, request));
  return request;
}

std::vector<std::string> given_command() { return words_of_command(); }

void remember_command(int count, char** words) { words_of_command().assign(words, words + count); }

}  // namespace lanefold::cli
