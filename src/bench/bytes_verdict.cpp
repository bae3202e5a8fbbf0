#include "bench/bytes_verdict.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/load_store.h"
#include "verify/prove.h"

namespace lanefold::bench {
namespace {

constexpr double kNanDistance = 4294967296.0;

/// Bits of a float as an integer that grows with its value: −0 just below +0.
std::int64_t ordered(const std::byte* at, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude - 1 : magnitude;
}

std::int64_t elements_of(const verify::Instance& instance) {
  std::int64_t all = 0;
  for (const verify::ModuleBuffer& buffer : instance.buffers) all += buffer.elements();
  return all;
}

/// One content of the inputs on which both run.
struct Content {
  verify::Pattern pattern;
  std::uint64_t seed;
};
constexpr Content kContents[] = {{verify::Pattern::plain, 1},
                                 {verify::Pattern::plain, 2},
                                 {verify::Pattern::mixed, 3},
                                 {verify::Pattern::extreme, 4}};

Result<std::vector<std::vector<std::byte>>> stored(Subject& subject, const Content& content) {
  subject.refill(content.pattern, content.seed);
  LANEFOLD_CHECK(subject.run_once());
  return subject.outputs();
}

/// The greatest distance between the outputs, and in which.
struct Distance {
  double ulp = 0;
  std::string output;
};

Distance distance(const verify::ModuleMemory& memory, const std::vector<std::vector<std::byte>>& a,
                  const std::vector<std::vector<std::byte>>& b) {
  Distance most;
  std::size_t output = 0;
  for (const verify::ModuleBuffer& buffer : memory.buffers()) {
    if (buffer.role == lane::Role::input) continue;
    const std::vector<std::byte>&left = a[output], &right = b[output];
    ++output;
    const std::size_t bytes = element_bytes(buffer.type);
    for (std::size_t at = 0; at < left.size(); at += bytes) {
      const double ulp = ulp_distance(left.data() + at, right.data() + at, buffer.type);
      if (ulp > most.ulp) most = {ulp, buffer.name};
    }
  }
  return most;
}

bool has_meaning(const Subject& subject) {
  return subject.instance().program.has_value() || subject.instance().hand_written != nullptr;
}

/// Whether outputs are what either kernel means, as far as they mean anything, on the contents of the last refill of both.
bool within(Subject& a, Subject& b, const std::vector<std::vector<std::byte>>& outputs) {
  a.put_outputs(outputs);
  return (!has_meaning(a) || a.compare().ok()) && (!has_meaning(b) || b.compare().ok());
}

void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }

/// Seconds that a proof of all parts may take where only some are asked for.
constexpr double kProofSeconds = 20;

struct Proved {
  bool all = false;  ///< equal for all inputs, in every row or threadgroup
  std::string text;
};

Result<Proved> prove_equal(const verify::Instance& a, const verify::Instance& b, ProofEffort effort) {
  if (effort == ProofEffort::none) return Proved{false, "no proof was asked for"};
  if (a.module.kernels.empty() || b.module.kernels.empty())
    return Proved{false, "not proved: it runs in stages, of which each is a kernel"};
  if (elements_of(a) > kMostProvedElements)
    return Proved{false, fmt::format("not proved: more than {} elements", kMostProvedElements)};
  verify::ProveOptions options;
  options.launches = false;
  const auto begin = std::chrono::steady_clock::now();
  LANEFOLD_TRY(verify::Proof proof, verify::prove(a, b, options));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto part = [](const verify::Proof& p) { return static_cast<std::int64_t>(p.parts.size()) < p.all_parts; };
  if (proof.verdict == verify::Verdict::equal) {
    // Now with both whole launches on numbers, and all parts where that is asked for or takes seconds.
    options.launches = true;
    options.all =
        effort == ProofEffort::all ||
        seconds * static_cast<double>(proof.all_parts) / static_cast<double>(proof.parts.size()) < kProofSeconds;
    LANEFOLD_TRY(proof, verify::prove(a, b, options));
  }
  if (proof.verdict == verify::Verdict::different)
    return Proved{false, fmt::format("the expressions of {}[{}] differ", proof.output, proof.element)};
  if (proof.verdict != verify::Verdict::equal) return Proved{false, fmt::format("not provable: {}", proof.reason)};
  return Proved{!part(proof),
                fmt::format("{} for {}, {} output elements", part(proof) ? "proved equal for all inputs" : "proved",
                            verify::parts_text(proof), proof.outputs)};
}

}  // namespace

