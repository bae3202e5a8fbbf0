// Banks: a fold state spread over registers and lanes, and its merging in ascending order of the virtual lane bits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lane/builder.h"
#include "lower/functions.h"
#include "plan/plan.h"

namespace lanefold::lower {

/// How the low bits of the virtual lane index lie in a bank: register index bits and lane index bits.
struct BankShape {
  struct Bit {
    bool in_register = false;
    std::uint32_t index = 0;  ///< bit of the register index or of the lane index
  };
  std::vector<Bit> bits;                        ///< by ascending virtual bit
  std::uint32_t component_bits = 0;             ///< leading register bits that one vector load covers
  std::uint32_t lane_bits = 0;                  ///< lane index bits in use; the ones above pack rows
  std::vector<std::uint32_t> register_offsets;  ///< virtual lane offset of each register

  std::uint32_t registers() const { return static_cast<std::uint32_t>(register_offsets.size()); }
  std::uint32_t size() const { return 1u << bits.size(); }
  /// The lane bits are the lowest bits, in order: a register's lanes are consecutive columns.
  bool lanes_first() const;
};

/// The shape of a layout's component, reg and lane bits.
BankShape bank_shape(const plan::Layout& layout);
/// Lane bits first, then register bits: the shape of a sweep along the row.
BankShape linear_shape(std::uint32_t lane_bits, std::uint32_t register_bits);

/// The i32 offset that the lane adds to a register's offset, in SIMD groups of 2^simd_bits lanes.
ValueId lane_offset(const BankShape& shape, std::uint32_t simd_bits, lane::Builder& builder);

/// A state on the way through the tree.
struct Bank {
  std::vector<std::vector<ValueId>> registers;  ///< [register][component]
  std::vector<std::uint32_t> register_bits;     ///< virtual bit of each register index bit
  std::vector<std::uint32_t> lane_bits;         ///< virtual bit of each lane index bit; kMerged where all lanes agree
  static constexpr std::uint32_t kMerged = ~0u;
  static constexpr std::uint32_t kFold = kMerged - 1;  ///< no bit of the virtual lane: folds lie side by side there
};

/// The bank whose registers are laid out as the shape says.
Bank make_bank(const BankShape& shape, std::vector<std::vector<ValueId>> registers);

/// Merges every virtual bit below `limit`, ascending, with merge function `function`. Register bits above may move into lanes.
void merge_below(Bank& bank, std::uint32_t limit, std::uint32_t function, lane::Builder& builder,
                 const FunctionTable& functions);

/// Merges the lowest bits until one register is left, but no bit from `limit` on.
void merge_registers(Bank& bank, std::uint32_t limit, std::uint32_t function, lane::Builder& builder,
                     const FunctionTable& functions);

/// Merges neighbours in the lowest register bit, whatever virtual bit it is: only for merges that may go in any order.
void merge_lowest_register_bit(Bank& bank, std::uint32_t function, lane::Builder& builder,
                               const FunctionTable& functions);

/// The pure tree over the low `bits` virtual bits, with the result in every lane and register of its block.
void merge_blocks(const BankShape& shape, std::vector<std::vector<ValueId>>& registers, std::uint32_t bits,
                  std::uint32_t function, bool reorderable, lane::Builder& builder, const FunctionTable& functions);

}  // namespace lanefold::lower
