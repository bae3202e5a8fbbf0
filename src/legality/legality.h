// Legality: may the lanes of a SIMD group cooperate on this program's rows? One file per rule.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "ir/order.h"
#include "ir/program.h"
#include "target/target.h"

namespace lanefold::legality {

/// What the rules look at: the program, the order asked for, the columns and the workers of one row.
struct Question {
  const ir::Program& program;
  ir::Order order = ir::Order::canonical;
  std::int64_t cols = 1;
  std::uint32_t workers_per_row = 1;  ///< lanes that share a row
  std::uint32_t threads = 1;          ///< per threadgroup
  std::uint32_t cluster = 1;          ///< threadgroups that share a row
  std::uint32_t threadgroup_bytes = 0;
  std::uint32_t private_stripe =
      0;                           ///< f32 values per worker that registers hold, at the widest row of the width class
  std::int64_t virtual_lanes = 1;  ///< V
  /// Consecutive columns that the registers of one SIMD group hold at once wherever a block is folded.
  std::int64_t block_span = 1;
  const target::Target& target;
};

/// The first of the rules that look at the program, the order and the columns alone: no plan could mend it.
std::optional<Diagnostic> program_violation(const ir::Program& program, ir::Order order, std::int64_t cols,
                                            const target::Target& target);

/// One rule: nothing when it holds, else a coded reason with the place in the program and what would make it legal.
using Rule = std::optional<Diagnostic> (*)(const Question&);

struct NamedRule {
  std::string_view name;
  Rule rule;
  bool of_program;  ///< looks at the program, the order and the columns alone
};

/// All rules, in the order in which they are asked.
const std::vector<NamedRule>& rules();
/// The first rule that is broken, if any.
std::optional<Diagnostic> first_violation(const Question& question);

}  // namespace lanefold::legality
