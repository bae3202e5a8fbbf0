#include <limits>

#include <fmt/format.h>

#include "legality/rules.h"

namespace lanefold::legality {

// `col` is an i32, and so are the column indices that argmax stores.
std::optional<Diagnostic> column_limit(const Question& question) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (question.cols <= kMost) return std::nullopt;
  return Diagnostic{Code::too_many_columns,
                    fmt::format("a row has {} columns; a column index holds {} at most", question.cols, kMost),
                    "cut the rows into several", question.program.name};
}

}  // namespace lanefold::legality
