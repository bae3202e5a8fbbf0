#include "driver/cuda/memory_check.h"

#include <fmt/format.h>

#include "ir/names.h"

namespace lanefold::driver {

template <class Port>
Status MemoryCheck::check(const char* what, const Port& port, const View& view) {
  if (view.rows == 0 || view.cols == 0) return success();
  std::atomic<const void*>& reached = slot(view.data);
  if (reached.load(std::memory_order_relaxed) == view.data) return success();
  LANEFOLD_TRY(const std::string fault, device_.memory_fault(view.data));
  if (!fault.empty())
    return Diagnostic{Code::call_not_on_device,
                      fmt::format("{} {} {}; kernels on CUDA device {} do not reach it", what,
                                  ir::part_name(port.name, port.part), fault, device_.ordinal()),
                      "copy it to memory of the device, or use managed or pinned memory",
                      fmt::format("{} {}", what, ir::declared_name(port.name, port.part))};
  reached.store(view.data, std::memory_order_relaxed);
  return success();
}

Status MemoryCheck::check(const ir::Program& program, const runtime::Call& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    LANEFOLD_CHECK(check("input", program.inputs[i], call.inputs[i]));
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    LANEFOLD_CHECK(check("output", program.stores[i], call.outputs[i]));
  return success();
}

}  // namespace lanefold::driver
