// gr_down: the normalised streams of a token to a low rank, and to the gains with which the next branch is added.
#include <fmt/format.h>

#include "kernels/hand_written_modules.h"
#include "kernels/module_frame.h"

namespace lanefold::kernels {
namespace {

class GrDown {
 public:
  explicit GrDown(const ModuleSizes& sizes)
      : tokens_(sizes.at("tokens")),
        streams_(sizes.at("streams")),
        rank_(sizes.at("rank")),
        columns_(streams_ * sizes.at("hidden")),
        parts_(sizes.at("k_split")),
        rows_(rank_ + streams_),
        rows_together_(sizes.at("simd_groups") / parts_),
        f_("gr_down", sizes.simd_width, sizes.at("simd_groups"), (rows_ + rows_together_ - 1) / rows_together_),
        b_(f_.builder()) {
    x_ = f_.input("xn", {tokens_, columns_});
    wd_ = f_.weights("wd", sizes.weights, rank_, columns_);
    wi_ = f_.weights("wi", sizes.weights, streams_, columns_);
    lo_ = f_.output("lo", {tokens_, rank_});
    inject_ = f_.output("inject", {tokens_, streams_});
    sums_ = f_.registers("sums", tokens_);
  }

  lane::Module build() {
    b_.comment("rows of wd, then rows of wi; SIMD group = row in the threadgroup · k_split + part of the row");
    const ValueId first_row = b_.mul(b_.threadgroup(), f_.i64(rows_together_));
    const ValueId row = rows_together_ == 1 ? first_row : b_.add(first_row, f_.quotient(f_.simd_group(), parts_));
    dots(row);
    std::vector<ValueId> totals;
    b_.comment("lanes of a part");
    for (std::uint32_t t = 0; t < tokens_; ++t) totals.push_back(f_.sum_lanes(b_.get(sums_, t, ElementType::f32)));
    if (parts_ == 1) {
      b_.comment("one lane stores the row for every token");
      b_.branch(f_.both(f_.equal(b_.lane(), b_.i32(0)), f_.less(row, f_.i64(rows_))), [&] {
        for (std::uint32_t t = 0; t < tokens_; ++t) store(row, f_.i64(t), totals[t]);
      });
    } else {
      add_parts(first_row, totals);
    }
    return f_.finish();
  }

 private:
  /// sums[t] = the lane's share of its part of row · x[t]. Groups past the last row repeat it.
  void dots(ValueId row) {
    for (std::uint32_t t = 0; t < tokens_; ++t) b_.set(sums_, t, b_.f32(0));
    const std::int64_t length = columns_ / parts_;
    const bool tail = rows_ % rows_together_ != 0;
    const ValueId clamped = tail ? b_.binary(lane::Op::min, row, f_.i64(rows_ - 1)) : row;
    const ValueId part = rows_together_ == 1 ? f_.simd_group() : f_.remainder(f_.simd_group(), parts_);
    const ValueId begin = b_.mul(part, f_.i64(length));
    const auto accumulate = [&](const WeightRow& weights) {
      f_.strided(f_.lane(), length, f_.simd_width(), [&](ValueId k_in_part) {
        const ValueId k = b_.add(begin, k_in_part);
        const ValueId weight = f_.load(weights, k);
        for (std::uint32_t t = 0; t < tokens_; ++t) {
          const ValueId x = f_.load(x_, b_.add(k, f_.i64(t * columns_)));
          b_.set(sums_, t, f_.fma(weight, x, b_.get(sums_, t, ElementType::f32)));
        }
      });
    };
    b_.comment("one load of a weight serves all tokens");
    b_.branch(
        f_.less(clamped, f_.i64(rank_)), [&] { accumulate(f_.row(wd_, clamped)); },
        [&] { accumulate(f_.row(wi_, b_.sub(clamped, f_.i64(rank_)))); });
  }

