// What planning and lowering need to know of a row program: its sweeps over the row, and what is worth keeping between them.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"
#include "plan/shifted_sum.h"

namespace lanefold::plan {

/// One pass over the elements of a row. Sweep p evaluates the arguments of the row folds of depth p + 1, and may read
/// the results of all folds of depth ≤ p. The last sweep evaluates and writes the element and block stores.
struct Sweep {
  std::vector<std::uint32_t> folds;               ///< row folds that this sweep feeds
  std::vector<std::uint32_t> inputs;              ///< element inputs read while tiles are kept, ascending
  std::vector<std::uint32_t> inputs_recomputing;  ///< element inputs read where nothing is kept, ascending
  double work = 0;                                ///< arithmetic per column while tiles are kept, in simple operations
  double work_recomputing = 0;                    ///< the same where nothing is kept
  std::uint32_t accumulators = 0;                 ///< state components of its row folds
  /// Bytes per lane of its row folds' states, a presence flag counted where a monoid has no identity.
  std::uint32_t state_bytes = 0;
  bool folds_blocks = false;  ///< a row fold's arguments need results of block folds
  bool any_order = true;      ///< all its row folds give the same bits in any order
};

struct Analysis {
  /// Per fold: 1 + the greatest fold depth that its arguments depend on for a row fold. A block fold adds no depth: its
  /// result is known within the sweep that needs it, so it has the depth of its arguments.
  std::vector<std::uint32_t> fold_depth;
  /// Per value: the greatest fold depth that it depends on, 0 if none: the first sweep that can evaluate it.
  std::vector<std::uint32_t> value_depth;
  std::vector<std::uint32_t> row_folds;  ///< by ascending depth, then by number
  std::uint32_t depth = 0;               ///< the greatest fold depth
  /// Element values that a row fold needs, that a later sweep needs again, and that hold a function such as exp, which
  /// makes them dear to recompute; ascending.
  std::vector<ir::ValueId> tiles;
  std::uint32_t tile_values = 0;             ///< f32 values per column of all tiles
  std::vector<std::uint32_t> reread_inputs;  ///< element inputs that more than one sweep reads while tiles are kept
  std::uint32_t reread_values = 0;           ///< values per column of those inputs
  /// What a row that stays with its workers keeps: the element values, inputs too, that an earlier sweep has at hand and from which a
  /// later one computes all that it needs; ascending. No input is read twice then.
  std::vector<ir::ValueId> kept;
  /// The most values per column that such a row has at one time, the inputs of its first sweep at their arrival counted.
  std::uint32_t kept_values = 0;
  /// The 32-bit registers that these take where elements of 16 bits stay packed: half a register for each of them, and for a sum, difference
  /// or product of one with a number of the row, which is computed again.
  double kept_registers = 0;
  /// Inputs that vary along the row and that no sweep but a later one than the first needs, and column inputs; ascending.
  std::vector<std::uint32_t> later_inputs;
  double later_registers = 0;   ///< that these take, as `kept_registers`
  std::vector<Sweep> sweeps;    ///< depth + 1 of them
  bool element_stores = false;  ///< some store is of kind element or block
  /// There is one sweep of several folds which all merge alike, as the products of a matrix with several vectors do, and nothing is
  /// stored along rows: their partial results may lie beside each other in the lanes of one vector.
  bool joins = false;
  std::vector<std::uint32_t>
      shared_inputs;  ///< where it joins: inputs per column that the folds need, the same for all rows
  std::vector<ShiftedSum> shifted_sums;
  std::uint32_t partials = 0;           ///< state components of all row folds
  std::uint32_t widest_block = 0;       ///< the greatest B among block folds, inputs and stores; 0 if none
  std::uint32_t widest_block_fold = 0;  ///< the greatest B among block folds, which look across a whole block
  double input_bytes = 0;               ///< bytes per column of one reading of every element input
  double output_bytes = 0;              ///< bytes per column of the element and block stores

  /// The sizes of the domains that are not folds: one per tile, and one for the stores: `cols` where something varies
  /// along the row, else a single scalar store.
  std::vector<std::int64_t> domains(std::int64_t cols) const;
};

Analysis analyse(const ir::Program& program);

/// Whether any order and grouping of the fold's steps and merges gives the same bits.
bool is_reorderable(const ir::Program& program, const ir::Fold& fold);

/// Whether the operation is a function that takes many simple operations (exp, log, tanh, sigmoid, erf).
bool is_dear(ir::Op op);

}  // namespace lanefold::plan
