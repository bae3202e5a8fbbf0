#include "cli/module_device.h"

#include <algorithm>

#include "driver/call_check.h"

namespace lanefold::cli {
namespace {

bool has_cpu() {
  const std::vector<verify::DeviceFact> facts = verify::devices();
  return std::any_of(facts.begin(), facts.end(),
                     [](const verify::DeviceFact& fact) { return fact.name == "cpu" && fact.available; });
}

/// A buffer of a row program as the matrix that it is.
View matrix(const verify::Instance& instance, const verify::ModuleMemory& memory, const std::string& name,
            const ir::Kind& kind) {
  const driver::Shape shape = driver::expected_shape(kind, instance.rows, instance.cols);
  View view = memory.view(*memory.find(name));
  view.rows = shape.rows;
  view.cols = shape.cols;
  view.row_stride = kind.tag == ir::Kind::Tag::column ? 0 : shape.cols;
  return view;
}

verify::OutputReport compare_buffer(const std::string& name, const View& view, const std::vector<double>& meaning,
                                    const verify::Tolerance& tolerance) {
  verify::OutputReport report{.name = name};
  for (std::int64_t i = 0; i < view.cols; ++i) {
    const double expected = meaning[static_cast<std::size_t>(i)];
    const verify::ElementVerdict verdict = verify::compare_element(view.at(0, i), view.type, expected, tolerance);
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

Result<verify::DeviceOptions> module_device(const driver::KernelName& name, const DeviceFlags& flags) {
  DeviceFlags device = flags;
  device.order.clear();
  const bool is_file = name.kind == driver::KernelName::Kind::lane_file;
  if (device.device.empty()) device.device = is_file || !has_cpu() ? "lane-machine" : "cpu";
  LANEFOLD_CHECK(verify::check_device(device.device));
  return device_options(device, std::nullopt);
}

Meaning::Meaning(const verify::Instance& instance, const verify::ModuleMemory& memory)
    : instance_(instance), memory_(memory) {
  if (instance.hand_written != nullptr) values_ = verify::module_meaning(instance, memory);
}

verify::CheckReport Meaning::compare() const {
  if (instance_.program) return compare_program();
  verify::CheckReport report;
  for (const auto& [name, values] : values_)
    report.outputs.push_back(compare_buffer(name, memory_.view(*memory_.find(name)), values, instance_.tolerance));
  return report;
}

verify::CheckReport Meaning::compare_program() const {
  const ir::Program& program = *instance_.program;
  oracle::Bindings bindings;
  for (const ir::Input& input : program.inputs)
    bindings.inputs.push_back(matrix(instance_, memory_, input.name, input.kind));
  bindings.parameters = instance_.parameters;
  bindings.rows = instance_.rows;
  bindings.cols = instance_.cols;
  std::vector<View> outputs;
  for (const ir::Store& store : program.stores) outputs.push_back(matrix(instance_, memory_, store.name, store.kind));
  return verify::compare(program, bindings, outputs, instance_.tolerance);
}

}  // namespace lanefold::cli
