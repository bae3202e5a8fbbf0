#include "ir/expr.h"

namespace lanefold::ir {
namespace {

Expr converted(Expr a, ElementType to) {
  BodyBuilder* body = a.body();
  if (body == nullptr) internal_error("a conversion of a bare number; convert a builder's value");
  const ValueId operand = a.in(*body);
  if (operand == kNoValue) return a;
  Result<ValueId> result = body->convert(to, operand, Place{});
  if (result) return {*body, *result};
  body->note(result.error());
  return {*body, kNoValue};
}

}  // namespace

ValueId Expr::in(BodyBuilder& body) const {
  if (body_ == nullptr) return body.number(number_, Place{});
  if (body_ != &body) internal_error("values of two builders meet in one operation");
  return id_;
}

Expr Expr::named(std::string name) const {
  if (body_ == nullptr) internal_error("a bare number cannot be named; use the builder's number()");
  if (id_ != kNoValue) body_->set_name(id_, std::move(name));
  return *this;
}

Expr apply(Op op, std::initializer_list<Expr> operands) {
  BodyBuilder* body = nullptr;
  for (const Expr& operand : operands) {
    if (body == nullptr) body = operand.body();
  }
  if (body == nullptr) internal_error("an operation on bare numbers; at least one operand is a builder's value");
  std::vector<ValueId> ids;
  for (const Expr& operand : operands) {
    ids.push_back(operand.in(*body));
    if (ids.back() == kNoValue) return {*body, kNoValue};
  }
  Result<ValueId> result = body->operation(op, std::move(ids), Place{});
  if (result) return {*body, *result};
  body->note(result.error());
  return {*body, kNoValue};
}

Expr to_f32(Expr a) { return converted(a, ElementType::f32); }
Expr to_i32(Expr a) { return converted(a, ElementType::i32); }

}  // namespace lanefold::ir
