#include "oracle/attention_merge.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "base/diagnostic.h"

namespace lanefold::oracle {
namespace {

constexpr double kEmpty = -static_cast<double>(FLT_MAX);  ///< m of a chunk that saw no key

/// One head of one token.
class Head {
 public:
  Head(const MergeSizes& sizes, std::int64_t token, std::int64_t kv_head, std::int64_t head)
      : sizes_(sizes), first_(((token * sizes.kv_heads + kv_head) * sizes.chunks) * sizes.heads + head) {}

  std::size_t state(std::int64_t chunk) const { return static_cast<std::size_t>(first_ + chunk * sizes_.heads); }

  /// The chunks' weights; 0 for a chunk that saw no key.
  std::vector<double> weights(std::span<const double> m) const {
    double highest = kEmpty;
    for (std::int64_t c = 0; c < sizes_.chunks; ++c) highest = std::max(highest, m[state(c)]);
    std::vector<double> weights;
    for (std::int64_t c = 0; c < sizes_.chunks; ++c)
      weights.push_back(m[state(c)] == kEmpty ? 0 : std::exp(m[state(c)] - highest));
    return weights;
  }

  void merge(std::span<const double> acc, std::span<const double> m, std::span<const double> l,
             std::vector<double>& out) const {
    const std::vector<double> weight = weights(m);
    const auto size = static_cast<std::size_t>(sizes_.head_size);
    std::vector<double> sum(size, 0.0);
    double total = 0;
    for (std::int64_t c = 0; c < sizes_.chunks; ++c) {
      const double w = weight[static_cast<std::size_t>(c)];
      if (m[state(c)] == kEmpty) continue;  // its acc and l may be anything
      total += l[state(c)] * w;
      for (std::size_t i = 0; i < size; ++i) sum[i] += acc[state(c) * size + i] * w;
    }
    for (const double s : sum) out.push_back(total != 0 ? s / total : 0);
  }

 private:
  const MergeSizes& sizes_;
  std::int64_t first_;
};

}  // namespace

Prepared qsa_merge(const MergeSizes& sizes, std::int64_t planes, std::span<const double> acc, std::span<const double> m,
                   std::span<const double> l, std::span<const double> gate) {
  const std::int64_t heads = sizes.tokens * sizes.kv_heads * sizes.heads;
  const auto elements = static_cast<std::size_t>(heads * sizes.head_size);
  const auto states = static_cast<std::size_t>(heads * sizes.chunks);
  if (acc.size() != elements * static_cast<std::size_t>(sizes.chunks) || m.size() != states || l.size() != states ||
      gate.size() != elements)
    internal_error("oracle: qsa_merge: an input whose length does not fit the sizes");
  std::vector<double> values;
  for (std::int64_t t = 0; t < sizes.tokens; ++t)
    for (std::int64_t kv = 0; kv < sizes.kv_heads; ++kv)
      for (std::int64_t head = 0; head < sizes.heads; ++head) Head(sizes, t, kv, head).merge(acc, m, l, values);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= 1 / (1 + std::exp(-gate[i]));
  return prepare(sizes.tokens, planes, std::move(values));
}

}  // namespace lanefold::oracle
