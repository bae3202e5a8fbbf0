// The fields of results.json, each named once for the writer and the reader.
#pragma once

#include <concepts>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <type_traits>

#include "bench/results/results.h"

namespace lanefold::bench {

/// The values that a number may have. Whole numbers are never negative, whatever the bounds.
struct Bounds {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};
inline constexpr Bounds kNotNegative{0, std::numeric_limits<double>::infinity()};
/// Thirty years in µs: nothing that was measured, and what a chart can still scale.
inline constexpr Bounds kTime{0, 1e15};
inline constexpr Bounds kAtLeastOne{1, std::numeric_limits<double>::infinity()};
inline constexpr Bounds kShare{0, 1};

/// A struct to write (const) or to read into.
template <class S, class Record>
concept Of = std::same_as<std::remove_const_t<S>, Record>;

// visit_fields(visit, record) calls, in the order of the file:
//   visit(key, field) and visit(key, field, bounds)
//   visit.later(key, field) and visit.later(key, field, bounds): a field that was added within the version; a text without it is read, too
//   visit.one_of(key, text, names): a text that has to be one of the names
//   visit.plan(key, text): JSON text that stands in the file as an object
//   visit.same_length(key, list, other key, other list): the list is empty or as long as the other

template <class V, Of<HashedFile> S>
void visit_fields(V& visit, S& s) {
  visit("name", s.name);
  visit("sha256", s.sha256);
}

template <class V, Of<Environment> S>
void visit_fields(V& visit, S& s) {
  visit("device", s.device);
  visit("device_name", s.device_name);
  visit("target", s.target);
  visit("driver", s.driver);
  visit("compiler", s.compiler);
  visit("built_with", s.built_with);
  visit("system", s.system);
  visit("processors", s.processors);
  visit("memory_bytes", s.memory_bytes);
  visit("version", s.version);
  visit("revision", s.revision);
  visit("dirty", s.dirty);
  visit("binary", s.binary);
  visit("libraries", s.libraries);
  visit("load_begin", s.load_begin, kNotNegative);
  visit("load_end", s.load_end, kNotNegative);
  visit("stolen", s.stolen, kShare);
}

template <class V, Of<Failure> S>
void visit_fields(V& visit, S& s) {
  visit("stage", s.stage);
  visit("code", s.code);
  visit("name", s.name);
  visit("message", s.message);
  visit("hint", s.hint);
}

template <class V, Of<OutputCheck> S>
void visit_fields(V& visit, S& s) {
  visit("output", s.output);
  visit("elements", s.elements);
  visit("wrong", s.wrong, Bounds{0, static_cast<double>(s.elements)});
  visit("max_error", s.max_error, kNotNegative);
}

template <class V, Of<Check> S>
void visit_fields(V& visit, S& s) {
  visit("absolute", s.absolute, kNotNegative);
  visit("relative", s.relative, kNotNegative);
  visit("code", s.code);
  visit("outputs", s.outputs);
}

template <class V, Of<ArmRecord> S>
void visit_fields(V& visit, S& s) {
  visit("name", s.name);
  visit("role", s.role);
  visit("version", s.version);
  visit("output_policy", s.output_policy);
  visit("declined", s.declined);
  visit("calls", s.calls);
  visit("bytes", s.bytes);
  visit("wall_us", s.wall_us, kTime);
  visit("device_us", s.device_us, kTime);
  visit("turns", s.turns);
  visit.same_length("device_us", s.device_us, "wall_us", s.wall_us);
  visit.same_length("turns", s.turns, "wall_us", s.wall_us);
  visit("check", s.check);
  visit("failure", s.failure);
  visit.later("own_tolerance", s.own_tolerance);
}

template <class V, Of<PhaseRecord> S>
void visit_fields(V& visit, S& s) {
  visit("phase", s.phase);
  visit("us", s.us, kTime);
}

template <class V, Of<SourceRecord> S>
void visit_fields(V& visit, S& s) {
  visit("stage", s.stage);
  visit("sha256", s.sha256);
  visit("file", s.file);
}

template <class V, Of<ResourceRecord> S>
void visit_fields(V& visit, S& s) {
  visit("kernel", s.kernel);
  visit("registers", s.registers);
  visit("spill_bytes", s.spill_bytes);
  visit("shared_bytes", s.shared_bytes);
}

template <class V, Of<CaseRecord> S>
void visit_fields(V& visit, S& s) {
  visit("id", s.id);
  visit("suite", s.suite);
  visit("kernel", s.kernel);
  visit("made_for", s.made_for);
  visit("rows", s.rows);
  visit("cols", s.cols);
  visit("dtype", s.dtype);
  visit("order", s.order);
  visit("device", s.device);
  visit("threads", s.threads);
  visit("launches", s.launches, kAtLeastOne);
  visit("as_module", s.as_module);
  visit("failure", s.failure);
  visit.plan("plan", s.plan);
  visit("plan_line", s.plan_line);
  visit("phases", s.phases);
  visit("sources", s.sources);
  visit("check", s.check);
  visit("bytes_read", s.bytes_read);
  visit("bytes_written", s.bytes_written);
  visit("single_us", s.single_us, kTime);
  visit("arms", s.arms);
  visit.later("resources", s.resources);
  visit.later("enqueue_us", s.enqueue_us, kTime);
}

template <class V, Of<FitRecord> S>
void visit_fields(V& visit, S& s) {
  visit("kernel", s.kernel);
  visit("dtype", s.dtype);
  visit("grows", s.grows);
  visit("fixed", s.fixed);
  // Noise may tilt a line of small sizes until either of these is negative; it is then no less what was fitted.
  visit("launch_us", s.launch_us);
  visit("gb_per_s", s.gb_per_s);
  visit("worst", s.worst, kNotNegative);
  visit("cases", s.cases);
}

template <class V, Of<StaticFigure> S>
void visit_fields(V& visit, S& s) {
  visit("name", s.name);
  visit("unit", s.unit);
  visit("a", s.a);
  visit("b", s.b);
}

template <class V, Of<Pair> S>
void visit_fields(V& visit, S& s) {
  visit("kind", s.turn.kind);
  visit("second_first", s.turn.second_first);
  visit("first_us", s.first_us, kTime);
  visit("second_us", s.second_us, kTime);
}

template <class V, Of<PairedVerdict> S>
void visit_fields(V& visit, S& s) {
  visit("claim", s.claim);
  visit("ratio", s.ratio, kNotNegative);
  visit("ratio_low", s.ratio_low, kNotNegative);
  visit("ratio_high", s.ratio_high, kNotNegative);
  visit("null_low", s.null_low, kNotNegative);
  visit("null_high", s.null_high, kNotNegative);
  visit("probability", s.probability, kShare);
}

template <class V, Of<ComparisonRecord> S>
void visit_fields(V& visit, S& s) {
  visit("a", s.a);
  visit("b", s.b);
  visit("made_for", s.made_for);
  visit("dtype", s.dtype);
  visit("device", s.device);
  visit("threads", s.threads);
  visit("bytes", s.bytes);
  visit("bytes_detail", s.bytes_detail);
  visit("max_ulp", s.max_ulp, kNotNegative);
  visit("arms", s.arms);
  visit("figures", s.figures);
  visit("repetitions", s.repetitions);
  visit("calls_a", s.calls_a);
  visit("calls_b", s.calls_b);
  visit("pairs", s.pairs);
  visit("verdict", s.verdict);
  visit("failure", s.failure);
}

template <class V, Of<ReplayArm> S>
void visit_fields(V& visit, S& s) {
  visit("name", s.name);
  visit.plan("plan", s.plan);
  visit("wall_us", s.wall_us, kTime);
  visit("ratio_median", s.ratio_median, kNotNegative);
  visit("ratio_least", s.ratio_least, kNotNegative);
  visit("ratio_greatest", s.ratio_greatest, kNotNegative);
  visit.later("device_us", s.device_us, kTime);
  visit.same_length("device_us", s.device_us, "wall_us", s.wall_us);
}

template <class V, Of<ReplayRecord> S>
void visit_fields(V& visit, S& s) {
  visit("id", s.id);
  visit("rounds", s.rounds);
  visit("arms", s.arms);
  visit("failure", s.failure);
}

template <class V, Of<Results> S>
void visit_fields(V& visit, S& s) {
  visit.one_of("kind", s.kind, {"bench", "ab", "replay"});
  visit("complete", s.complete);
  visit("command", s.command);
  visit("started", s.started);
  visit("finished", s.finished);
  visit("protocol", s.protocol);
  visit("environment", s.environment);
  visit("cases", s.cases);
  visit("fits", s.fits);
  visit("comparisons", s.comparisons);
  visit("replays", s.replays);
}

}  // namespace lanefold::bench
