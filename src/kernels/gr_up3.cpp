// gr_up3: gr_up from the raw residual and unscaled dots, so that no kernel has to store the normalised streams.
#include "kernels/hand_written_modules.h"
#include "kernels/mixer_tile.h"

namespace lanefold::kernels {
namespace {

/// Inputs of the module beside the weights.
struct Inputs {
  std::uint32_t residual, w_norm, rs, d;
};

/// lo = silu(¼ Σ rs·d over ascending streams) for all tokens to threadgroup memory, then a barrier.
void emit_low_rank(MixerTile& tile, const Inputs& in, std::uint32_t lo) {
  ModuleFrame& f = tile.frame();
  lane::Builder& b = f.builder();
  b.comment("lo[token, k] of every token");
  f.strided(f.thread(), tile.tokens() * tile.rank(), f.threads(), [&](ValueId i) {
    const ValueId token = f.quotient(i, tile.rank());
    const ValueId k = f.remainder(i, tile.rank());
    const ValueId stream_row = b.mul(token, f.i64(tile.streams()));
    ValueId sum = b.f32(0);
    for (std::int64_t c = 0; c < tile.streams(); ++c) {
      const ValueId row = b.add(stream_row, f.i64(c));
      sum = f.fma(f.load(in.rs, row), f.load(in.d, f.at(k, row, tile.rank())), sum);
    }
    b.shared_store(lo, f.narrow(i), f.silu(b.mul(sum, b.f32(0.25f))));
  });
  b.barrier();
}

Result<lane::Module> build(std::string_view form, const ModuleSizes& sizes) {
  LANEFOLD_CHECK(check_mixer("gr_up3", sizes));
  MixerTile tile("gr_up3", sizes);
  ModuleFrame& f = tile.frame();
  lane::Builder& b = f.builder();
  Inputs in{};
  in.residual = f.input("residual", {tile.tokens(), tile.streams(), tile.hidden()});
  in.w_norm = f.input("w_norm", {tile.streams(), tile.hidden()});
  in.rs = f.input("rs", {tile.tokens(), tile.streams()});
  in.d = f.input("d", {tile.tokens(), tile.streams(), tile.rank()});
  const std::uint32_t lo = f.shared("lo", tile.rank() * 8);
  tile.declare(sizes.weights);
  emit_low_rank(tile, in, lo);
  tile.dots([&](std::uint32_t token, ValueId k) {
    const auto first = static_cast<std::int32_t>(token * tile.rank());
    return b.shared_load(lo, ElementType::f32, b.add(f.narrow(k), b.i32(first)));
  });
  tile.mix(form, [&](ValueId token, std::int64_t stream, ValueId column) {
    const ValueId row = f.at(f.i64(stream), token, tile.streams());
    const ValueId r = f.load(in.residual, f.at(column, row, tile.hidden()));
    const ValueId weight = f.load(in.w_norm, b.add(column, f.i64(stream * tile.hidden())));
    return b.mul(b.mul(r, weight), f.load(in.rs, row));
  });
  return f.finish();
}

}  // namespace

HandWritten gr_up3_module() {
  return {
      .name = "gr_up3",
      .summary = "gr_up from the raw residual and unscaled low-rank dots",
      .formula = "lo = silu(¼ Σ_c rs_c·d_c); x = (R·w_norm)·rs; then as gr_up",
      .forms = sum_forms(),
      .sizes = mixer_sizes(),
      .has_weights = true,
      .absolute_tolerance = 1e-5,
      .relative_tolerance = 1e-4,
      .build = build,
  };
}

}  // namespace lanefold::kernels
