#include "ir/stages.h"

#include <gtest/gtest.h>

#include <string>

namespace lanefold::ir {
namespace {

Stages split(std::string_view text) { return split_stages(parse(text).value()); }

TEST(Stages, AFoldAlongRowsIsAFoldOfTheTransposedMatrix) {
  const Stages stages = split("program means(x: bf16[rows, cols])\n store y: f32[cols] = fold[rows] sum x / rows");
  ASSERT_EQ(stages.stages.size(), 1u);
  EXPECT_TRUE(stages.stages[0].transposed);
  EXPECT_EQ(stages.stages[0].title, "along rows");
  EXPECT_TRUE(stages.between.empty());
  EXPECT_EQ(print(stages.stages[0].program), R"(program means(x: bf16[rows, cols])
  store y: f32[rows] = fold sum(x) / f32(cols)
)");
}

TEST(Stages, WhatEachRowGivesIsHandedOn) {
  // The gradient of a norm's weight.
  const Stages stages = split(R"(
program weight_gradient(x: f32[rows, cols], dy: f32[rows, cols], eps = 1e-6)
  inv = 1 / sqrt(fold dot(x, x) / cols + eps)
  store dw: f32[cols] = fold[rows] sum (dy * x * inv)
  store rstd: f32[rows] = inv
)");
  ASSERT_EQ(stages.stages.size(), 2u);
  EXPECT_FALSE(stages.stages[0].transposed);
  EXPECT_EQ(print(stages.stages[0].program), R"(program weight_gradient(x: f32[rows, cols], eps = 1e-06)
  inv = 1 / sqrt(fold dot(x, x) / f32(cols) + eps)
  store rstd: f32[rows] = inv
  store between_0: f32[rows] = inv
)");
  EXPECT_EQ(print(stages.stages[1].program),
            R"(program weight_gradient(dy: f32[rows, cols], x: f32[rows, cols], between_0: f32[cols], eps = 1e-06)
  store dw: f32[rows] = fold sum(dy * x * between_0)
)");
  ASSERT_EQ(stages.between.size(), 1u);
  EXPECT_EQ(stages.between[0].kind, (Kind{Kind::Tag::row, 0}));
}

TEST(Stages, DependentFoldsAlongRowsAreOneStage) {
  const Stages stages = split(R"(
program batch_norm(x: f32[rows, cols], weight: f32[cols], eps = 1e-5)
  mean = fold[rows] sum x / rows
  d = x - mean
  inv = 1 / sqrt(fold[rows] dot(d, d) / rows + eps)
  store y: f32[rows, cols] = d * inv * weight
)");
  ASSERT_EQ(stages.stages.size(), 2u);
  EXPECT_EQ(print(stages.stages[0].program), R"(program batch_norm(x: f32[rows, cols], eps = 1e-05)
  mean = fold sum(x) / f32(cols)
  d = x - mean
  inv = 1 / sqrt(fold dot(d, d) / f32(cols) + eps)
  store between_0: f32[rows] = mean
  store between_1: f32[rows] = inv
)");
  EXPECT_EQ(
      print(stages.stages[1].program),
      R"(program batch_norm(x: f32[rows, cols], between_0: f32[cols], between_1: f32[cols], weight: f32[cols], eps = 1e-05)
  d = x - between_0
  store y: f32[rows, cols] = d * between_1 * weight
)");
}

TEST(Stages, ConditionsAreHandedOnAsNumbers) {
  const Stages stages = split(R"(
program p(x: f32[rows, cols])
  bad = fold[rows] any (x != x)
  store y: f32[rows, cols] = select(bad, 0, x)
)");
  ASSERT_EQ(stages.stages.size(), 2u);
  EXPECT_EQ(stages.between[0].type, ElementType::i8);
  EXPECT_EQ(print(stages.stages[1].program), R"(program p(between_0: i8[cols], x: f32[rows, cols])
  store y: f32[rows, cols] = select(between_0 != i32(0), 0, x)
)");
}

TEST(Stages, AnInputThatOnlyGathersReadIsTaken) {
  const Stages stages = split(R"(
program p(x: f32[rows, cols], z: f32[rows, cols])
  mean = fold[rows] sum x / rows
  store y: f32[rows, cols] = gather(z, cols - 1 - col) + gather(z, col) - mean
)");
  ASSERT_EQ(stages.stages.size(), 2u);
  EXPECT_EQ(print(stages.stages[1].program), R"(program p(z: f32[rows, cols], between_0: f32[cols])
  store y: f32[rows, cols] = gather(z, cols - i32(1) - col) + gather(z, col) - between_0
)");
}

TEST(Stages, AnOutputOfColumnsIsAStage) {
  const Program program = parse(R"(
program p(x: f32[rows, cols], w: f32[cols])
  store s: f32[rows] = fold sum x
  store y: f32[cols] = w * 2
)")
                              .value();
  EXPECT_FALSE(folds_rows(program));
  EXPECT_TRUE(needs_stages(program));
  const Stages stages = split_stages(program);
  ASSERT_EQ(stages.stages.size(), 2u);
  EXPECT_EQ(print(stages.stages[0].program), R"(program p(x: f32[rows, cols])
  store s: f32[rows] = fold sum(x)
)");
  EXPECT_EQ(stages.stages[0].title, "of rows");
  EXPECT_EQ(print(stages.stages[1].program), R"(program p(w: f32[rows])
  store y: f32[rows] = w * 2
)");
}

TEST(Stages, ProgramsWithoutSuchFoldsHaveNone) {
  EXPECT_FALSE(needs_stages(parse("program p(x: f32[rows, cols])\n store y: f32[rows] = fold sum x").value()));
}

}  // namespace
}  // namespace lanefold::ir
