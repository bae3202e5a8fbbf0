// The FP64 meaning: what every result is compared with.
#include <algorithm>

#include "base/float_environment.h"
#include "oracle/evaluator.h"
#include "oracle/fp64_domain.h"
#include "oracle/oracle.h"

namespace lanefold::oracle {

std::int64_t store_cols(const ir::Kind& kind, std::int64_t cols) {
  switch (kind.tag) {
    case ir::Kind::Tag::uniform:
    case ir::Kind::Tag::row: return 1;
    case ir::Kind::Tag::column:
    case ir::Kind::Tag::element: return cols;
    case ir::Kind::Tag::block: return cols / kind.block;
  }
  internal_error("unknown kind");
}

std::int64_t store_rows(const ir::Kind& kind, std::int64_t rows) {
  return kind.tag == ir::Kind::Tag::column ? std::min<std::int64_t>(rows, 1) : rows;
}

std::vector<std::vector<double>> evaluate_fp64(const ir::Program& program, const Bindings& bindings) {
  const FloatEnvironment environment;
  Fp64Domain domain;
  Evaluator<Fp64Domain> evaluator(program, bindings, ir::Order::serial, domain);
  std::vector<std::vector<double>> stores(program.stores.size());
  for (std::int64_t row = 0; row < bindings.rows; ++row) {
    evaluator.evaluate_row(row);
    for (std::size_t s = 0; s < stores.size(); ++s) {
      if (row >= store_rows(program.stores[s].kind, bindings.rows)) continue;
      const Lanes<double> values = evaluator.stored(s);
      const std::int64_t cols = store_cols(program.stores[s].kind, bindings.cols);
      for (std::int64_t c = 0; c < cols; ++c) stores[s].push_back(values[c]);
    }
  }
  return stores;
}

}  // namespace lanefold::oracle