double ulp_distance(const std::byte* a, const std::byte* b, ElementType type) {
  if (!is_float(type))
    return std::abs(static_cast<double>(load_element_integer(a, type)) -
                    static_cast<double>(load_element_integer(b, type)));
  const bool nan_a = std::isnan(load_element_f32(a, type)), nan_b = std::isnan(load_element_f32(b, type));
  if (nan_a || nan_b) return nan_a && nan_b ? 0 : kNanDistance;
  return std::abs(static_cast<double>(ordered(a, element_bytes(type)) - ordered(b, element_bytes(type))));
}

Result<BytesVerdict> compare_bytes(Subject& a, Subject& b, ProofEffort effort) {
  LANEFOLD_TRY(const Proved proved, prove_equal(a.instance(), b.instance(), effort));
  std::string equal_on, differ_on, outside_on;
  BytesVerdict verdict;
  double most = 0;
  for (const Content& content : kContents) {
    LANEFOLD_TRY(const auto left, stored(a, content));
    LANEFOLD_TRY(const auto right, stored(b, content));
    const std::string name = fmt::format("{} {}", verify::pattern_name(content.pattern), content.seed);
    if (left == right) {
      append(equal_on, name);
      continue;
    }
    const Distance here = distance(*a.memory(), left, right);
    most = std::max(most, here.ulp);
    append(differ_on, here.ulp == 0 ? fmt::format("in the payload of NaNs on {}", name)
                                    : fmt::format("{:.0f} ulp in {} on {}", here.ulp, here.output, name));
    if (!has_meaning(a) && !has_meaning(b)) {
      verdict.fault = Diagnostic{Code::no_meaning,
                                 fmt::format("{} and {} differ on inputs {}, and neither has a meaning that says "
                                             "whether both are right",
                                             a.instance().name, b.instance().name, name),
                                 "compare a FILE.lane with an operator or a hand-written module", b.instance().name};
      continue;
    }
    for (const auto& [outputs, name_of] :
         {std::pair{&left, &a.instance().name}, std::pair{&right, &b.instance().name}}) {
      if (within(a, b, *outputs)) continue;
      if (content.pattern != verify::Pattern::plain) {
        append(outside_on, fmt::format("{} on {}", *name_of, name));
      } else if (!verdict.fault) {
        verdict.fault = Diagnostic{
            Code::output_wrong,
            fmt::format("on inputs {} the outputs of {} are outside of the oracle's tolerance", name, *name_of),
            "compare kernels of one operator; `lanefold check` shows more", *name_of};
      }
    }
  }
  if (differ_on.empty()) {
    verdict.verdict = proved.all ? kEqualForAll : kEqualOnThese;
    verdict.detail = proved.all ? proved.text : fmt::format("inputs {}; {}", equal_on, proved.text);
    return verdict;
  }
  if (proved.all) internal_error(fmt::format("bench: proved equal, but the bytes differ: {}", differ_on));
  verdict.max_ulp = most;
  verdict.detail = fmt::format("{}{}{}; {}", differ_on, equal_on.empty() ? "" : "; equal on " + equal_on,
                               outside_on.empty() ? "" : "; outside of the tolerance: " + outside_on, proved.text);
  return verdict;
}

}  // namespace lanefold::bench
