// The options of the verbs that measure: which kernels, for what sizes, and how long.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/arms/sampler.h"
#include "cli/instance_options.h"

namespace lanefold::cli {

struct MeasureFlags {
  InstanceFlags instance;
  std::string device, threads;
  bool untuned = false;
};
void declare_measure(Options& options, MeasureFlags& flags);

/// A whole number of at least 1; 0 is no_samples.
Result<int> parse_repeats(const std::string& option, const std::string& text, int otherwise);

/// Milliseconds: 0 to an hour; 0 only where `may_be_zero`.
Result<double> parse_milliseconds(const std::string& option, const std::string& text, double otherwise,
                                  bool may_be_zero);

/// What make_instance needs for this kernel on the device. Refuses missing devices, those that cannot be timed (device_not_timed), and targets that
/// this processor does not run.
Result<verify::InstanceRequest> measured_instance(const driver::KernelName& name, const MeasureFlags& flags);

/// The same without a kernel: for suites, which know their sizes.
Result<verify::InstanceRequest> measured_like(const MeasureFlags& flags);

/// The command as it was given, for results.
std::vector<std::string> given_command();
/// Keeps the words of the command for given_command().
void remember_command(int count, char** words);

}  // namespace lanefold::cli
