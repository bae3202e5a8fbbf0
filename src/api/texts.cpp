// What a kernel says of itself: plans and emitted text.
#include <fmt/format.h>

#include "api/enumerators.h"
#include "api/failure.h"
#include "api/kernel.h"
#include "driver/pipeline.h"
#include "driver/version.h"
#include "ir/stages.h"
#include "lane/module.h"
#include "plan/describe.h"
#include "plan/plan.h"
#if LANEFOLD_JIT
#include "jit/jit.h"
#endif

namespace lanefold {
namespace {

using api::fail;
using api::value_or_fail;

std::string code_text(const lane::Module& module, const target::Target& target, Emission emission) {
  switch (emission) {
    case Emission::lane: return lane::print(module);
    case Emission::llvm:
    case Emission::assembly:
#if LANEFOLD_JIT
      return value_or_fail(emission == Emission::llvm ? jit::llvm_text(module, target)
                                                      : jit::assembly_text(module, target));
#else
      (void)target;
      fail({Code::device_missing, "this build has no JIT, and so no machine code",
            "emit the lane module, or build Lanefold with -DLANEFOLD_JIT=ON", "emission"});
#endif
  }
  api::refuse_enumerator<Emission>(static_cast<int>(emission));
}

}  // namespace

std::vector<verify::StagePlan> Kernel::Implementation::stage_plans(std::int64_t rows, std::int64_t cols) const {
  return value_or_fail(verify::plan_stages(program, options.target, request(rows, cols), options.device == "cpu"));
}

std::string Kernel::plan_line(std::int64_t rows, std::int64_t cols) const {
  const Implementation& self = *implementation_;
  if (ir::needs_stages(self.program)) return verify::stage_lines(self.stage_plans(rows, cols));
  return plan::plan_line(value_or_fail(plan::choose(self.program, self.options.target, self.request(rows, cols))));
}

std::string Kernel::plan_json(std::int64_t rows, std::int64_t cols) const {
  const Implementation& self = *implementation_;
  if (ir::needs_stages(self.program)) return verify::stages_json(self.program.name, self.stage_plans(rows, cols));
  return plan::to_json(value_or_fail(plan::choose(self.program, self.options.target, self.request(rows, cols))));
}

std::string Kernel::lane_text(std::int64_t rows, std::int64_t cols) const {
  const Implementation& self = *implementation_;
  return lane::print(
      value_or_fail(driver::lower_program(self.program, self.options.target, self.request(rows, cols))).module);
}

std::string Kernel::emit(std::int64_t rows, std::int64_t cols, Emission emission) const {
  const Implementation& self = *implementation_;
  const lane::Module module =
      value_or_fail(driver::lower_program(self.program, self.options.target, self.request(rows, cols))).module;
  const std::string text = code_text(module, self.options.target, emission);
  return fmt::format(
      "{} {} for {} x {} on {}, emitted by Lanefold {}. Emitted source may be used without conditions.\n{}",
      emission == Emission::llvm ? ";" : "#", self.program.name, rows, cols, self.options.target.name, driver::kVersion,
      text);
}

}  // namespace lanefold
