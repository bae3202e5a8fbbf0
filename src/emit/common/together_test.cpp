#include "emit/common/together.h"

#include <gtest/gtest.h>

#include <string>

namespace lanefold::emit {
namespace {

/// The kernel's body after bring_together with at most three calls, one statement per line.
std::string arranged(const std::string& body) {
  auto module = lane::parse(
      "module m\nfunction f(%0: f32) -> f32\n  return %0\nfunction g(%0: f32, %1: f32) -> f32\n  return %0\n"
      "\nkernel k simd_width 32 simd_groups 1 rows_per_threadgroup 1\n  buffer x: f32[rows, cols] role input\n"
      "  buffer y: f32[rows, cols] role output\n  shared s: f32[1]\n  register r: f32[2]\n  body\n" +
      body);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
  lane::Kernel& kernel = module->kernels[0];
  kernel.body = bring_together(kernel.body, [](const lane::Statement& s) { return s.op == lane::Op::call ? 3 : 1; });
  EXPECT_TRUE(lane::verify(*module).empty());
  std::string text;
  for (const lane::Statement& s : kernel.body) text += lane::statement_text(*module, kernel, s) + '\n';
  return text;
}

TEST(Together, CallsMoveUpWithWhatTheyNeed) {
  EXPECT_EQ(arranged("    %0 = constant f32 1\n    %1 = add %0, %0\n    %2 = call f(%1)\n    %3 = mul %2, %2\n"
                     "    %4 = sub %0, %0\n    %5 = call f(%4)\n    %6 = add %3, %5\n"),
            "%0 = constant f32 1\n%1 = add %0, %0\n%4 = sub %0, %0\n%2 = call f(%1)\n%5 = call f(%4)\n"
            "%3 = mul %2, %2\n%6 = add %3, %5\n");
}

TEST(Together, AGroupEndsWhereACallNeedsTheOneBefore) {
  const std::string body = "%0 = constant f32 1\n%1 = call f(%0)\n%2 = add %1, %0\n%3 = call f(%2)\n";
  EXPECT_EQ(arranged(body), body);
}

TEST(Together, AtMostSoManyOfOneFunction) {
  EXPECT_EQ(arranged("    %0 = constant f32 1\n    %1 = constant f32 2\n    %2 = call g(%0, %0)\n    %3 = call f(%1)\n"
                     "    %4 = call g(%1, %0)\n    %5 = call g(%0, %1)\n    %6 = call g(%0, %0)\n"),
            "%0 = constant f32 1\n%1 = constant f32 2\n%2 = call g(%0, %0)\n%4 = call g(%1, %0)\n%5 = call g(%0, %1)\n"
            "%3 = call f(%1)\n%6 = call g(%0, %0)\n");
}

TEST(Together, NoReadMovesOverAChange) {
  const std::string stored =
      "%0 = constant i64 0\n%1 = load x[%0]\n%2 = call f(%1)\nstore y[%0] = %2\n%3 = load x[%0]\n%4 = call f(%3)\n";
  EXPECT_EQ(arranged(stored), stored);
  const std::string set =
      "%0 = constant f32 1\nset r[0] = %0\n%1 = call f(%0)\nset r[1] = %1\n%2 = get r[1]\n%3 = call f(%2)\n";
  EXPECT_EQ(arranged(set), set);
  EXPECT_EQ(
      arranged("%0 = constant f32 1\nset r[0] = %0\n%1 = call f(%0)\nset r[1] = %1\n%2 = get r[0]\n%3 = call f(%2)\n"),
      "%0 = constant f32 1\nset r[0] = %0\n%2 = get r[0]\n%1 = call f(%0)\n%3 = call f(%2)\nset r[1] = %1\n");
}

TEST(Together, NothingMovesOverABarrier) {
  for (const char* barrier : {"barrier", "exchange s = %0"}) {
    const std::string body = std::string("%0 = constant f32 1\n%1 = call f(%0)\n") + barrier + "\n%2 = call f(%0)\n";
    EXPECT_EQ(arranged(body), body);
  }
}

}  // namespace
}  // namespace lanefold::emit
