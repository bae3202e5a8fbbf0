#include "machine/machine.h"

#include <fmt/format.h>

#include <deque>

#include "base/float_environment.h"
#include "lane/verify.h"
#include "machine/group.h"

namespace lanefold::machine {
namespace {

Diagnostic diagnostic(const Fault& fault, const Threadgroup& threadgroup, const Group& group) {
  const std::string place =
      group.at() == nullptr ? threadgroup.kernel.name : lane::statement_place(threadgroup.kernel, *group.at());
  return {fault.code,
          fmt::format("{} (threadgroup {}, SIMD group {})", fault.message, threadgroup.index, group.index()),
          fault.hint, place};
}

/// All groups must have come to the same place.
Status check_meeting(const Threadgroup& threadgroup, const std::deque<Group>& groups) {
  for (const Group& group : groups) {
    if (group.at() == groups.front().at()) continue;
    const Group& waiting = groups.front().ended() ? group : groups.front();
    const Group& other = groups.front().ended() ? groups.front() : group;
    const std::string elsewhere =
        other.ended() ? "has ended" : "waits at " + lane::statement_place(threadgroup.kernel, *other.at());
    return diagnostic({Code::machine_barrier_mismatch,
                       fmt::format("SIMD group {} {} while another waits here", other.index(), elsewhere),
                       "let every SIMD group pass the same barriers"},
                      threadgroup, waiting);
  }
  return success();
}

Status run_threadgroup(Threadgroup& threadgroup, std::deque<Group>& groups) {
  threadgroup.shared.reset();
  for (Group& group : groups) group.restart();
  while (!groups.front().ended()) {
    for (Group& group : groups) {
      try {
        group.advance();
      } catch (const Fault& fault) {
        return diagnostic(fault, threadgroup, group);
      }
    }
    LANEFOLD_CHECK(check_meeting(threadgroup, groups));
  }
  return success();
}

}  // namespace

Status run(const lane::Module& module, const lane::Kernel& kernel, std::span<const lane::ArgumentWord> arguments,
           std::int64_t begin, std::int64_t end) {
  if (arguments.size() != kernel.arguments.size()) {
    internal_error(fmt::format("machine: {} argument words for the {} of {}", arguments.size(), kernel.arguments.size(),
                               kernel.name));
  }
  const std::vector<Diagnostic> faults = lane::verify_structure(module, kernel);
  if (!faults.empty()) return faults.front();

  const FloatEnvironment environment;
  const std::vector<Instruction> code = flatten(kernel);
  SharedMemory shared(kernel);
  Evaluator evaluator(module, kernel.simd_width);
  Threadgroup threadgroup{kernel, code, arguments, shared, evaluator, begin};
  std::deque<Group> groups;
  for (std::uint32_t i = 0; i < kernel.simd_groups; ++i) groups.emplace_back(threadgroup, i);
  for (; threadgroup.index < end; ++threadgroup.index) {
    LANEFOLD_CHECK(run_threadgroup(threadgroup, groups));
  }
  return success();
}

}  // namespace lanefold::machine
