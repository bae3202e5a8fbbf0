// Runs the straight-line body of a monoid over many independent lanes at once, in any domain.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "ir/program.h"
#include "oracle/domain.h"

namespace lanefold::oracle {

/// The most operands that an operation takes.
inline constexpr std::size_t kMaxOperands = 3;

/// The operation of a value among the values of its body or program.
inline Operation operation_of(const ir::Value& value, const std::vector<ir::Value>& values) {
  if (value.operands.empty() || value.operands.size() > kMaxOperands)
    internal_error("the oracle meets an operation with " + std::to_string(value.operands.size()) + " operands");
  const std::size_t data_operand = value.op == ir::Op::select ? 1 : 0;
  return {value.op, value.type, values.at(value.operands.at(data_operand)).type};
}

template <Domain D>
class BodyRunner {
 public:
  using Value = typename D::Value;

  BodyRunner(const ir::Body& body, D& domain)
      : results_(body.results), domain_(domain), lanes_(body.values.size()), scratch_(body.values.size()) {
    for (std::size_t i = 0; i < body.values.size(); ++i) {
      const ir::Value& value = body.values[i];
      if (value.op == ir::Op::constant) {
        scratch_[i] = {domain_.constant(value.literal, value.type)};
        lanes_[i] = {scratch_[i].data(), 0};
      } else if (value.op == ir::Op::parameter) {
        parameters_.push_back({i, value.index});
      } else {
        Instruction instruction{operation_of(value, body.values), i, value.operands.size(), {}};
        std::copy(value.operands.begin(), value.operands.end(), instruction.operands.begin());
        instructions_.push_back(instruction);
      }
    }
  }

  // lanes_ points into scratch_: a move keeps that, a copy would not.
  BodyRunner(const BodyRunner&) = delete;
  BodyRunner(BodyRunner&&) noexcept = default;

  std::size_t results() const { return results_.size(); }

  /// One run of lanes per parameter of the body; results[k][0 … count) receive result k. No result overlaps a parameter.
  void run(const std::vector<Lanes<Value>>& parameters, std::int64_t count, std::vector<std::vector<Value>>& results) {
    for (const Parameter& parameter : parameters_) {
      if (parameter.index >= parameters.size()) internal_error("a monoid body reads a parameter that it does not have");
      lanes_[parameter.value] = parameters[parameter.index];
    }
    std::array<Lanes<Value>, kMaxOperands> operands;
    for (const Instruction& instruction : instructions_) {
      for (std::size_t k = 0; k < instruction.operand_count; ++k) operands[k] = lanes_[instruction.operands[k]];
      Value* const out = room(scratch_[instruction.value], count);
      domain_.apply(instruction.operation, operands.data(), count, out);
      lanes_[instruction.value] = {out, 1};
    }
    results.resize(results_.size());
    for (std::size_t k = 0; k < results_.size(); ++k) {
      Value* const out = room(results[k], count);
      const Lanes<Value> from = lanes_[results_[k]];
      for (std::int64_t i = 0; i < count; ++i) out[i] = from[i];
    }
  }

 private:
  struct Parameter {
    std::size_t value;
    std::uint32_t index;
  };
  struct Instruction {
    Operation operation;
    std::size_t value;
    std::size_t operand_count;
    std::array<ir::ValueId, kMaxOperands> operands;
  };

  /// At least `count` values; those there already stay.
  static Value* room(std::vector<Value>& values, std::int64_t count) {
    if (std::ssize(values) < count) values.resize(static_cast<std::size_t>(count));
    return values.data();
  }

  std::vector<ir::ValueId> results_;
  D& domain_;
  std::vector<Parameter> parameters_;
  std::vector<Instruction> instructions_;
  std::vector<Lanes<Value>> lanes_;          // of each value of the body
  std::vector<std::vector<Value>> scratch_;  // what lanes_ points to, besides parameters
};

}  // namespace lanefold::oracle
