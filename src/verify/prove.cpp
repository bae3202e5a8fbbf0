#include "verify/prove.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "verify/module_run.h"
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

Part whole_launch() { return {"the whole launch", 0, {}, {}}; }

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
  parts.pairs.emplace_back(whole_launch(), whole_launch());
  return parts;
}

Proof not_provable(Proof proof, std::string reason) {
  proof.verdict = Verdict::not_provable;
  proof.reason = std::move(reason);
  return proof;
}

/// What one side has stored in some bytes of a buffer. Bytes of an inout that were not stored to are what they were.
struct Stored {
  enum class How : std::uint8_t { not_at_all, partly, whole };
  How how = How::not_at_all;
  NodeId node = 0;  ///< whole
};
using StoredAt = std::function<Stored(const ModuleBuffer& buffer, std::int64_t address, std::uint32_t bytes)>;

StoredAt stored_by(SymbolRun& run, Symbols& symbols) {
  return [&](const ModuleBuffer& buffer, std::int64_t address, std::uint32_t bytes) -> Stored {
    const machine::Region& region = *run.memory.find(buffer.name);
    if (!region.any_stored(address, bytes)) return {};
    if (buffer.role == lane::Role::output && !region.stored(address, bytes)) return {Stored::How::partly, 0};
    return {Stored::How::whole, region.load_symbol(symbols, address, bytes)};
  };
}

/// Two sides, and what is known of them.
struct Sides {
  const StoredAt& a;
  const StoredAt& b;
  Symbols& symbols;
  bool same_modules = false;  ///< one text, which chooses the same payloads
};

enum class Compared : std::uint8_t { equal, decided, other_elements };

Compared compare_bytes(Proof& proof, const ModuleBuffer& buffer, std::int64_t address, std::uint32_t bytes,
                       const Sides& sides) {
  const Stored left = sides.a(buffer, address, bytes), right = sides.b(buffer, address, bytes);
  using How = Stored::How;
  if (left.how == How::not_at_all && right.how == How::not_at_all) return Compared::equal;
  if (bytes > 1 && (left.how == How::partly || right.how == How::partly)) {
    for (std::uint32_t i = 0; i < bytes; ++i)
      if (const Compared one = compare_bytes(proof, buffer, address + i, 1, sides); one != Compared::equal) return one;
    return Compared::equal;
  }
  ++proof.outputs;
  proof.output = buffer.name;
  proof.element = address / static_cast<std::int64_t>(element_bytes(buffer.type));
  const auto text = [&](const Stored& stored) {
    return stored.how == How::whole ? sides.symbols.text(stored.node, kShownDepth) : std::string("not written");
  };
  if (left.how == right.how && left.node == right.node) {
    if (sides.same_modules) return Compared::equal;
    std::string doubt;
    if (sides.symbols.payload_may_differ(left.node)) {
      doubt = "but the payload of a NaN may differ: store it through canonical_nan";
    } else if (sides.symbols.arg_order_may_matter(left.node)) {
      doubt = "if no two elements of an argmax or argmin have one index, which is not shown";
    } else {
      return Compared::equal;
    }
    proof.a = text(left);
    proof = not_provable(std::move(proof),
                         fmt::format("{}[{}] is the same in both, {}", buffer.name, proof.element, doubt));
    return Compared::decided;
  }
  proof.verdict = Verdict::different;
  proof.a = text(left);
  proof.b = text(right);
  if (left.how != right.how) return Compared::other_elements;
  const auto [inner_a, inner_b] = sides.symbols.first_difference(left.node, right.node);
  proof.a_inner = sides.symbols.text(inner_a, kShownDepth);
  proof.b_inner = sides.symbols.text(inner_b, kShownDepth);
  return Compared::decided;
}

Compared compare_part(Proof& proof, const std::vector<ModuleBuffer>& buffers, const Part& part, std::int64_t rows,
                      const Sides& sides) {
  for (const ModuleBuffer& buffer : buffers) {
    if (buffer.role == lane::Role::input) continue;
    const auto bytes = static_cast<std::uint32_t>(element_bytes(buffer.type));
    const SymbolRun::Range range = range_of(buffer, part, rows);
    for (std::int64_t element = range.first; element < range.last; ++element)
      if (const Compared one = compare_bytes(proof, buffer, element * bytes, bytes, sides); one != Compared::equal)
        return one;
  }
  return Compared::equal;
}

std::string faulty(const Instance& instance, const Diagnostic& fault) {
  if (fault.code == Code::machine_depends_on_data) return fmt::format("{}: {}", instance.name, fault.text());
  return fmt::format("{} is faulty: {}", instance.name, fault.text());
}

