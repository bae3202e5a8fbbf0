// A plan: how the lanes of SIMD groups cooperate on the rows of one program. A value, with a JSON form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/order.h"
#include "ir/program.h"
#include "target/target.h"

namespace lanefold::plan {

/// Who owns one bit of the virtual lane index.
enum class Owner : std::uint8_t { component, reg, lane, simd_group, cluster, pass };
std::string_view owner_name(Owner owner);

/// Owners by ascending bit of the virtual lane index. component bits come first (consecutive elements of one vector
/// load), then reg and lane bits in any mixture, then pass bits, then simd_group, then cluster bits.
/// Lane bits map to the low bits of the lane index in order; the lane bits above them pack rows.
struct Layout {
  std::vector<Owner> bits;
  std::uint32_t rows_per_simd_group = 1;  ///< a power of two
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// Where row-wide temporaries stay between a fold and their next use. With `registers` the whole row stays: inputs are read once.
enum class Stripe : std::uint8_t { reload, registers, threadgroup_memory };
std::string_view stripe_name(Stripe stripe);

/// The range of widths that one compiled kernel serves.
struct WidthClass {
  std::int64_t virtual_lanes = 32;  ///< V; under `free`, the workers' total width
  std::int64_t min_cols = 1;
  std::int64_t max_cols = 128;  ///< inclusive
  bool segmented = false;       ///< more than one segment of CanonicalOrder::segment columns
  /// Columns are a multiple of so many elements, and so are the distances between rows; each buffer begins at a multiple of 16 bytes.
  std::uint32_t alignment = 1;
  friend bool operator==(const WidthClass&, const WidthClass&) = default;
};

/// A candidate that was considered; `rejected` says why it was not even priced.
struct Candidate {
  std::uint32_t simd_groups_per_row = 1;
  std::uint32_t rows_per_threadgroup = 1;
  std::uint32_t threads = 0;
  Layout layout;
  Stripe stripe = Stripe::reload;
  bool early_loads = false;
  double cost = 0;
  std::optional<Diagnostic> rejected;
};

struct Plan {
  std::string program;             ///< its name
  std::uint64_t program_hash = 0;  ///< of the program's text form
  std::string target;
  ir::Order order = ir::Order::canonical;
  std::int64_t rows = 0, cols = 0;  ///< what it was planned for
  WidthClass width;
  Layout layout;
  std::uint32_t simd_width = 8;
  std::uint32_t simd_groups_per_row = 1;
  std::uint32_t rows_per_threadgroup = 1;
  std::uint32_t threads = 8;  ///< per threadgroup
  std::uint32_t cluster = 1;  ///< threadgroups that share a row
  bool programmatic_launch = false;
  Stripe stripe = Stripe::reload;
  std::uint32_t private_stripe = 0;  ///< f32 values of row-wide temporaries per worker
  bool early_loads = false;          ///< registers: inputs that only later sweeps need are loaded with the row, too
  std::uint32_t unroll = 1;          ///< vectors per step of the element sweeps
  std::uint32_t threadgroup_bytes = 0;
  std::uint32_t barriers = 0;  ///< barrier sites
  double cost = 0;
  std::string cost_basis;
  std::vector<Candidate> candidates;  ///< all of them, the chosen one too
};

struct Request {
  std::int64_t rows = 1, cols = 1;
  std::uint32_t alignment = 1;               ///< what the call promises, see WidthClass; a power of two
  std::optional<ir::Order> order;            ///< default: canonical, or free where the cost basis prices a free tree
  std::string cost_basis;                    ///< empty: the target's default
  std::optional<std::uint32_t> simd_groups;  ///< exact requests: honoured or refused
  std::optional<std::uint32_t> rows_per_threadgroup;
  std::optional<std::uint32_t> group_threads;  ///< threads per threadgroup
  std::optional<Layout> layout;                ///< forces the layout (tests)
  std::optional<Stripe> stripe;
  std::optional<bool> early_loads;  ///< with a forced layout
};

/// Chooses a plan. Refusals name the rule.
Result<Plan> choose(const ir::Program& program, const target::Target& target, const Request& request);

/// Whether a plan can serve the program at these columns: right program (by hash), legal layout, columns inside the width class.
Status check(const Plan& plan, const ir::Program& program, const target::Target& target, std::int64_t cols);

/// Hash of the program's text form; a plan carries it.
std::uint64_t program_hash(const ir::Program& program);

std::string to_json(const Plan& plan);
Result<Plan> from_json(std::string_view text, std::string_view file = "plan");

}  // namespace lanefold::plan
