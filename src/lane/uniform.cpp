#include "lane/uniform.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "lane/typing.h"

namespace lanefold::lane {
namespace {

constexpr Variation kUniform{.uniform = true, .affine = true, .stride = 0};
constexpr Variation kGroupUniform{.uniform = false, .affine = true, .stride = 0};
constexpr Variation kVarying{};

bool same_in_group(const Variation& v) { return v.affine && v.stride == 0; }

std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

Variation affine(std::int64_t stride, bool uniform) {
  return {.uniform = uniform && stride == 0, .affine = true, .stride = stride};
}

/// What holds of a place that may hold either value, the same one in all lanes.
Variation meet(const Variation& a, const Variation& b) {
  if (!a.affine || !b.affine || a.stride != b.stride) return kVarying;
  return affine(a.stride, a.uniform && b.uniform);
}

/// A forward data flow over the structured body. Values have one definition each; only register arrays carry state
/// around loops, so the body is swept until the arrays stop changing.
class Flow {
 public:
  explicit Flow(const Kernel& kernel)
      : kernel_(kernel),
        values_(kernel.types.size()),
        constants_(kernel.types.size()),
        stored_(kernel.arguments.size()) {
    for (const RegisterArray& array : kernel.registers) elements_.emplace_back(array.size);
    find_stores(kernel.body);
  }

  std::vector<Variation> run() {
    do {
      changed_ = false;
      sweep(kernel_.body, kUniform);
    } while (changed_);
    return std::move(values_);
  }

 private:
  std::uint32_t owner(std::uint32_t argument) const { return kernel_.arguments[argument].memory_of.value_or(argument); }

  void find_stores(const std::vector<Statement>& block) {
    for (const Statement& s : block) {
      // A store through one view changes what all views of that memory hold.
      if (s.op == Op::store)
        for (std::size_t i = 0; i < kernel_.arguments.size(); ++i)
          if (owner(static_cast<std::uint32_t>(i)) == owner(s.a)) stored_.at(i) = true;
      find_stores(s.body);
      find_stores(s.otherwise);
    }
  }

  const Variation& operand(const Statement& s, std::size_t i) const { return values_[s.operands[i]]; }

  void define(const Statement& s, Variation v) {
    // With one SIMD group a threadgroup has no other lanes to differ from.
    if (same_in_group(v) && kernel_.simd_groups == 1) v.uniform = true;
    for (std::uint32_t i = 0; i < s.results; ++i) values_[s.result + i] = v;
  }

  /// The weakest of all operands: uniform, the same in the group, or varying; strides do not survive.
  Variation together(const Statement& s) const {
    Variation all = kUniform;
    for (const ValueId v : s.operands) {
      if (!same_in_group(values_[v])) return kVarying;
      all.uniform = all.uniform && values_[v].uniform;
    }
    return all;
  }

  Variation scaled(const Variation& v, const std::optional<std::int64_t>& factor, const Variation& by) const {
    if (factor && v.affine) return affine(wrap_mul(v.stride, *factor), v.uniform && by.uniform);
    return kVarying;
  }

  Variation arithmetic(const Statement& s) const {
    const Variation flat = together(s);
    if (flat.affine || !is_integer(kernel_.types[s.result])) return flat;
    switch (s.op) {
      case Op::add:
      case Op::sub: {
        const Variation& a = operand(s, 0);
        const Variation& b = operand(s, 1);
        if (!a.affine || !b.affine) return kVarying;
        return affine(wrap_add(a.stride, s.op == Op::add ? b.stride : wrap_mul(b.stride, -1)), a.uniform && b.uniform);
      }
      case Op::neg: return operand(s, 0).affine ? affine(wrap_mul(operand(s, 0).stride, -1), false) : kVarying;
      case Op::mul: {
        const Variation right = scaled(operand(s, 0), constants_[s.operands[1]], operand(s, 1));
        return right.affine ? right : scaled(operand(s, 1), constants_[s.operands[0]], operand(s, 0));
      }
      case Op::shift_left: {
        const std::optional<std::int64_t>& count = constants_[s.operands[1]];
        if (!count || *count < 0 || *count > 62) return kVarying;
        return scaled(operand(s, 0), std::int64_t{1} << *count, operand(s, 1));
      }
      case Op::select: return same_in_group(operand(s, 0)) ? meet(operand(s, 1), operand(s, 2)) : kVarying;
      case Op::convert: {
        if (!is_integer(kernel_.types[s.operands[0]])) return kVarying;
        // Widening keeps no step: lanes that have wrapped at 32 bits would not have it.
        const bool narrows = kernel_.types[s.result] == ElementType::i32;
        return narrows || same_in_group(operand(s, 0)) ? operand(s, 0) : kVarying;
      }
      default: return kVarying;
    }
  }