/// Why an instance is faulty as a whole launch, or empty. Addresses, trip counts and barriers may not depend on data, so
/// one run on numbers decides races and bounds for all inputs.
Result<std::string> launch_fault(const Instance& instance, const ProveOptions& options) {
  if (!options.launches) return std::string();
  ModuleMemory memory(instance.buffers);
  fill_inputs(memory, instance, Pattern::plain, options.seed);
  machine::Options run;
  run.seed = options.seed;
  LANEFOLD_TRY(const machine::Report report, run_on_machine(instance, memory, run));
  return report.findings.empty() ? std::string() : faulty(instance, report.findings.front());
}

Proof finished(Proof proof) {
  if (proof.outputs == 0) return not_provable(std::move(proof), "no output element is stored at these sizes");
  return proof;
}

}  // namespace

Status check_same_buffers(const Instance& a, const Instance& b) {
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

std::string parts_text(const Proof& proof) {
  if (proof.parts.empty()) return "nothing";
  const std::string& first = proof.parts.front();
  const std::size_t space = first.rfind(' ');
  if (proof.all_parts == 1) return first;
  const std::string what = first.substr(0, space);
  if (static_cast<std::int64_t>(proof.parts.size()) == proof.all_parts)
    return fmt::format("all {} {}s", proof.all_parts, what);
  std::string numbers;
  for (const std::string& part : proof.parts) numbers += (numbers.empty() ? "" : ", ") + part.substr(space + 1);
  return fmt::format("{}{} {} of {}", what, proof.parts.size() == 1 ? "" : "s", numbers, proof.all_parts);
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal: return "equal for all inputs";
    case Verdict::different: return "different";
    case Verdict::not_provable: return "not provable";
  }
  internal_error("verify: an unknown verdict");
}

Result<Proof> prove(const Instance& a, const Instance& b, const ProveOptions& options) {
  LANEFOLD_CHECK(check_same_buffers(a, b));
  Proof proof;
  for (const Instance* side : {&a, &b}) {
    LANEFOLD_TRY(std::string fault, launch_fault(*side, options));
    if (!fault.empty()) return not_provable(std::move(proof), std::move(fault));
  }
  Parts parts = parts_of(a, b, options);
  proof.all_parts = parts.all;
  const bool same = lane::print(a.module) == lane::print(b.module);
  for (std::size_t i = 0; i < parts.pairs.size();) {
    const auto [part_a, part_b] = parts.pairs[i];
    Symbols symbols;
    SymbolRun left = run_on_symbols(a, part_a, symbols, options.seed);
    if (left.fault) return not_provable(std::move(proof), faulty(a, *left.fault));
    SymbolRun right = run_on_symbols(b, part_b, symbols, options.seed + 1);
    if (right.fault) return not_provable(std::move(proof), faulty(b, *right.fault));
    const StoredAt stored_a = stored_by(left, symbols), stored_b = stored_by(right, symbols);
    const Compared compared = compare_part(proof, a.buffers, part_a, a.rows, {stored_a, stored_b, symbols, same});
    if (compared == Compared::other_elements && !part_a.row && part_a.end) {
      // The threadgroups of one number do different work in the two kernels, which may come to the same.
      proof = Proof{};
      proof.all_parts = 1;
      parts.pairs = {{whole_launch(), whole_launch()}};
      i = 0;
      continue;
    }
    proof.expressions += symbols.size();
    proof.parts.push_back(part_a.name);
    ++i;
    if (compared == Compared::equal) continue;
    if (proof.verdict == Verdict::different) proof.witness = find_witness(a, part_a, b, part_b, options);
    return proof;
  }
  return finished(std::move(proof));
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
    if (proof.parts.empty()) {
      LANEFOLD_TRY(std::string fault, launch_fault(a, options));
      if (!fault.empty()) return not_provable(std::move(proof), std::move(fault));
    }
    SymbolRun run = run_on_symbols(a, part, symbols, options.seed);
    if (run.fault) return not_provable(std::move(proof), faulty(a, *run.fault));
    const StoredAt stored = stored_by(run, symbols);
    const StoredAt expected = [&](const ModuleBuffer& buffer, std::int64_t address, std::uint32_t bytes) -> Stored {
      const std::int64_t element = address / static_cast<std::int64_t>(element_bytes(buffer.type));
      if (bytes != element_bytes(buffer.type)) return {Stored::How::partly, 0};
      for (std::size_t s = 0; s < meaning.size(); ++s)
        if (a.program->stores[s].name == buffer.name)
          return {Stored::How::whole,
                  meaning[s][static_cast<std::size_t>(element - range_of(buffer, part, a.rows).first)]};
      return {};
    };
    const Compared compared = compare_part(proof, a.buffers, part, a.rows, {stored, expected, symbols, false});
    proof.expressions += symbols.size();
    proof.parts.push_back(part.name);
    if (compared == Compared::equal) continue;
    if (proof.verdict == Verdict::different) proof.witness = find_canonical_witness(a, part, options);
    return proof;
  }
  return finished(std::move(proof));
}

}  // namespace lanefold::verify
