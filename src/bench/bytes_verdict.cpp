#include "bench/bytes_verdict.h"

#include <algorithm>
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

}  // namespace

double ulp_distance(const std::byte* a, const std::byte* b, ElementType type) {
  if (!is_float(type))
    return std::abs(static_cast<double>(load_element_integer(a, type)) -
                    static_cast<double>(load_element_integer(b, type)));
  const bool nan_a = std::isnan(load_element_f32(a, type)), nan_b = std::isnan(load_element_f32(b, type));
  if (nan_a || nan_b) return nan_a && nan_b ? 0 : kNanDistance;
  return std::abs(static_cast<double>(ordered(a, element_bytes(type)) - ordered(b, element_bytes(type))));
}

Result<BytesVerdict> compare_bytes(Subject& a, Subject& b, bool prove) {
  std::string why_not = "no proof was asked for";
  if (prove && elements_of(a.instance()) > kMostProvedElements) {
    why_not = fmt::format("not proved: more than {} elements", kMostProvedElements);
  } else if (prove) {
    LANEFOLD_TRY(const verify::Proof proof, verify::prove(a.instance(), b.instance()));
    if (proof.verdict == verify::Verdict::equal)
      return BytesVerdict{kEqualForAll,
                          fmt::format("proved for {}, {} output elements", verify::parts_text(proof), proof.outputs),
                          std::nullopt};
    why_not = proof.verdict == verify::Verdict::different
                  ? fmt::format("the expressions of {}[{}] differ", proof.output, proof.element)
                  : fmt::format("not provable: {}", proof.reason);
  }
  std::string equal_on, differ_on;
  Distance most;
  for (const Content& content : kContents) {
    LANEFOLD_TRY(const auto left, stored(a, content));
    LANEFOLD_TRY(const auto right, stored(b, content));
    const std::string name = fmt::format("{} {}", verify::pattern_name(content.pattern), content.seed);
    std::string& list = left == right ? equal_on : differ_on;
    list += (list.empty() ? "" : ", ") + name;
    if (left == right) continue;
    // How far apart numbers of about 1 are; elsewhere one of them may be infinite.
    if (content.pattern == verify::Pattern::plain || most.output.empty()) {
      const Distance here = distance(*a.memory(), left, right);
      if (here.ulp > most.ulp || most.output.empty()) most = here;
    }
  }
  if (differ_on.empty())
    return BytesVerdict{kEqualOnThese, fmt::format("inputs {}; {}", equal_on, why_not), std::nullopt};
  return BytesVerdict{kDiffer,
                      fmt::format("by at most {:.0f} ulp, in {}, on inputs {}{}; {}", most.ulp, most.output, differ_on,
                                  equal_on.empty() ? "" : "; equal on " + equal_on, why_not),
                      most.ulp};
}

}  // namespace lanefold::bench
