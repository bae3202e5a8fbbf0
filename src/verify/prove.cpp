#include "verify/prove.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "verify/symbol_domain.h"
#include "verify/symbol_run.h"
#include "verify/witness.h"

namespace lanefold::verify {
namespace {

using machine::NodeId;
using machine::Symbols;

constexpr std::uint32_t kShownDepth = 5;

/// The first, the last and one between, or all.
std::vector<std::int64_t> chosen(std::int64_t count, const ProveOptions& options) {
  std::vector<std::int64_t> numbers;
  if (options.all || count <= 3) {
    for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i);
    return numbers;
  }
  const auto between = static_cast<std::int64_t>((options.seed * 0x9e3779b97f4a7c15u) >> 33) % (count - 2);
  return {0, 1 + between, count - 1};
}

std::int64_t only_launch(const Instance& instance) {
  return instance.module.kernels.size() == 1
             ? lane::launch_threadgroups(instance.module.kernels.front(), instance.rows, instance.cols)
             : 0;
}

/// The parts of both kernels that are compared with each other, and how many there are in all.
struct Parts {
  std::vector<std::pair<Part, Part>> pairs;
  std::int64_t all = 0;
};

Parts parts_of(const Instance& a, const Instance& b, const ProveOptions& options) {
  Parts parts;
  if (a.program && b.program) {
    parts.all = a.rows;
    for (const std::int64_t row : chosen(a.rows, options)) parts.pairs.emplace_back(row_part(a, row), row_part(b, row));
    return parts;
  }
  const std::int64_t count = only_launch(a);
  const auto cluster = [](const Instance& i) { return i.module.kernels.front().cluster; };
  if (count > 0 && count == only_launch(b) && cluster(a) == 1 && cluster(b) == 1) {
    parts.all = count;
    for (const std::int64_t t : chosen(count, options)) {
      const Part part{fmt::format("threadgroup {}", t), t, t + 1, std::nullopt};
      parts.pairs.emplace_back(part, part);
    }
    return parts;
  }
  parts.all = 1;
  parts.pairs.emplace_back(Part{"the whole launch", 0, {}, {}}, Part{"the whole launch", 0, {}, {}});
  return parts;
}

Proof not_provable(Proof proof, std::string reason) {
  proof.verdict = Verdict::not_provable;
  proof.reason = std::move(reason);
  return proof;
}

/// What one side has stored in an element: nothing, or an expression.
using Stored = std::function<std::optional<NodeId>(const ModuleBuffer& buffer, std::int64_t element)>;

Stored stored_by(SymbolRun& run, Symbols& symbols) {
  return [&](const ModuleBuffer& buffer, std::int64_t element) -> std::optional<NodeId> {
    const auto bytes = static_cast<std::uint32_t>(element_bytes(buffer.type));
    const machine::Region& region = *run.memory.find(buffer.name);
    if (!region.stored(element * bytes, bytes)) return std::nullopt;
    return region.load_symbol(symbols, element * bytes, bytes);
  };
}

/// Compares a part; true where it is equal. Two modules that are one text choose the same payloads.
bool compare_part(Proof& proof, const std::vector<ModuleBuffer>& buffers, const Part& part, std::int64_t rows,
                  bool same_modules, Symbols& symbols, const Stored& a, const Stored& b) {
  for (const ModuleBuffer& buffer : buffers) {
    if (buffer.role == lane::Role::input) continue;
    const SymbolRun::Range range = range_of(buffer, part, rows);
    for (std::int64_t element = range.first; element < range.last; ++element) {
      const std::optional<NodeId> left = a(buffer, element), right = b(buffer, element);
      if (!left && !right) continue;
      ++proof.outputs;
      proof.output = buffer.name;
      proof.element = element;
      if (left == right) {
        if (same_modules || !symbols.payload_may_differ(*left)) continue;
        proof.a = symbols.text(*left, kShownDepth);
        proof =
            not_provable(std::move(proof),
                         fmt::format("{}[{}] is the same number in both, but the payload of a NaN may differ: store it "
                                     "through canonical_nan",
                                     buffer.name, element));
        return false;
      }
      proof.verdict = Verdict::different;
      const auto text = [&](std::optional<NodeId> node) {
        return node ? symbols.text(*node, kShownDepth) : std::string("not written");
      };
      proof.a = text(left);
      proof.b = text(right);
      if (left && right) {
        const auto [inner_a, inner_b] = symbols.first_difference(*left, *right);
        proof.a_inner = symbols.text(inner_a, kShownDepth);
        proof.b_inner = symbols.text(inner_b, kShownDepth);
      }
      return false;
    }
  }
  return true;
}

Status check_buffers(const Instance& a, const Instance& b) {
  const auto differ = [&](std::string what) {
    return Diagnostic{Code::prove_buffers_differ, fmt::format("{} and {} cannot be compared: {}", a.name, b.name, what),
                      "prove kernels of the same inputs and outputs, made for the same sizes", b.name};
  };
  for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}})
    for (const ModuleBuffer& buffer : one->buffers) {
      const auto found = std::find_if(other->buffers.begin(), other->buffers.end(),
                                      [&](const ModuleBuffer& o) { return o.name == buffer.name; });
      if (found == other->buffers.end()) return differ(fmt::format("{} has no buffer {}", other->name, buffer.name));
      if (found->type != buffer.type || found->elements() != buffer.elements())
        return differ(fmt::format("the buffer {} has another type or size in {}", buffer.name, other->name));
      if ((found->role == lane::Role::input) != (buffer.role == lane::Role::input))
        return differ(fmt::format("the buffer {} is not stored to by both", buffer.name));
    }
  return success();
}

