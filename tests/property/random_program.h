// Row programs drawn at random, as text: expressions over inputs of every kind, folds of built-in and user-defined
// monoids, folds that depend on folds, block folds, gathers and selects, inner axes, quantised blocks, options and folds along rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/trial.h"

namespace lanefold::testing {

/// A program's text and what its columns must be a multiple of.
struct RandomProgram {
  std::string text;
  std::int64_t column_multiple = 1;
  bool folds_rows = false;
};

/// Draws programs. Values stay moderate (denominators and roots are kept away from zero, products near one), so that a
/// wrong element shows instead of drowning in infinities.
class ProgramDraw {
 public:
  explicit ProgramDraw(Numbers& numbers) : numbers_(numbers) {}

  RandomProgram draw() {
    const char* storages[] = {"f32", "f16", "bf16"};
    const std::string storage = storages[numbers_.below(3)];
    element_ = {"x", "z", "weight", "f32(col)", "a", "0.5", "-1.25"};
    row_ = {"r", "a", "0.75", "cols"};
    std::string more;
    if (numbers_.below(4) == 0) {
      more += ", k: q8_0[rows, cols]";
      element_.push_back("k");
      multiple_ = 32;
    }
    if (numbers_.below(3) == 0) {
      more += ", o: option = " + std::to_string(numbers_.below(3));
      element_.push_back("select(o > 1, x, o)");
    }
    const bool tokens = numbers_.below(4) == 0;
    if (tokens) more += ", t: f16[2][cols]";
    const bool folds_rows = numbers_.below(4) == 0;
    if (folds_rows) add_row_axis();
    const std::uint32_t folds = 1 + numbers_.below(4);
    for (std::uint32_t f = 0; f < folds; ++f) add_fold();
    if (numbers_.below(2) == 0) add_block_fold();
    if (numbers_.below(3) == 0) add_gather();
    line("store y: " + storage + "[rows, cols] = " + element(3));
    if (numbers_.below(2) == 0) line("store total: f32[rows] = " + row(2));
    if (tokens) line("store dots: f32[2][rows] = fold dot(" + element(1) + ", t) / cols");
    const std::string monoids = uses_affine_ ? kAffine : "";
    return {monoids + "program drawn(x: " + storage + "[rows, cols], z: f32[rows, cols], weight: " + storage +
                "[cols], r: f32[rows], label: i32[rows]" + more + ", a = 0.625)\n" + body_,
            multiple_, folds_rows};
  }

 private:
  // Maps t ↦ m t + c under composition: associative but for rounding, not commutative, without an identity.
  static constexpr const char* kAffine =
      "monoid affine(m: f32, c: f32) of (p: f32, q: f32)\n"
      "  lift = p, q\n"
      "  step = m * p, c * p + q\n"
      "  merge = m * m', c * m' + c'\n"
      "\n";

  void line(const std::string& text) { body_ += "  " + text + "\n"; }
  std::string name() { return "v" + std::to_string(++count_); }
  const std::string& one_of(const std::vector<std::string>& from) {
    return from[numbers_.below(static_cast<std::uint32_t>(from.size()))];
  }

  std::string expression(const std::vector<std::string>& leaves, int depth) {
    if (depth == 0 || numbers_.below(6) == 0) return one_of(leaves);
    const auto sub = [&] { return expression(leaves, depth - 1); };
    switch (numbers_.below(14)) {
      case 0: return "(" + sub() + " + " + sub() + ")";
      case 1: return "(" + sub() + " - " + sub() + ")";
      case 2: return "(" + sub() + " * " + sub() + ")";
      case 3: return "(" + sub() + " / (abs(" + sub() + ") + 0.5))";
      case 4: return "max(" + sub() + ", " + sub() + ")";
      case 5: return "min(" + sub() + ", -(" + sub() + "))";
      case 6: return "fma(" + sub() + ", " + sub() + ", " + sub() + ")";
      case 7: return "select(" + sub() + " < " + sub() + ", " + sub() + ", " + sub() + ")";
      case 8: return "sqrt(abs(" + sub() + "))";
      case 9: return "exp(min(" + sub() + ", 4.0))";
      case 10: return "log(abs(" + sub() + ") + 0.1)";
      case 11: return (numbers_.below(2) == 0 ? "tanh(" : "erf(") + sub() + ")";
      case 12: return "sigmoid(" + sub() + ")";
      default: return (numbers_.below(2) == 0 ? "round(" : "trunc(") + sub() + ")";
    }
  }
  std::string element(int depth) { return "(x * 0.5 + " + expression(element_, depth) + ")"; }
  std::string row(int depth) { return "(r + " + expression(row_, depth) + ")"; }

