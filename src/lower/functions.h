// The named helper functions of a lane module: portable arithmetic, rounding, quantising and monoid bodies.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/program.h"
#include "lane/builder.h"
#include "lane/module.h"
#include "math/portable.h"

namespace lanefold::lower {

using lane::ValueId;

/// Creates helper functions on first use; each name has one body.
class FunctionTable {
 public:
  explicit FunctionTable(lane::Module& module) : module_(&module) {}

  /// Calls the portable function on an f32.
  ValueId call(lane::Builder& builder, math::Function function, ValueId argument);
  /// Rounds half away from zero.
  ValueId round(lane::Builder& builder, ValueId argument);
  /// The i32 code of n on the scale d: round(n / d) clamped to ±127; 0 where d is 0 or n/d is NaN.
  ValueId quantize(lane::Builder& builder, ValueId n, ValueId d);
  /// The function number of a monoid's merge over states with `flagged` presence: (present, state…) twice → (present, state…).
  std::uint32_t merge(const ir::Monoid& monoid, bool flagged);

  /// The state after one more element: the step of the monoid, by a call of the merge where the state is a value and its index
  /// (then step and merge are one function of one name).
  std::vector<ValueId> step(lane::Builder& builder, const ir::Monoid& monoid, std::span<const ValueId> state,
                            std::span<const ValueId> element);

  /// The same where every element that the state holds has a lower column index than this one, and there is at least one: then argmax
  /// and argmin need not look at the indices.
  std::vector<ValueId> step_ascending(lane::Builder& builder, const ir::Monoid& monoid, std::span<const ValueId> state,
                                      std::span<const ValueId> element);

  /// The types a function returns.
  std::vector<ElementType> result_types(std::uint32_t function) const;

 private:
  std::uint32_t define(const std::string& name, const std::vector<ElementType>& parameters,
                       const std::function<std::vector<ValueId>(lane::Builder&, std::span<const ValueId>)>& body);

  lane::Module* module_;
  std::map<std::string, std::uint32_t> by_name_;
};

}  // namespace lanefold::lower
