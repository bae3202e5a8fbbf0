#include "verify/module_check.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/load_store.h"
#include "base/sha256.h"
#include "driver/call_check.h"

namespace lanefold::verify {
namespace {

/// Runs on the device of the options; the lane machine gives a report, another an empty one.
Result<machine::Report> run_on(const Instance& instance, const ModuleMemory& memory, const DeviceOptions& options,
                               std::uint64_t seed) {
  if (options.device == "lane-machine") return run_on_machine(instance, memory, {.seed = seed});
  LANEFOLD_CHECK(run_compiled(instance, memory, options));
  return machine::Report{};
}

OutputReport compare_buffer(const std::string& name, const View& view, const std::vector<double>& meaning,
                            const Tolerance& tolerance) {
  OutputReport report{.name = name};
  for (std::int64_t i = 0; i < view.cols; ++i) {
    const double expected = meaning[static_cast<std::size_t>(i)];
    const ElementVerdict verdict = compare_element(view.at(0, i), view.type, expected, tolerance);
    ++report.elements;
    report.max_error = std::max(report.max_error, verdict.error);
    if (verdict.right || report.wrong++ != 0) continue;
    report.first_row = 0;
    report.first_column = i;
    report.got = verdict.got;
    report.expected = expected;
  }
  return report;
}

}  // namespace

View program_matrix(const Instance& instance, const ModuleMemory& memory, const std::string& name,
                    const ir::Kind& kind) {
  const driver::Shape shape = driver::expected_shape(kind, instance.rows, instance.cols);
  View view = memory.view(*memory.find(name));
  view.rows = shape.rows;
  view.cols = shape.cols;
  view.row_stride = kind.tag == ir::Kind::Tag::column ? 0 : shape.cols;
  return view;
}

ModuleMeaning::ModuleMeaning(const Instance& instance, const ModuleMemory& memory)
    : instance_(instance), memory_(memory) {
  if (instance.hand_written != nullptr) values_ = module_meaning(instance, memory);
}

CheckReport ModuleMeaning::compare() const { return compare(instance_.tolerance); }

CheckReport ModuleMeaning::compare(const Tolerance& tolerance) const {
  CheckReport report;
  for (const auto& [name, values] : values_)
    report.outputs.push_back(compare_buffer(name, memory_.view(*memory_.find(name)), values, tolerance));
  if (!instance_.program) return report;
  const ir::Program& program = *instance_.program;
  oracle::Bindings bindings;
  for (const ir::Input& input : program.inputs)
    bindings.inputs.push_back(program_matrix(instance_, memory_, input.name, input.kind));
  bindings.parameters = instance_.parameters;
  bindings.rows = instance_.rows;
  bindings.cols = instance_.cols;
  std::vector<View> outputs;
  for (const ir::Store& store : program.stores)
    outputs.push_back(program_matrix(instance_, memory_, store.name, store.kind));
  return declared_report(program, verify::compare(program, bindings, outputs, tolerance));
}

Result<ModuleCheck> check_module(const Instance& instance, const DeviceOptions& options, Pattern pattern,
                                 std::uint64_t seed) {
  ModuleMemory memory(instance.buffers);
  fill_inputs(memory, instance, pattern, seed);
  const ModuleMeaning meaning(instance, memory);
  LANEFOLD_TRY(machine::Report report, run_on(instance, memory, options, seed));
  ModuleCheck check{std::move(report.findings), {}, std::move(report.counts)};
  if (check.findings.empty()) check.report = meaning.compare();
  return check;
}

Result<std::vector<std::pair<std::string, std::string>>> digest_module(const Instance& instance,
                                                                       const DeviceOptions& options) {
  ModuleMemory memory(instance.buffers);
  fill_inputs(memory, instance, Pattern::plain, 1);
  LANEFOLD_TRY(const machine::Report report, run_on(instance, memory, options, options.seed));
  if (!report.findings.empty()) return report.findings.front();
  std::vector<std::pair<std::string, std::string>> digests;
  for (std::size_t b = 0; b < memory.buffers().size(); ++b) {
    if (memory.buffers()[b].role == lane::Role::input) continue;
    const std::vector<std::byte> bytes = memory.bytes(b);
    digests.emplace_back(memory.buffers()[b].name, sha256_hex(bytes.data(), bytes.size()));
  }
  return digests;
}

}  // namespace lanefold::verify
