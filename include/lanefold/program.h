// A row program written in C++: expressions with operators, statements and outputs, which become the text that
// Kernel::compile_program takes.
//
//   lanefold::Program p("capped_norm");
//   const auto x = p.input("x", lanefold::Type::f32);
//   const auto inv = p.let("inv", 1 / sqrt(p.fold("dot", {x, x}) / p.cols() + p.parameter("eps", 1e-6)));
//   p.store("y", lanefold::Type::f32, lanefold::Kind::element, 30 * tanh(x * inv / 30));
//   const auto kernel = lanefold::Kernel::compile_program(p.text());
//
// Nothing is checked here: compile_program() finds every fault and says where in the text it is. An expression that is used
// twice stands in the text twice, and some 200 operations inside each other are too deep; let() gives an expression a name instead.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lanefold/lanefold.h"

namespace lanefold {

/// An expression of a program: an input, a parameter, a number, or an operation on others. How it varies (by element, row,
/// column or block) follows from its operands, as a mathematician expects.
class Expression {
 public:
  template <std::integral T>
  Expression(T number) : text_(std::to_string(number)) {}
  template <std::floating_point T>
  Expression(T number) : text_(number_text(static_cast<double>(number))) {}
  Expression(bool) = delete;

  /// How the expression is written in a program.
  const std::string& text() const { return text_; }

  /// What stands in the text as it is, such as the name of a value.
  static Expression of_text(std::string text) {
    Expression result(0);
    result.text_ = std::move(text);
    return result;
  }
  /// (a op b), and function(arguments…): for operations of the language that have no function here.
  static Expression infix(const Expression& a, std::string_view op, const Expression& b) {
    return of_text("(" + a.text_ + ' ' + std::string(op) + ' ' + b.text_ + ")");
  }
  static Expression call(std::string_view function, std::initializer_list<Expression> arguments) {
    std::string text(function);
    char before = '(';
    for (const Expression& argument : arguments) {
      text += before;
      text += before == ',' ? " " + argument.text_ : argument.text_;
      before = ',';
    }
    return of_text(text + ")");
  }
  /// The shortest text that reads as the same f32 number.
  static std::string number_text(double number) {
    const auto value = static_cast<float>(number);
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    std::string text(digits, end);
    // A number with a point or an exponent is an f32 in every place.
    return text.find_first_of(".e") == text.npos ? text + ".0" : text;
  }

 private:
  std::string text_;
};

inline Expression operator-(const Expression& a) { return Expression::of_text("(-" + a.text() + ")"); }
inline Expression operator+(const Expression& a, const Expression& b) { return Expression::infix(a, "+", b); }
inline Expression operator-(const Expression& a, const Expression& b) { return Expression::infix(a, "-", b); }
inline Expression operator*(const Expression& a, const Expression& b) { return Expression::infix(a, "*", b); }
inline Expression operator/(const Expression& a, const Expression& b) { return Expression::infix(a, "/", b); }
inline Expression operator<(const Expression& a, const Expression& b) { return Expression::infix(a, "<", b); }
inline Expression operator<=(const Expression& a, const Expression& b) { return Expression::infix(a, "<=", b); }
inline Expression operator>(const Expression& a, const Expression& b) { return Expression::infix(a, ">", b); }
inline Expression operator>=(const Expression& a, const Expression& b) { return Expression::infix(a, ">=", b); }
inline Expression operator==(const Expression& a, const Expression& b) { return Expression::infix(a, "==", b); }
inline Expression operator!=(const Expression& a, const Expression& b) { return Expression::infix(a, "!=", b); }
/// Both sides are always computed.
inline Expression operator&&(const Expression& a, const Expression& b) { return Expression::infix(a, "and", b); }
inline Expression operator||(const Expression& a, const Expression& b) { return Expression::infix(a, "or", b); }
inline Expression operator!(const Expression& a) { return Expression::of_text("(not " + a.text() + ")"); }

inline Expression abs(const Expression& a) { return Expression::call("abs", {a}); }
inline Expression sqrt(const Expression& a) { return Expression::call("sqrt", {a}); }
/// Towards zero, and to the nearest integer with halves away from zero.
inline Expression trunc(const Expression& a) { return Expression::call("trunc", {a}); }
inline Expression round(const Expression& a) { return Expression::call("round", {a}); }
inline Expression exp(const Expression& a) { return Expression::call("exp", {a}); }
inline Expression log(const Expression& a) { return Expression::call("log", {a}); }
inline Expression tanh(const Expression& a) { return Expression::call("tanh", {a}); }
inline Expression sigmoid(const Expression& a) { return Expression::call("sigmoid", {a}); }
inline Expression erf(const Expression& a) { return Expression::call("erf", {a}); }
/// a · b + c, rounded once.
inline Expression fma(const Expression& a, const Expression& b, const Expression& c) {
  return Expression::call("fma", {a, b, c});
}
/// IEEE 754-2019 minimum and maximum: NaN wins, and −0 is less than +0.
inline Expression min(const Expression& a, const Expression& b) { return Expression::call("min", {a, b}); }
inline Expression max(const Expression& a, const Expression& b) { return Expression::call("max", {a, b}); }
/// Both values are always computed.
inline Expression select(const Expression& condition, const Expression& if_true, const Expression& if_false) {
  return Expression::call("select", {condition, if_true, if_false});
}
/// The code of n at scale d: n/d rounded half away from zero, clamped to ±127; 0 where d is 0 or NaN.
inline Expression quantize(const Expression& n, const Expression& d) { return Expression::call("quantize", {n, d}); }
/// The element of an input's row, or of a [cols] input, at a column; outside: NaN, or 0 of an integer.
inline Expression gather(const Expression& input, const Expression& column) {
  return Expression::call("gather", {input, column});
}
inline Expression to_f32(const Expression& a) { return Expression::call("f32", {a}); }
/// A float is truncated.
inline Expression to_i32(const Expression& a) { return Expression::call("i32", {a}); }

/// Collects a program's arguments, statements and outputs in the order in which they are added.
class Program {
 public:
  explicit Program(std::string name) : name_(std::move(name)) {}

