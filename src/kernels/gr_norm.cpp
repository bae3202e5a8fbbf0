// gr_norm: one threadgroup adds a branch to one residual stream of one token, and normalises the stream.
#include <optional>

#include <fmt/format.h>

#include "kernels/hand_written_modules.h"
#include "kernels/module_frame.h"

namespace lanefold::kernels {
namespace {

constexpr std::int64_t kMostUnrolled = 16;  ///< elements a lane keeps in registers

class GrNorm {
 public:
  explicit GrNorm(const ModuleSizes& sizes)
      : tokens_(sizes.at("tokens")),
        hidden_(sizes.at("hidden")),
        streams_(sizes.at("streams")),
        apply_(sizes.at("apply") != 0),
        f_("gr_norm", sizes.simd_width, sizes.at("simd_groups"), tokens_ * streams_),
        b_(f_.builder()) {
    declare();
  }

  lane::Module build(bool unrolled) {
    begin();
    if (unrolled) {
      elements_ = f_.registers("r", hidden_ / f_.threads());
      b_.comment("update and squares: every element of the lane stays in a register");
      for_unrolled([&](std::uint32_t i, ValueId d) {
        const ValueId r = updated(d);
        b_.set(*elements_, i, r);
        add_square(r);
      });
      reduce();
      b_.comment("normalise");
      for_unrolled([&](std::uint32_t i, ValueId d) { normalise(d, b_.get(*elements_, i, ElementType::f32)); });
    } else {
      b_.comment("update and squares");
      f_.strided(thread_, hidden_, f_.threads(), [&](ValueId d) { add_square(updated(d)); });
      reduce();
      b_.comment("normalise what this lane itself has stored");
      f_.strided(thread_, hidden_, f_.threads(), [&](ValueId d) { normalise(d, f_.load(residual_, b_.add(row_, d))); });
    }
    return f_.finish();
  }

 private:
  void declare() {
    const std::vector<std::int64_t> stream_rows = {tokens_, streams_, hidden_};
    residual_ = apply_ ? f_.inout("residual", stream_rows) : f_.input("residual", stream_rows);
    if (apply_) {
      branch_out_ = f_.input("branch_out", {tokens_, hidden_});
      inj_prev_ = f_.input("inj_prev", {tokens_, streams_});
    }
    w_norm_ = f_.input("w_norm", {streams_, hidden_});
    xn_ = f_.output("xn", stream_rows);
    rs_ = f_.output("rs", {tokens_, streams_});
    partial_ = f_.shared("partial", f_.simd_groups());
    squares_ = f_.registers("squares");
  }

  void begin() {
    b_.comment("threadgroup = token · streams + stream");
    thread_ = f_.thread();
    row_ = b_.mul(b_.threadgroup(), f_.i64(hidden_));
    weight_row_ = b_.mul(f_.remainder(b_.threadgroup(), streams_), f_.i64(hidden_));
    if (apply_) {
      branch_row_ = b_.mul(f_.quotient(b_.threadgroup(), streams_), f_.i64(hidden_));
      b_.comment("the branch's gain: 2·sigmoid(inj_prev/4)");
      const ValueId inject = f_.load(inj_prev_, b_.threadgroup());
      gain_ = b_.mul(b_.f32(2), f_.sigmoid(b_.mul(inject, b_.f32(0.25f))));
    }
    b_.set(squares_, 0, b_.f32(0));
  }

  void for_unrolled(const std::function<void(std::uint32_t, ValueId)>& body) {
    for (std::uint32_t i = 0; i < hidden_ / f_.threads(); ++i) body(i, b_.add(thread_, f_.i64(i * f_.threads())));
  }

  /// Element d of the stream after the update, which is stored. NaN is canonical in the register too, as a reread gives it.
  ValueId updated(ValueId d) {
    const ValueId address = b_.add(row_, d);
    const ValueId r = f_.load(residual_, address);
    if (!apply_) return r;
    const ValueId branch = f_.load(branch_out_, b_.add(branch_row_, d));
    const ValueId after = f_.canonical(f_.fma(branch, gain_, r));
    f_.store_canonical(residual_, address, after);
    return after;
  }

