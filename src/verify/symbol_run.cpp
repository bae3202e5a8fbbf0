#include "verify/symbol_run.h"

#include <fmt/format.h>

#include "verify/helpers.h"
#include "verify/module_run.h"

namespace lanefold::verify {

SymbolRun run_on_symbols(const Instance& instance, const Part& part, machine::Symbols& symbols, std::uint64_t seed) {
  std::vector<machine::Buffer> buffers;
  for (const ModuleBuffer& buffer : instance.buffers)
    buffers.push_back(
        {buffer.name, buffer.role, View{nullptr, buffer.type, 1, buffer.elements(), buffer.elements(), 1}});
  SymbolRun run{machine::GlobalMemory(instance.module, buffers, true), std::nullopt};
  const std::vector<machine::Helper> helpers = standard_helpers(instance.module);
  for (const lane::Kernel& kernel : instance.module.kernels) {
    const auto words = argument_words(
        kernel, instance.buffers, [](std::string_view) -> void* { return nullptr; }, instance.parameters, instance.rows,
        instance.cols);
    if (!words) {
      run.fault = words.error();
      return run;
    }
    machine::Options options;
    options.seed = seed;
    options.begin = part.begin;
    options.end = part.end;
    options.symbols = &symbols;
    options.helpers = helpers;
    options.most_steps = kMostSteps;
    const machine::Report report =
        machine::run(instance.module, kernel, *words, instance.rows, instance.cols, run.memory, options);
    if (!report.findings.empty()) {
      run.fault = report.findings.front();
      return run;
    }
  }
  return run;
}

SymbolRun::Range range_of(const ModuleBuffer& buffer, const Part& part, std::int64_t rows) {
  const std::int64_t all = buffer.elements();
  if (!part.row || rows == 0) return {0, all};
  const std::int64_t length = all / rows;
  return {*part.row * length, (*part.row + 1) * length};
}

Part row_part(const Instance& instance, std::int64_t row) {
  const lane::Kernel& kernel = instance.module.kernels.front();
  std::int64_t per_row = kernel.threadgroups_per_row;
  if (kernel.cols_per_threadgroup != 0)
    per_row *= lane::extent({lane::Dimension::Of::cols, kernel.cols_per_threadgroup}, instance.rows, instance.cols);
  const std::int64_t begin = row / kernel.rows_per_threadgroup * per_row;
  return {fmt::format("row {}", row), begin, begin + per_row, row};
}

}  // namespace lanefold::verify
