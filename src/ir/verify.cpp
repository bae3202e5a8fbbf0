// Every structural fault of a program. Text, builder and hand-made programs all pass through here.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "ir/monoid_part.h"
#include "ir/names.h"
#include "ir/print.h"
#include "ir/stages.h"
#include "ir/typing.h"

namespace lanefold::ir {
namespace {

constexpr std::size_t kMostValues = 10'000;
constexpr std::uint32_t kMostDepth = 2'000;

class Verifier {
 public:
  Verifier(const Program& program, std::string_view file) : program_(program), file_(file) {}

  std::vector<Diagnostic> run() {
    if (std::optional<Diagnostic> fault = name_fault(program_.name, "program")) report(std::move(*fault), {});
    arguments();
    monoids();
    // Folds and values refer to each other and to monoids; a broken one would mislead what follows.
    if (faults_.empty()) references();
    if (faults_.empty()) depth();
    if (faults_.empty()) values();
    if (faults_.empty()) folds();
    if (faults_.empty()) stores();
    if (faults_.empty() && needs_stages(program_) && !has_options()) row_axis();
    return std::move(faults_);
  }

 private:
  void report(Diagnostic fault, Place place) {
    fault.place = place_text(file_, place);
    faults_.push_back(std::move(fault));
  }
  void report(Code code, std::string message, std::string hint, Place place) {
    report({code, std::move(message), std::move(hint), ""}, place);
  }

  template <class Port>
  static const std::string& told(const Port& port) {
    return declared_name(port.name, port.part);
  }

  void define(const std::string& name, std::string_view what, Place place) {
    if (std::optional<Diagnostic> fault = name_fault(name, what)) report(std::move(*fault), place);
    if (!names_.insert(name).second) {
      report(Code::duplicate_name, fmt::format("'{}' is defined already", name), "choose another name", place);
    }
  }

  void limit(std::size_t count, std::string_view what, Place place) {
    if (count != kMaxNames + 1) return;
    report(Code::too_many_names, fmt::format("the program has more than {} {}", kMaxNames, what), "split the program",
           place);
  }

  void block_size(std::uint32_t block, Place place) {
    if (std::has_single_bit(block) && block <= kMaxBlock) return;
    report(Code::bad_block_size, fmt::format("a block of {} columns", block),
           fmt::format("a block is a power of two, at most {}", kMaxBlock), place);
  }

  void arguments() {
    std::size_t count = 0;
    for (const Input& input : program_.inputs) {
      limit(++count, "inputs", input.place);
      define(input.name, "input", input.place);
      if (input.kind.tag == Kind::Tag::uniform) {
        report(Code::bad_domain, fmt::format("input '{}' has no shape", told(input)),
               "a uniform argument is a parameter", input.place);
      }
      if (input.kind.tag == Kind::Tag::block) block_size(input.kind.block, input.place);
      const ElementType type = register_type(input.storage);
      if (type != ElementType::f32 && type != ElementType::i32) {
        report(
            Code::unsupported_storage,
            fmt::format("input '{}' has storage {}, which is not built yet", told(input), element_name(input.storage)),
            type == ElementType::i64 ? "pass it as i32" : "inputs are f32, f16, bf16, e4m3, e5m2, i8 or i32",
            input.place);
      } else if (input.storage == ElementType::f64) {
        report(Code::unsupported_storage,
               fmt::format("input '{}' has storage f64, which is not built yet", told(input)), "pass it as f32",
               input.place);
      } else if (input.absent && !is_literal(is_float(input.storage) ? type : input.storage, *input.absent)) {
        report(Code::literal_out_of_range,
               fmt::format("{} cannot stand in for input '{}' of storage {}", *input.absent, told(input),
                           element_name(input.storage)),
               "", input.place);
      }
    }
    count = 0;
    for (const Parameter& parameter : program_.parameters) {
      limit(++count, "parameters", parameter.place);
      define(parameter.name, "parameter", parameter.place);
      if (!is_literal(ElementType::f32, parameter.value)) {
        report(Code::literal_out_of_range,
               fmt::format("the default {} of '{}' is no f32 number", parameter.value, parameter.name), "",
               parameter.place);
      }
    }
  }

