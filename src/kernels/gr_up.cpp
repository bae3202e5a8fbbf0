// gr_up: gates the normalised streams by a product of low rank and mixes them into one input.
#include "kernels/hand_written_modules.h"
#include "kernels/mixer_tile.h"

namespace lanefold::kernels {
namespace {

Result<lane::Module> build(std::string_view form, const ModuleSizes& sizes) {
  LANEFOLD_CHECK(check_mixer("gr_up", sizes));
  MixerTile tile("gr_up", sizes);
  ModuleFrame& f = tile.frame();
  lane::Builder& b = f.builder();
  const std::uint32_t xn = f.input("xn", {tile.tokens(), tile.streams(), tile.hidden()});
  const std::uint32_t lo = f.input("lo", {tile.tokens(), tile.rank()});
  tile.declare(sizes.weights);
  tile.dots([&](std::uint32_t token, ValueId k) { return f.load(lo, b.add(k, f.i64(token * tile.rank()))); });
  tile.mix(form, [&](ValueId token, std::int64_t stream, ValueId column) {
    const ValueId row = f.at(f.i64(stream), token, tile.streams());
    return f.load(xn, f.at(column, row, tile.hidden()));
  });
  return f.finish();
}

}  // namespace

HandWritten gr_up_module() {
  return {
      .name = "gr_up",
      .summary = "gates the streams by a low-rank product and mixes them, with planes and sums of 16",
      .formula = "mixed = ¼ Σ_c xn_c·sigmoid(wu_c·lo); plane p: mixed[planes·j + p]·4^−p; sums of 16 columns",
      .forms = sum_forms(),
      .sizes = mixer_sizes(),
      .has_weights = true,
      .absolute_tolerance = 1e-5,
      .relative_tolerance = 1e-4,
      .build = build,
  };
}

}  // namespace lanefold::kernels
