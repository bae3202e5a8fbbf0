#include "bench/tune/screening.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "base/float_environment.h"
#include "base/random.h"
#include "bench/arms/ceiling.h"
#include "bench/case.h"
#include "bench/case_checks.h"
#include "bench/stats/statistics.h"
#include "driver/pipeline.h"
#include "driver/streaming.h"
#include "plan/alternatives.h"
#include "plan/describe.h"
#include "plan/layout.h"
#if LANEFOLD_CUDA
#include "driver/cuda/compiled_record.h"
#endif

namespace lanefold::bench {
namespace {

using Subjects = std::vector<std::unique_ptr<Subject>>;

/// The plans to be timed, the default one first.
Status propose(const TuneRequest& request, TuneRecord& record) {
  LANEFOLD_TRY(verify::Instance instance, verify::make_instance(request.subject.kernel, request.subject.instance));
  record.id = case_id(request.subject, instance, request.subject.instance.options.threads);
  record.order = ir::order_name(instance.order);
  plan::Request asked;
  asked.rows = instance.rows;
  asked.cols = instance.cols;
  asked.alignment = plan::dense_alignment(instance.cols);
  asked.order = instance.order;
  LANEFOLD_TRY(std::vector<plan::Plan> legal,
               plan::legal_plans(*instance.program, request.subject.instance.options.target, asked));
  if (legal.size() > request.most) legal.resize(request.most);
  for (plan::Plan& plan : legal) record.plans.push_back({std::move(plan), {}, {}, std::nullopt});
  record.program = std::move(instance.program);
  return success();
}

/// Compiles the code of all plans at once, so that making kernels one after the other finds it in the folder. What cannot be compiled is
/// found again there.
void compile_together([[maybe_unused]] const TuneRequest& request, [[maybe_unused]] const TuneRecord& record,
                      [[maybe_unused]] const std::filesystem::path& code_folder) {
#if LANEFOLD_CUDA
  if (request.subject.instance.options.device != "cuda" || code_folder.empty()) return;
  const target::Target& target = request.subject.instance.options.target;
  const runtime::CudaBinaryCache cache(code_folder);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    const FloatEnvironment environment;
    for (std::size_t i = next++; i < record.plans.size(); i = next++) {
      lower::Access access;
      access.streaming = driver::streams_on_cuda(driver::column_bytes(*record.program), record.rows, record.cols);
      plan::Request asked;
      asked.rows = record.rows;
      asked.cols = record.cols;
      const plan::Plan& plan = record.plans[i].plan;
      try {
        const auto lowered = driver::lower_program(*record.program, target, asked, plan, access);
        if (lowered) (void)driver::compiled_record(lowered->module, target, plan.order, cache);
      } catch (const std::exception&) {
        // A fault of ours: whoever makes the kernel meets it again, where it can be told.
      }
    }
  };
  std::vector<std::jthread> team;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) team.emplace_back(work);
#endif
}

/// Makes the kernel of a plan; `checked`: outputs that were found right, whose bytes a canonical plan must repeat. A diagnostic is a
/// failure of the case.
Status make(const TuneRequest& request, const std::filesystem::path& code_folder, ScreenedPlan& screened,
            const std::vector<std::vector<std::byte>>* checked, const std::shared_ptr<SubjectMemory>& memory,
            std::unique_ptr<Subject>& subject) {
  const SubjectRequest own = with_plan(request, screened.plan, code_folder);
  if (checked == nullptr || screened.plan.order != ir::Order::canonical) {
    CaseRequest asked;
    asked.subject = own;
    LANEFOLD_TRY(const CaseRecord prepared, prepare_case(asked, {}, subject, memory));
    screened.left_out = prepared.failure;
  } else {
    Result<std::unique_ptr<Subject>> made = Subject::make(own, memory);
    if (made) {
      subject = std::move(made).value();
      if (subject->outputs() != *checked)
        return Diagnostic{
            Code::output_wrong,
            fmt::format("other bytes than those of the default plan, by {}", plan::plan_line(screened.plan)),
            "canonical order allows no plan that: report it", own.kernel.text};
    } else {
      screened.left_out = failure_of("prepare", made.error());
    }
  }
  if (screened.left_out) subject.reset();
  if (subject) screened.resources = subject->resources();
  return success();
}

