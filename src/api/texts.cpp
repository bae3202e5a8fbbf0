// What a kernel says of itself: plans and emitted text.
#include <fmt/format.h>

#include "api/enumerators.h"
#include "api/failure.h"
#include "api/kernel.h"
#include "driver/pipeline.h"
#include "driver/source_text.h"
#include "driver/streaming.h"
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

/// What stands before a line of comment.
std::string_view comment_mark(Emission emission) {
  return emission == Emission::llvm ? ";" : emission == Emission::cuda ? "//" : "#";
}

std::string code_text(const driver::Lowered& lowered, const target::Target& target, Emission emission) {
  const lane::Module& module = lowered.module;
  switch (emission) {
    case Emission::lane: return lane::print(module);
    case Emission::cuda:
      if (target.family != target::Family::cuda)
        fail({Code::no_source_language,
              fmt::format("the kernel is compiled for {}, and CUDA source is of kernels for CUDA devices", target.name),
              "compile it with Device::cuda, or emit the lane module", "emission"});
      return driver::plan_comment(lowered.plan) +
             value_or_fail(driver::source_text(module, target, lowered.plan.order));
    case Emission::llvm:
    case Emission::assembly:
      if (target.family != target::Family::cpu)
        fail({Code::no_machine_code,
              fmt::format("{} is no CPU, and LLVM IR and assembly are emitted for CPUs", target.name),
              "emit the lane module or CUDA source", "emission"});
#if LANEFOLD_JIT
      return value_or_fail(emission == Emission::llvm ? jit::llvm_text(module, target)
                                                      : jit::assembly_text(module, target));
#else
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

driver::Lowered Kernel::Implementation::lowered(std::int64_t rows, std::int64_t cols) const {
  lower::Access access;
  access.streaming = cuda && driver::streams_on_cuda(driver::column_bytes(program), rows, cols);
  return value_or_fail(driver::lower_program(program, options.target, request(rows, cols), std::nullopt, access));
}

std::string Kernel::lane_text(std::int64_t rows, std::int64_t cols) const {
  return lane::print(implementation_->lowered(rows, cols).module);
}

std::string Kernel::emit(std::int64_t rows, std::int64_t cols, Emission emission) const {
  const Implementation& self = *implementation_;
  const std::string text = code_text(self.lowered(rows, cols), self.options.target, emission);
  return fmt::format(
      "{} {} for {} x {} on {}, emitted by Lanefold {}. Emitted source may be used without conditions.\n{}",
      comment_mark(emission), self.program.name, rows, cols, self.options.target.name, driver::kVersion, text);
}

}  // namespace lanefold