  /// An input [rows, cols]. `absent` is what stands in where Options::absent names the input. Type::q8_0: blocks, whose product
  /// of codes and scales this is; they have the names name_codes and name_scale besides.
  Expression input(const std::string& name, Type type, std::optional<double> absent = std::nullopt) {
    return declare(name, type, "[rows, cols]", absent);
  }
  /// An input [cols], the same in every row; or `inner` of them, on each of which operations with the result work.
  Expression column(const std::string& name, Type type, std::optional<double> absent = std::nullopt, int inner = 1) {
    return declare(name, type, inner_text(inner) + "[cols]", absent);
  }
  /// An input [rows]: one per row.
  Expression row(const std::string& name, Type type, std::optional<double> absent = std::nullopt) {
    return declare(name, type, "[rows]", absent);
  }
  /// An input [rows, cols/block]: one per `block` columns, a power of two.
  Expression blocks(const std::string& name, Type type, int block, std::optional<double> absent = std::nullopt) {
    return declare(name, type, block_text(block), absent);
  }
  /// A number that every call may give.
  Expression parameter(const std::string& name, double value) {
    return argument(name, name + " = " + Expression::number_text(value));
  }
  /// A number that is fixed when the kernel is compiled (Options::fixed).
  Expression option(const std::string& name, double value) {
    return argument(name, name + ": option = " + Expression::number_text(value));
  }
  /// The column index, and the numbers of columns and rows.
  Expression col() const { return Expression::of_text("col"); }
  Expression cols() const { return Expression::of_text("cols"); }
  Expression rows() const { return Expression::of_text("rows"); }

  /// Names an expression, which is computed once however often the result is used.
  Expression let(const std::string& name, const Expression& value) {
    statements_ += "  " + name + " = " + value.text() + "\n";
    return Expression::of_text(name);
  }
  /// Folds the row, or each `block` columns of it, with sum, dot, prod, max, min, argmax, argmin, any or all.
  Expression fold(std::string_view monoid, std::initializer_list<Expression> arguments, int block = 0) const {
    const std::string extent = block == 0 ? "" : "<" + std::to_string(block) + ">";
    return Expression::call("fold" + extent + ' ' + std::string(monoid), arguments);
  }
  /// Folds each column along the rows, with sum, dot, prod, max, min, any or all; the result has one value per column. Neither
  /// gather nor the column index nor a value of blocks may stand below.
  Expression fold_rows(std::string_view monoid, std::initializer_list<Expression> arguments) const {
    return Expression::call("fold[rows] " + std::string(monoid), arguments);
  }
  /// An output, of the shape that `kind` says: [rows, cols], [rows], [cols] or, for blocks of `block` columns, [rows, cols/block];
  /// or `inner` of them, one for each place of the value. Type::q8_0 is stored as Kind::element, in blocks.
  void store(const std::string& name, Type type, Kind kind, const Expression& value, int block = 0, int inner = 1) {
    const char* const shapes[] = {"[rows, cols]", "[rows]", "[cols]"};
    const std::string shape = kind == Kind::block ? block_text(block) : shapes[static_cast<int>(kind)];
    statements_ += "  store " + name + ": " + type_text(type) + inner_text(inner) + shape + " = " + value.text() + "\n";
  }

  /// The text of the program, for Kernel::compile_program().
  std::string text() const { return "program " + name_ + "(" + arguments_ + ")\n" + statements_; }

 private:
  static std::string type_text(Type type) {
    const char* const names[] = {"bool", "i8", "i32", "i64", "f32", "f16", "bf16", "e4m3", "e5m2", "f64", "q8_0"};
    return names[static_cast<int>(type)];
  }
  static std::string inner_text(int inner) { return inner == 1 ? "" : "[" + std::to_string(inner) + "]"; }
  static std::string block_text(int block) { return "[rows, cols/" + std::to_string(block) + "]"; }

  Expression argument(const std::string& name, const std::string& declaration) {
    arguments_ += (arguments_.empty() ? "" : ", ") + declaration;
    return Expression::of_text(name);
  }
  Expression declare(const std::string& name, Type type, const std::string& shape, std::optional<double> absent) {
    return argument(name, name + ": " + type_text(type) + shape +
                              (absent ? " = " + Expression::number_text(*absent) : std::string()));
  }

  std::string name_, arguments_, statements_;
};

}  // namespace lanefold
