// The rules by name; each stands in a file of its own. Rules that cannot be broken are listed in rules.cpp.
#pragma once

#include "legality/legality.h"

namespace lanefold::legality {

std::optional<Diagnostic> one_axis(const Question& question);
std::optional<Diagnostic> positive_domain(const Question& question);
std::optional<Diagnostic> column_limit(const Question& question);
std::optional<Diagnostic> whole_blocks(const Question& question);
std::optional<Diagnostic> free_monoids(const Question& question);
std::optional<Diagnostic> order_permits_cooperation(const Question& question);
std::optional<Diagnostic> power_of_two_workers(const Question& question);
std::optional<Diagnostic> workers_within_virtual_lanes(const Question& question);
std::optional<Diagnostic> unsplit_blocks(const Question& question);
std::optional<Diagnostic> cluster_limit(const Question& question);
std::optional<Diagnostic> thread_limit(const Question& question);
std::optional<Diagnostic> one_group_merges(const Question& question);
std::optional<Diagnostic> threadgroup_memory(const Question& question);
std::optional<Diagnostic> register_stripe(const Question& question);

}  // namespace lanefold::legality
