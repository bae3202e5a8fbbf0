#include "legality/rules.h"

namespace lanefold::legality {

// No rule is needed for what the grammar of row programs cannot express: merges are pure (their bodies are straight-line
// arithmetic), folds stand under uniform control (there is no other), every store is partitioned among the workers (a store
// names a whole output, and each element has one owner), and a row-wide temporary is only read at its owner's elements (only
// inputs can be gathered from).
const std::vector<NamedRule>& rules() {
  static const std::vector<NamedRule> kRules = {
      {"one_axis", one_axis, true},
      {"positive_domain", positive_domain, true},
      {"column_limit", column_limit, true},
      {"whole_blocks", whole_blocks, true},
      {"free_monoids", free_monoids, true},
      {"order_permits_cooperation", order_permits_cooperation, false},
      {"power_of_two_workers", power_of_two_workers, false},
      {"workers_within_virtual_lanes", workers_within_virtual_lanes, false},
      {"thread_limit", thread_limit, false},
      {"cluster_limit", cluster_limit, false},
      {"one_group_merges", one_group_merges, false},
      {"unsplit_blocks", unsplit_blocks, false},
      {"threadgroup_memory", threadgroup_memory, false},
      {"register_stripe", register_stripe, false},
  };
  return kRules;
}

std::optional<Diagnostic> first_violation(const Question& question) {
  for (const NamedRule& r : rules()) {
    if (auto violation = r.rule(question)) return violation;
  }
  return std::nullopt;
}

std::optional<Diagnostic> program_violation(const ir::Program& program, ir::Order order, std::int64_t cols,
                                            const target::Target& target) {
  const Question question{.program = program, .order = order, .cols = cols, .target = target};
  for (const NamedRule& r : rules()) {
    if (!r.of_program) continue;
    if (auto violation = r.rule(question)) return violation;
  }
  return std::nullopt;
}

}  // namespace lanefold::legality