  void add_parts(ValueId first_row, const std::vector<ValueId>& totals) {
    const std::uint32_t partial = f_.shared("partial", f_.simd_groups() * tokens_);
    const auto tokens = static_cast<std::int32_t>(tokens_);
    b_.branch(f_.equal(b_.lane(), b_.i32(0)), [&] {
      const ValueId first = b_.mul(b_.simd_group(), b_.i32(tokens));
      for (std::int32_t t = 0; t < tokens; ++t)
        b_.shared_store(partial, b_.add(first, b_.i32(t)), totals[static_cast<std::size_t>(t)]);
    });
    b_.barrier();
    b_.comment("one thread per row and token adds the parts in ascending order");
    const ValueId thread = f_.narrow_thread();
    const ValueId local_row = f_.quotient(thread, tokens_);
    const ValueId token = f_.remainder(thread, tokens_);
    const ValueId row = b_.add(first_row, f_.wide(local_row));
    const ValueId own = f_.less(local_row, b_.i32(static_cast<std::int32_t>(rows_together_)));
    b_.branch(f_.both(own, f_.less(row, f_.i64(rows_))), [&] {
      const auto parts = static_cast<std::int32_t>(parts_);
      const ValueId first = b_.add(b_.mul(local_row, b_.i32(parts * tokens)), token);
      ValueId dot = b_.shared_load(partial, ElementType::f32, first);
      for (std::int32_t p = 1; p < parts; ++p)
        dot = b_.add(dot, b_.shared_load(partial, ElementType::f32, b_.add(first, b_.i32(p * tokens))));
      store(row, f_.wide(token), dot);
    });
  }

  void store(ValueId row, ValueId token, ValueId dot) {
    b_.branch(
        f_.less(row, f_.i64(rank_)),
        [&] { f_.store(lo_, f_.at(row, token, rank_), f_.silu(b_.mul(dot, b_.f32(0.25f)))); },
        [&] { f_.store(inject_, f_.at(b_.sub(row, f_.i64(rank_)), token, streams_), dot); });
  }

  std::int64_t tokens_, streams_, rank_, columns_, parts_, rows_, rows_together_;
  ModuleFrame f_;
  lane::Builder& b_;
  std::uint32_t x_ = 0, lo_ = 0, inject_ = 0, sums_ = 0;
  Weights wd_, wi_;
};

Result<lane::Module> build(std::string_view, const ModuleSizes& sizes) {
  const std::int64_t groups = sizes.at("simd_groups");
  const std::int64_t parts = sizes.at("k_split");
  const std::int64_t columns = sizes.at("streams") * sizes.at("hidden");
  const bool blocks = sizes.weights == WeightFormat::q8_0;
  LANEFOLD_CHECK(check_threads("gr_down", sizes, groups));
  LANEFOLD_CHECK(check_multiple("gr_down", "simd_groups", groups, parts, "k_split groups share a row"));
  LANEFOLD_CHECK(check_multiple("gr_down", "streams · hidden", columns, blocks ? 32 * parts : parts,
                                blocks ? "each of the k_split parts has whole q8_0 blocks" : "k_split equal parts"));
  return GrDown(sizes).build();
}

}  // namespace

HandWritten gr_down_module() {
  return {
      .name = "gr_down",
      .summary = "projects the normalised streams to a low rank and to the streams' gains",
      .formula = "lo = silu(wd·xn/4); inject = wi·xn",
      .forms = {{"standard", {"new", "old"}, "a row's columns are split between SIMD groups", true}},
      .sizes = {{"tokens", 8, 1, 8, "tokens of one step"},
                {"hidden", 2560, 16, 65536, "elements of a stream"},
                {"streams", 4, 1, 16, "residual streams of a token"},
                {"rank", 320, 1, 4096, "rows of wd"},
                {"simd_groups", 8, 1, 32, "SIMD groups of a threadgroup"},
                {"k_split", 8, 1, 32, "SIMD groups that share a row; divides simd_groups"}},
      .has_weights = true,
      .absolute_tolerance = 1e-5,
      .relative_tolerance = 1e-4,
      .build = build,
  };
}

}  // namespace lanefold::kernels
