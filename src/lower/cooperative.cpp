#include "lower/cooperative.h"

#include <algorithm>

#include "lower/reach.h"
#include "plan/layout.h"
#include "plan/turns.h"

namespace lanefold::lower {

using plan::Owner;

CooperativeRow::CooperativeRow(RowContext& context, const plan::Analysis& analysis)
    : c_(context), b_(context.b), plan_(context.plan), analysis_(analysis), shape_(bank_shape(plan_.layout)) {
  for (Owner owner : plan_.layout.bits) {
    pass_bits_ += owner == Owner::pass;
    group_bits_ += owner == Owner::simd_group;
  }
  linear_ = plan::sweeps_along_row(plan_);
  along_registers_ = std::max(plan_.unroll, analysis_.widest_block_fold >> shape_.lane_bits);
  c_.say_folds_once(analysis_.depth == 1 && !analysis_.element_stores);
}

void CooperativeRow::begin() {
  c_.begin_row(c_.row_of_lane(shape_.lane_bits), plan_.rows_per_threadgroup > 1);
  begin_lanes();
}

void CooperativeRow::begin_lanes() {
  lane_offset_ = lane_offset(shape_, log2_of(plan_.simd_width), b_);
  lane_offset64_ = b_.convert(lane_offset_, ElementType::i64);
  linear_offset_ = shape_.lanes_first() ? lane_offset_ : b_.lane();
  linear_offset64_ = b_.convert(linear_offset_, ElementType::i64);
  tiles_.emplace(c_, analysis_.tiles);
}

void CooperativeRow::emit() {
  if (plan::rows_in_turn(plan_) > 1) return emit_in_turn();
  begin();
  for (std::uint32_t depth = 0; depth < analysis_.depth; ++depth) fold_sweep(analysis_.sweeps[depth].folds);
  store_sweep();
}

ValueId CooperativeRow::group_offset() {
  if (group_bits_ == 0) return b_.i64(0);
  const std::uint32_t position = static_cast<std::uint32_t>(plan_.layout.bits.size()) - group_bits_;
  return b_.convert(b_.binary(lane::Op::shift_left, b_.simd_group(), b_.i32(static_cast<std::int32_t>(position))),
                    ElementType::i64);
}

ValueId CooperativeRow::remaining_columns(ValueId end, ValueId first) {
  // Fits an i32 also where a group begins far past the end of its row.
  const ValueId left = b_.binary(lane::Op::max, b_.sub(end, first), b_.i64(INT32_MIN));
  return b_.convert(b_.binary(lane::Op::min, left, b_.i64(INT32_MAX)), ElementType::i32);
}

std::vector<Point> CooperativeRow::point(const BankShape& shape, std::uint32_t index, ValueId first,
                                         ValueId remaining) {
  const std::uint32_t offset = shape.register_offsets[index];
  const bool along = &shape != &shape_;
  Point p;
  p.offset = offset;
  const ValueId base = b_.add(first, b_.i64(offset));
  p.column = b_.add(base, along ? linear_offset64_ : lane_offset64_);
  if (shape.lanes_first()) p.base = base;
  p.inside =
      b_.binary(lane::Op::lt, b_.add(along ? linear_offset_ : lane_offset_, b_.i32(static_cast<std::int32_t>(offset))),
                remaining);
  return {p};
}

std::vector<Point> CooperativeRow::points(const BankShape& shape, ValueId first, std::optional<ValueId> remaining) {
  std::vector<Point> all;
  const bool along = &shape != &shape_;
  for (std::uint32_t r = 0; r < shape.registers(); ++r) {
    if (remaining) {
      all.push_back(point(shape, r, first, *remaining)[0]);
      continue;
    }
    Point p;
    p.offset = shape.register_offsets[r];
    const ValueId base = b_.add(first, b_.i64(p.offset));
    p.column = b_.add(base, along ? linear_offset64_ : lane_offset64_);
    if (shape.lanes_first()) p.base = base;
    all.push_back(p);
  }
  return all;
}

bool CooperativeRow::needs_blocks(const std::vector<ir::ValueId>& roots) const {
  for (ir::ValueId id : along_row_values(c_.program, roots, true))
    if (c_.program.values[id].op == ir::Op::fold_result) return true;
  return false;
}

void CooperativeRow::for_banks(ValueId begin, ValueId columns, ValueId offset, bool whole_banks,
                               const std::function<void(ValueId, std::optional<ValueId>)>& body) {
  const std::int64_t lanes = plan_.width.virtual_lanes;
  const ValueId end = b_.add(begin, columns);
  ValueId full = 0;
  if (plan_.simd_groups_per_row == 1) {
    // Chunks in which this bank is full, for its own offset in the chunk.
    const ValueId reach = b_.add(b_.sub(columns, offset), b_.i64(lanes - shape_.size()));
    full = b_.binary(lane::Op::shift_right, reach, b_.i64(log2_of(static_cast<std::uint64_t>(lanes))));
  } else {
    full = b_.binary(lane::Op::shift_right, columns, b_.i64(log2_of(static_cast<std::uint64_t>(lanes))));
  }
  const ValueId start = b_.add(begin, offset);
  const ValueId step = b_.i64(lanes);
  const ValueId covered = b_.mul(full, step);
  const ValueId own = b_.add(start, group_offset());
  // The loop counts columns from the chunk's start, so that its bounds are the same in every SIMD group.
  b_.loop(b_.i64(0), covered, step, [&](ValueId at) { body(b_.add(own, at), std::nullopt); });
  const ValueId last = b_.add(own, covered);
  const auto tail = [&] { body(last, remaining_columns(end, last)); };
  if (plan_.simd_groups_per_row == 1)
    b_.branch(b_.binary(lane::Op::lt, last, end), tail);
  else if (whole_banks)
    tail();
  else
    b_.branch(b_.binary(lane::Op::lt, last, end), tail);
}

std::vector<ValueId> CooperativeRow::broadcast(std::vector<ValueId> total) {
  // Every lane has the same value already; saying so lets each consumer keep one copy.
  if (plan_.layout.rows_per_simd_group > 1) return total;
  for (ValueId& v : total) v = b_.shuffle(v, b_.i32(0));
  return total;
}

}  // namespace lanefold::lower
