#include "lower/points.h"

#include <algorithm>
#include <array>
#include <bit>

#include "lower/expression.h"

namespace lanefold::lower {

using ir::Kind;

namespace {

constexpr std::size_t kCacheLine = 64;  // bytes, on every processor that code is generated for

}  // namespace

std::uint32_t log2_of(std::uint64_t power) { return static_cast<std::uint32_t>(std::countr_zero(power)); }

Tiles::Tiles(RowContext& context, const std::vector<ir::ValueId>& ids) : context_(context) {
  const plan::Plan& plan = context.plan;
  // A bank reaches to the next multiple of its width, which is that of the layout or, along the row, that of the unrolled registers.
  const auto whole = [&](std::int64_t width) { return plan.width.max_cols % width == 0; };
  const auto blocks = [](const ir::Value& v) { return v.kind.tag == Kind::Tag::block; };
  room_ = whole(plan.width.virtual_lanes) && whole(std::int64_t{plan.simd_width} * plan.unroll) &&
          std::none_of(context.program.values.begin(), context.program.values.end(), blocks);
  for (ir::ValueId id : ids) {
    const ElementType type = context.program.values[id].type;
    if (plan.stripe == plan::Stripe::threadgroup_memory)
      arrays_[id] =
          context.shared("tile", type, static_cast<std::uint32_t>(plan.width.max_cols) * plan.rows_per_threadgroup);
  }
}

ValueId Tiles::slot(const Point& point) {
  lane::Builder& b = context_.b;
  const ValueId column = b.convert(point.column, ElementType::i32);
  const plan::Plan& plan = context_.plan;
  if (plan.rows_per_threadgroup == 1) return column;
  // One slice per row of the threadgroup.
  const std::uint32_t rows = plan.layout.rows_per_simd_group;
  ValueId row = b.mul(b.simd_group(), b.i32(static_cast<std::int32_t>(rows)));
  if (rows > 1)
    row = b.add(row, b.binary(lane::Op::shift_right, b.lane(),
                              b.i32(static_cast<std::int32_t>(log2_of(plan.simd_width / rows)))));
  return b.add(b.mul(row, b.i32(static_cast<std::int32_t>(plan.width.max_cols))), column);
}

ValueId Tiles::read(ir::ValueId id, const Point& point) {
  lane::Builder& b = context_.b;
  const ElementType type = context_.program.values[id].type;
  if (!point.inside) return b.shared_load(arrays_[id], type, slot(point));
  const std::uint32_t temporary = context_.registers("guarded", type, 1);
  b.set(temporary, 0, emit_literal(b, type, 0));
  b.branch(*point.inside, [&] { b.set(temporary, 0, b.shared_load(arrays_[id], type, slot(point))); });
  return b.get(temporary, 0, type);
}

void Tiles::write(ir::ValueId id, const Point& point, ValueId value) {
  lane::Builder& b = context_.b;
  // Lanes past the row's end may write where there is room: nobody reads it, and a whole store is quicker than a guarded one.
  if (!point.inside || room_) return b.shared_store(arrays_[id], slot(point), value);
  b.branch(*point.inside, [&] { b.shared_store(arrays_[id], slot(point), value); });
}

ValueId BankEvaluator::value(ir::ValueId id, std::size_t point) {
  const ir::Value& value = context_.program.values[id];
  if (value.kind.tag == Kind::Tag::uniform || value.kind.tag == Kind::Tag::row) return context_.row_value(id);
  auto& known = points_[point].values;
  if (auto found = known.find(id); found != known.end()) return found->second;
  if (tiles_.holds(id)) return points_[point].values[id] = tiles_.read(id, points_[point]);
  const ValueId result = compute(id, point);
  points_[point].values[id] = result;
  if (tiles_.is_tile(id)) {
    tiles_.write(id, points_[point], result);
    computed_tiles_.insert(id);
  }
  return result;
}

ValueId BankEvaluator::compute(ir::ValueId id, std::size_t point) {
  const ir::Value& value = context_.program.values[id];
  lane::Builder& b = context_.b;
  switch (value.op) {
    case ir::Op::input: return load(value, id, point);
    case ir::Op::col: return b.convert(points_[point].column, ElementType::i32);
    case ir::Op::gather: return context_.gather(value, this->value(value.operands[0], point));
    case ir::Op::fold_result: fold_block(value.index); return points_[point].values.at(id);
    default: break;
  }
  std::vector<ValueId> operands;
  for (ir::ValueId operand : value.operands) operands.push_back(this->value(operand, point));
  if (value.kind.tag != Kind::Tag::block) return context_.operation(value, operands);
  const auto key = std::pair(id, operands);
  if (const auto found = operations_.find(key); found != operations_.end()) return found->second;
  return operations_[key] = context_.operation(value, operands);
}

ValueId BankEvaluator::load(const ir::Value& value, ir::ValueId id, std::size_t point) {
  const ir::Input& input = context_.program.inputs[value.index];
  Point& at = points_[point];
  lane::Builder& b = context_.b;
  if (input.kind.tag == Kind::Tag::block) {
    // One block for all lanes is one load for all.
    const ValueId column = block_base(at, input.kind.block).value_or(at.column);
    const ValueId block = b.binary(lane::Op::shift_right, column, b.i64(log2_of(input.kind.block)));
    return context_.load_input(value.index, block, at.inside);
  }
  if (at.in_slice)
    if (const auto copy = context_.copy_of(value.index))
      return b.shared_load(*copy, register_type(input.storage), *at.in_slice);
  const std::uint32_t width = 1u << shape_.component_bits;
  // A guarded vector is one load where it lies wholly inside or outside, and where its other points are at hand.
  const bool whole =
      !at.inside || (context_.plan.width.alignment >= width && points_.size() == shape_.register_offsets.size());
  if (width == 1 || !whole || !context_.unit_stride(value.index)) {
    // One hint for each cache line of a bank that has none yet: what the next row has there is wanted soon.
    const std::size_t bytes = at.offset * element_bytes(input.storage);
    const bool hint = input.kind.tag == Kind::Tag::element && context_.streams_inputs() && bytes % kCacheLine == 0;
    return context_.load_input(value.index, at.column, at.inside, packed_base(at), hint);
  }
  // The registers of one vector load are neighbours, the first of them at the lowest column.
  const std::size_t first = point & ~static_cast<std::size_t>(width - 1);
  const std::vector<ValueId> loaded =
      context_.load_vector(value.index, points_[first].column, width, points_[first].inside);
  for (std::uint32_t i = 0; i < width; ++i) points_[first + i].values[id] = loaded[i];
  return loaded[point - first];
}

std::optional<ValueId> BankEvaluator::block_base(const Point& at, std::uint32_t block) {
  if (!at.base || (1u << shape_.lane_bits) > block) return std::nullopt;
  // A bank of whole blocks begins with one, so that registers of one block say the same column.
  const std::uint32_t within = shape_.size() >= block ? at.offset % block : 0;
  return within == 0 ? *at.base : context_.b.sub(*at.base, context_.b.i64(within));
}

void BankEvaluator::fold_blocks(const std::vector<ir::ValueId>& roots) {
  std::vector<ir::ValueId> open = roots;
  std::set<ir::ValueId> seen;
  while (!open.empty()) {
    const ir::ValueId id = open.back();
    open.pop_back();
    const ir::Value& value = context_.program.values[id];
    if (!seen.insert(id).second || value.kind.tag == Kind::Tag::uniform || value.kind.tag == Kind::Tag::row) continue;
    if (value.op == ir::Op::fold_result)
      fold_block(value.index);
    else
      open.insert(open.end(), value.operands.begin(), value.operands.end());
  }
}

void BankEvaluator::fold_block(std::uint32_t index) {
  if (!folded_.insert(index).second) return;
  const ir::Fold& fold = context_.program.folds[index];
  const ir::Monoid& monoid = context_.program.monoids[fold.monoid];
  lane::Builder& b = context_.b;
  std::vector<std::vector<ValueId>> states;
  for (std::size_t p = 0; p < points_.size(); ++p) {
    std::vector<ValueId> element;
    for (ir::ValueId argument : fold.arguments) element.push_back(value(argument, p));
    states.push_back(emit_body(monoid.lift, element, b, context_.functions));
  }
  merge_blocks(shape_, states, log2_of(fold.block), context_.functions.merge(monoid, false), monoid.reorderable, b,
               context_.functions);
  std::map<std::vector<ValueId>, std::vector<ValueId>> finished;
  for (std::size_t p = 0; p < points_.size(); ++p) {
    auto [entry, fresh] = finished.try_emplace(states[p]);
    if (fresh) entry->second = emit_body(monoid.finish, states[p], b, context_.functions);
    for (ir::ValueId id = 0; id < context_.program.values.size(); ++id) {
      const ir::Value& value = context_.program.values[id];
      if (value.op == ir::Op::fold_result && value.index == index)
        points_[p].values[id] = entry->second[value.component];
    }
  }
}

namespace {

/// The i32 place of the lane's column in its block.
ValueId place_in_block(lane::Builder& b, ValueId column, std::uint32_t block) {
  return b.binary(lane::Op::bit_and, b.convert(column, ElementType::i32), b.i32(static_cast<std::int32_t>(block - 1)));
}

void store_in_lane(RowContext& context, std::uint32_t index, ValueId column, ValueId value,
                   std::optional<ValueId> inside, ValueId is_lane) {
  lane::Builder& b = context.b;
  const ValueId place =
      b.binary(lane::Op::shift_right, column, b.i64(log2_of(context.program.stores[index].kind.block)));
  context.store_output(index, place, value, context.both(inside, is_lane));
}

}  // namespace

void store_block(RowContext& context, std::uint32_t index, const Point& at, ValueId value) {
  const std::uint32_t block = context.program.stores[index].kind.block;
  if (at.offset % block != 0) return;
  lane::Builder& b = context.b;
  const ValueId begins = b.binary(lane::Op::eq, place_in_block(b, at.column, block), b.i32(0));
  store_in_lane(context, index, at.column, value, at.inside, begins);
}

void store_blocks(RowContext& context, std::uint32_t index, std::span<const BlockValue> blocks,
                  const BankShape& shape) {
  const std::uint32_t block = context.program.stores[index].kind.block, width = 1u << shape.component_bits;
  bool lanes_make_blocks = shape.bits.size() >= log2_of(block);
  for (std::uint32_t v = shape.component_bits; lanes_make_blocks && v < log2_of(block); ++v)
    lanes_make_blocks = !shape.bits[v].in_register;
  const auto count = static_cast<std::uint32_t>(blocks.size());
  lane::Builder& b = context.b;
  if (count == 1 || count * width > block || !lanes_make_blocks) {
    for (const BlockValue& each : blocks) store_block(context, index, *each.at, each.value);
    return;
  }
  const ValueId place = place_in_block(b, blocks[0].at->column, block);
  const bool guarded = std::any_of(blocks.begin(), blocks.end(), [](const BlockValue& v) { return v.at->inside; });
  // Rows are whole blocks: all lanes of a block are inside or none.
  const auto inside = [&](const BlockValue& v) { return v.at->inside ? *v.at->inside : b.boolean(true); };
  ValueId column = blocks[0].at->column, value = blocks[0].value;
  std::optional<ValueId> is_inside;
  if (guarded) is_inside = inside(blocks[0]);
  for (std::uint32_t k = 1; k < count; ++k) {
    const ValueId is_later = b.binary(lane::Op::ge, place, b.i32(static_cast<std::int32_t>(k * width)));
    const auto choose = [&](ValueId later, ValueId earlier) {
      return b.ternary(lane::Op::select, is_later, later, earlier);
    };
    column = choose(blocks[k].at->column, column);
    value = choose(blocks[k].value, value);
    if (guarded) is_inside = choose(inside(blocks[k]), *is_inside);
  }
  const ValueId stores = b.binary(lane::Op::lt, place, b.i32(static_cast<std::int32_t>(count * width)));
  store_in_lane(context, index, column, value, is_inside, stores);
}

}  // namespace lanefold::lower
