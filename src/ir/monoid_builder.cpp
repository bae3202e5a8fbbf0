#include "ir/monoid_builder.h"

#include <fmt/format.h>

#include <utility>

namespace lanefold::ir {
namespace {

MonoidBuilder::Exprs range(BodyBuilder& body, std::size_t first, std::size_t count) {
  MonoidBuilder::Exprs exprs;
  for (std::size_t i = 0; i < count; ++i) exprs.emplace_back(body, static_cast<ValueId>(first + i));
  return exprs;
}

std::vector<ValueId> ids(std::size_t first, std::size_t count) {
  std::vector<ValueId> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(static_cast<ValueId>(first + i));
  return result;
}

}  // namespace

MonoidBuilder::MonoidBuilder(std::string name, std::vector<Field> state, std::vector<Field> element, std::string file,
                             Place place)
    : file_(std::move(file)) {
  monoid_.name = std::move(name);
  monoid_.state = std::move(state);
  monoid_.element = std::move(element);
  monoid_.place = place;
}

BodyBuilder MonoidBuilder::begin(MonoidPart part) const {
  BodyBuilder body(file_);
  for (const Field& field : part_parameters(monoid_, part)) {
    Value value;
    value.op = Op::parameter;
    value.type = field.type;
    value.index = body.size();
    body.append(std::move(value));
  }
  return body;
}

void MonoidBuilder::end(MonoidPart part, BodyBuilder body, std::vector<ValueId> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool typed = part != MonoidPart::finish && i < monoid_.state.size();
    results[i] = body.coerce(results[i], typed ? monoid_.state[i].type : body.value(results[i]).type);
  }
  if (body.fault() && !fault_) fault_ = body.fault();
  part_body(monoid_, part) = {body.take_values(), std::move(results)};
  has_[static_cast<std::size_t>(part)] = true;
}

void MonoidBuilder::complete(MonoidPart part, BodyBuilder& body, const Exprs& results) {
  std::vector<ValueId> values;
  for (const Expr& result : results) {
    const ValueId id = result.in(body);
    if (id != kNoValue) values.push_back(id);
  }
  end(part, std::move(body), std::move(values));
}

void MonoidBuilder::lift(const std::function<Exprs(const Exprs&)>& part) {
  BodyBuilder body = begin(MonoidPart::lift);
  complete(MonoidPart::lift, body, part(range(body, 0, monoid_.element.size())));
}

void MonoidBuilder::step(const std::function<Exprs(const Exprs&, const Exprs&)>& part) {
  BodyBuilder body = begin(MonoidPart::step);
  const std::size_t fields = monoid_.state.size();
  complete(MonoidPart::step, body, part(range(body, 0, fields), range(body, fields, monoid_.element.size())));
}

void MonoidBuilder::merge(const std::function<Exprs(const Exprs&, const Exprs&)>& part) {
  BodyBuilder body = begin(MonoidPart::merge);
  const std::size_t fields = monoid_.state.size();
  complete(MonoidPart::merge, body, part(range(body, 0, fields), range(body, fields, fields)));
}

void MonoidBuilder::finish(const std::function<Exprs(const Exprs&)>& part) {
  BodyBuilder body = begin(MonoidPart::finish);
  complete(MonoidPart::finish, body, part(range(body, 0, monoid_.state.size())));
}

Status MonoidBuilder::fill() {
  const auto missing = [this](std::string_view what, std::string hint) {
    return Diagnostic{Code::monoid_part_missing, fmt::format("monoid '{}' has no {}", monoid_.name, what),
                      std::move(hint), place_text(file_, monoid_.place)};
  };
  if (!has(MonoidPart::merge)) return missing("merge", "merge says how two states become one: merge = …");
  const bool has_step = has(MonoidPart::step);
  if (!has(MonoidPart::lift)) {
    if (!has_step || !monoid_.identity) {
      return missing("lift", "give lift, the state of one element, or both identity and step");
    }
    BodyBuilder body = begin(MonoidPart::lift);
    std::vector<ValueId> arguments;
    for (std::size_t i = 0; i < monoid_.state.size(); ++i) {
      Value value;
      value.type = monoid_.state[i].type;
      value.literal = (*monoid_.identity)[i];
      arguments.push_back(body.append(std::move(value)));
    }
    for (ValueId element : ids(0, monoid_.element.size())) arguments.push_back(element);
    std::vector<ValueId> results = body.inline_body(monoid_.step, arguments);
    end(MonoidPart::lift, std::move(body), std::move(results));
  }
  if (!has_step) {
    BodyBuilder body = begin(MonoidPart::step);
    std::vector<ValueId> arguments = ids(0, monoid_.state.size());
    for (ValueId right : body.inline_body(monoid_.lift, ids(monoid_.state.size(), monoid_.element.size()))) {
      arguments.push_back(right);
    }
    std::vector<ValueId> results = body.inline_body(monoid_.merge, arguments);
    end(MonoidPart::step, std::move(body), std::move(results));
  }
  if (!has(MonoidPart::finish)) end(MonoidPart::finish, begin(MonoidPart::finish), ids(0, monoid_.state.size()));
  return success();
}

Result<Monoid> MonoidBuilder::build() {
  if (fault_) return *fault_;
  if (monoid_.identity) {
    for (std::size_t i = 0; i < monoid_.identity->size() && i < monoid_.state.size(); ++i) {
      double& value = (*monoid_.identity)[i];
      if (monoid_.state[i].type == ElementType::f32) value = as_f32(value);
    }
  }
  if (std::vector<Diagnostic> faults = verify_head(monoid_, file_); !faults.empty()) return faults.front();
  for (MonoidPart part : kMonoidParts) {
    if (!has(part)) continue;
    if (std::vector<Diagnostic> faults = verify_part(monoid_, part, file_); !faults.empty()) return faults.front();
  }
  LANEFOLD_CHECK(fill());
  if (std::vector<Diagnostic> faults = verify_monoid(monoid_, file_); !faults.empty()) return faults.front();
  return std::move(monoid_);
}

}  // namespace lanefold::ir