  void add_square(ValueId r) { b_.set(squares_, 0, f_.fma(r, r, b_.get(squares_, 0, ElementType::f32))); }

  void reduce() {
    b_.comment("lanes, then SIMD groups in ascending order");
    const ValueId in_group = f_.sum_lanes(b_.get(squares_, 0, ElementType::f32));
    b_.branch(f_.equal(b_.lane(), b_.i32(0)), [&] { b_.shared_store(partial_, b_.simd_group(), in_group); });
    b_.barrier();
    ValueId total = b_.shared_load(partial_, ElementType::f32, b_.i32(0));
    for (std::int32_t g = 1; g < f_.simd_groups(); ++g)
      total = b_.add(total, b_.shared_load(partial_, ElementType::f32, b_.i32(g)));
    const ValueId mean = f_.divide(total, b_.f32(static_cast<float>(hidden_)));
    scale_ = f_.divide(b_.f32(1), b_.unary(lane::Op::sqrt, b_.add(mean, b_.f32(1e-6f))));
    b_.comment("one thread stores 1/rms");
    b_.branch(f_.equal(thread_, f_.i64(0)), [&] { f_.store(rs_, b_.threadgroup(), scale_); });
  }

  void normalise(ValueId d, ValueId r) {
    const ValueId weight = f_.load(w_norm_, b_.add(weight_row_, d));
    f_.store(xn_, b_.add(row_, d), b_.mul(b_.mul(r, weight), scale_));
  }

  std::int64_t tokens_, hidden_, streams_;
  bool apply_;
  ModuleFrame f_;
  lane::Builder& b_;
  std::uint32_t residual_ = 0, branch_out_ = 0, inj_prev_ = 0, w_norm_ = 0, xn_ = 0, rs_ = 0;
  std::uint32_t partial_ = 0, squares_ = 0;
  std::optional<std::uint32_t> elements_;
  ValueId thread_ = 0, row_ = 0, weight_row_ = 0, branch_row_ = 0, gain_ = 0, scale_ = 0;
};

Result<lane::Module> build(std::string_view form, const ModuleSizes& sizes) {
  const std::int64_t hidden = sizes.at("hidden");
  const std::int64_t threads = sizes.at("simd_groups") * sizes.simd_width;
  const bool unrolled = form == "unrolled";
  LANEFOLD_CHECK(check_threads("gr_norm", sizes, sizes.at("simd_groups")));
  if (unrolled) {
    LANEFOLD_CHECK(check_multiple("gr_norm", "hidden", hidden, threads, "form unrolled: whole elements a thread"));
    if (hidden / threads > kMostUnrolled)
      return misfit(
          "gr_norm", fmt::format("hidden is {}: {} elements for each of {} threads", hidden, hidden / threads, threads),
          fmt::format("form unrolled keeps at most {} a thread, so hidden up to {}; form generic has no limit",
                      kMostUnrolled, kMostUnrolled * threads));
  }
  return GrNorm(sizes).build(unrolled);
}

}  // namespace

HandWritten gr_norm_module() {
  return {
      .name = "gr_norm",
      .summary = "adds a branch to the residual streams and normalises each stream",
      .formula = "R' = fma(branch_out, 2·sigmoid(inj_prev/4), R); rs = 1/√(Σ R'²/n + 1e-6); xn = (R'·w_norm)·rs",
      .forms = {{"unrolled", {"new"}, "a lane's elements stay in registers; no loop", true},
                {"generic", {"old"}, "loops; rereads the residual that it stored", true}},
      .sizes = {{"tokens", 8, 1, 8, "tokens of one step"},
                {"hidden", 2560, 16, 65536, "elements of a stream"},
                {"streams", 4, 1, 16, "residual streams of a token"},
                {"apply", 1, 0, 1, "1 adds the branch first; 0 only normalises"},
                {"simd_groups", 8, 1, 32, "SIMD groups of a threadgroup"}},
      .has_weights = false,
      .absolute_tolerance = 1e-6,
      .relative_tolerance = 2e-5,
      .build = build,
  };
}

}  // namespace lanefold::kernels
