#include "driver/call_class.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "plan/layout.h"

namespace lanefold::driver {

std::uint32_t row_class(std::int64_t rows) {
  return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(rows)) + 1) / 2;
}

CallClass call_class(ir::Order order, std::int64_t rows, std::int64_t cols) {
  CallClass made;
  // Of no rows bits is 0, and the class is [0, 0].
  const std::uint32_t bits = 2 * row_class(rows);
  made.least_rows = bits == 0 ? 0 : std::int64_t{1} << (bits - 2);
  made.most_rows = bits < 63 ? (std::int64_t{1} << bits) - 1 : std::numeric_limits<std::int64_t>::max();
  switch (order) {
    case ir::Order::serial: made.most_cols = plan::kWidestRow; break;
    case ir::Order::free: {
      const auto ceiling = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(cols)));
      made.least_cols = ceiling / 2 + 1;
      made.most_cols = std::min(ceiling, plan::kWidestRow);
      break;
    }
    case ir::Order::canonical: {
      constexpr std::int64_t segment = ir::CanonicalOrder::segment;
      const std::int64_t segments = ir::CanonicalOrder::segments(cols);
      if (segments > 1) {
        const bool whole = cols == segments * segment;
        made.least_cols = whole ? cols : (segments - 1) * segment + 1;
        made.most_cols = std::min(whole ? cols : segments * segment - 1, plan::kWidestRow);
        break;
      }
      const std::int64_t lanes = ir::CanonicalOrder::virtual_lanes(cols), chunks = (cols + lanes - 1) / lanes;
      const plan::WidthClass widths = plan::canonical_width_class(cols);
      made.least_cols = std::max(widths.min_cols, (chunks - 1) * lanes + 1);
      made.most_cols = std::min(widths.max_cols, chunks * lanes);
      break;
    }
  }
  return made;
}

}  // namespace lanefold::driver
