// What the cases from public reports share: a call on every device, and its results beside the FP64 meaning.
#pragma once

#include "conformance/trial.h"

namespace lanefold::testing {

/// Runs on each device; `look` judges what came out. Bytes equal the exact meaning on all of them.
template <class Look>
void on_every_device(Trial& trial, Look&& look) {
  for (const std::string& device : available_devices()) {
    SCOPED_TRACE(device);
    const Status status = trial.run(on_device(device));
    ASSERT_TRUE(status.ok()) << status.error().text();
    EXPECT_EQ(difference(trial.program(), trial.output_bytes(), trial.exact()), "");
    look();
  }
}

/// Expects the last results of a library operator to lie within its tolerances.
inline void expect_close(const Trial& trial) {
  const kernels::Operator& op = *kernels::find(trial.program().name);
  for (const verify::OutputReport& report :
       trial.compare({op.absolute_tolerance, op.relative_tolerance, op.code_tolerance}).outputs)
    EXPECT_EQ(report.wrong, 0) << report.name << " at " << report.first_row << ", " << report.first_column << ": "
                               << report.got << " for " << report.expected;
}

}  // namespace lanefold::testing
