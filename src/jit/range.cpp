#include "jit/range.h"

#include <algorithm>
#include <limits>

namespace lanefold::jit {

using lane::Op;

std::optional<Range> within_i32(const Range& range) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (range.low < Limits::min() || range.high > Limits::max()) return std::nullopt;
  return range;
}

std::optional<Range> range_of(Op op, const std::optional<Range>& a, const std::optional<Range>& b) {
  const auto not_negative = [](const std::optional<Range>& r) { return r && r->low >= 0; };
  // These bound their result by one operand alone.
  if (op == Op::bit_and) {
    if (not_negative(b)) return Range{0, not_negative(a) ? std::min(a->high, b->high) : b->high};
    return not_negative(a) ? std::optional(Range{0, a->high}) : std::nullopt;
  }
  if (op == Op::rem && b && b->low > 0) return Range{not_negative(a) ? 0 : 1 - b->high, b->high - 1};
  if (!a || !b) return std::nullopt;
  const bool one_count = b->low == b->high && b->low >= 0 && b->low < 32;
  switch (op) {
    case Op::add: return within_i32({a->low + b->low, a->high + b->high});
    case Op::sub: return within_i32({a->low - b->high, a->high - b->low});
    case Op::mul: {
      const auto [low, high] = std::minmax({a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high});
      return within_i32({low, high});
    }
    case Op::shift_left:
      if (!one_count) return std::nullopt;
      return within_i32({a->low * (std::int64_t{1} << b->low), a->high * (std::int64_t{1} << b->low)});
    case Op::shift_right: return one_count ? std::optional(Range{a->low >> b->low, a->high >> b->low}) : std::nullopt;
    case Op::div:
      return b->low == b->high && b->low > 0 ? std::optional(Range{a->low / b->low, a->high / b->low}) : std::nullopt;
    case Op::min: return Range{std::min(a->low, b->low), std::min(a->high, b->high)};
    case Op::max: return Range{std::max(a->low, b->low), std::max(a->high, b->high)};
    default: return std::nullopt;
  }
}

bool stays_within_i32(const std::optional<Range>& base, std::int64_t stride, std::uint32_t width) {
  if (!base) return false;
  const std::int64_t last = stride * (static_cast<std::int64_t>(width) - 1);
  return within_i32({base->low + std::min<std::int64_t>(last, 0), base->high + std::max<std::int64_t>(last, 0)})
      .has_value();
}

}  // namespace lanefold::jit
