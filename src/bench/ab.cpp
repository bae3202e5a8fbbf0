#include "bench/ab.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "bench/bytes_verdict.h"
#include "bench/case_checks.h"
#include "bench/stats/statistics.h"
#include "driver/pipeline.h"
#include "verify/module_run.h"
#include "verify/prove.h"

namespace lanefold::bench {
namespace {

/// One kernel, made several times on the same memory.
struct Makes {
  std::vector<std::unique_ptr<Subject>> all;
  std::uint64_t calls = 1;  ///< of a batch
};

CaseRequest case_of(const SubjectRequest& request) {
  CaseRequest made;
  made.subject = request;
  return made;
}

/// Counts of one call, where the lane machine gets through it in seconds.
std::optional<machine::Counts> counts_of(const Subject& subject) {
  std::int64_t elements = 0;
  for (const verify::ModuleBuffer& buffer : subject.instance().buffers) elements += buffer.elements();
  if (elements > kMostProvedElements || subject.module().kernels.empty()) return std::nullopt;
  verify::ModuleMemory memory(subject.instance().buffers);
  verify::fill_inputs(memory, subject.instance(), verify::Pattern::plain, 1);
  const Result<machine::Report> report = verify::run_on_machine(subject.instance(), memory);
  if (!report || !report->findings.empty()) return std::nullopt;
  return report->counts;
}

/// What a launch is made of, from the lane module alone.
struct Shape {
  double threads = 0, shared_bytes = 0, barrier_sites = 0, registers = 0;
};

std::optional<Shape> shape_of(const lane::Module& module) {
  if (module.kernels.empty()) return std::nullopt;
  Shape shape;
  for (const lane::Kernel& kernel : module.kernels) {
    shape.threads = std::max(shape.threads, static_cast<double>(kernel.simd_width) * kernel.simd_groups);
    shape.shared_bytes = std::max(shape.shared_bytes, static_cast<double>(lane::shared_bytes(kernel)));
    shape.barrier_sites += driver::barrier_sites(kernel);
    double registers = 0;
    for (const lane::RegisterArray& array : kernel.registers) registers += array.size;
    shape.registers = std::max(shape.registers, registers);
  }
  return shape;
}

std::vector<StaticFigure> static_figures(const Subject& a, const Subject& b) {
  const std::optional<Shape> shape_a = shape_of(a.module()), shape_b = shape_of(b.module());
  std::vector<StaticFigure> figures;
  const auto add_shape = [&](const char* name, const char* unit, double Shape::* figure) {
    const auto value = [&](const std::optional<Shape>& shape) {
      return shape ? std::optional((*shape).*figure) : std::nullopt;
    };
    figures.push_back({name, unit, value(shape_a), value(shape_b)});
  };
  add_shape("threadgroup memory", "bytes", &Shape::shared_bytes);
  add_shape("barriers", "sites in the text", &Shape::barrier_sites);
  add_shape("threads", "of a threadgroup", &Shape::threads);
  add_shape("register arrays", "elements of a lane", &Shape::registers);
  if (!a.resources().empty() && !b.resources().empty()) {
    const auto most = [](const Subject& subject, std::uint32_t ResourceRecord::* figure) {
      std::uint32_t value = 0;
      for (const ResourceRecord& kernel : subject.resources()) value = std::max(value, kernel.*figure);
      return static_cast<double>(value);
    };
    figures.push_back({"registers", "of a lane, as compiled", most(a, &ResourceRecord::registers),
                       most(b, &ResourceRecord::registers)});
    figures.push_back(
        {"spills", "bytes of a lane", most(a, &ResourceRecord::spill_bytes), most(b, &ResourceRecord::spill_bytes)});
  }
  const std::optional<machine::Counts> counts_a = counts_of(a), counts_b = counts_of(b);
  const auto add = [&](const char* name, const char* unit, auto count) {
    const auto value = [&](const std::optional<machine::Counts>& counts) {
      return counts ? std::optional(static_cast<double>(count(*counts))) : std::nullopt;
    };
    figures.push_back({name, unit, value(counts_a), value(counts_b)});
  };
  add("barriers executed", "of a call", [](const machine::Counts& c) { return c.barriers; });
  add("global reads", "elements", [](const machine::Counts& c) { return c.reads(); });
  add("global reads", "bytes", [](const machine::Counts& c) { return c.read_bytes(); });
  add("global writes", "bytes", [](const machine::Counts& c) { return c.write_bytes(); });
  add("shuffles", "of SIMD groups", [](const machine::Counts& c) { return c.shuffles; });
  return figures;
}

/// By the device's clock where it has one: a host's times have launches in them that others disturb.
double judged_ns(const Timing& timing) { return timing.device_ns.value_or(timing.wall_ns); }

/// Median time of a call over the repetitions of one sample, µs.
Result<double> sample(Subject& subject, std::uint64_t calls, int repetitions) {
  LANEFOLD_CHECK(subject.restore());
  // The other arm has left its code and data in the caches.
  LANEFOLD_CHECK(subject.run(calls));
  LANEFOLD_CHECK(subject.restore());
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) {
    LANEFOLD_TRY(const Timing timing, subject.run(calls));
    times.push_back(judged_ns(timing) / static_cast<double>(calls) / 1000);
  }
  return median(times);
}

Result<Makes> make_more(std::unique_ptr<Subject> first, const SubjectRequest& request, const Protocol& protocol) {
  Makes makes;
  const std::shared_ptr<SubjectMemory> memory = first->memory();
  makes.all.push_back(std::move(first));
  for (int i = 1; i < kMakes; ++i) {
    LANEFOLD_TRY(makes.all.emplace_back(), Subject::make(request, memory));
  }
  LANEFOLD_CHECK(makes.all.front()->restore());
  LANEFOLD_TRY(makes.calls, calibrate(*makes.all.front(), protocol));
  return makes;
}

/// Gives both sides batches that last equally long. On a busy machine a longer batch is interrupted more often, which null pairs of equal batches would not
/// show; so the times that decide are medians of batches that took turns.
Status match_batches(Makes& a, Makes& b, double repetition_ms) {
  constexpr int kTries = 9;
  std::vector<double> times_a, times_b;
  for (int i = 0; i < kTries; ++i)
    for (const auto& [side, times] : {std::pair{&a, &times_a}, std::pair{&b, &times_b}}) {
      LANEFOLD_TRY(const Timing timing, side->all.front()->run(side->calls));
      times->push_back(judged_ns(timing) / static_cast<double>(side->calls));
    }
  for (const auto& [side, times] : {std::pair{&a, &times_a}, std::pair{&b, &times_b}})
    side->calls = static_cast<std::uint64_t>(std::max(1.0, std::round(repetition_ms * 1e6 / median(*times))));
  return success();
}

/// Takes one pair with makes drawn at random; those of a null pair differ.
Result<Pair> take_pair(const PairTurn& turn, Makes& a, Makes& b, Random& random, int repetitions) {
  Makes& first_of = turn.kind == PairKind::bb ? b : a;
  Makes& second_of = turn.kind == PairKind::aa ? a : b;
  const std::size_t first = random.below(kMakes);
  std::size_t second = random.below(kMakes);
  if (turn.kind != PairKind::ab) second = (first + 1 + random.below(kMakes - 1)) % kMakes;
  Pair pair{turn, 0, 0};
  for (const bool is_second : {turn.second_first, !turn.second_first}) {
    Makes& side = is_second ? second_of : first_of;
    LANEFOLD_TRY(const double time, sample(*side.all[is_second ? second : first], side.calls, repetitions));
    (is_second ? pair.second_us : pair.first_us) = time;
  }
  return pair;
}

Status take_pairs(const AbRequest& request, const AbContext& context, Makes& a, Makes& b, ComparisonRecord& record) {
  const std::vector<PairTurn> turns = pair_schedule(request.pairs, request.seed);
  Random random(request.seed);
  for (const PairTurn& turn : turns) {
    LANEFOLD_TRY(record.pairs.emplace_back(), take_pair(turn, a, b, random, request.repetitions));
    if (context.progress) context.progress(static_cast<int>(record.pairs.size()), static_cast<int>(turns.size()));
  }
  return success();
}

}  // namespace