  void monoids() {
    std::set<std::string_view> seen;
    for (const Monoid& monoid : program_.monoids) {
      if (!seen.insert(monoid.name).second) {
        report(Code::duplicate_name, fmt::format("two monoids are named '{}'", monoid.name), "", monoid.place);
      }
      if (monoid.builtin) {
        const std::optional<Monoid> original = builtin_monoid(monoid.name);
        std::vector<Diagnostic> faults = verify_monoid(monoid, file_);
        if (!original || !faults.empty() || original->reorderable != monoid.reorderable ||
            original->free_only != monoid.free_only || print_monoid(*original) != print_monoid(monoid)) {
          report(Code::malformed_program, fmt::format("'{}' claims to be a built-in monoid and is not", monoid.name),
                 "take it from builtin_monoid(), or clear `builtin`", monoid.place);
        }
        continue;
      }
      if (monoid.reorderable || monoid.free_only) {
        report(Code::malformed_program,
               fmt::format("monoid '{}' claims a property that only built-in ones have", monoid.name),
               "clear `reorderable` and `free_only`", monoid.place);
      }
      for (Diagnostic& fault : verify_monoid(monoid, file_)) faults_.push_back(std::move(fault));
    }
  }

  void malformed(std::string message, Place place) {
    report(Code::malformed_program, std::move(message), "build programs with ProgramBuilder or parse them", place);
  }

  /// Every index lies inside its list, and nothing is used before it is defined.
  void references() {
    for (const Fold& fold : program_.folds) {
      if (fold.monoid >= program_.monoids.size()) malformed("a fold names no monoid", fold.place);
      for (ValueId argument : fold.arguments) {
        if (argument >= program_.values.size()) malformed("a fold's argument is no value", fold.place);
      }
    }
    if (!faults_.empty()) return;
    std::set<std::pair<std::uint32_t, std::uint32_t>> taken;
    for (ValueId id = 0; id < program_.values.size(); ++id) {
      const Value& value = program_.values[id];
      for (ValueId operand : value.operands) {
        if (operand >= id)
          malformed(fmt::format("value {} uses value {}, which comes no earlier", id, operand), value.place);
      }
      if ((value.op == Op::input || value.op == Op::gather) && value.index >= program_.inputs.size()) {
        malformed(fmt::format("value {} reads input {}", id, value.index), value.place);
      }
      if (value.op == Op::parameter && value.index >= program_.parameters.size()) {
        malformed(fmt::format("value {} reads parameter {}", id, value.index), value.place);
      }
      if (value.op != Op::fold_result) continue;
      if (value.index >= program_.folds.size() ||
          value.component >= fold_results(program_, program_.folds[value.index])) {
        malformed(fmt::format("value {} reads result {} of fold {}", id, value.component, value.index), value.place);
        continue;
      }
      if (!taken.emplace(value.index, value.component).second) malformed("a fold's result is taken twice", value.place);
      for (ValueId argument : program_.folds[value.index].arguments) {
        if (argument >= id) malformed("a fold's argument comes after its result", value.place);
      }
    }
    for (const Store& store : program_.stores) {
      if (store.value >= program_.values.size())
        malformed(fmt::format("output '{}' stores no value", store.name), store.place);
    }
  }

  /// What computes values from the stores down goes as deep as they depend on each other.
  void depth() {
    if (program_.values.size() > kMostValues) {
      report(Code::text_too_large, fmt::format("the program has {} values", program_.values.size()),
             fmt::format("{} are the most: split it into programs that hand results on", kMostValues), {});
      return;
    }
    std::vector<std::uint32_t> depth(program_.values.size(), 0);
    for (ValueId id = 0; id < program_.values.size(); ++id) {
      const Value& value = program_.values[id];
      const std::vector<ValueId>& from =
          value.op == Op::fold_result ? program_.folds[value.index].arguments : value.operands;
      for (const ValueId source : from) depth[id] = std::max(depth[id], depth[source] + 1);
      if (depth[id] <= kMostDepth) continue;
      report(Code::nesting_too_deep, fmt::format("values depend on each other more than {} levels deep", kMostDepth),
             "split the program into two that hand results on", value.place);
      return;
    }
  }