  /// A row result that later expressions may use.
  void known(const std::string& value) {
    row_.push_back(value);
    element_.push_back(value);
  }

  void add_fold() {
    const std::string v = name();
    const int depth = static_cast<int>(1 + numbers_.below(2));
    switch (numbers_.below(11)) {
      case 0: line(v + " = fold sum " + element(depth) + " / cols"); break;
      case 1: line(v + " = fold dot(" + element(depth) + ", " + element(depth) + ") / cols"); break;
      case 2: line(v + " = fold prod (1.0 + 0.03125 * tanh(" + element(depth) + "))"); break;
      case 3: line(v + " = fold max " + element(depth)); break;
      case 4: line(v + " = fold min " + element(depth)); break;
      case 5: line(v + " = f32(fold argmax " + element(depth) + ")"); break;
      case 6: line(v + " = f32(fold argmin " + element(depth) + ")"); break;
      case 7: line(v + " = select(fold any (" + element(depth) + " > 2.0), 1.5, " + one_of(row_) + ")"); break;
      case 8: line(v + " = select(fold all (" + element(depth) + " < 9.0), " + one_of(row_) + ", -0.25)"); break;
      case 9: {
        const std::string other = name();
        line(v + ", " + other + " = fold welford " + element(depth));
        known(other);
        break;
      }
      default: {
        const std::string other = name();
        line(v + ", " + other + " = fold affine(0.875 + 0.125 * sigmoid(" + element(depth) + "), " + element(depth) +
             ")");
        uses_affine_ = true;
        known(other);
      }
    }
    known(v);
  }

  /// Before any fold along columns, whose results must not stand above and below it.
  void add_row_axis() {
    const std::string v = name();
    const std::vector<std::string> leaves = {"x", "z", "weight", "r", "a", "0.5"};
    const std::string inside = "(x + " + expression(leaves, 2) + ")";
    switch (numbers_.below(4)) {
      case 0: line(v + " = fold[rows] sum " + inside + " / rows"); break;
      case 1: line(v + " = fold[rows] max " + inside); break;
      case 2: line(v + " = select(fold[rows] any (" + inside + " > 2.0), 1.5, weight)"); break;
      default: line(v + " = fold[rows] dot(" + inside + ", x) / rows");
    }
    if (numbers_.below(2) == 0) {
      const std::string squares = name();
      line(squares + " = fold[rows] dot(x - " + v + ", z) / rows");
      element_.push_back(squares);
    }
    if (numbers_.below(2) == 0) line("store columns: f32[cols] = " + v);
    element_.push_back(v);
  }

  void add_block_fold() {
    const std::uint32_t block = 4u << numbers_.below(5);
    const char* monoids[] = {"sum", "max", "min"};
    const std::string v = name();
    line(v + " = fold<" + std::to_string(block) + "> " + monoids[numbers_.below(3)] + " " + element(1));
    element_.push_back(v);
    multiple_ = std::max<std::int64_t>(multiple_, block);
    if (numbers_.below(2) == 0) line("store part: f32[rows, cols/" + std::to_string(block) + "] = " + v + " * 0.5");
    if (numbers_.below(2) == 0) line("store q: i8[rows, cols] = quantize(" + element(1) + ", abs(" + v + ") / 64)");
  }

  void add_gather() {
    const std::string v = name();
    switch (numbers_.below(3)) {
      case 0:
        line(v + " = gather(x, label)");
        known(v);
        return;
      case 1: line(v + " = gather(z, cols - 1 - col)"); break;
      default: line(v + " = gather(weight, i32(abs(x) * 3.0))");
    }
    element_.push_back(v);
  }

  Numbers& numbers_;
  std::vector<std::string> element_, row_;
  std::string body_;
  int count_ = 0;
  bool uses_affine_ = false;
  std::int64_t multiple_ = 1;
};

}  // namespace lanefold::testing
