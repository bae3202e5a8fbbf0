// Plans that measurement has chosen, on disk: `lanefold tune` leaves them there, and kernels that plan by themselves take them.
//
// A tuned plan changes times, never what may be run: whoever takes one checks it as he would check any plan that somebody hands him, and
// one that is damaged, illegal or of other code than what was measured is as good as none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "driver/call_class.h"
#include "plan/plan.h"
#include "runtime/common/binary_store.h"

namespace lanefold::driver {

/// The cost basis of a tuned plan; its cost is the measured time of a call, in µs.
inline constexpr std::string_view kMeasuredBasis = "measured";

/// On what and with what a plan was measured.
struct TunedOn {
  std::string device;    ///< "NVIDIA H200, 132 multiprocessors"
  std::string compiler;  ///< "NVRTC 13.0"
};

/// Calls for which a plan is looked for. The program and the target must outlive it.
struct TunedCall {
  TunedOn on;
  const ir::Program& program;
  const target::Target& target;
  ir::Order order = ir::Order::canonical;
  std::int64_t rows = 1, cols = 1;  ///< one or more; the plan is that of their class
  std::uint32_t alignment = 1;      ///< what the call promises, see plan::WidthClass
};

/// What was measured of a tuned plan beside the plan that the cost basis had chosen, in the run that confirmed it.
struct TunedMeasurement {
  double default_us = 0, tuned_us = 0;   ///< medians, of a call
  double ratio = 1;                      ///< median over the pairs, tuned over default
  double ratio_low = 1, ratio_high = 1;  ///< its spread
  double null_low = 1, null_high = 1;    ///< the null's spread
  double probability = 1;                ///< of the signed-rank test
  std::uint32_t pairs = 0;
  std::uint64_t seed = 0;
  std::string finished = {};  ///< ISO 8601, UTC
};

struct TunedPlan {
  plan::Plan plan;  ///< without candidates; of cost basis kMeasuredBasis
  TunedMeasurement measured;
};

class TunedPlans {
 public:
  /// In the user's folder beside compiled code, see runtime::BinaryStore::user_folder; none where LANEFOLD_TUNED is 0.
  static TunedPlans user();
  /// Without a folder nothing is stored or found.
  explicit TunedPlans(std::optional<std::filesystem::path> folder) : store_(std::move(folder), ".tuned-plan") {}

  const std::optional<std::filesystem::path>& folder() const { return store_.folder(); }
  /// The plan of the call's class, if one is there that is whole, legal for the call, and lowers to the code that was measured.
  std::optional<TunedPlan> find(const TunedCall& call) const;
  /// Stores a plan for the call's class in place of another one. Whether find() gives it now: a folder that cannot be written, or a plan
  /// that does not serve the call, is no error.
  bool store(const TunedCall& call, const TunedPlan& tuned) const;
  /// Takes the plan of the call's class away, if there is one.
  void remove(const TunedCall& call) const;

 private:
  runtime::BinaryStore store_;
};

}  // namespace lanefold::driver
