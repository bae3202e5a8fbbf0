#include "oracle/mixers.h"

#include <cmath>
#include <string>

#include "base/diagnostic.h"
#include "base/load_store.h"

namespace lanefold::oracle {
namespace {

void expect_size(const char* name, std::size_t found, std::int64_t wanted) {
  if (found == static_cast<std::size_t>(wanted)) return;
  internal_error("oracle: " + std::string(name) + " has " + std::to_string(found) + " elements, not " +
                 std::to_string(wanted));
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }

/// Row `row` of a matrix of that many columns.
std::span<const double> row_of(std::span<const double> matrix, std::int64_t row, std::int64_t columns) {
  return matrix.subspan(static_cast<std::size_t>(row * columns), static_cast<std::size_t>(columns));
}

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

NormedStreams gr_norm(const MixerSizes& sizes, std::span<const double> residual, std::span<const double> branch_out,
                      std::span<const double> inj_prev, std::span<const double> w_norm) {
  const std::int64_t rows = sizes.tokens * sizes.streams;
  const bool apply = !branch_out.empty() || !inj_prev.empty();
  expect_size("residual", residual.size(), rows * sizes.hidden);
  expect_size("w_norm", w_norm.size(), sizes.streams * sizes.hidden);
  if (apply) expect_size("branch_out", branch_out.size(), sizes.tokens * sizes.hidden);
  if (apply) expect_size("inj_prev", inj_prev.size(), rows);
  NormedStreams out;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto before = row_of(residual, row, sizes.hidden);
    const auto weight = row_of(w_norm, row % sizes.streams, sizes.hidden);
    std::vector<double> r(before.begin(), before.end());
    if (apply) {
      const auto branch = row_of(branch_out, row / sizes.streams, sizes.hidden);
      const double gain = 2 * sigmoid(inj_prev[static_cast<std::size_t>(row)] / 4);
      for (std::size_t i = 0; i < r.size(); ++i) r[i] += branch[i] * gain;
    }
    const double scale = 1 / std::sqrt(dot(r, r) / static_cast<double>(sizes.hidden) + 1e-6);
    out.rs.push_back(scale);
    for (std::size_t i = 0; i < r.size(); ++i) out.xn.push_back(r[i] * weight[i] * scale);
    out.residual.insert(out.residual.end(), r.begin(), r.end());
  }
  return out;
}

LowRank gr_down(const MixerSizes& sizes, std::span<const double> xn, std::span<const double> wd,
                std::span<const double> wi) {
  const std::int64_t columns = sizes.streams * sizes.hidden;
  expect_size("xn", xn.size(), sizes.tokens * columns);
  expect_size("wd", wd.size(), sizes.rank * columns);
  expect_size("wi", wi.size(), sizes.streams * columns);
  LowRank out;
  for (std::int64_t t = 0; t < sizes.tokens; ++t) {
    const auto x = row_of(xn, t, columns);
    for (std::int64_t k = 0; k < sizes.rank; ++k) out.lo.push_back(silu(dot(row_of(wd, k, columns), x) / 4));
    for (std::int64_t c = 0; c < sizes.streams; ++c) out.inject.push_back(dot(row_of(wi, c, columns), x));
  }
  return out;
}

Prepared gr_up(const MixerSizes& sizes, std::int64_t planes, std::span<const double> xn, std::span<const double> lo,
               std::span<const double> wu) {
  expect_size("xn", xn.size(), sizes.tokens * sizes.streams * sizes.hidden);
  expect_size("lo", lo.size(), sizes.tokens * sizes.rank);
  expect_size("wu", wu.size(), sizes.streams * sizes.hidden * sizes.rank);
  std::vector<double> mixed;
  for (std::int64_t t = 0; t < sizes.tokens; ++t) {
    for (std::int64_t d = 0; d < sizes.hidden; ++d) {
      double sum = 0;
      for (std::int64_t c = 0; c < sizes.streams; ++c) {
        const double gate = sigmoid(dot(row_of(wu, c * sizes.hidden + d, sizes.rank), row_of(lo, t, sizes.rank)));
        sum += xn[static_cast<std::size_t>((t * sizes.streams + c) * sizes.hidden + d)] * gate;
      }
      mixed.push_back(sum / 4);
    }
  }
  return prepare(sizes.tokens, planes, std::move(mixed));
}

Prepared gr_up3(const MixerSizes& sizes, std::int64_t planes, std::span<const double> residual,
                std::span<const double> w_norm, std::span<const double> rs, std::span<const double> d,
                std::span<const double> wu) {
  const std::int64_t rows = sizes.tokens * sizes.streams;
  expect_size("residual", residual.size(), rows * sizes.hidden);
  expect_size("w_norm", w_norm.size(), sizes.streams * sizes.hidden);
  expect_size("rs", rs.size(), rows);
  expect_size("d", d.size(), rows * sizes.rank);
  std::vector<double> xn, lo;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto r = row_of(residual, row, sizes.hidden);
    const auto weight = row_of(w_norm, row % sizes.streams, sizes.hidden);
    for (std::size_t i = 0; i < r.size(); ++i) xn.push_back(r[i] * weight[i] * rs[static_cast<std::size_t>(row)]);
  }
  for (std::int64_t t = 0; t < sizes.tokens; ++t) {
    for (std::int64_t k = 0; k < sizes.rank; ++k) {
      double sum = 0;
      for (std::int64_t row = t * sizes.streams; row < (t + 1) * sizes.streams; ++row)
        sum += rs[static_cast<std::size_t>(row)] * d[static_cast<std::size_t>(row * sizes.rank + k)];
      lo.push_back(silu(sum / 4));
    }
  }
  return gr_up(sizes, planes, xn, lo, wu);
}

Prepared prepare(std::int64_t tokens, std::int64_t planes, std::vector<double> values) {
  const auto elements = static_cast<std::int64_t>(values.size()) / tokens;
  expect_size("values", values.size(), tokens * elements);
  if (elements % 16 != 0 || elements % planes != 0) internal_error("oracle: values that make no whole planes and sums");
  Prepared out;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto x = row_of(values, t, elements);
    for (std::int64_t p = 0; p < planes; ++p)
      for (std::int64_t j = 0; j < elements / planes; ++j)
        out.planes.push_back(std::ldexp(x[static_cast<std::size_t>(planes * j + p)], static_cast<int>(-2 * p)));
    for (std::int64_t g = 0; g < elements / 16; ++g) {
      double sum = 0;
      for (std::int64_t i = 16 * g; i < 16 * (g + 1); ++i) sum += x[static_cast<std::size_t>(i)];
      out.sums.push_back(sum);
    }
  }
  out.values = std::move(values);
  return out;
}

std::vector<double> q8_0_values(std::span<const std::byte> blocks) {
  constexpr std::size_t kBlockBytes = 34;
  if (blocks.size() % kBlockBytes != 0) internal_error("oracle: q8_0 bytes that are no whole blocks");
  std::vector<double> values;
  for (std::size_t block = 0; block < blocks.size(); block += kBlockBytes) {
    const double scale = load_element_f64(&blocks[block], ElementType::f16);
    for (std::size_t i = 2; i < kBlockBytes; ++i)
      values.push_back(scale * load_element_f64(&blocks[block + i], ElementType::i8));
  }
  return values;
}

}  // namespace lanefold::oracle
