// The built-in monoids, written in the language itself.
#include <array>
#include <utility>
#include <vector>

#include "ir/monoid_parser.h"
#include "ir/monoid_part.h"

namespace lanefold::ir {
namespace {

struct Builtin {
  std::string_view name;
  bool reorderable;
  bool free_only;
  std::string_view text;  ///< fields and parts; the word `monoid` and the name come before it
};

// −0.0 is the exact identity of + and of fma's addend: −0 + x = x for every x, +0 too; +0 would turn −0 into +0.
//
// argmax and argmin order states by NaN first, then the value, then the lower index. That order is total, so a merge is a
// maximum, and any order and grouping of merges gives the same state.
//
// welford lifts to m2 = x − x, not 0, so that the variance of a single infinity or NaN is NaN.
//
// logsumexp scales a sum by exp(m − M) only where m differs from the new maximum M: −inf − −inf would be NaN. A NaN
// lifts to a NaN sum, as every merge makes it, so that the identity is exact.
constexpr std::array<Builtin, 11> kBuiltins = {{
    {"sum", false, false, R"((s: f32) of (x: f32)
  identity = -0.0
  lift = x
  step = s + x
  merge = s + s'
)"},
    {"dot", false, false, R"((s: f32) of (a: f32, b: f32)
  identity = -0.0
  lift = a * b
  step = fma(a, b, s)
  merge = s + s'
)"},
    {"prod", false, false, R"((p: f32) of (x: f32)
  identity = 1
  lift = x
  step = p * x
  merge = p * p'
)"},
    {"max", true, false, R"((m: f32) of (x: f32)
  identity = -inf
  lift = x
  step = max(m, x)
  merge = max(m, m')
)"},
    {"min", true, false, R"((m: f32) of (x: f32)
  identity = inf
  lift = x
  step = min(m, x)
  merge = min(m, m')
)"},
    {"argmax", true, false, R"((value: f32, index: i32) of (x: f32, i: i32)
  identity = -inf, 2147483647
  lift = x, i
  merge = (let nan_left = value != value, let nan_right = value' != value', let lower = index' < index,
           let right = select(nan_left, nan_right and lower, nan_right or value' > value or value' == value and lower),
           select(right, value', value), select(right, index', index))
  finish = index
)"},
    {"argmin", true, false, R"((value: f32, index: i32) of (x: f32, i: i32)
  identity = inf, 2147483647
  lift = x, i
  merge = (let nan_left = value != value, let nan_right = value' != value', let lower = index' < index,
           let right = select(nan_left, nan_right and lower, nan_right or value' < value or value' == value and lower),
           select(right, value', value), select(right, index', index))
  finish = index
)"},
    {"any", true, false, R"((a: bool) of (x: bool)
  identity = false
  lift = x
  step = a or x
  merge = a or a'
)"},
    {"all", true, false, R"((a: bool) of (x: bool)
  identity = true
  lift = x
  step = a and x
  merge = a and a'
)"},
    {"welford", false, false, R"((count: f32, mean: f32, m2: f32) of (x: f32)
  lift = 1, x, x - x
  step = (let n = count + 1, let d = x - mean, let centre = mean + d / n,
          n, centre, m2 + d * (x - centre))
  merge = (let n = count + count', let d = mean' - mean, let share = count' / n,
           n, mean + d * share, m2 + m2' + d * d * (count * share))
  finish = mean, m2 / count
)"},
    {"logsumexp", false, true, R"((m: f32, s: f32) of (x: f32)
  identity = -inf, 0
  lift = x, select(x == x, 1, x)
  merge = (let top = max(m, m'),
           top, s * select(m == top, 1, exp(m - top)) + s' * select(m' == top, 1, exp(m' - top)))
  finish = m + log(s)
)"},
}};

/// Built-in code has no place in the user's text.
void clear_places(Monoid& monoid) {
  monoid.place = {};
  for (MonoidPart part : kMonoidParts) {
    for (Value& value : part_body(monoid, part).values) value.place = {};
  }
}

std::vector<Monoid> parse_builtins() {
  std::vector<Monoid> monoids;
  for (const Builtin& builtin : kBuiltins) {
    const std::string text = "monoid " + std::string(builtin.name) + std::string(builtin.text);
    Result<std::vector<Token>> list = tokenize(text, builtin.name);
    if (!list) internal_error(list.error().text());
    TokenStream tokens(std::move(*list), std::string(builtin.name));
    Result<Monoid> monoid = parse_monoid(tokens, true);
    if (!monoid) internal_error(monoid.error().text());
    monoid->reorderable = builtin.reorderable;
    monoid->free_only = builtin.free_only;
    clear_places(*monoid);
    monoids.push_back(std::move(*monoid));
  }
  return monoids;
}

}  // namespace

bool is_builtin_monoid(std::string_view name) {
  for (const Builtin& builtin : kBuiltins) {
    if (builtin.name == name) return true;
  }
  return false;
}

std::optional<Monoid> builtin_monoid(std::string_view name) {
  static const std::vector<Monoid> monoids = parse_builtins();
  for (const Monoid& monoid : monoids) {
    if (monoid.name == name) return monoid;
  }
  return std::nullopt;
}

}  // namespace lanefold::ir
