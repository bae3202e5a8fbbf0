#include "bench/tune/decision.h"

#include <algorithm>

namespace lanefold::bench {

std::vector<std::size_t> finalists(std::span<const std::optional<double>> screened_us, std::size_t most) {
  std::vector<std::size_t> found;
  if (screened_us.empty() || !screened_us.front()) return found;
  for (std::size_t i = 1; i < screened_us.size(); ++i)
    if (screened_us[i] && *screened_us[i] < *screened_us.front()) found.push_back(i);
  // Equal times keep the order of their predicted costs.
  std::stable_sort(found.begin(), found.end(),
                   [&](std::size_t a, std::size_t b) { return *screened_us[a] < *screened_us[b]; });
  if (found.size() > most) found.resize(most);
  return found;
}

Result<Decision> decide(std::span<const std::size_t> finalists, std::uint64_t seed, const Compare& compare) {
  Decision decision;
  for (const std::size_t plan : finalists) {
    for (const bool confirms : {false, true}) {
      const std::uint64_t own = seed + decision.trials.size();
      LANEFOLD_TRY(Trial trial, compare(plan, own));
      trial.plan = plan;
      trial.seed = own;
      trial.confirms = confirms;
      decision.trials.push_back(trial);
      if (trial.verdict.claim != Claim::faster) break;
      if (confirms) decision.winner = plan;
    }
    if (decision.winner) break;
  }
  return decision;
}

}  // namespace lanefold::bench