  Result<ValueType> expected_type(const Value& value) const {
    switch (value.op) {
      case Op::constant: return ValueType{value.type, {}};
      case Op::input: {
        const Input& input = program_.inputs[value.index];
        return ValueType{register_type(input.storage), input.kind};
      }
      case Op::parameter: return ValueType{};
      case Op::col: return ValueType{ElementType::i32, {Kind::Tag::element, 0}};
      case Op::cols:
      case Op::rows: return ValueType{ElementType::i32, {}};
      case Op::fold_result: {
        const Fold& fold = program_.folds[value.index];
        return fold_type(program_.monoids[fold.monoid], value.component, fold);
      }
      default: break;
    }
    std::vector<ValueType> types;
    for (ValueId operand : value.operands)
      types.push_back({program_.values[operand].type, program_.values[operand].kind});
    if (value.op == Op::gather) return infer_gather(program_.inputs[value.index], types.at(0));
    if (value.op == Op::convert) return infer_convert(value.type, types.at(0));
    return infer(value.op, types);
  }

  void values() {
    for (const Value& value : program_.values) {
      if (value.operands.size() != op_operands(value.op)) {
        malformed(fmt::format("'{}' has {} operands", op_name(value.op), value.operands.size()), value.place);
        continue;
      }
      const Result<ValueType> expected = expected_type(value);
      if (!expected) {
        report(expected.error(), value.place);
        continue;
      }
      if (*expected != ValueType{value.type, value.kind}) {
        malformed(fmt::format("'{}' is marked {} {}, and is {} {}", op_name(value.op), kind_name(value.kind),
                              element_name(value.type), kind_name(expected->kind), element_name(expected->type)),
                  value.place);
      }
      if (value.op == Op::constant && (value.type == ElementType::i8 || !is_literal(value.type, value.literal))) {
        report(Code::literal_out_of_range, fmt::format("{} is no {} number", value.literal, element_name(value.type)),
               "", value.place);
      }
      if (!value.name.empty() && !has_own_name(value.op)) define(value.name, "value", value.place);
    }
  }

  void folds() {
    for (const Fold& fold : program_.folds) {
      const Monoid& monoid = program_.monoids[fold.monoid];
      if (fold.block != 0) block_size(fold.block, fold.place);
      if (fold.arguments.size() != monoid.element.size()) {
        report(Code::wrong_argument_count,
               fmt::format("fold {} takes {} arguments, and has {}", monoid.name, monoid.element.size(),
                           fold.arguments.size()),
               "", fold.place);
        continue;
      }
      for (std::size_t i = 0; i < fold.arguments.size(); ++i) {
        const Value& argument = program_.values[fold.arguments[i]];
        const Field& field = monoid.element[i];
        if (argument.type != field.type) {
          report(Code::type_mismatch,
                 fmt::format("argument {} of fold {} must be {}, and is {}", i + 1, monoid.name,
                             element_name(field.type), element_name(argument.type)),
                 field.type == ElementType::boolean ? "a comparison makes a condition" : "", fold.place);
        }
        if (argument.kind.tag == Kind::Tag::block) {
          report(Code::fold_of_block,
                 fmt::format("argument {} of fold {} has kind {}", i + 1, monoid.name, kind_name(argument.kind)),
                 "folds take one value per column; store the block values and fold them in a second program",
                 fold.place);
        }
      }
    }
  }

  /// What an option switches off is gone once the program is specialised, and is verified again then.
  bool has_options() const {
    return std::any_of(program_.parameters.begin(), program_.parameters.end(),
                       [](const Parameter& parameter) { return parameter.option; });
  }