/// Whether the device has no multiprocessors together for the plan's clusters.
bool has_no_room(const ScreenedPlan& screened) {
  return screened.left_out && screened.left_out->name == code_name(Code::cluster_too_large);
}

Diagnostic no_portable_plan(const TuneRecord& record) {
  return {
      Code::cluster_too_large,
      fmt::format("every one of the cheapest plans of {} wants clusters that the device has no room for", record.id),
      "give a greater --most", record.kernel};
}

const std::vector<double>& judged(const Sampled& samples) {
  return samples.device_us.empty() ? samples.wall_us : samples.device_us;
}

/// Times the subjects in random order beside a copy.
Status time_all(const TuneRequest& request, Subjects& subjects, TuneRecord& record) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < subjects.size(); ++i)
    if (subjects[i]) order.push_back(i);
  Random random(request.seed);
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  LANEFOLD_TRY(const Ceiling copy, make_ceiling(record.device, record.bytes, subjects.front()->threads(), 1));
  std::vector<Arm*> arms;
  for (const std::size_t i : order) arms.push_back(subjects[i].get());
  arms.push_back(copy.arm.get());
  LANEFOLD_TRY(const std::vector<Sampled> sampled, sample_rounds(arms, request.screening));
  for (std::size_t i = 0; i < order.size(); ++i) {
    ScreenedPlan& screened = record.plans[order[i]];
    if (sampled[i].failure) screened.left_out = failure_of("sample", *sampled[i].failure);
    if (!sampled[i].failure) screened.samples_us = judged(sampled[i]);
  }
  if (!sampled.back().failure) record.copy_us = median(judged(sampled.back()));
  return success();
}

Status screen_plans(const TuneRequest& request, const std::filesystem::path& code_folder, TuneRecord& record) {
  LANEFOLD_CHECK(propose(request, record));
  compile_together(request, record, code_folder);
  Subjects subjects(record.plans.size());
  LANEFOLD_CHECK(make(request, code_folder, record.plans.front(), nullptr, nullptr, subjects.front()));
  if (has_no_room(record.plans.front())) {
    // As kernels that plan by themselves do, the default plan then makes do with portable clusters.
    std::erase_if(record.plans, [](const ScreenedPlan& p) { return p.plan.cluster > target::kPortableCluster; });
    if (record.plans.empty()) return no_portable_plan(record);
    subjects.resize(record.plans.size());
    LANEFOLD_CHECK(make(request, code_folder, record.plans.front(), nullptr, nullptr, subjects.front()));
  }
  const auto default_fails = [&] {
    if (!record.failure) record.failure = record.plans.front().left_out;
    return record.failure.has_value();
  };
  if (default_fails()) return success();
  const Subject& first = *subjects.front();
  record.bytes = first.bytes_read() + first.bytes_written();
  const std::vector<std::vector<std::byte>> checked = first.outputs();
  for (std::size_t i = 1; i < subjects.size(); ++i) {
    LANEFOLD_CHECK(make(request, code_folder, record.plans[i], &checked, first.memory(), subjects[i]));
    const std::optional<Failure>& why = record.plans[i].left_out;
    if (why && why->name == code_name(Code::output_wrong)) {
      record.failure = why;
      return success();
    }
  }
  LANEFOLD_CHECK(time_all(request, subjects, record));
  (void)default_fails();
  return success();
}

}  // namespace

SubjectRequest with_plan(const TuneRequest& request, const plan::Plan& plan, const std::filesystem::path& code_folder) {
  SubjectRequest own = request.subject;
  own.instance.options.plan = plan;
  own.instance.options.order = plan.order;
  own.instance.options.tuned = false;
  if (!code_folder.empty()) own.code_folder = code_folder;
  return own;
}

void screen(const TuneRequest& request, const std::filesystem::path& code_folder, TuneRecord& record) {
  const Status screened = screen_plans(request, code_folder, record);
  if (!screened && !record.failure) record.failure = failure_of("prepare", screened.error());
}

}  // namespace lanefold::bench
