#include "bench/tune/tune.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "bench/ab.h"
#include "bench/case_checks.h"
#include "bench/results_run.h"
#include "bench/stats/statistics.h"
#include "bench/tune/screening.h"
#include "ir/stages.h"
#include "plan/describe.h"
#include "plan/layout.h"
#include "verify/tuned_on.h"

namespace lanefold::bench {
namespace {

/// A folder for compiled code while one case is tuned.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::error_code unknown;
    std::string pattern = (std::filesystem::temp_directory_path(unknown) / "lanefold-tune-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  /// Empty where none could be made: then nothing is kept, and code is compiled as often as it is needed.
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Compares a plan with the default one on kernels and buffers of their own.
Result<Trial> compare(const TuneRequest& request, const std::filesystem::path& code_folder, std::size_t plan,
                      std::uint64_t seed, TuneRecord& record) {
  AbRequest asked;
  asked.a = with_plan(request, record.plans.front().plan, code_folder);
  asked.b = with_plan(request, record.plans[plan].plan, code_folder);
  asked.pairs = request.pairs;
  asked.repetitions = request.repetitions;
  asked.repetition_ms = request.repetition_ms;
  asked.warmup_ms = request.warmup_ms;
  asked.seed = seed;
  asked.proof = ProofEffort::none;
  asked.figures = false;
  LANEFOLD_TRY(const ComparisonRecord compared, compare_kernels(asked, {}));
  if (compared.failure) {
    record.failure = compared.failure;
    return Diagnostic{Code::output_wrong, compared.failure->message, compared.failure->hint, record.id};
  }
  if (compared.max_ulp && record.plans[plan].plan.order == ir::Order::canonical)
    return Diagnostic{
        Code::output_wrong,
        fmt::format("other bytes than those of the default plan, by {}", plan::plan_line(record.plans[plan].plan)),
        "canonical order allows no plan that: report it", record.id};
  Trial trial;
  trial.verdict = *compared.verdict;
  std::vector<double> of_default, of_plan;
  for (const Pair& pair : compared.pairs)
    if (pair.turn.kind == PairKind::ab) {
      of_default.push_back(pair.first_us);
      of_plan.push_back(pair.second_us);
    }
  trial.pairs = static_cast<int>(of_plan.size());
  trial.default_us = median(of_default);
  trial.plan_us = median(of_plan);
  return trial;
}

}  // namespace

std::optional<double> ScreenedPlan::us() const {
  if (samples_us.empty()) return std::nullopt;
  return median(samples_us);
}

Status check_tunable(const SubjectRequest& request) {
  const driver::KernelName& name = request.kernel;
  if (verify::names_lane_module(name) || !name.plan_path.empty())
    return Diagnostic{Code::kernel_not_for_verb,
                      fmt::format("{} has its plan already, so there is nothing to choose", name.text),
                      "name an operator (see `lanefold ops`) or a FILE.fold without a plan", name.text};
  LANEFOLD_CHECK(check_request(request));
  LANEFOLD_TRY(const verify::Instance instance, verify::make_instance(name, request.instance));
  if (instance.order == ir::Order::serial)
    return Diagnostic{Code::bad_arguments,
                      "under the order serial lanes do not cooperate, so there is nothing to choose",
                      "give --order canonical or --order free", name.text};
  if (ir::needs_stages(*instance.program))
    return Diagnostic{Code::kernel_not_for_verb,
                      fmt::format("{} runs in stages, which are not tuned in this version", name.text),
                      "tune each stage as a program of its own", name.text};
  return success();
}

TuneRecord tune_case(const TuneRequest& request, const TuneContext& context) {
  TuneRecord record;
  record.kernel = request.subject.kernel.text;
  record.device = request.subject.instance.options.device;
  record.rows = request.subject.instance.rows;
  record.cols = request.subject.instance.cols;
  const bool is_operator = request.subject.kernel.kind == driver::KernelName::Kind::op;
  record.dtype = is_operator ? element_name(request.subject.instance.build.storage) : "";
  record.id = fmt::format("{} {}x{}", record.kernel, record.rows, record.cols);
  record.compared = !request.screen_only;
  const int steps = 1 + 2 * static_cast<int>(request.finalists);
  const auto step = [&](int done) {
    if (context.progress) context.progress(done, steps);
  };
  const ScratchFolder scratch;
  screen(request, scratch.path(), record);
  step(1);
  if (record.failure || request.screen_only) return record;
  std::vector<std::optional<double>> times;
  for (const ScreenedPlan& plan : record.plans) times.push_back(plan.us());
  int done = 1;
  Result<Decision> decision =
      decide(finalists(times, request.finalists), request.seed + 1, [&](std::size_t plan, std::uint64_t seed) {
        Result<Trial> trial = compare(request, scratch.path(), plan, seed, record);
        step(++done);
        return trial;
      });
  if (decision) record.decision = std::move(decision).value();
  if (!decision && !record.failure) record.failure = failure_of("sample", decision.error());
  step(steps);
  return record;
}

Result<driver::TunedCall> tuned_call(const TuneRecord& record, const target::Target& target) {
  LANEFOLD_TRY(driver::TunedOn on, verify::tuned_on(record.device));
  return driver::TunedCall{.on = std::move(on),
                           .program = *record.program,
                           .target = target,
                           .order = record.plans.front().plan.order,
                           .rows = record.rows,
                           .cols = record.cols,
                           .alignment = verify::planned_alignment(record.device, record.cols)};
}

bool keep_winner(const TuneRecord& record, const driver::TunedCall& call, const driver::TunedPlans& plans) {
  if (record.failure) return false;
  const Decision& decision = record.decision;
  if (!decision.winner) {
    plans.remove(call);
    return false;
  }
  const Trial& last = decision.trials.back();
  driver::TunedPlan kept;
  kept.plan = record.plans[*decision.winner].plan;
  kept.measured = {.default_us = last.default_us,
                   .tuned_us = last.plan_us,
                   .ratio = last.verdict.ratio,
                   .ratio_low = last.verdict.ratio_low,
                   .ratio_high = last.verdict.ratio_high,
                   .null_low = last.verdict.null_low,
                   .null_high = last.verdict.null_high,
                   .probability = last.verdict.probability,
                   .pairs = static_cast<std::uint32_t>(last.pairs),
                   .seed = last.seed,
                   .finished = utc_now()};
  return plans.store(call, kept);
}

}  // namespace lanefold::bench
