#include "lane/verify_statement.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "lane/verify.h"

namespace lanefold::lane {
namespace {

constexpr std::size_t kMaxFaults = 100;

bool pure(Op op) {
  return op == Op::constant || op == Op::convert || op == Op::bitcast || op == Op::call || is_plain_arithmetic(op);
}

}  // namespace

void StatementChecker::fault(Code code, const Statement& s, std::string message, std::string hint) {
  if (faults_.size() >= kMaxFaults) return;
  faults_.push_back(
      {code, fmt::format("{}: {}", op_name(s.op), message), std::move(hint), statement_place(owner_, path_)});
}

void StatementChecker::expect(ElementType found, ElementType wanted, const Statement& s, const std::string& what) {
  if (found == wanted) return;
  fault(Code::lane_type_mismatch, s, fmt::format("{} is {}", what, element_name(found)),
        fmt::format("it must be {}", element_name(wanted)));
}

void StatementChecker::check_function(const Function& function, std::size_t index) {
  callable_ = index;
  std::vector<ValueId> parameters(function.parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = static_cast<ValueId>(i);
  for (const ValueId v : parameters) states_[v] = State::visible;
  block(function.body, 0, {});
  for (const ValueId v : function.returns) {
    // A function has one block, whose values have just ended.
    if (v >= states_.size() || states_[v] == State::undefined) {
      faults_.push_back({Code::lane_undefined_value, fmt::format("returns %{}, which is not defined", v),
                         "return a value of the body", owner_});
    }
  }
}

void StatementChecker::check_kernel(const Kernel& kernel) {
  kernel_ = &kernel;
  callable_ = module_.functions.size();
  block(kernel.body, 0, {});
}

void StatementChecker::block(const std::vector<Statement>& statements, std::size_t depth,
                             const std::vector<ValueId>& preset) {
  std::vector<ValueId> defined = preset;
  const std::string outer = path_;
  for (std::size_t i = 0; i < statements.size() && faults_.size() < kMaxFaults; ++i) {
    path_ = fmt::format("{}{}", outer, i + 1);
    statement(statements[i], depth, defined);
  }
  path_ = outer;
  for (const ValueId v : defined) states_[v] = State::ended;
}

void StatementChecker::statement(const Statement& s, std::size_t depth, std::vector<ValueId>& defined) {
  placement(s);
  const bool visible = operands_visible(s);
  const bool good = indices(s) && visible;
  const bool counted = good && counts(s);
  // The counter of a loop belongs to its body; every other result to the block of its statement.
  std::vector<ValueId> inner;
  const bool numbered = define(s, s.op == Op::loop ? inner : defined);
  if (counted && numbered) {
    attributes(s);
    result_types(s);
    operand_types(s);
  }
  if (s.op == Op::constant && numbered && s.results == 1 && is_integer(result(s))) {
    constants_[s.result] = integer_value(result(s), s.bits);
  }
  if (s.body.empty() && s.otherwise.empty()) {
    for (const ValueId v : inner) states_[v] = State::ended;
    return;
  }
  if (depth + 1 >= kMaxDepth) {
    return fault(Code::lane_too_large, s, fmt::format("is nested {} deep", depth + 1),
                 fmt::format("blocks nest at most {} deep", kMaxDepth));
  }
  const std::string here = path_;
  path_ = here + ".";
  block(s.body, depth + 1, inner);
  path_ = here + ".else.";
  block(s.otherwise, depth + 1, {});
  path_ = here;
}

void StatementChecker::placement(const Statement& s) {
  if (kernel_ == nullptr && !pure(s.op)) {
    fault(Code::lane_misplaced_statement, s, "cannot stand in a function", "functions hold arithmetic and calls only");
  }
  const bool body_allowed = s.op == Op::branch || s.op == Op::loop;
  if ((!s.body.empty() && !body_allowed) || (!s.otherwise.empty() && s.op != Op::branch)) {
    fault(Code::lane_misplaced_statement, s, "cannot have a nested block", "only loops and branches hold statements");
  }
}

bool StatementChecker::operands_visible(const Statement& s) {
  bool good = true;
  for (const ValueId v : s.operands) {
    if (v < states_.size() && states_[v] == State::visible) continue;
    const bool ended = v < states_.size() && states_[v] == State::ended;
    fault(Code::lane_undefined_value, s,
          fmt::format("%{} is {}", v, ended ? "defined in a block that has ended" : "not defined before its use"),
          ended ? "carry it out of the block in a register array" : "define it earlier");
    good = false;
  }
  return good;
}

bool StatementChecker::define(const Statement& s, std::vector<ValueId>& defined) {
  const std::uint64_t end = std::uint64_t{s.result} + s.results;
  if (s.results > 0 && end > types_.size()) {
    fault(Code::lane_result_numbering, s,
          fmt::format("its results end at %{} and there are {} values", end - 1, types_.size()),
          "give every value a type");
    return false;
  }
  for (std::uint32_t i = 0; i < s.results; ++i) {
    const ValueId v = s.result + i;
    if (states_[v] != State::undefined) {
      fault(Code::lane_result_numbering, s, fmt::format("%{} is defined twice", v), "number every result once");
      return false;
    }
    states_[v] = State::visible;
    defined.push_back(v);
  }
  return true;
}

bool StatementChecker::indices(const Statement& s) {
  const auto within = [&](std::size_t size, std::uint32_t index, std::string_view what) {
    if (index < size) return true;
    fault(Code::lane_unknown_index, s, fmt::format("there is no {} {}", what, index),
          fmt::format("there are {}", size));
    return false;
  };
  if (s.op == Op::call || s.op == Op::fold_lanes) {
    if (within(module_.functions.size(), s.a, "function") && s.a >= callable_) {
      fault(Code::lane_misplaced_statement, s, fmt::format("{} comes later", module_.functions[s.a].name),
            "a function calls only earlier ones");
      return false;
    }
    return s.a < module_.functions.size();
  }
  if (kernel_ == nullptr) return pure(s.op);
  switch (s.op) {
    case Op::argument:
    case Op::load:
    case Op::store: {
      if (!within(kernel_->arguments.size(), s.a, "argument")) return false;
      const Argument& argument = kernel_->arguments[s.a];
      const bool wanted = s.op != Op::argument;
      if (argument.buffer == wanted) {
        const std::uint32_t owner = argument.memory_of.value_or(s.a);
        if (s.op == Op::store && owner < kernel_->arguments.size() && kernel_->arguments[owner].role == Role::input)
          fault(Code::lane_bad_attribute, s, fmt::format("{} is an input", kernel_->arguments[owner].name),
                "give it the role output or inout");
        return true;
      }
      fault(Code::lane_type_mismatch, s,
            fmt::format("{} is a {}", argument.name, argument.buffer ? "buffer" : "scalar"),
            wanted ? "load and store take a buffer" : "read a buffer with load");
      return false;
    }
    case Op::shared_load:
    case Op::shared_store:
    case Op::peer_load:
    case Op::peer_store: return within(kernel_->shared.size(), s.a, "threadgroup array");
    case Op::exchange:
      return within(kernel_->shared.size(), s.a, "threadgroup array") &&
             (s.operands.empty() || within(kernel_->shared.size(), s.a + s.operands.size() - 1, "threadgroup array"));
    case Op::get:
    case Op::set:
      return within(kernel_->registers.size(), s.a, "register array") &&
             within(kernel_->registers[s.a].size, s.b, "element");
    default: return true;
  }
}

bool StatementChecker::counts(const Statement& s) {
  std::size_t operands = static_cast<std::size_t>(std::max(0, op_operands(s.op)));
  std::size_t results = 1;
  switch (s.op) {
    case Op::store:
      operands = std::size_t{1} + s.count;
      results = 0;
      break;
    case Op::load: results = s.count; break;
    case Op::call:
      operands = module_.functions[s.a].parameters.size();
      results = module_.functions[s.a].returns.size();
      break;
    case Op::fold_lanes: return fold_shape(s);
    case Op::exchange:
      operands = std::max<std::size_t>(1, s.operands.size());
      results = 0;
      break;
    case Op::set:
    case Op::shared_store:
    case Op::peer_store:
    case Op::barrier:
    case Op::simd_barrier:
    case Op::cluster_barrier:
    case Op::branch: results = 0; break;
    default: break;
  }
  if (s.operands.size() != operands) {
    fault(Code::lane_operand_count, s, fmt::format("has {} operands", s.operands.size()),
          fmt::format("it takes {}", operands));
    return false;
  }
  if (s.results != results) {
    fault(Code::lane_result_numbering, s, fmt::format("has {} results", s.results),
          fmt::format("it gives {}", results));
    return false;
  }
  return true;
}

bool StatementChecker::fold_shape(const Statement& s) {
  const Function& f = module_.functions[s.a];
  const std::size_t components = f.returns.size();
  const auto bad = [&](std::string message, std::string hint) {
    fault(Code::lane_bad_fold, s, std::move(message), std::move(hint));
    return false;
  };
  if (components == 0 || f.parameters.size() != 2 * components) {
    return bad(fmt::format("{} takes {} values and returns {}", f.name, f.parameters.size(), components),
               "a merge takes two states and returns one");
  }
  for (std::size_t i = 0; i < components; ++i) {
    if (f.returns[i] >= f.types.size() || f.parameters[i] != f.types[f.returns[i]] ||
        f.parameters[components + i] != f.parameters[i]) {
      return bad(fmt::format("component {} of {} has more than one type", i, f.name),
                 "left, right and result are alike");
    }
  }
  const std::size_t registers = s.operands.size() / components;
  if (s.operands.size() % components != 0 || !std::has_single_bit(registers)) {
    return bad(fmt::format("{} operands are not a power of two of states of {}", s.operands.size(), components),
               "give 1, 2, 4, ... whole states");
  }
  if (std::uint64_t{s.b} + s.count > static_cast<std::uint32_t>(std::countr_zero(kernel_->simd_width))) {
    return bad(fmt::format("lane bits {} to {} of {} lanes", s.b, std::uint64_t{s.b} + s.count, kernel_->simd_width),
               "the bits must lie within the SIMD width");
  }
  const std::size_t results = folded_registers(registers, s.count) * components;
  if (s.results != results) {
    return bad(fmt::format("has {} results", s.results), fmt::format("it gives {}", results));
  }
  return true;
}

void StatementChecker::exchanged_array(const Statement& s, const SharedArray& array) {
  const auto bad = [&](std::string message, std::string hint) {
    fault(Code::lane_bad_attribute, s, std::move(message), std::move(hint));
  };
  if (element_bytes(array.type) < 4)
    bad(fmt::format("{} has elements of {} bytes", array.name, element_bytes(array.type)), "use f32, i32 or i64");
  if (array.size < kernel_->cluster * kernel_->simd_groups)
    bad(fmt::format("{} has {} elements for {} SIMD groups", array.name, array.size,
                    kernel_->cluster * kernel_->simd_groups),
        "give it one for each SIMD group of the cluster");
  if (kernel_->cluster > kernel_->simd_width)
    bad(fmt::format("{} threadgroups of a cluster, and {} lanes", kernel_->cluster, kernel_->simd_width),
        "a lane gives to one threadgroup");
}

void StatementChecker::attributes(const Statement& s) {
  const auto bad = [&](std::string message, std::string hint) {
    fault(Code::lane_bad_attribute, s, std::move(message), std::move(hint));
  };
  switch (s.op) {
    case Op::load:
    case Op::store:
      if (s.count < 1 || s.count > kMaxVector) {
        bad(fmt::format("moves {} elements", s.count), fmt::format("use 1 to {}", kMaxVector));
      }
      if (!std::has_single_bit(s.alignment)) bad(fmt::format("alignment {}", s.alignment), "use a power of two");
      break;
    case Op::shuffle_xor:
    case Op::shuffle_down:
      if (s.b >= kernel_->simd_width) {
        bad(fmt::format("distance {} of {} lanes", s.b, kernel_->simd_width), "stay within the SIMD width");
      }
      break;
    case Op::permute2:
      if (s.table.size() != kernel_->simd_width) {
        bad(fmt::format("the table has {} entries", s.table.size()), fmt::format("give {}", kernel_->simd_width));
      } else if (std::any_of(s.table.begin(), s.table.end(), [&](auto i) { return i >= 2 * kernel_->simd_width; })) {
        bad("an entry of the table lies past both sources", fmt::format("stay below {}", 2 * kernel_->simd_width));
      }
      break;
    case Op::exchange:
      for (std::size_t k = 0; k < s.operands.size(); ++k) exchanged_array(s, kernel_->shared[s.a + k]);
      break;
    case Op::constant:
      if (s.bits != normal_bits(result(s), s.bits)) {
        bad(fmt::format("bits {:#x} are wider than {}", s.bits, element_name(result(s))), "clear the upper bits");
      }
      break;
    case Op::loop:
      if (constants_[s.operands[2]] <= 0) {
        fault(Code::lane_loop_step, s, fmt::format("steps by {}", constants_[s.operands[2]]), "step by 1 or more");
      }
      break;
    default: break;
  }
}

}  // namespace lanefold::lane