std::string faulty(const Instance& instance, const Diagnostic& fault) {
  if (fault.code == Code::machine_depends_on_data) return fmt::format("{}: {}", instance.name, fault.text());
  return fmt::format("{} is faulty: {}", instance.name, fault.text());
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal: return "equal for all inputs";
    case Verdict::different: return "different";
    case Verdict::not_provable: return "not provable";
  }
  internal_error("verify: an unknown verdict");
}

Result<Proof> prove(const Instance& a, const Instance& b, const ProveOptions& options) {
  LANEFOLD_CHECK(check_buffers(a, b));
  Proof proof;
  const Parts parts = parts_of(a, b, options);
  proof.all_parts = parts.all;
  const bool same = lane::print(a.module) == lane::print(b.module);
  for (const auto& [part_a, part_b] : parts.pairs) {
    Symbols symbols;
    SymbolRun left = run_on_symbols(a, part_a, symbols, options.seed);
    if (left.fault) return not_provable(std::move(proof), faulty(a, *left.fault));
    SymbolRun right = run_on_symbols(b, part_b, symbols, options.seed + 1);
    if (right.fault) return not_provable(std::move(proof), faulty(b, *right.fault));
    const bool equal = compare_part(proof, a.buffers, part_a, a.rows, same, symbols, stored_by(left, symbols),
                                    stored_by(right, symbols));
    proof.expressions += symbols.size();
    proof.parts.push_back(part_a.name);
    if (equal) continue;
    if (proof.verdict == Verdict::different) proof.witness = find_witness(a, part_a, b, part_b, options);
    return proof;
  }
  return proof;
}

Result<Proof> prove_canonical(const Instance& a, const ProveOptions& options) {
  if (!a.program)
    return Diagnostic{Code::prove_no_program,
                      fmt::format("{} is no row program, so it has no canonical meaning", a.name),
                      "name two kernels, or a row program and canonical", a.name};
  Proof proof;
  proof.all_parts = a.rows;
  for (const std::int64_t row : chosen(a.rows, options)) {
    const Part part = row_part(a, row);
    Symbols symbols;
    LANEFOLD_TRY(const auto meaning, canonical_outputs(symbols, *a.program, a.order, a.rows, a.cols, row));
    SymbolRun run = run_on_symbols(a, part, symbols, options.seed);
    if (run.fault) return not_provable(std::move(proof), faulty(a, *run.fault));
    const Stored expected = [&](const ModuleBuffer& buffer, std::int64_t element) -> std::optional<NodeId> {
      for (std::size_t s = 0; s < meaning.size(); ++s)
        if (a.program->stores[s].name == buffer.name)
          return meaning[s][static_cast<std::size_t>(element - range_of(buffer, part, a.rows).first)];
      return std::nullopt;
    };
    const bool equal = compare_part(proof, a.buffers, part, a.rows, false, symbols, stored_by(run, symbols), expected);
    proof.expressions += symbols.size();
    proof.parts.push_back(part.name);
    if (equal) continue;
    if (proof.verdict == Verdict::different) proof.witness = find_canonical_witness(a, part, options);
    return proof;
  }
  return proof;
}

}  // namespace lanefold::verify
