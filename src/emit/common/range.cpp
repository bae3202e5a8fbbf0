#include "emit/common/range.h"

#include <algorithm>
#include <bit>

namespace lanefold::emit {
namespace {

using lane::Op;

// Bounds beyond this are of no use, and below it no product overflows.
constexpr std::int64_t kFarthest = std::int64_t{1} << 31;

std::optional<Range> bounded(std::int64_t low, std::int64_t high) {
  if (low < -4 * kFarthest || high > 4 * kFarthest) return std::nullopt;
  return Range{low, high};
}

std::optional<Range> product(const Range& a, const Range& b) {
  if (!fits_i32(a) || !fits_i32(b)) return std::nullopt;
  const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return bounded(low, high);
}

std::optional<Range> bits(Op op, const Range& a, const Range& b) {
  if (op == Op::bit_and && a.low >= 0 && b.low >= 0) return Range{0, std::min(a.high, b.high)};
  if (op == Op::bit_and && (a.low >= 0 || b.low >= 0)) return Range{0, a.low >= 0 ? a.high : b.high};
  if (op == Op::bit_and || a.low < 0 || b.low < 0) return std::nullopt;
  const auto most = static_cast<std::uint64_t>(std::max(a.high, b.high));
  return Range{0, static_cast<std::int64_t>(std::bit_ceil(most + 1)) - 1};
}

}  // namespace

bool fits_i32(const std::optional<Range>& range) {
  return range && range->low >= -kFarthest && range->high < kFarthest;
}

std::optional<Range> result_range(Op op, std::span<const std::optional<Range>> operands) {
  for (const std::optional<Range>& r : operands)
    if (!r && !(op == Op::rem || op == Op::bit_and || op == Op::select)) return std::nullopt;
  switch (op) {
    case Op::neg: return bounded(-operands[0]->high, -operands[0]->low);
    case Op::add: return bounded(operands[0]->low + operands[1]->low, operands[0]->high + operands[1]->high);
    case Op::sub: return bounded(operands[0]->low - operands[1]->high, operands[0]->high - operands[1]->low);
    case Op::mul: return product(*operands[0], *operands[1]);
    case Op::shift_left:
      if (operands[1]->low != operands[1]->high || operands[1]->low < 0 || operands[1]->low > 30) return std::nullopt;
      return product(*operands[0], Range{std::int64_t{1} << operands[1]->low, std::int64_t{1} << operands[1]->low});
    case Op::shift_right:
      if (operands[1]->low != operands[1]->high || operands[1]->low < 0 || operands[1]->low > 62) return std::nullopt;
      return Range{operands[0]->low >> operands[1]->low, operands[0]->high >> operands[1]->low};
    case Op::div:
      if (operands[1]->low < 1) return std::nullopt;
      return Range{std::min<std::int64_t>(operands[0]->low, 0), std::max<std::int64_t>(operands[0]->high, 0)};
    case Op::rem:
      if (!operands[1] || operands[1]->low < 1) return std::nullopt;
      return Range{operands[0] && operands[0]->low >= 0 ? 0 : 1 - operands[1]->high, operands[1]->high - 1};
    case Op::min:
      return Range{std::min(operands[0]->low, operands[1]->low), std::min(operands[0]->high, operands[1]->high)};
    case Op::max:
      return Range{std::max(operands[0]->low, operands[1]->low), std::max(operands[0]->high, operands[1]->high)};
    case Op::bit_and:
      for (const std::size_t side : {0u, 1u})
        if (!operands[side] && operands[1 - side] && operands[1 - side]->low >= 0)
          return Range{0, operands[1 - side]->high};
      if (!operands[0] || !operands[1]) return std::nullopt;
      return bits(op, *operands[0], *operands[1]);
    case Op::bit_or:
    case Op::bit_xor: return bits(op, *operands[0], *operands[1]);
    case Op::select:
      if (!operands[1] || !operands[2]) return std::nullopt;
      return Range{std::min(operands[1]->low, operands[2]->low), std::max(operands[1]->high, operands[2]->high)};
    default: return std::nullopt;
  }
}

}  // namespace lanefold::emit
