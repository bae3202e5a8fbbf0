#include "bench/replay.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "bench/stats/statistics.h"
#include "verify/made_for.h"

namespace lanefold::bench {
namespace {

constexpr unsigned kMostThreads = 1024;
constexpr std::int64_t kMostLaunches = 1'000'000;

/// The name without form and plan: the frozen plan says how.
Result<driver::KernelName> bare_name(const std::string& text) {
  LANEFOLD_TRY(driver::KernelName name, driver::parse_kernel_name(text));
  name.text = name.kind == driver::KernelName::Kind::op ? name.name : name.file;
  name.form.clear();
  name.plan_path.clear();
  return name;
}

Result<SubjectRequest> frozen(const CaseRecord& c, const verify::DeviceOptions& like, const std::string& place) {
  SubjectRequest request;
  LANEFOLD_TRY(request.kernel, bare_name(c.kernel));
  request.instance.rows = c.rows;
  request.instance.cols = c.cols;
  if (request.kernel.kind == driver::KernelName::Kind::op) {
    const std::optional<ElementType> storage = element_from_name(c.dtype);
    if (!storage)
      return Diagnostic{Code::results_malformed, fmt::format("there is no element type \"{}\"", c.dtype),
                        "let `lanefold bench` write the file", place};
    const std::optional<kernels::Build> build = verify::build_of(c.made_for);
    if (!build || build->tokens < 1 || build->tokens > kernels::kMostTokens)
      return Diagnostic{Code::results_malformed,
                        fmt::format("{} was made for \"{}\", which says nothing known", c.id, c.made_for),
                        "let `lanefold bench` write the file", place};
    request.instance.build = *build;
    request.instance.build.storage = *storage;
  }
  request.instance.options = like;
  if (like.threads == 0) request.instance.options.threads = c.threads;
  if (c.threads > kMostThreads || c.launches > kMostLaunches)
    return Diagnostic{Code::results_malformed,
                      fmt::format("{} has {} threads and {} launches", c.id, c.threads, c.launches),
                      fmt::format("there are at most {} and {}", kMostThreads, kMostLaunches), place};
  request.launches = c.launches;
  request.as_module = c.as_module;
  LANEFOLD_TRY(const plan::Plan plan, plan::from_json(c.plan, place));
  LANEFOLD_TRY(request.instance.options.target, target::find(plan.target));
  request.instance.options.order = plan.order;
  request.instance.options.plan = plan;
  return request;
}

}  // namespace

Result<std::vector<ReplayGroup>> replay_groups(const Results& old, const verify::DeviceOptions& like,
                                               const std::string& place) {
  using Key =
      std::tuple<std::string, std::int64_t, std::int64_t, std::string, std::string, std::int64_t, bool, unsigned>;
  std::map<Key, std::size_t> places;
  std::vector<ReplayGroup> groups;
  std::vector<std::vector<std::string>> plans;
  for (const CaseRecord& c : old.cases) {
    if (!c.ok() || c.plan.empty()) continue;
    LANEFOLD_TRY(SubjectRequest request, frozen(c, like, place));
    const std::string built = verify::built_for(request.instance.build);
    const Key key{request.kernel.text, c.rows, c.cols, c.dtype, built, c.launches, c.as_module, c.threads};
    const auto [at, fresh] = places.emplace(key, groups.size());
    if (fresh) {
      groups.emplace_back().id = fmt::format("{} {}x{} {}{}{}", request.kernel.text, c.rows, c.cols, c.dtype, built,
                                             c.as_module ? ", as a module" : "");
      plans.emplace_back();
    }
    std::vector<std::string>& known = plans[at->second];
    const std::string identity = plan_identity(*request.instance.options.plan);
    if (std::find(known.begin(), known.end(), identity) != known.end()) continue;
    known.push_back(identity);
    groups[at->second].names.push_back(c.id);
    groups[at->second].arms.push_back(std::move(request));
  }
  if (groups.empty())
    return Diagnostic{Code::nothing_to_replay, "no case of the results ran a plan",
                      "give the results.json of a `lanefold bench` of row programs", place};
  for (ReplayGroup& group : groups) {
    if (group.arms.size() > 1) continue;
    SubjectRequest now = group.arms.front();
    now.instance.options.target = like.target;
    now.instance.options.plan.reset();
    group.arms.insert(group.arms.begin(), std::move(now));
    group.names.insert(group.names.begin(), "planned now");
  }
  return groups;
}

int even_rounds(int rounds, std::size_t arms) {
  const int step = std::lcm(2, static_cast<int>(arms));
  return (rounds + step - 1) / step * step;
}

ReplayRecord replay_group(const ReplayGroup& group, const Protocol& protocol, int rounds) {
  ReplayRecord record;
  record.id = group.id;
  record.rounds = even_rounds(rounds, group.arms.size());
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<Arm*> arms;
  for (std::size_t i = 0; i < group.arms.size(); ++i) {
    CaseRequest request;
    request.subject = group.arms[i];
    std::unique_ptr<Subject>& subject = subjects.emplace_back();
    const Result<CaseRecord> prepared = prepare_case(request, {}, subject);
    if (!prepared || !prepared->ok()) {
      record.failure = prepared ? *prepared->failure : failure_of("prepare", prepared.error());
      return record;
    }
    ReplayArm& arm = record.arms.emplace_back();
    arm.name = group.names[i];
    arm.plan = prepared->plan;
    if (i == 1 && plan_identity(*subjects[0]->realised()) == plan_identity(*subject->realised()))
      record.arms[0].name += ", the same plan";
    arms.push_back(subject.get());
  }
  Protocol rotated = protocol;
  rotated.samples = record.rounds;
  const Result<std::vector<Sampled>> sampled = sample_rounds(arms, rotated);
  if (!sampled) {
    record.failure = failure_of("sample", sampled.error());
    return record;
  }
  for (const Sampled& samples : *sampled)
    if (samples.failure) {
      record.failure = failure_of("sample", *samples.failure);
      return record;
    }
  for (std::size_t i = 0; i < arms.size(); ++i) {
    ReplayArm& arm = record.arms[i];
    arm.wall_us = (*sampled)[i].wall_us;
    arm.device_us = (*sampled)[i].device_us;
    const auto judged = [](const ReplayArm& a) -> const std::vector<double>& {
      return a.device_us.empty() ? a.wall_us : a.device_us;
    };
    std::vector<double> ratios;
    for (std::size_t r = 0; r < arm.wall_us.size(); ++r) ratios.push_back(judged(arm)[r] / judged(record.arms[0])[r]);
    arm.ratio_median = median(ratios);
    arm.ratio_least = *std::min_element(ratios.begin(), ratios.end());
    arm.ratio_greatest = *std::max_element(ratios.begin(), ratios.end());
  }
  return record;
}

}  // namespace lanefold::bench
