#include "bench/case_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "plan/describe.h"
#include "verify/module_run.h"

namespace lanefold::bench {
namespace {

/// Elements of a FILE.lane's buffers beyond which the lane machine would take minutes.
constexpr std::int64_t kMostCheckedElements = std::int64_t{1} << 23;

}  // namespace

Status check_request(const SubjectRequest& request) {
  LANEFOLD_TRY(const verify::Instance instance, verify::make_instance(request.kernel, request.instance));
  for (const lane::Kernel& kernel : instance.module.kernels)
    LANEFOLD_CHECK(verify::argument_words(
        kernel, instance.buffers, [](std::string_view) { return nullptr; }, instance.parameters, instance.rows,
        instance.cols));
  return success();
}

Status check_lane_file(const SubjectRequest& request) {
  if (request.kernel.kind != driver::KernelName::Kind::lane_file) return success();
  LANEFOLD_TRY(const verify::Instance instance, verify::make_instance(request.kernel, request.instance));
  std::int64_t elements = 0;
  for (const verify::ModuleBuffer& buffer : instance.buffers) elements += buffer.elements();
  if (elements > kMostCheckedElements)
    return Diagnostic{Code::machine_too_long,
                      fmt::format("{} has more than {} elements, too many to be checked before it runs unwatched",
                                  request.kernel.text, kMostCheckedElements),
                      "choose smaller sizes", request.kernel.text};
  verify::ModuleMemory memory(instance.buffers);
  verify::fill_inputs(memory, instance, verify::Pattern::plain, 1);
  LANEFOLD_TRY(const machine::Report report, verify::run_on_machine(instance, memory));
  if (report.findings.empty()) return success();
  return report.findings.front();
}

Status check_realised(const plan::Plan& asked, const plan::Plan& realised) {
  if (plan_identity(asked) == plan_identity(realised)) return success();
  return Diagnostic{Code::plan_not_realised,
                    fmt::format("asked for {}, but {} ran", plan::plan_line(asked), plan::plan_line(realised)),
                    "name a plan that was made for this shape, or let Lanefold choose", asked.program};
}

Status check_outputs(const std::string& place, const verify::CheckReport& report) {
  for (const verify::OutputReport& output : report.outputs)
    if (output.wrong > 0) {
      const std::string inner = output.first_place < 0 ? "" : fmt::format("{}, ", output.first_place);
      return Diagnostic{Code::output_wrong,
                        fmt::format("{} of {} elements of {} are wrong: [{}{}, {}] is {} where the oracle has {}",
                                    output.wrong, output.elements, output.name, inner, output.first_row,
                                    output.first_column, output.got, output.expected),
                        "`lanefold check` shows more", place};
    }
  return success();
}

StoredBytes::StoredBytes(const Subject& subject) : subject_(subject) {
  const std::vector<verify::ModuleBuffer>& buffers = subject.instance().buffers;
  repeats_ = std::none_of(buffers.begin(), buffers.end(),
                          [](const verify::ModuleBuffer& b) { return b.role == lane::Role::inout; });
  if (repeats_) outputs_ = subject.outputs();
}

Status StoredBytes::check(const std::string& place) const {
  if (const std::string buffer = subject_.memory()->overwritten(); !buffer.empty())
    return Diagnostic{Code::machine_out_of_bounds, fmt::format("memory beside the buffer {} was changed", buffer),
                      "run `lanefold check` on the device lane-machine to see where", place};
  if (!repeats_ || subject_.outputs() == outputs_) return success();
  return Diagnostic{Code::output_wrong, "the outputs after the last sample are not those that were checked",
                    "the kernel does not store the same bytes in every call", place};
}

}  // namespace lanefold::bench
