#include "ir/program.h"

#include <fmt/format.h>

namespace lanefold::ir {

Kind join(Kind a, Kind b) {
  using Tag = Kind::Tag;
  if (a == b || b.tag == Tag::uniform) return a;
  if (a.tag == Tag::uniform) return b;
  if (a.tag == Tag::row && b.tag == Tag::block) return b;
  if (a.tag == Tag::block && b.tag == Tag::row) return a;
  return Kind{Tag::element, 0};
}

std::string kind_name(Kind kind) {
  switch (kind.tag) {
    case Kind::Tag::uniform: return "uniform";
    case Kind::Tag::row: return "row";
    case Kind::Tag::column: return "column";
    case Kind::Tag::block: return fmt::format("block<{}>", kind.block);
    case Kind::Tag::element: return "element";
  }
  internal_error("a kind outside its enumeration");
}

OpForm op_form(Op op) {
  switch (op) {
#define LANEFOLD_OP(name, spelling, form, operands) \
  case Op::name: return OpForm::form;
#include "ir/ops.def"
#undef LANEFOLD_OP
  }
  internal_error("an operation outside its enumeration");
}

std::size_t op_operands(Op op) {
  switch (op) {
#define LANEFOLD_OP(name, spelling, form, operands) \
  case Op::name: return operands;
#include "ir/ops.def"
#undef LANEFOLD_OP
  }
  internal_error("an operation outside its enumeration");
}

std::string_view op_spelling(Op op) {
  switch (op) {
#define LANEFOLD_OP(name, spelling, form, operands) \
  case Op::name: return spelling;
#include "ir/ops.def"
#undef LANEFOLD_OP
  }
  internal_error("an operation outside its enumeration");
}

std::string_view op_name(Op op) {
  switch (op) {
#define LANEFOLD_OP(name, spelling, form, operands) \
  case Op::name: return #name;
#include "ir/ops.def"
#undef LANEFOLD_OP
  }
  internal_error("an operation outside its enumeration");
}

std::uint32_t fold_results(const Program& program, const Fold& fold) {
  return static_cast<std::uint32_t>(program.monoids.at(fold.monoid).finish.results.size());
}

}  // namespace lanefold::ir
