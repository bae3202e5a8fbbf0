#include "verify/witness.h"

#include <cstring>

#include <fmt/format.h>

#include "base/load_store.h"
#include "driver/call_check.h"
#include "verify/module_run.h"

namespace lanefold::verify {
namespace {

Pattern pattern_of(int attempt) {
  constexpr Pattern kOrder[] = {Pattern::mixed, Pattern::plain, Pattern::negative_zeros, Pattern::extreme,
                                Pattern::ones};
  return kOrder[static_cast<std::size_t>(attempt) % std::size(kOrder)];
}

std::string element_text(const std::byte* at, ElementType type) {
  std::string bytes;
  for (std::size_t i = element_bytes(type); i > 0; --i)
    bytes += fmt::format("{:02x}", static_cast<unsigned>(at[i - 1]));
  const double value =
      is_float(type) ? load_element_f64(at, type) : static_cast<double>(load_element_integer(at, type));
  return fmt::format("{} (0x{})", value, bytes);
}

bool run_part(const Instance& instance, const Part& part, const ModuleMemory& memory, std::uint64_t seed) {
  machine::Options options;
  options.seed = seed;
  options.begin = part.begin;
  options.end = part.end;
  const Result<machine::Report> report = run_on_machine(instance, memory, options);
  return report.ok() && report->findings.empty();
}

std::optional<Witness> compare(const ModuleBuffer& buffer, const std::byte* a, const std::byte* b,
                               SymbolRun::Range range) {
  const auto size = static_cast<std::int64_t>(element_bytes(buffer.type));
  for (std::int64_t i = range.first; i < range.last; ++i) {
    if (std::memcmp(a + i * size, b + i * size, static_cast<std::size_t>(size)) == 0) continue;
    Witness witness;
    witness.output = buffer.name;
    witness.element = i;
    witness.a = element_text(a + i * size, buffer.type);
    witness.b = element_text(b + i * size, buffer.type);
    return witness;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Witness> find_witness(const Instance& a, const Part& part_a, const Instance& b, const Part& part_b,
                                    const ProveOptions& options) {
  for (int attempt = 0; attempt < options.witness_tries; ++attempt) {
    const Pattern pattern = pattern_of(attempt);
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(attempt);
    ModuleMemory left(a.buffers), right(b.buffers);
    fill_inputs(left, a, pattern, seed);
    fill_inputs(right, b, pattern, seed);
    if (!run_part(a, part_a, left, seed) || !run_part(b, part_b, right, seed)) return std::nullopt;
    for (std::size_t i = 0; i < left.buffers().size(); ++i) {
      const ModuleBuffer& buffer = left.buffers()[i];
      if (buffer.role == lane::Role::input) continue;
      const std::size_t other = *right.find(buffer.name);
      std::optional<Witness> witness =
          compare(buffer, left.view(i).data, right.view(other).data, range_of(buffer, part_a, a.rows));
      if (!witness) continue;
      witness->pattern = pattern;
      witness->seed = seed;
      return witness;
    }
  }
  return std::nullopt;
}

std::optional<Witness> find_canonical_witness(const Instance& a, const Part& part, const ProveOptions& options) {
  for (int attempt = 0; attempt < options.witness_tries; ++attempt) {
    const Pattern pattern = pattern_of(attempt);
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(attempt);
    ModuleMemory memory(a.buffers);
    fill_inputs(memory, a, pattern, seed);
    oracle::Bindings bindings;
    for (const ir::Input& input : a.program->inputs) {
      const driver::Shape shape = driver::expected_shape(input.kind, a.rows, a.cols);
      View view = memory.view(*memory.find(input.name));
      view.rows = shape.rows;
      view.cols = shape.cols;
      view.row_stride = input.kind.tag == ir::Kind::Tag::column ? 0 : shape.cols;
      bindings.inputs.push_back(view);
    }
    bindings.parameters = a.parameters;
    bindings.rows = a.rows;
    bindings.cols = a.cols;
    if (!run_part(a, part, memory, seed)) return std::nullopt;
    const std::vector<std::vector<std::byte>> exact = oracle::evaluate_exact(*a.program, bindings, a.order);
    for (std::size_t o = 0; o < exact.size(); ++o) {
      const std::size_t at = *memory.find(a.program->stores[o].name);
      const ModuleBuffer& buffer = memory.buffers()[at];
      std::optional<Witness> witness =
          compare(buffer, memory.view(at).data, exact[o].data(), range_of(buffer, part, a.rows));
      if (!witness) continue;
      witness->pattern = pattern;
      witness->seed = seed;
      return witness;
    }
  }
  return std::nullopt;
}

}  // namespace lanefold::verify
