// The verbs. Each one declares its options and returns what to do once they are read.
#pragma once

#include <functional>

#include "base/result.h"
#include "cli/options.h"

namespace lanefold::cli {

/// What holds for every verb.
struct Context {
  bool json = false;  ///< print JSON for programs instead of text for people
};

/// Does the verb's work and returns the exit status; a user's error is a diagnostic.
using Action = std::function<Result<int>(const Context&)>;

Action declare_ops(Options& options);
Action declare_doctor(Options& options);
Action declare_run(Options& options);
Action declare_check(Options& options);
Action declare_plan(Options& options);
Action declare_emit(Options& options);
Action declare_digest(Options& options);
Action declare_count(Options& options);
Action declare_prove(Options& options);
Action declare_bench(Options& options);
Action declare_ab(Options& options);
Action declare_report(Options& options);
Action declare_tune(Options& options);

}  // namespace lanefold::cli
