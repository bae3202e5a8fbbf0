// Points: the columns at which a bank of registers evaluates the program, and element values at them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "lower/bank.h"
#include "lower/row_context.h"

namespace lanefold::lower {

/// One register's columns: an i64 column per lane, and whether it lies in the row.
struct Point {
  ValueId column = 0;
  std::optional<ValueId> inside;  ///< none: all lanes are
  std::optional<ValueId>
      base;  ///< the i64 column of the first lane, where lanes have consecutive columns from a multiple of their number
  std::optional<ValueId> in_slice;  ///< i32: where this lane's column lies in copies of a slice of columns
  std::uint32_t offset = 0;         ///< of the register in its bank
  std::map<ir::ValueId, ValueId> values;
};

/// Row-wide temporaries that one sweep writes and later ones read.
class Tiles {
 public:
  Tiles(RowContext& context, const std::vector<ir::ValueId>& ids);

  /// The tiles that an earlier sweep wrote.
  const std::set<ir::ValueId>& written() const { return written_; }
  bool holds(ir::ValueId id) const { return written_.contains(id); }
  bool is_tile(ir::ValueId id) const { return arrays_.contains(id); }
  ValueId read(ir::ValueId id, const Point& point);
  void write(ir::ValueId id, const Point& point, ValueId value);
  /// From now on the tile is read, no longer computed.
  void finish(const std::set<ir::ValueId>& tiles) { written_.insert(tiles.begin(), tiles.end()); }

 private:
  ValueId slot(const Point& point);

  RowContext& context_;
  std::map<ir::ValueId, std::uint32_t> arrays_;
  std::set<ir::ValueId> written_;
  bool room_ = false;  ///< for the lanes of every bank, past the row's end too
};

/// Evaluates values at all points of a bank at once, since block folds look across registers.
class BankEvaluator {
 public:
  BankEvaluator(RowContext& context, Tiles& tiles, const BankShape& shape, std::vector<Point> points)
      : context_(context), tiles_(tiles), shape_(shape), points_(std::move(points)) {}

  ValueId value(ir::ValueId id, std::size_t point);
  std::vector<Point>& points() { return points_; }
  /// Computes the block folds that the values need and that need no others.
  void fold_blocks(const std::vector<ir::ValueId>& roots);
  /// Where all lanes of a point lie in one block of packed codes, a column of it that they share.
  std::optional<ValueId> packed_base(const Point& at) { return block_base(at, ir::kQ8Block); }
  /// Tiles that this bank has computed, not read.
  const std::set<ir::ValueId>& computed_tiles() const { return computed_tiles_; }

 private:
  ValueId compute(ir::ValueId id, std::size_t point);
  std::optional<ValueId> block_base(const Point& at, std::uint32_t block);
  ValueId load(const ir::Value& value, ir::ValueId id, std::size_t point);
  void fold_block(std::uint32_t fold);

  RowContext& context_;
  Tiles& tiles_;
  const BankShape& shape_;
  std::vector<Point> points_;
  std::set<std::uint32_t> folded_;
  /// Operations that are done: points of one block have the same operands, and share what is made of them.
  std::map<std::pair<ir::ValueId, std::vector<ValueId>>, ValueId> operations_;
  std::set<ir::ValueId> computed_tiles_;
};

/// Stores the value that all columns of a block share to output `index`: the lane whose column begins the block does.
void store_block(RowContext& context, std::uint32_t index, const Point& at, ValueId value);

/// What the columns of a block share, the first of which is at a point.
struct BlockValue {
  const Point* at = nullptr;
  ValueId value = 0;
};

/// Stores a value for each of several blocks, whose points differ by multiples of the block, to output `index`: where the shape lets it, lane k of
/// the lanes of a block stores the k-th, so that one store is for all.
void store_blocks(RowContext& context, std::uint32_t index, std::span<const BlockValue> blocks, const BankShape& shape);

/// Bits of a power of two.
std::uint32_t log2_of(std::uint64_t power);

}  // namespace lanefold::lower
