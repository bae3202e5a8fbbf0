#include "kernels/module_frame.h"

#include <array>
#include <bit>

#include "ir/program.h"

namespace lanefold::kernels {
namespace {

constexpr ElementType kF32 = ElementType::f32;
constexpr std::int64_t kBlock = 32;       ///< elements of a q8_0 block
constexpr std::int64_t kBlockBytes = 34;  ///< an f16 scale, then the codes

}  // namespace

ModuleFrame::ModuleFrame(std::string_view name, std::uint32_t simd_width, std::int64_t simd_groups,
                         std::int64_t threadgroups) {
  module_.name = name;
  kernel_.name = name;
  kernel_.simd_width = simd_width;
  kernel_.simd_groups = static_cast<std::uint32_t>(simd_groups);
  kernel_.threadgroups = static_cast<std::uint32_t>(threadgroups);
}

std::uint32_t ModuleFrame::buffer(std::string_view name, ElementType type, lane::Role role, std::uint32_t index,
                                  const std::vector<std::int64_t>& shape) {
  lane::Argument argument;
  argument.name = name;
  argument.buffer = true;
  argument.type = type;
  argument.role = role;
  argument.index = index;
  for (const std::int64_t extent : shape) argument.shape.push_back({lane::Dimension::Of::fixed, extent});
  kernel_.arguments.push_back(std::move(argument));
  return static_cast<std::uint32_t>(kernel_.arguments.size() - 1);
}

std::uint32_t ModuleFrame::input(std::string_view name, const std::vector<std::int64_t>& shape) {
  return buffer(name, kF32, lane::Role::input, inputs_++, shape);
}

std::uint32_t ModuleFrame::output(std::string_view name, const std::vector<std::int64_t>& shape) {
  return buffer(name, kF32, lane::Role::output, outputs_++, shape);
}

std::uint32_t ModuleFrame::inout(std::string_view name, const std::vector<std::int64_t>& shape) {
  return buffer(name, kF32, lane::Role::inout, inouts_++, shape);
}

Weights ModuleFrame::weights(std::string_view name, WeightFormat format, std::int64_t rows, std::int64_t columns) {
  const std::uint32_t index = inputs_++;
  if (format == WeightFormat::bf16)
    return {format, buffer(name, ElementType::bf16, lane::Role::input, index, {rows, columns}), 0, columns};
  const std::int64_t bytes = columns / kBlock * kBlockBytes;
  const std::uint32_t codes = buffer(name, ElementType::i8, lane::Role::input, index, {rows, bytes});
  const std::uint32_t scales =
      buffer(std::string(name) + "_scale", ElementType::f16, lane::Role::input, index, {rows, bytes / 2});
  kernel_.arguments[scales].memory_of = codes;
  return {format, codes, scales, columns};
}

std::uint32_t ModuleFrame::shared(std::string_view name, std::int64_t size) {
  kernel_.shared.push_back({std::string(name), kF32, static_cast<std::uint32_t>(size)});
  return static_cast<std::uint32_t>(kernel_.shared.size() - 1);
}

std::uint32_t ModuleFrame::registers(std::string_view name, std::int64_t size) {
  kernel_.registers.push_back({std::string(name), kF32, static_cast<std::uint32_t>(size)});
  return static_cast<std::uint32_t>(kernel_.registers.size() - 1);
}

ValueId ModuleFrame::narrow_thread() {
  const ValueId first = builder_.mul(builder_.simd_group(), builder_.i32(static_cast<std::int32_t>(simd_width())));
  return builder_.add(first, builder_.lane());
}

ValueId ModuleFrame::at(ValueId base, ValueId index, std::int64_t stride) {
  return builder_.add(base, builder_.mul(index, i64(stride)));
}

ValueId ModuleFrame::quotient(ValueId index, std::int64_t by) {
  const auto divisor = static_cast<std::uint64_t>(by);
  if (!std::has_single_bit(divisor)) return with_constant(lane::Op::div, index, divisor);
  return by == 1 ? index : with_constant(lane::Op::shift_right, index, std::uint64_t(std::countr_zero(divisor)));
}

ValueId ModuleFrame::remainder(ValueId index, std::int64_t by) {
  const auto divisor = static_cast<std::uint64_t>(by);
  return std::has_single_bit(divisor) ? with_constant(lane::Op::bit_and, index, divisor - 1)
                                      : with_constant(lane::Op::rem, index, divisor);
}

ValueId ModuleFrame::with_constant(lane::Op op, ValueId index, std::uint64_t constant) {
  return builder_.binary(op, index, builder_.constant(builder_.type(index), constant));
}

ValueId ModuleFrame::load(std::uint32_t buffer, ValueId address) { return builder_.load(buffer, kF32, address)[0]; }

void ModuleFrame::store(std::uint32_t buffer, ValueId address, ValueId value) {
  store_canonical(buffer, address, canonical(value));
}

void ModuleFrame::store_canonical(std::uint32_t buffer, ValueId address, ValueId value) {
  builder_.store(buffer, address, std::array{value});
}

WeightRow ModuleFrame::row(const Weights& weights, ValueId row) {
  if (weights.format == WeightFormat::bf16) return {weights, builder_.mul(row, i64(weights.columns)), 0};
  const std::int64_t bytes = weights.columns / kBlock * kBlockBytes;
  return {weights, at(i64(2), row, bytes), builder_.mul(row, i64(bytes / 2))};
}

ValueId ModuleFrame::load(const WeightRow& row, ValueId column) {
  if (row.weights.format == WeightFormat::bf16)
    return builder_.load(row.weights.values, ElementType::bf16, builder_.add(row.values, column))[0];
  // Both factors are f32 and their product rounds once; the code then counts as a bf16 weight would.
  const ValueId block = quotient(column, kBlock);
  const ValueId within = remainder(column, kBlock);
  const ValueId scale = builder_.load(row.weights.scales, ElementType::f16, at(row.scales, block, kBlockBytes / 2))[0];
  const ValueId address = builder_.add(at(row.values, block, kBlockBytes), within);
  const ValueId code = builder_.load(row.weights.values, ElementType::i8, address)[0];
  return builder_.mul(scale, builder_.convert(code, kF32));
}

ValueId ModuleFrame::sum_lanes(ValueId value, std::uint32_t bits) {
  const std::uint32_t merge = functions_.merge(ir::builtin_monoid("sum").value(), false);
  return builder_.fold_lanes(merge, std::array{value}, 1, 0, bits)[0];
}

ValueId ModuleFrame::sum_lanes(ValueId value) {
  return sum_lanes(value, static_cast<std::uint32_t>(std::countr_zero(kernel_.simd_width)));
}

void ModuleFrame::strided(ValueId first, std::int64_t count, std::int64_t step,
                          const std::function<void(ValueId)>& body) {
  builder_.loop(i64(0), i64(count), i64(step), [&](ValueId start) {
    const ValueId index = builder_.add(start, first);
    if (count % step == 0) return body(index);
    builder_.branch(less(index, i64(count)), [&] { body(index); });
  });
}

lane::Module ModuleFrame::finish() {
  module_.kernels.push_back(std::move(kernel_));
  return std::move(module_);
}

}  // namespace lanefold::kernels