  Variation folded(const Statement& s) const {
    const Variation flat = together(s);
    if (flat.affine && s.operands.size() == s.results) return flat;
    const auto width_bits = static_cast<std::uint32_t>(std::countr_zero(kernel_.simd_width));
    const bool one_register = s.operands.size() == s.results;
    // A transposing step leaves different folds in different lanes, so only a fold of single registers over every
    // lane bit ends with one value in the whole group.
    return one_register && s.b == 0 && s.count == width_bits ? kGroupUniform : kVarying;
  }

  Variation loaded(const Statement& s) const {
    const Variation& address = operand(s, 0);
    if (!same_in_group(address)) return kVarying;
    const bool constant = s.op == Op::load && kernel_.arguments[s.a].role == Role::input && !stored_[s.a];
    return constant && address.uniform ? kUniform : kGroupUniform;
  }

  void set(const Statement& s, const Variation& control) {
    std::optional<Variation>& element = elements_[s.a][s.b];
    Variation next = operand(s, 0);
    if (!same_in_group(control)) {
      next = kVarying;  // the lanes that are not here keep what they had
    } else {
      next.uniform = next.uniform && control.uniform;
    }
    if (element) next = meet(*element, next);
    if (element && element->affine == next.affine && element->uniform == next.uniform &&
        element->stride == next.stride) {
      return;
    }
    element = next;
    changed_ = true;
  }

  void sweep(const std::vector<Statement>& block, const Variation& control) {
    for (const Statement& s : block) visit(s, control);
  }

  void visit(const Statement& s, const Variation& control) {
    switch (s.op) {
      case Op::constant:
        if (is_integer(kernel_.types[s.result])) constants_[s.result] = integer_value(kernel_.types[s.result], s.bits);
        return define(s, kUniform);
      case Op::argument:
      case Op::threadgroup:
      case Op::cluster_rank: return define(s, kUniform);
      case Op::lane: return define(s, affine(1, false));
      case Op::simd_group: return define(s, kGroupUniform);
      // An element that nothing has set yet holds no value at all: the optimistic start of the fixed point.
      case Op::get: return define(s, elements_[s.a][s.b].value_or(kUniform));
      case Op::set: return set(s, control);
      case Op::load:
      case Op::shared_load: return define(s, loaded(s));
      case Op::shuffle_xor:
      case Op::shuffle_down: return define(s, same_in_group(operand(s, 0)) ? operand(s, 0) : kVarying);
      case Op::shuffle:
        if (same_in_group(operand(s, 0))) return define(s, operand(s, 0));
        return define(s, same_in_group(operand(s, 1)) ? kGroupUniform : kVarying);
      case Op::permute2:
        return define(s, s.operands[0] == s.operands[1] && same_in_group(operand(s, 0)) ? operand(s, 0) : kVarying);
      case Op::fold_lanes: return define(s, folded(s));
      case Op::store:
      case Op::shared_store:
      case Op::peer_store:
      case Op::barrier:
      case Op::simd_barrier:
      case Op::cluster_barrier:
      case Op::exchange: return;
      // Which peer is asked may differ between threadgroups, but within a group it is one element where both are one.
      case Op::peer_load:
        return define(s, same_in_group(operand(s, 0)) && same_in_group(operand(s, 1)) ? kGroupUniform : kVarying);
      case Op::branch: {
        const Variation inner = meet(control, flattened(operand(s, 0)));
        sweep(s.body, inner);
        return sweep(s.otherwise, inner);
      }
      case Op::loop: {
        const Variation bounds = together(s);
        define(s, bounds);
        return sweep(s.body, meet(control, bounds));
      }
      case Op::call: return define(s, together(s));
      default: return define(s, arithmetic(s));
    }
  }

  static Variation flattened(const Variation& v) { return same_in_group(v) ? v : kVarying; }

  const Kernel& kernel_;
  std::vector<Variation> values_;
  std::vector<std::optional<std::int64_t>> constants_;
  std::vector<std::vector<std::optional<Variation>>> elements_;
  std::vector<bool> stored_;
  bool changed_ = false;
};

}  // namespace

std::vector<Variation> variations(const Module&, const Kernel& kernel) { return Flow(kernel).run(); }

}  // namespace lanefold::lane
