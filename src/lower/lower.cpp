#include "lower/lower.h"

#include <algorithm>

#include "lower/cooperative.h"
#include "lower/serial.h"
#include "lower/unrolled_row.h"
#include "plan/analysis.h"

namespace lanefold::lower {

Result<lane::Module> lower(const ir::Program& program, const plan::Plan& plan, const Access& access) {
  const plan::Analysis analysis = plan::analyse(program);
  std::uint32_t passes = 0, clusters = 0;
  for (plan::Owner owner : plan.layout.bits) {
    passes += owner == plan::Owner::pass;
    clusters += owner == plan::Owner::cluster;
  }
  if (clusters > 0 && plan.stripe != plan::Stripe::registers)
    return Diagnostic{Code::cluster_layout_unsupported,
                      "the layout gives virtual lanes to the threadgroups of a cluster",
                      "give those bits to passes or SIMD groups", "plan.layout"};
  if (plan.stripe == plan::Stripe::registers && (passes > 0 || (plan.width.segmented && plan.cluster == 1)))
    return Diagnostic{Code::stripe_needs_one_pass,
                      "row-wide temporaries cannot stay in registers: the layout has passes or the row has segments",
                      "use the stripe `reload` or `threadgroup_memory`, or a layout without passes", "plan.stripe"};
  lane::Module module;
  module.name = program.name;
  FunctionTable functions(module);
  lane::Kernel kernel;
  kernel.name = program.name;
  kernel.simd_width = plan.simd_width;
  kernel.simd_groups = plan.threads / plan.simd_width;
  kernel.rows_per_threadgroup = plan.rows_per_threadgroup;
  kernel.threadgroups_per_row = kernel.cluster = plan.cluster;
  kernel.programmatic_launch = plan.programmatic_launch;
  lane::Builder builder(kernel.types, kernel.body);
  RowContext context(program, plan, access, kernel, builder, functions);
  if (plan.order == ir::Order::serial)
    SerialRow(context, analysis).emit();
  else if (plan.stripe == plan::Stripe::registers)
    UnrolledRow(context, analysis).emit();
  else
    CooperativeRow(context, analysis).emit();
  module.kernels.push_back(std::move(kernel));
  return module;
}

Result<lane::Module> lower_per_lane(const ir::Program& program, std::uint32_t simd_width, std::uint32_t threads,
                                    const Access& access) {
  const plan::Analysis analysis = plan::analyse(program);
  plan::Plan plan;
  plan.order = ir::Order::serial;
  plan.simd_width = simd_width;
  plan.threads = threads;
  lane::Module module;
  module.name = program.name;
  FunctionTable functions(module);
  lane::Kernel kernel;
  kernel.name = program.name;
  kernel.simd_width = simd_width;
  kernel.simd_groups = threads / simd_width;
  const auto chunk = static_cast<std::uint32_t>(std::max<std::int64_t>(1, analysis.widest_block));
  kernel.cols_per_threadgroup = threads * chunk;
  lane::Builder builder(kernel.types, kernel.body);
  RowContext context(program, plan, access, kernel, builder, functions);
  SerialRow(context, analysis).emit_per_lane(chunk);
  module.kernels.push_back(std::move(kernel));
  return module;
}

}  // namespace lanefold::lower
