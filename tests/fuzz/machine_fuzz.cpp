// Lane module text on the lane machine: whatever has a good structure runs to an end or to a finding, on numbers and on symbols, and without a
// finding it stores the same bytes whatever order its SIMD groups run in.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lane/verify.h"
#include "verify/module_inputs.h"
#include "verify/module_run.h"
#include "verify/symbol_run.h"

namespace {

using namespace lanefold;

constexpr std::int64_t kMostElements = 4096, kMostThreadgroups = 8;
constexpr std::uint64_t kMostSteps = 4000;

bool is_small(const verify::Instance& instance) {
  std::int64_t elements = 0;
  for (const verify::ModuleBuffer& buffer : instance.buffers) elements += buffer.elements();
  if (elements > kMostElements) return false;
  for (const lane::Kernel& kernel : instance.module.kernels) {
    std::uint64_t places = kernel.types.size();
    for (const lane::RegisterArray& array : kernel.registers) places += array.size;
    for (const lane::SharedArray& array : kernel.shared) places += array.size;
    if (places > 4096 || kernel.cluster > 4 ||
        lane::launch_threadgroups(kernel, instance.rows, instance.cols) > kMostThreadgroups)
      return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Result<lane::Module> module = lane::parse({reinterpret_cast<const char*>(data), size}, "fuzz.lane");
  if (!module || !lane::verify_structure(*module).empty()) return 0;
  verify::Instance instance;
  instance.module = std::move(module).value();
  instance.rows = 2;
  instance.cols = 5;
  instance.parameters.assign(4, 0.5f);
  Result<std::vector<verify::ModuleBuffer>> buffers = verify::module_buffers(instance.module, 2, 5);
  if (!buffers) return 0;
  instance.buffers = std::move(buffers).value();
  if (!is_small(instance)) return 0;

  machine::Options options;
  options.most_steps = kMostSteps;
  verify::ModuleMemory first(instance.buffers), second(instance.buffers);
  for (verify::ModuleMemory* memory : {&first, &second})
    verify::fill_inputs(*memory, instance, verify::Pattern::mixed, 1);
  const Result<machine::Report> report = verify::run_on_machine(instance, first, options);
  if (!report) return 0;
  options.seed = 17;
  const Result<machine::Report> again = verify::run_on_machine(instance, second, options);
  if (!again) std::abort();
  if (report->findings.empty() != again->findings.empty()) {
    // Only a run that was cut short may find more than another.
    const auto& found = report->findings.empty() ? again->findings : report->findings;
    if (found.front().code != Code::machine_too_long) std::abort();
    return 0;
  }
  if (!report->findings.empty()) return 0;
  for (std::size_t b = 0; b < first.buffers().size(); ++b)
    if (first.bytes(b) != second.bytes(b)) std::abort();

  machine::Symbols symbols;
  const verify::SymbolRun run = verify::run_on_symbols(instance, {"all", 0, {}, {}}, symbols, 3);
  if (!run.fault) return 0;
  // What runs on numbers fails on symbols only where data decides what must not depend on it.
  const Code code = run.fault->code;
  if (code != Code::machine_depends_on_data && code != Code::machine_bad_integer &&
      code != Code::machine_poison_stored && code != Code::machine_poison_used)
    std::abort();
  return 0;
}