  void row_axis() {
    const std::optional<StageFault> fault = stage_fault(program_);
    if (!fault) return;
    // Leaves such as col have no place of their own.
    const auto along_rows = std::find_if(program_.folds.begin(), program_.folds.end(),
                                         [](const Fold& fold) { return fold.axis == Axis::rows; });
    const auto by_column = std::find_if(program_.stores.begin(), program_.stores.end(),
                                        [](const Store& store) { return store.kind.tag == Kind::Tag::column; });
    report(Code::unsupported_axis,
           fmt::format("{} stands below a fold along rows, or in an output [cols]", fault->what),
           "store it, and fold it along rows in a second program",
           fault->place.line != 0               ? fault->place
           : along_rows != program_.folds.end() ? along_rows->place
                                                : by_column->place);
  }

  void stores() {
    if (program_.stores.empty())
      report(Code::no_stores, fmt::format("program '{}' stores nothing", program_.name), "store y: f32[rows, cols] = …",
             {});
    std::set<std::string> arguments;
    for (const Input& input : program_.inputs) arguments.insert(input.name);
    for (const Parameter& parameter : program_.parameters) arguments.insert(parameter.name);
    std::size_t count = 0;
    for (const Store& store : program_.stores) {
      limit(++count, "outputs", store.place);
      // An output may have the name of a value, but callers bind inputs, parameters and outputs by name.
      if (std::optional<Diagnostic> fault = name_fault(store.name, "output")) report(std::move(*fault), store.place);
      if (!arguments.insert(store.name).second) {
        report(Code::duplicate_name, fmt::format("an input, parameter or output is named '{}' already", store.name),
               "choose another name", store.place);
      }
      store_kind(store);
      store_type(store);
    }
  }

  void store_kind(const Store& store) {
    const Kind kind = program_.values[store.value].kind;
    if (store.kind.tag == Kind::Tag::uniform) {
      report(Code::bad_domain, fmt::format("output '{}' has kind {}", told(store), kind_name(store.kind)),
             "outputs have shape [rows, cols], [rows], [cols] or [rows, cols/B]", store.place);
      return;
    }
    if (store.kind.tag == Kind::Tag::block) block_size(store.kind.block, store.place);
    if (broadcasts(kind, store.kind)) return;
    report(Code::kind_mismatch,
           fmt::format("output '{}' of shape {} cannot hold a value of kind {}", told(store), print_shape(store.kind),
                       kind_name(kind)),
           store.kind.tag == Kind::Tag::column ? "fold it along rows with fold[rows], or store it in another shape"
                                               : fmt::format("store it as {}, or fold it", print_shape(kind)),
           store.place);
  }

  void store_type(const Store& store) {
    const ElementType type = program_.values[store.value].type;
    const bool integer =
        store.storage == ElementType::i8 || store.storage == ElementType::i32 || store.storage == ElementType::i64;
    if (store.storage == ElementType::boolean || store.storage == ElementType::f64) {
      report(
          Code::unsupported_storage,
          fmt::format("output '{}' has storage {}, which is not built yet", told(store), element_name(store.storage)),
          store.storage == ElementType::boolean ? "conditions store as i8" : "store it as f32", store.place);
      return;
    }
    const bool fits = type == ElementType::f32   ? !integer
                      : type == ElementType::i32 ? integer
                                                 : store.storage == ElementType::i8;
    if (fits) return;
    report(Code::type_mismatch,
           fmt::format("output '{}' of storage {} cannot hold {}", told(store), element_name(store.storage),
                       element_name(type)),
           type == ElementType::boolean ? "conditions store as i8"
                                        : "convert the value: i32(x) truncates, f32(x) makes a float",
           store.place);
  }

  const Program& program_;
  std::string_view file_;
  std::vector<Diagnostic> faults_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<Diagnostic> verify(const Program& program, std::string_view file) { return Verifier(program, file).run(); }

}  // namespace lanefold::ir
