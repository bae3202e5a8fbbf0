#include "lower/row_context.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "lower/expression.h"

namespace lanefold::lower {

using ir::Kind;

namespace {

// Packing::q8_0_codes: two bytes of scale stand before each 32 codes.
constexpr std::int64_t kPackedShift = 5;
constexpr std::int64_t kPackedGap = 2;

std::vector<lane::Dimension> shape_of(const Kind& kind) {
  const lane::Dimension rows{lane::Dimension::Of::rows, 1}, cols{lane::Dimension::Of::cols, 1};
  switch (kind.tag) {
    case Kind::Tag::uniform: return {{lane::Dimension::Of::fixed, 1}};
    case Kind::Tag::row: return {rows};
    case Kind::Tag::column: return {cols};
    case Kind::Tag::element: return {rows, cols};
    case Kind::Tag::block: return {rows, {lane::Dimension::Of::cols, kind.block}};
  }
  internal_error("a kind without a shape");
}

}  // namespace

RowContext::RowContext(const ir::Program& p, const plan::Plan& pl, const Access& access, lane::Kernel& k,
                       lane::Builder& builder, FunctionTable& f)
    : program(p), plan(pl), kernel(k), b(builder), functions(f), access_(access) {
  for (std::uint32_t i = 0; i < program.inputs.size(); ++i) {
    const ir::Input& input = program.inputs[i];
    inputs_.push_back(declare(input.name, input.storage, input.kind, is_set(access_.strided_inputs, i), false, i));
    inputs_.back().packed = is_set(access_.packed_inputs, i);
  }
  for (std::uint32_t i = 0; i < program.stores.size(); ++i) {
    const ir::Store& store = program.stores[i];
    outputs_.push_back(declare(store.name, store.storage, store.kind, is_set(access_.strided_outputs, i), true, i));
    outputs_.back().packed = is_set(access_.packed_outputs, i);
  }
  const auto scalar = [&](const std::string& name, ElementType type, lane::Role role, std::uint32_t index) {
    kernel.arguments.push_back({.name = name, .buffer = false, .type = type, .role = role, .index = index});
    return static_cast<std::uint32_t>(kernel.arguments.size() - 1);
  };
  const std::uint32_t rows_argument = scalar("rows", ElementType::i64, lane::Role::rows, 0);
  const std::uint32_t cols_argument = scalar("cols", ElementType::i64, lane::Role::cols, 0);
  for (std::uint32_t i = 0; i < program.parameters.size(); ++i)
    parameters_.push_back(scalar(program.parameters[i].name, ElementType::f32, lane::Role::parameter, i));
  rows = b.argument(rows_argument, ElementType::i64);
  cols = b.argument(cols_argument, ElementType::i64);
  cols32 = b.convert(cols, ElementType::i32);
}

RowContext::Binding RowContext::declare(const std::string& name, ElementType type, const Kind& kind, bool strided,
                                        bool output, std::uint32_t index) {
  Binding binding;
  const auto add = [&](lane::Argument argument) {
    kernel.arguments.push_back(std::move(argument));
    return static_cast<std::uint32_t>(kernel.arguments.size() - 1);
  };
  binding.buffer = add({.name = name,
                        .buffer = true,
                        .type = type,
                        .role = output ? lane::Role::output : lane::Role::input,
                        .index = index,
                        .shape = shape_of(kind)});
  if (kind.tag != Kind::Tag::column)
    binding.row_stride = add({.name = name + "_row_stride",
                              .buffer = false,
                              .type = ElementType::i64,
                              .role = output ? lane::Role::output_row_stride : lane::Role::input_row_stride,
                              .index = index});
  if (strided && kind.tag != Kind::Tag::row)
    binding.column_stride = add({.name = name + "_column_stride",
                                 .buffer = false,
                                 .type = ElementType::i64,
                                 .role = output ? lane::Role::output_column_stride : lane::Role::input_column_stride,
                                 .index = index});
  return binding;
}

ValueId RowContext::row_of_lane(std::uint32_t lane_bits) {
  const std::uint32_t packed = plan.layout.rows_per_simd_group;
  ValueId row = b.threadgroup();
  if (plan.cluster > 1) row = b.binary(lane::Op::shift_right, row, b.i64(std::countr_zero(plan.cluster)));
  if (plan.rows_per_threadgroup == 1) return row;
  ValueId within = b.simd_group();
  if (packed > 1) {
    ValueId own = b.lane();
    if (lane_bits > 0) own = b.binary(lane::Op::shift_right, own, b.i32(static_cast<std::int32_t>(lane_bits)));
    within = b.add(b.mul(within, b.i32(static_cast<std::int32_t>(packed))), own);
  }
  return b.add(b.mul(row, b.i64(plan.rows_per_threadgroup)), b.convert(within, ElementType::i64));
}

std::optional<ValueId> RowContext::is_first_worker(std::uint32_t lane_bits) {
  const ValueId lane = b.binary(lane::Op::bit_and, b.lane(), b.i32(static_cast<std::int32_t>((1u << lane_bits) - 1)));
  std::optional<ValueId> first = b.binary(lane::Op::eq, lane, b.i32(0));
  if (plan.simd_groups_per_row > 1) first = both(first, b.binary(lane::Op::eq, b.simd_group(), b.i32(0)));
  if (plan.cluster > 1) first = both(first, b.binary(lane::Op::eq, b.cluster_rank(), b.i32(0)));
  return first;
}

void RowContext::begin_row(ValueId row, bool may_exceed) {
  ValueId at = row;
  row_values_.clear();  // of the row before
  if (may_exceed && !access_.unit_rows) {
    row_inside_ = b.binary(lane::Op::lt, row, rows);
    at = b.binary(lane::Op::min, row, b.sub(rows, b.i64(1)));
  }
  const auto place = [&](Binding& binding) {
    if (binding.row_stride)
      binding.row_offset = access_.unit_rows ? at : b.mul(at, b.argument(*binding.row_stride, ElementType::i64));
  };
  for (Binding& binding : inputs_) place(binding);
  for (Binding& binding : outputs_) place(binding);
  begin_columns();
}

void RowContext::begin_columns() {
  const auto place = [&](Binding& binding) {
    if (binding.column_stride) binding.column_step = b.argument(*binding.column_stride, ElementType::i64);
  };
  for (Binding& binding : inputs_) place(binding);
  for (Binding& binding : outputs_) place(binding);
}

ValueId RowContext::address(Binding& binding, ValueId column, std::optional<ValueId> base) {
  ValueId step = binding.column_step ? b.mul(column, *binding.column_step) : column;
  if (binding.packed) {
    const ValueId block = b.binary(lane::Op::shift_right, base.value_or(column), b.i64(kPackedShift));
    step = b.add(step, b.mul(block, b.i64(kPackedGap)));
  }
  return binding.row_offset ? b.add(*binding.row_offset, step) : step;
}

ValueId RowContext::guarded(ElementType type, std::optional<ValueId> condition, ValueId fallback,
                            const std::function<ValueId()>& load) {
  if (!condition) return load();
  const std::uint32_t temporary = registers("guarded", type, 1);
  b.set(temporary, 0, fallback);
  b.branch(*condition, [&] { b.set(temporary, 0, load()); });
  return b.get(temporary, 0, type);
}

ValueId RowContext::load_input(std::uint32_t index, ValueId column, std::optional<ValueId> inside,
                               std::optional<ValueId> base, bool streaming) {
  const ir::Input& input = program.inputs[index];
  const ElementType type = register_type(input.storage);
  Binding& binding = inputs_[index];
  return guarded(type, inside, emit_literal(b, type, 0), [&] {
    const ValueId at = input.kind.tag == Kind::Tag::row ? *binding.row_offset : address(binding, column, base);
    return b.load(binding.buffer, input.storage, at, 1, 1, streaming && !inside)[0];
  });
}

std::vector<ValueId> RowContext::load_vector(std::uint32_t index, ValueId column, std::uint32_t width,
                                             std::optional<ValueId> inside) {
  Binding& binding = inputs_[index];
  const ElementType storage = program.inputs[index].storage, type = register_type(storage);
  const auto load = [&] { return b.load(binding.buffer, storage, address(binding, column), width, alignment(width)); };
  if (!inside) return load();
  const std::uint32_t temporary = registers("guarded", type, width);
  for (std::uint32_t i = 0; i < width; ++i) b.set(temporary, i, emit_literal(b, type, 0));
  b.branch(*inside, [&] {
    const std::vector<ValueId> loaded = load();
    for (std::uint32_t i = 0; i < width; ++i) b.set(temporary, i, loaded[i]);
  });
  std::vector<ValueId> values;
  for (std::uint32_t i = 0; i < width; ++i) values.push_back(b.get(temporary, i, type));
  return values;
}

std::uint32_t RowContext::alignment(std::uint32_t width) const { return std::min(width, plan.width.alignment); }

ValueId RowContext::gather(const ir::Value& value, ValueId index) {
  const ir::Input& input = program.inputs[value.index];
  const ElementType type = register_type(input.storage);
  const ValueId low = b.binary(lane::Op::ge, index, b.i32(0));
  const ValueId high = b.binary(lane::Op::lt, index, cols32);
  const ValueId fallback =
      type == ElementType::f32 ? b.constant(ElementType::f32, 0x7fc00000u) : emit_literal(b, type, 0);
  Binding& binding = inputs_[value.index];
  return guarded(type, b.binary(lane::Op::bit_and, low, high), fallback, [&] {
    return b.load(binding.buffer, input.storage, address(binding, b.convert(index, ElementType::i64)))[0];
  });
}

std::optional<ValueId> RowContext::both(std::optional<ValueId> x, std::optional<ValueId> y) {
  if (x && y) return b.binary(lane::Op::bit_and, *x, *y);
  return x ? x : y;
}

ValueId RowContext::as_stored(std::uint32_t index, ValueId value) {
  const ir::Store& store = program.stores[index];
  const ElementType type = register_type(store.storage);
  if (b.type(value) == ElementType::boolean) value = b.convert(value, ElementType::i32);
  if (b.type(value) != type) value = b.convert(value, type);
  // Devices differ in which NaN they make; narrowing stores write the one pattern by themselves.
  if (store.storage == ElementType::f32 && plan.order != ir::Order::free)
    value = b.unary(lane::Op::canonical_nan, value);
  return value;
}

void RowContext::store_vector(std::uint32_t index, ValueId column, std::span<const ValueId> values,
                              std::optional<ValueId> condition, bool streaming) {
  std::vector<ValueId> stored;
  for (const ValueId value : values) stored.push_back(as_stored(index, value));
  Binding& binding = outputs_[index];
  const auto write = [&] {
    b.store(binding.buffer, address(binding, column), stored, alignment(static_cast<std::uint32_t>(stored.size())),
            streaming && stored.size() > 1);
  };
  const std::optional<ValueId> where = both(condition, row_inside_);
  if (where)
    b.branch(*where, write);
  else
    write();
}

void RowContext::store_output(std::uint32_t index, ValueId column, ValueId value, std::optional<ValueId> condition,
                              bool streaming, std::optional<ValueId> base) {
  const ir::Store& store = program.stores[index];
  Binding& binding = outputs_[index];
  value = as_stored(index, value);
  const std::optional<ValueId> where = both(condition, row_inside_);
  const auto write = [&] {
    const ValueId at = store.kind.tag == Kind::Tag::row ? *binding.row_offset : address(binding, column, base);
    b.store(binding.buffer, at, std::array{value}, 1, streaming);
  };
  if (where)
    b.branch(*where, write);
  else
    write();
}

std::uint32_t RowContext::registers(const std::string& name, ElementType type, std::uint32_t size) {
  const auto index = static_cast<std::uint32_t>(kernel.registers.size());
  kernel.registers.push_back({name + std::to_string(index), type, size});
  return index;
}

std::uint32_t RowContext::shared(const std::string& name, ElementType type, std::uint32_t size) {
  const auto index = static_cast<std::uint32_t>(kernel.shared.size());
  kernel.shared.push_back({name + std::to_string(index), type, size});
  return index;
}

bool RowContext::is_nonpositive(ir::ValueId id) const {
  // A value less its own maximum, whatever the fold spans: at most zero, or NaN.
  const ir::Value& value = program.values[id];
  if (value.op != ir::Op::sub || value.type != ElementType::f32) return false;
  const ir::Value& right = program.values[value.operands[1]];
  if (right.op != ir::Op::fold_result) return false;
  const ir::Fold& fold = program.folds[right.index];
  const ir::Monoid& monoid = program.monoids[fold.monoid];
  return monoid.builtin && monoid.name == "max" && fold.arguments[0] == value.operands[0];
}

ValueId RowContext::operation(const ir::Value& value, std::span<const ValueId> operands) {
  if (value.op == ir::Op::exp && is_nonpositive(value.operands[0]))
    return functions.call(b, math::Function::exp_nonpositive, operands[0]);
  return emit_operation(value, operands, b, functions);
}

void RowContext::set_fold(std::uint32_t fold, std::vector<ValueId> results) {
  fold_results_[fold] = std::move(results);
  std::erase_if(row_values_, [&](const auto& known) {
    const ir::Value& value = program.values[known.first];
    return value.op == ir::Op::fold_result && value.index == fold;
  });
}

ValueId RowContext::row_value(ir::ValueId id) {
  if (auto found = row_values_.find(id); found != row_values_.end()) return found->second;
  const ir::Value& value = program.values[id];
  ValueId result = 0;
  switch (value.op) {
    case ir::Op::input: result = load_input(value.index, 0, std::nullopt); break;
    case ir::Op::parameter: result = b.argument(parameters_[value.index], ElementType::f32); break;
    case ir::Op::cols: result = cols32; break;
    case ir::Op::rows: result = b.convert(rows, ElementType::i32); break;
    case ir::Op::gather: result = gather(value, row_value(value.operands[0])); break;
    case ir::Op::fold_result: {
      auto fold = fold_results_.find(value.index);
      if (fold == fold_results_.end()) internal_error("a fold is used before its sweep");
      result = fold->second[value.component];
      break;
    }
    default: {
      std::vector<ValueId> operands;
      for (ir::ValueId operand : value.operands) operands.push_back(row_value(operand));
      result = operation(value, operands);
    }
  }
  row_values_[id] = result;
  return result;
}

void RowContext::prepare(const std::vector<ir::ValueId>& roots, const std::map<ir::ValueId, ValueId>& stop) {
  std::vector<ir::ValueId> work(roots.rbegin(), roots.rend());
  std::vector<bool> seen(program.values.size(), false);
  while (!work.empty()) {
    const ir::ValueId id = work.back();
    work.pop_back();
    if (seen[id] || stop.contains(id)) continue;
    seen[id] = true;
    const ir::Value& value = program.values[id];
    if (value.kind.tag == Kind::Tag::uniform || value.kind.tag == Kind::Tag::row) {
      row_value(id);
      continue;
    }
    work.insert(work.end(), value.operands.begin(), value.operands.end());
    if (value.op == ir::Op::fold_result) {
      const ir::Fold& fold = program.folds[value.index];
      work.insert(work.end(), fold.arguments.begin(), fold.arguments.end());
    }
  }
}

}  // namespace lanefold::lower
