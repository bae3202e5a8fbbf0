#include "plan/analysis.h"

#include "plan/test_programs.h"

namespace lanefold::plan {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(Analysis, SoftmaxHasTwoFoldsAndOneTile) {
  const ir::Program p = softmax_program();
  const Analysis a = analyse(p);
  EXPECT_EQ(a.row_folds, (Numbers{0, 1}));
  EXPECT_EQ(a.fold_depth, (Numbers{1, 2}));
  ASSERT_EQ(a.tiles.size(), 1u);
  EXPECT_EQ(p.values[a.tiles[0]].op, ir::Op::exp);
  EXPECT_EQ(a.value_depth[a.tiles[0]], 1u);
  EXPECT_EQ(a.domains(1000), (std::vector<std::int64_t>{1000, 1000}));
  ASSERT_EQ(a.sweeps.size(), 3u);
  EXPECT_EQ(a.sweeps[1].inputs, Numbers{0});
  EXPECT_TRUE(a.sweeps[2].inputs.empty());
  EXPECT_EQ(a.sweeps[2].inputs_recomputing, Numbers{0});
  EXPECT_GT(a.sweeps[2].work_recomputing, a.sweeps[2].work);
  EXPECT_EQ(a.reread_inputs, Numbers{0});
  EXPECT_TRUE(is_reorderable(p, p.folds[0]));
  EXPECT_FALSE(is_reorderable(p, p.folds[1]));
}

TEST(Analysis, RmsNormRecomputesWhatIsCheap) {
  const Analysis a = analyse(rms_norm_program());
  EXPECT_EQ(a.row_folds.size(), 1u);
  EXPECT_TRUE(a.tiles.empty());
  EXPECT_EQ(a.domains(127), std::vector<std::int64_t>{127});
  EXPECT_EQ(a.reread_inputs, Numbers{0});
}

TEST(Analysis, SumStoresOneScalar) {
  const Analysis a = analyse(sum_program());
  EXPECT_EQ(a.row_folds.size(), 1u);
  EXPECT_EQ(a.domains(4096), std::vector<std::int64_t>{1});
  EXPECT_FALSE(a.element_stores);
  EXPECT_TRUE(a.sweeps[1].inputs.empty());
  EXPECT_TRUE(a.reread_inputs.empty());
}

TEST(Analysis, BlockFoldsAddNoDepth) {
  const ir::Program p = rms_norm_q8_program();
  const Analysis a = analyse(p);
  EXPECT_EQ(a.row_folds.size(), 1u);
  EXPECT_EQ(a.fold_depth, (Numbers{1, 1}));
  EXPECT_EQ(a.sweeps.size(), 2u);
  EXPECT_EQ(a.widest_block, 32u);
  EXPECT_DOUBLE_EQ(a.output_bytes, 1 + 4.0 / 32);
}

TEST(Analysis, FunctionsOfRowsAreNoTiles) {
  // exp of a row value is dear, but it is computed once a row; log1p-like arguments of two folds are one tile.
  const Analysis row =
      analyse(parsed("program a(x: f32[rows, cols])\n"
                     "  s = exp(fold max x)\n"
                     "  t = fold sum (x * s)\n"
                     "  store y: f32[rows, cols] = x * s * t\n"));
  EXPECT_TRUE(row.tiles.empty());
  const ir::Program p = parsed(
      "program b(x: f32[rows, cols])\n"
      "  l = log(abs(x) + 1)\n"
      "  mean = fold sum l / cols\n"
      "  d = l - mean\n"
      "  store y: f32[rows] = fold sum (d * d)\n");
  const Analysis two = analyse(p);
  ASSERT_EQ(two.tiles.size(), 1u);
  EXPECT_EQ(p.values[two.tiles[0]].op, ir::Op::log);
}

TEST(Analysis, CountsStateComponents) {
  const Analysis a = analyse(parsed("program v(x: f32[rows, cols])\n  store i: i32[rows] = fold argmax x\n"));
  EXPECT_EQ(a.partials, 2u);
  EXPECT_EQ(a.sweeps[0].accumulators, 2u);
}

}  // namespace
}  // namespace lanefold::plan
