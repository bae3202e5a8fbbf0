#include "lower/unrolled_row.h"

#include <algorithm>

#include "lower/expression.h"
#include "plan/layout.h"

namespace lanefold::lower {

using ir::Kind;
using plan::Owner;

namespace {

constexpr std::uint32_t kWidestPair = 8;  // registers of a bank of which two fit beside the rest of the row

// What a worker loads before it needs it: more of a bank held registers that the row needs (layer_norm in bf16).
constexpr std::size_t kAheadBytes = 48, kAheadValues = 8;

}  // namespace

UnrolledRow::UnrolledRow(RowContext& context, const plan::Analysis& analysis)
    : c_(context),
      b_(context.b),
      plan_(context.plan),
      analysis_(analysis),
      shape_(bank_shape(plan_.layout)),
      group_bits_(plan::count_bits(plan_.layout, Owner::simd_group)),
      cluster_bits_(plan::count_bits(plan_.layout, Owner::cluster)),
      tiles_(context, {}) {}

void UnrolledRow::emit() {
  c_.begin_row(c_.row_of_lane(shape_.lane_bits), plan_.rows_per_threadgroup > 1);
  place_points();
  load_row_values(ir::Op::input);
  b_.comment("load the row");
  load(inputs_of_first_sweep(), banks_);
  load_row_values(ir::Op::gather);
  if (plan_.early_loads) {
    b_.comment("load what comes later");
    load(analysis_.later_inputs, banks_);
  }
  for (std::uint32_t depth = 0; depth < analysis_.depth; ++depth)
    fold_sweep(analysis_.sweeps[depth].folds, depth + 1 == analysis_.depth);
  store_sweep();
}

void UnrolledRow::place_points() {
  ValueId own = lane_offset(shape_, log2_of(plan_.simd_width), b_);
  const std::uint32_t group_position =
      static_cast<std::uint32_t>(plan_.layout.bits.size()) - group_bits_ - cluster_bits_;
  const auto shifted = [&](ValueId value, std::uint32_t bits) {
    return b_.binary(lane::Op::shift_left, value, b_.i32(static_cast<std::int32_t>(bits)));
  };
  if (group_bits_ > 0) own = b_.add(shifted(b_.simd_group(), group_position), own);
  const std::int64_t lanes = plan_.width.virtual_lanes;
  std::int64_t columns = plan_.width.max_cols, whole_columns = plan_.width.min_cols;
  if (plan_.cluster > 1) {
    // The low bits of the rank are the layout's, the high ones number the segments.
    const ValueId rank = b_.cluster_rank();
    const ValueId low = b_.binary(lane::Op::bit_and, rank, b_.i32((1 << cluster_bits_) - 1));
    if (cluster_bits_ > 0) own = b_.add(shifted(low, group_position + group_bits_), own);
    if (plan_.width.segmented) {
      columns = ir::CanonicalOrder::segment;
      const std::int64_t all = columns * (plan_.cluster >> cluster_bits_);
      whole_columns = whole_columns >= all ? columns : 0;
      const ValueId segment = b_.binary(lane::Op::shift_right, rank, b_.i32(static_cast<std::int32_t>(cluster_bits_)));
      own = b_.add(shifted(segment, log2_of(static_cast<std::uint64_t>(columns))), own);
    }
  }
  const ValueId own64 = b_.convert(own, ElementType::i64);
  const std::int64_t chunks = (columns + lanes - 1) / lanes;
  const std::uint32_t width = 1u << shape_.component_bits;
  const bool whole_vectors = plan_.width.alignment >= width;
  for (std::int64_t k = 0; k < chunks; ++k) {
    // Every row of the class has all columns of the chunks before its last.
    const bool full = (k + 1) * lanes <= whole_columns;
    std::vector<Point> points;
    for (std::uint32_t r = 0; r < shape_.registers(); ++r) {
      Point p;
      p.offset = shape_.register_offsets[r];
      const std::int64_t column = k * lanes + p.offset;
      p.column = b_.add(own64, b_.i64(column));
      if (!full) {
        if (whole_vectors && r % width != 0)
          p.inside = points.back().inside;
        else
          p.inside = b_.binary(lane::Op::lt, b_.add(own, b_.i32(static_cast<std::int32_t>(column))), c_.cols32);
      }
      points.push_back(std::move(p));
    }
    banks_.emplace_back(c_, tiles_, shape_, std::move(points));
  }
}

std::vector<std::uint32_t> UnrolledRow::inputs_of_first_sweep() const {
  std::vector<std::uint32_t> inputs;
  for (std::uint32_t i = 0; i < c_.program.inputs.size(); ++i)
    if (c_.program.inputs[i].kind.tag == Kind::Tag::element &&
        !std::binary_search(analysis_.later_inputs.begin(), analysis_.later_inputs.end(), i))
      inputs.push_back(i);
  return inputs;
}

void UnrolledRow::load(const std::vector<std::uint32_t>& inputs, std::span<BankEvaluator> banks) {
  // Loads wait for nothing but memory: all of them begin before the first value is used.
  for (const std::uint32_t input : inputs)
    for (ir::ValueId id = 0; id < c_.program.values.size(); ++id) {
      const ir::Value& value = c_.program.values[id];
      if (value.op != ir::Op::input || value.index != input) continue;
      for (BankEvaluator& bank : banks)
        for (std::size_t p = 0; p < bank.points().size(); ++p) bank.value(id, p);
    }
}

void UnrolledRow::load_ahead(std::size_t first) {
  if (plan_.cluster == 1 || first >= banks_.size()) return;
  std::size_t bytes = 0, values = 0;  // of a bank
  for (const std::uint32_t input : analysis_.later_inputs) {
    bytes += shape_.registers() * element_bytes(c_.program.inputs[input].storage);
    values += shape_.registers();
  }
  if (bytes == 0 || values * banks_stored_together() > kAheadValues) return;
  // Codes take registers of their own.
  const std::size_t banks =
      analysis_.widest_block_fold > 0 ? banks_stored_together() : std::max<std::size_t>(kAheadBytes / bytes, 1);
  load(analysis_.later_inputs, std::span(banks_).subspan(first).first(std::min(banks, banks_.size() - first)));
}

std::size_t UnrolledRow::banks_stored_together() const {
  // Lanes exchange what they have of blocks: two banks wait for that together.
  return analysis_.widest_block_fold > 0 && shape_.registers() <= kWidestPair ? 2 : 1;
}

void UnrolledRow::load_row_values(ir::Op op) {
  for (ir::ValueId id = 0; id < c_.program.values.size(); ++id) {
    const ir::Value& value = c_.program.values[id];
    if (value.op != op || value.kind.tag != Kind::Tag::row || analysis_.value_depth[id] > 0) continue;
    if (op == ir::Op::input) b_.comment("load what the row has one of");
    c_.row_value(id);
  }
}

void UnrolledRow::store_sweep() {
  std::vector<std::uint32_t> along, per_row;
  std::vector<ir::ValueId> roots;
  for (std::uint32_t i = 0; i < c_.program.stores.size(); ++i) {
    const ir::Store& store = c_.program.stores[i];
    (store.kind.tag == Kind::Tag::row ? per_row : along).push_back(i);
    roots.push_back(store.value);
  }
  c_.prepare(roots, {});
  if (!along.empty()) b_.comment("store");
  for (std::size_t first = 0; first < banks_.size();) {
    const std::size_t count = std::min<std::size_t>(banks_stored_together(), banks_.size() - first);
    const std::span<BankEvaluator> banks = std::span(banks_).subspan(first, count);
    load_ahead(first + count);
    for (BankEvaluator& bank : banks) bank.fold_blocks(roots);
    // All values of the banks first, then all stores: an output may lie exactly on an input.
    std::vector<std::vector<std::vector<ValueId>>> values;
    for (BankEvaluator& bank : banks) {
      values.emplace_back(along.size());
      for (std::size_t s = 0; s < along.size(); ++s)
        for (std::size_t p = 0; p < bank.points().size(); ++p)
          values.back()[s].push_back(bank.value(c_.program.stores[along[s]].value, p));
    }
    for (std::size_t s = 0; s < along.size(); ++s) {
      std::vector<BlockValue> blocks;
      for (std::size_t k = 0; k < count; ++k) {
        if (c_.program.stores[along[s]].kind.tag != Kind::Tag::block)
          store(along[s], banks[k], values[k][s]);
        else
          add_blocks(along[s], banks[k], values[k][s], blocks);
      }
      if (!blocks.empty()) store_blocks(c_, along[s], blocks, shape_);
    }
    first += count;
  }
  if (!per_row.empty()) store_rows(per_row);
}

void UnrolledRow::store(std::uint32_t index, BankEvaluator& bank, const std::vector<ValueId>& values) {
  const std::uint32_t width = 1u << shape_.component_bits;
  const bool vectors = width > 1 && plan_.width.alignment >= width && c_.unit_stride_output(index);
  const std::uint32_t step = vectors ? width : 1;
  for (std::size_t p = 0; p < values.size(); p += step) {
    const Point& at = bank.points()[p];
    c_.store_vector(index, at.column, std::span(values).subspan(p, step), at.inside, c_.streams());
  }
}

void UnrolledRow::add_blocks(std::uint32_t index, BankEvaluator& bank, const std::vector<ValueId>& values,
                             std::vector<BlockValue>& blocks) {
  const std::uint32_t block = c_.program.stores[index].kind.block;
  for (std::size_t p = 0; p < values.size(); ++p)
    if (bank.points()[p].offset % block == 0) blocks.push_back({&bank.points()[p], values[p]});
}

void UnrolledRow::store_rows(const std::vector<std::uint32_t>& stores) {
  // The first worker of the row stores for it.
  const std::optional<ValueId> first = c_.is_first_worker(shape_.lane_bits);
  for (std::uint32_t s : stores) c_.store_output(s, b_.i64(0), c_.row_value(c_.program.stores[s].value), first);
}

}  // namespace lanefold::lower
