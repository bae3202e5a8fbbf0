#include "machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/float_environment.h"
#include "lane/verify.h"
#include "machine/schedule.h"

namespace lanefold::machine {
namespace {

void find_stores(const std::vector<lane::Statement>& block, std::vector<bool>& stored) {
  for (const lane::Statement& s : block) {
    if (s.op == lane::Op::store) stored[s.a] = true;
    find_stores(s.body, stored);
    find_stores(s.otherwise, stored);
  }
}

/// The regions of the kernel's buffers, with tracks where the kernel stores.
std::vector<Region*> begin_launch(const lane::Kernel& kernel, GlobalMemory& memory) {
  std::vector<bool> stored(kernel.arguments.size());
  find_stores(kernel.body, stored);
  std::vector<Region*> regions(kernel.arguments.size());
  for (std::uint32_t i = 0; i < regions.size(); ++i) {
    if (!kernel.arguments[i].buffer) continue;
    regions[i] = memory.region(kernel, i);
    if (regions[i] == nullptr) internal_error("machine: no buffer is named " + kernel.arguments[i].name);
  }
  for (Region& region : memory.regions()) {
    bool tracked = false;
    for (std::size_t i = 0; i < regions.size(); ++i) tracked = tracked || (regions[i] == &region && stored[i]);
    region.begin_launch(tracked);
  }
  return regions;
}

void add_distinct(Counts& counts, const lane::Kernel& kernel, const std::vector<Region*>& regions) {
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (regions[i] == nullptr) continue;
    const lane::Argument& argument = kernel.arguments[i];
    const std::uint64_t per_element = element_bytes(argument.type) / regions[i]->unit();
    for (BufferCount& buffer : counts.buffers) {
      if (buffer.name != argument.name) continue;
      buffer.distinct_reads = regions[i]->units_read() / per_element;
      buffer.distinct_writes = regions[i]->units_written() / per_element;
      // Where two arguments view one memory, units cannot be told apart; each then counts its own elements' worth.
      if (std::count(regions.begin(), regions.end(), regions[i]) == 1) continue;
      buffer.distinct_reads = std::min(buffer.distinct_reads, buffer.reads);
      buffer.distinct_writes = std::min(buffer.distinct_writes, buffer.writes);
    }
  }
}

}  // namespace

Report run(const lane::Module& module, const lane::Kernel& kernel, std::span<const lane::ArgumentWord> arguments,
           std::int64_t rows, std::int64_t cols, GlobalMemory& memory, const Options& options) {
  if (arguments.size() != kernel.arguments.size())
    internal_error(fmt::format("machine: {} argument words for the {} of {}", arguments.size(), kernel.arguments.size(),
                               kernel.name));
  if (memory.symbolic() != (options.symbols != nullptr)) internal_error("machine: memory and run differ in kind");
  Report report;
  if (std::vector<Diagnostic> faults = lane::verify_structure(module, kernel); !faults.empty()) {
    report.findings = std::move(faults);
    return report;
  }
  const FloatEnvironment environment;
  const std::vector<Instruction> code = flatten(kernel);
  Evaluator evaluator(module, kernel.simd_width, options.symbols, options.helpers);
  Findings findings;
  Counters counters(code.size());
  Launch launch{module,    kernel,   code,     arguments, begin_launch(kernel, memory),
                evaluator, findings, counters, options,   0};
  Cluster cluster(launch);

  const std::int64_t end = options.end.value_or(lane::launch_threadgroups(kernel, rows, cols));
  std::vector<std::int64_t> firsts;
  for (std::int64_t first = options.begin; first < end; first += kernel.cluster) firsts.push_back(first);
  Random random(options.seed);
  for (std::size_t i = firsts.size(); i > 1; --i) std::swap(firsts[i - 1], firsts[random.below(i)]);
  for (const std::int64_t first : firsts)
    if (!cluster.run(first, random)) break;

  report.findings = findings.take();
  report.counts = counters.summarise(module, kernel, code);
  report.counts.threadgroups = static_cast<std::uint64_t>(std::max<std::int64_t>(0, end - options.begin));
  add_distinct(report.counts, kernel, launch.regions);
  return report;
}

std::vector<Diagnostic> unwritten_outputs(GlobalMemory& memory) {
  std::vector<Diagnostic> findings;
  for (Region& region : memory.regions()) {
    if (region.buffer().role != lane::Role::output) continue;
    const std::optional<std::int64_t> address = region.first_unwritten();
    if (!address) continue;
    const View& view = region.buffer().view;
    findings.push_back({Code::machine_output_unwritten,
                        fmt::format("{}[{}] was never written", region.buffer().name,
                                    *address / static_cast<std::int64_t>(element_bytes(view.type))),
                        "let some lane write each element of an output", region.buffer().name});
  }
  return findings;
}

}  // namespace lanefold::machine
