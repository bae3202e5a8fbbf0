#include "emit/common/names.h"

#include <algorithm>

#include <fmt/format.h>

#include "lane/typing.h"

namespace lanefold::emit {

using lane::Op;

std::string Names::declare(std::string_view base) {
  const auto found = next_.find(base);
  std::size_t number = found == next_.end() ? 1 : found->second;
  std::string name;
  for (;; ++number) {
    name = number == 1 ? std::string(base) : fmt::format("{}_{}", base, number);
    if (!taken_.contains(name)) break;
  }
  taken_.insert(name);
  next_[std::string(base)] = number + 1;
  scopes_.back().push_back({name, std::string(base), number});
  return name;
}

void Names::close() {
  for (const Declared& declared : scopes_.back()) {
    taken_.erase(declared.name);
    std::size_t& next = next_[declared.base];
    next = std::min(next, declared.number);
  }
  scopes_.pop_back();
}

namespace {

/// The name of a function without the word that says what it does with states.
std::string subject(const std::string& function) {
  constexpr std::string_view kMerge = "merge_";
  return function.starts_with(kMerge) ? function.substr(kMerge.size()) : function + "_value";
}

const char* boolean_name(Op op) {
  switch (op) {
    case Op::lt: return "is_below";
    case Op::le: return "is_at_most";
    case Op::gt: return "is_above";
    case Op::ge: return "is_at_least";
    case Op::eq: return "is_equal";
    case Op::ne: return "differs";
    case Op::bit_and: return "both";
    case Op::bit_or: return "either";
    case Op::bit_xor: return "only_one";
    case Op::bit_not: return "is_not";
    default: return "flag";
  }
}

const char* integer_name(Op op, bool wide) {
  switch (op) {
    case Op::add:
    case Op::sub: return wide ? "place" : "index";
    case Op::mul:
    case Op::shift_left: return wide ? "start" : "first";
    case Op::div:
    case Op::shift_right: return "part";
    case Op::rem: return "rest";
    case Op::min:
    case Op::max: return wide ? "limit" : "bound";
    case Op::select: return "chosen";
    case Op::convert: return wide ? "wide" : "whole";
    case Op::bitcast:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::bit_not: return "bits";
    default: return "number";
  }
}

const char* real_name(Op op) {
  switch (op) {
    case Op::add: return "sum";
    case Op::sub: return "difference";
    case Op::mul: return "product";
    case Op::div: return "quotient";
    case Op::fma: return "term";
    case Op::sqrt: return "root";
    case Op::neg: return "negated";
    case Op::abs: return "magnitude";
    case Op::trunc: return "whole";
    case Op::min: return "smaller";
    case Op::max: return "larger";
    case Op::select: return "chosen";
    case Op::canonical_nan: return "result";
    case Op::convert: return "real";
    case Op::bitcast: return "scale";
    default: return "value";
  }
}

}  // namespace

std::string base_name(const lane::Module& module, const lane::Kernel* kernel, const lane::Statement& s,
                      const std::vector<ElementType>& types) {
  switch (s.op) {
    case Op::load: return kernel->arguments[s.a].name + (s.count > 1 ? "_values" : "_value");
    case Op::get: return kernel->registers[s.a].name + "_value";
    case Op::shared_load: return kernel->shared[s.a].name + "_value";
    case Op::peer_load: return "peer_" + kernel->shared[s.a].name;
    case Op::call:
    case Op::fold_lanes: return subject(module.functions[s.a].name);
    case Op::shuffle:
    case Op::shuffle_xor:
    case Op::shuffle_down: return "received";
    case Op::permute2: return "permuted";
    case Op::loop: return "i";
    default: break;
  }
  const ElementType type = types[s.result];
  if (type == ElementType::boolean) return boolean_name(s.op);
  return lane::is_integer(type) ? integer_name(s.op, type == ElementType::i64) : real_name(s.op);
}

}  // namespace lanefold::emit
