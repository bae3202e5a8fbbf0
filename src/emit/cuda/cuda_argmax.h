// Chains of the steps of argmax and argmin in a kernel's body.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "emit/cuda/cuda_known.h"
#include "lane/module.h"

namespace lanefold::emit {

/// A call of step_argmax or step_argmin on the state before it.
struct ChainedStep {
  const lane::Statement* call = nullptr;
  /// What gives the state before the step, its value and its index, where a flag is false; null where every lane takes the step.
  std::array<const lane::Statement*, 2> choices = {};

  std::optional<lane::ValueId> flag() const;
  /// The statements that define value and index of the state after the step.
  std::array<const lane::Statement*, 2> last() const;
  /// Value and index of the state after the step.
  std::array<lane::ValueId, 2> state() const;
};

/// Steps that take in one element after another. The first one's state is an element, too.
struct StepChain {
  Known function = Known::other;
  std::vector<ChainedStep> steps = {};

  /// Element i, from 0 to as many as there are steps: its value and its index.
  std::array<lane::ValueId, 2> element(std::size_t i) const;
};

/// An integer that is another one and a constant together, modulo 2^32.
struct Place {
  lane::ValueId base = 0;
  std::int64_t offset = 0;
};

/// What a kernel's body has of such chains in its outermost block.
class StepChains {
 public:
  StepChains() = default;
  /// `functions`: what the module's functions are. The body has to outlive the object.
  StepChains(std::span<const Known> functions, const std::vector<lane::Statement>& body);

  /// The chain that begins with the call, or null.
  const StepChain* beginning_with(const lane::Statement& call) const;
  const std::vector<StepChain>& all() const { return chains_; }
  Place place_of(lane::ValueId index) const;
  /// Whether nothing but the first `count` steps of the chain uses the states between them. `uses`: of each value, by all statements.
  static bool is_alone(const StepChain& chain, std::size_t count,
                       const std::function<std::uint32_t(lane::ValueId)>& uses);
  /// Over how many lanes, from the first on, the value comes again: a threadgroup array at `lane & (count - 1)`. 32 where that isn't known.
  std::uint32_t period_of(lane::ValueId value) const;

 private:
  void call(const lane::Statement& s, Known function);
  void choose(const lane::Statement& s);
  const lane::Statement* definition(lane::ValueId v) const;

  std::vector<StepChain> chains_;
  std::map<const lane::Statement*, std::size_t> numbers_;  ///< of the chains, by their first calls
  std::map<lane::ValueId, std::size_t> ends_;              ///< by the results of a chain's last call and its choices
  std::map<lane::ValueId, const lane::Statement*> defined_by_;
  std::map<lane::ValueId, std::size_t> defined_at_;
};

}  // namespace lanefold::emit
