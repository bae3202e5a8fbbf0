// Suites: lists of cases that are run together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/case.h"

namespace lanefold::bench {

struct Suite {
  std::string_view name;  ///< as --suite takes it
  std::string_view summary;
  bool takes_kernels;  ///< its shapes may be asked for other kernels than its own
};
const std::vector<Suite>& suites();
/// unknown_suite, which lists the names.
Result<const Suite*> find_suite(const std::string& name);

/// The cases of a suite. `like` gives storage, target, order, threads and device of each; `kernels`, where the suite takes some, replace its own.
/// kernel_not_for_verb for kernels that have no rows and columns.
Result<std::vector<CaseRequest>> suite_cases(const Suite& suite, const std::vector<driver::KernelName>& kernels,
                                             const verify::InstanceRequest& like);

}  // namespace lanefold::bench