Status check_comparable(const AbRequest& request) {
  LANEFOLD_CHECK(check_request(request.a));
  LANEFOLD_CHECK(check_request(request.b));
  LANEFOLD_TRY(const verify::Instance a, verify::make_instance(request.a.kernel, request.a.instance));
  LANEFOLD_TRY(const verify::Instance b, verify::make_instance(request.b.kernel, request.b.instance));
  return verify::check_same_buffers(a, b);
}

Result<ComparisonRecord> compare_kernels(const AbRequest& request, const AbContext& context) {
  ComparisonRecord record;
  record.a = request.a.kernel.text;
  record.b = request.b.kernel.text;
  record.device = request.a.instance.options.device;
  record.repetitions = request.repetitions;
  LANEFOLD_CHECK(check_comparable(request));
  std::unique_ptr<Subject> a, b;
  for (const auto& [side, subject] : {std::pair{&request.a, &a}, std::pair{&request.b, &b}}) {
    LANEFOLD_TRY(CaseRecord prepared,
                 prepare_case(case_of(*side), context.sources, *subject, a ? a->memory() : nullptr));
    if (prepared.failure && !record.failure) record.failure = prepared.failure;
    record.made_for = prepared.made_for;
    record.dtype = prepared.dtype;
    record.threads = prepared.threads;
    record.arms.push_back(std::move(prepared));
    if (record.failure) return record;
  }
  if (request.figures) record.figures = static_figures(*a, *b);
  LANEFOLD_TRY(const BytesVerdict bytes, compare_bytes(*a, *b, request.proof));
  record.bytes = bytes.verdict;
  record.bytes_detail = bytes.detail;
  record.max_ulp = bytes.max_ulp;
  if (bytes.fault) {
    record.failure = failure_of("bytes", *bytes.fault);
    return record;
  }
  Protocol protocol;
  protocol.sample_ms = request.repetition_ms;
  protocol.warmup_ms = request.warmup_ms;
  // What comparing bytes has left is no input to time on: not in the memory, and not in what either would restore.
  a->refill_standard();
  b->refill_standard();
  LANEFOLD_TRY(Makes left, make_more(std::move(a), request.a, protocol));
  LANEFOLD_TRY(Makes right, make_more(std::move(b), request.b, protocol));
  LANEFOLD_CHECK(match_batches(left, right, request.repetition_ms));
  record.calls_a = left.calls;
  record.calls_b = right.calls;
  LANEFOLD_CHECK(take_pairs(request, context, left, right, record));
  record.verdict = judge_pairs(record.pairs);
  return record;
}

}  // namespace lanefold::bench
