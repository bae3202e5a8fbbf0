#include "ir/body_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/names.h"

namespace lanefold::ir {

ValueId BodyBuilder::append(Value value) {
  values_.push_back(std::move(value));
  return size() - 1;
}

ValueId BodyBuilder::bundle(std::vector<ValueId> places) {
  bundles_.push_back(std::move(places));
  return kBundles + static_cast<ValueId>(bundles_.size() - 1);
}

std::vector<ValueId> BodyBuilder::places(ValueId id) const {
  return is_bundle(id) ? bundles_.at(id - kBundles) : std::vector<ValueId>{id};
}

Result<std::vector<std::vector<ValueId>>> BodyBuilder::spread(const std::vector<ValueId>& operands, Place place) const {
  std::size_t count = 1;
  for (ValueId operand : operands) {
    const std::size_t own = places(operand).size();
    if (own == 1) continue;
    if (count != 1 && count != own) {
      return at({Code::kind_mismatch, fmt::format("values with inner axes of {} and {} meet", count, own),
                 "inner axes meet place by place, so they are equally long", ""},
                place);
    }
    count = own;
  }
  std::vector<std::vector<ValueId>> result;
  for (ValueId operand : operands) {
    std::vector<ValueId> own = places(operand);
    own.resize(count, own[0]);
    result.push_back(std::move(own));
  }
  return result;
}

ValueId BodyBuilder::number(Number number, Place place) {
  Value value;
  value.literal = static_cast<double>(number.value);
  value.place = place;
  const ValueId id = append(std::move(value));
  if (number.integer) undecided_[id] = *number.integer;
  return id;
}

ValueId BodyBuilder::boolean(bool truth, Place place) {
  Value value;
  value.type = ElementType::boolean;
  value.literal = truth ? 1 : 0;
  value.place = place;
  return append(std::move(value));
}

Result<ValueId> BodyBuilder::operation(Op op, std::vector<ValueId> operands, Place place) {
  if (std::any_of(operands.begin(), operands.end(), [this](ValueId id) { return is_bundle(id); })) {
    LANEFOLD_TRY(const auto spread_out, spread(operands, place));
    std::vector<ValueId> results;
    for (std::size_t i = 0; i < spread_out[0].size(); ++i) {
      std::vector<ValueId> at_place;
      for (const std::vector<ValueId>& operand : spread_out) at_place.push_back(operand[i]);
      LANEFOLD_TRY(results.emplace_back(), operation(op, std::move(at_place), place));
    }
    return bundle(std::move(results));
  }
  const Agreement rule = agreement(op);
  if (rule != Agreement::none && operands.size() == op_operands(op)) {
    const std::size_t first = rule == Agreement::branches ? 1 : 0;
    bool any_f32 = rule == Agreement::f32;
    bool any_i32 = false;
    bool any_boolean = false;
    for (std::size_t i = first; i < operands.size(); ++i) {
      const bool open = undecided_.contains(operands[i]);
      any_f32 |= !open && value(operands[i]).type == ElementType::f32;
      any_i32 |= !open && value(operands[i]).type == ElementType::i32;
      any_boolean |= value(operands[i]).type == ElementType::boolean;
    }
    const ElementType common = any_i32 && !any_f32 ? ElementType::i32 : ElementType::f32;
    for (std::size_t i = first; i < operands.size() && !any_boolean; ++i) operands[i] = coerce(operands[i], common);
  }
  std::vector<ValueType> types;
  for (ValueId operand : operands) types.push_back(type(operand));
  Result<ValueType> result = infer(op, types);
  if (!result) return at(result.error(), place);
  Value value;
  value.op = op;
  value.operands = std::move(operands);
  value.type = result->type;
  value.kind = result->kind;
  value.place = place;
  return append(std::move(value));
}

Result<ValueId> BodyBuilder::convert(ElementType to, ValueId operand, Place place) {
  if (is_bundle(operand)) {
    std::vector<ValueId> results;
    for (ValueId one : places(operand)) {
      LANEFOLD_TRY(results.emplace_back(), convert(to, one, place));
    }
    return bundle(std::move(results));
  }
  const ValueId same = to == ElementType::i32 || undecided_.contains(operand) ? coerce(operand, to) : operand;
  if (value(same).type == to) return same;
  Result<ValueType> result = infer_convert(to, type(operand));
  if (!result) return at(result.error(), place);
  Value converted;
  converted.op = Op::convert;
  converted.operands = {operand};
  converted.type = to;
  converted.kind = result->kind;
  converted.place = place;
  return append(std::move(converted));
}

ValueId BodyBuilder::coerce(ValueId id, ElementType to) {
  if (is_bundle(id)) {
    std::vector<ValueId> results;
    bool changed = false;
    for (ValueId one : places(id)) {
      results.push_back(coerce(one, to));
      changed |= results.back() != one;
    }
    return changed ? bundle(std::move(results)) : id;
  }
  if (const auto open = undecided_.find(id); open != undecided_.end()) {
    if (to == ElementType::i32) {
      values_[id].type = ElementType::i32;
      values_[id].literal = open->second;
    }
    undecided_.erase(open);
    return id;
  }
  if (to != ElementType::f32 || value(id).type != ElementType::i32) return id;
  Value converted;
  converted.op = Op::convert;
  converted.operands = {id};
  converted.type = to;
  converted.kind = value(id).kind;
  converted.place = value(id).place;
  return append(std::move(converted));
}

std::vector<ValueId> BodyBuilder::inline_body(const Body& body, const std::vector<ValueId>& arguments) {
  std::vector<ValueId> copies;
  for (const Value& original : body.values) {
    if (original.op == Op::parameter) {
      copies.push_back(arguments.at(original.index));
      continue;
    }
    Value copy = original;
    copy.name.clear();
    for (ValueId& operand : copy.operands) operand = copies.at(operand);
    copies.push_back(append(std::move(copy)));
  }
  std::vector<ValueId> results;
  for (ValueId result : body.results) results.push_back(copies.at(result));
  return results;
}

void BodyBuilder::set_name(ValueId id, std::string name) {
  if (is_bundle(id)) {
    const std::vector<ValueId> all = places(id);
    for (std::size_t i = 0; i < all.size(); ++i) set_name(all[i], fmt::format("{}_{}", name, i));
    return;
  }
  Value& named = values_.at(id);
  undecided_.erase(id);
  if (!has_own_name(named.op) && named.name.empty()) named.name = std::move(name);
}

Diagnostic BodyBuilder::at(Diagnostic fault, Place place) const {
  fault.place = place_text(file_, place);
  return fault;
}

void BodyBuilder::note(Diagnostic fault) {
  if (!fault_) fault_ = std::move(fault);
}

}  // namespace lanefold::ir
