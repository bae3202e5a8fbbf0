// Tuning one case: the cost basis proposes, measurement decides, and what was measured is kept for kernels to come.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/arms/sampler.h"
#include "bench/arms/subject.h"
#include "bench/tune/decision.h"
#include "driver/tuned_plans.h"

namespace lanefold::bench {

struct TuneRequest {
  SubjectRequest subject;     ///< a row program that is planned, without a plan; its options say the device
  std::size_t most = 24;      ///< plans to time: the cheapest by their predicted cost
  std::size_t finalists = 2;  ///< of those, how many may be compared in pairs
  Protocol screening = {.samples = 5, .sample_ms = 4, .warmup_ms = 2, .settle_ms = 1, .single_calls = 0};
  int pairs = 11;  ///< these as in AbRequest
  int repetitions = 12;
  double repetition_ms = 5;
  double warmup_ms = 20;
  std::uint64_t seed = 1;
  bool screen_only = false;  ///< nothing is compared in pairs, so that nothing wins
};

/// A plan of the screening.
struct ScreenedPlan {
  plan::Plan plan;
  std::vector<double> samples_us;  ///< of a call; empty where it was left out
  std::vector<ResourceRecord> resources;
  std::optional<Failure> left_out;  ///< why it has no times
  /// The median of the samples.
  std::optional<double> us() const;
};

struct TuneRecord {
  std::string id;  ///< as case_id
  std::string kernel, dtype, order, device;
  std::int64_t rows = 0, cols = 0;
  std::int64_t bytes = 0;  ///< read and written by one call, each element once
  double copy_us = 0;      ///< of a copy that moves as many bytes
  std::vector<ScreenedPlan>
      plans;             ///< by ascending predicted cost: the first is the default plan, which the cost basis chooses
  bool compared = true;  ///< false: the screening is all that was asked for
  Decision decision;
  std::optional<ir::Program> program;  ///< none where it could not be made
  std::optional<Failure> failure;      ///< then nothing was decided
};

struct TuneContext {
  std::function<void(int done, int all)> progress;  ///< steps of the case
};

/// Refuses kernels that have no plan to choose: lane modules, programs that run in stages (kernel_not_for_verb), the order serial
/// (bad_arguments), and what check_request and check_timed_device refuse.
Status check_tunable(const SubjectRequest& request);

/// Times the plans, and lets finalists compete with the default plan (see decide). The default plan's outputs are compared with the FP64
/// oracle before anything is timed; those of the others must be the same bytes under canonical, and right by the oracle under
/// free. A plan that cannot be made is left out; wrong outputs, and a default plan that fails, are failures of the case.
TuneRecord tune_case(const TuneRequest& request, const TuneContext& context);

/// What tuned plans of the record's device and compiler are kept for. The record must have a program, and outlive it with the target.
Result<driver::TunedCall> tuned_call(const TuneRecord& record, const target::Target& target);

/// Keeps the winner in place of what was kept for the class before; without a winner takes that away, for measuring has not found it
/// again. Whether a plan is kept now.
bool keep_winner(const TuneRecord& record, const driver::TunedCall& call, const driver::TunedPlans& plans);

}  // namespace lanefold::bench
