#include "lower/bank.h"

#include <algorithm>

namespace lanefold::lower {
namespace {

std::vector<ValueId> merge_two(std::uint32_t function, const std::vector<ValueId>& left,
                               const std::vector<ValueId>& right, lane::Builder& builder,
                               const FunctionTable& functions) {
  std::vector<ValueId> arguments = left;
  arguments.insert(arguments.end(), right.begin(), right.end());
  return builder.call(function, arguments, functions.result_types(function));
}

void place_registers(BankShape& shape) {
  std::uint32_t register_bits = 0;
  for (const BankShape::Bit& bit : shape.bits) register_bits += bit.in_register;
  shape.register_offsets.assign(1u << register_bits, 0);
  for (std::uint32_t r = 0; r < shape.register_offsets.size(); ++r)
    for (std::uint32_t v = 0; v < shape.bits.size(); ++v)
      if (shape.bits[v].in_register && ((r >> shape.bits[v].index) & 1)) shape.register_offsets[r] |= 1u << v;
}

/// The register bits of `bank`, merged where they are the lowest virtual bit left.
void merge_register_bit(Bank& bank, std::uint32_t position, std::uint32_t function, lane::Builder& builder,
                        const FunctionTable& functions) {
  const std::uint32_t distance = 1u << position;
  std::vector<std::vector<ValueId>> merged;
  for (std::uint32_t r = 0; r < bank.registers.size(); ++r)
    if (!(r & distance))
      merged.push_back(merge_two(function, bank.registers[r], bank.registers[r + distance], builder, functions));
  bank.registers = std::move(merged);
  bank.register_bits.erase(bank.register_bits.begin() + position);
}

/// Merges `count` consecutive lane bits from `first`; while there are registers, their lowest bit moves into each lane bit.
void merge_lane_bits(Bank& bank, std::uint32_t first, std::uint32_t count, std::uint32_t function,
                     lane::Builder& builder) {
  std::vector<ValueId> flat;
  const auto components = static_cast<std::uint32_t>(bank.registers[0].size());
  for (const auto& state : bank.registers) flat.insert(flat.end(), state.begin(), state.end());
  const std::vector<ValueId> merged = builder.fold_lanes(function, flat, components, first, count);
  bank.registers.clear();
  for (std::size_t i = 0; i < merged.size(); i += components)
    bank.registers.emplace_back(merged.begin() + static_cast<std::ptrdiff_t>(i),
                                merged.begin() + static_cast<std::ptrdiff_t>(i + components));
  for (std::uint32_t bit = first; bit < first + count; ++bit) {
    if (bank.register_bits.empty()) {
      bank.lane_bits[bit] = Bank::kMerged;
    } else {
      bank.lane_bits[bit] = bank.register_bits.front();
      bank.register_bits.erase(bank.register_bits.begin());
    }
  }
}

}  // namespace

bool BankShape::lanes_first() const {
  for (std::uint32_t v = 0; v < lane_bits; ++v)
    if (v >= bits.size() || bits[v].in_register || bits[v].index != v) return false;
  return true;
}

BankShape bank_shape(const plan::Layout& layout) {
  BankShape shape;
  std::uint32_t registers = 0;
  for (plan::Owner owner : layout.bits) {
    if (owner == plan::Owner::component || owner == plan::Owner::reg) {
      shape.bits.push_back({true, registers++});
      if (owner == plan::Owner::component) ++shape.component_bits;
    } else if (owner == plan::Owner::lane) {
      shape.bits.push_back({false, shape.lane_bits++});
    } else {
      break;
    }
  }
  place_registers(shape);
  return shape;
}

BankShape linear_shape(std::uint32_t lane_bits, std::uint32_t register_bits) {
  BankShape shape;
  shape.lane_bits = lane_bits;
  for (std::uint32_t i = 0; i < lane_bits; ++i) shape.bits.push_back({false, i});
  for (std::uint32_t i = 0; i < register_bits; ++i) shape.bits.push_back({true, i});
  place_registers(shape);
  return shape;
}

ValueId lane_offset(const BankShape& shape, std::uint32_t simd_bits, lane::Builder& builder) {
  const ValueId lane = builder.lane();
  std::optional<ValueId> offset;
  for (std::uint32_t v = 0; v < shape.bits.size();) {
    if (shape.bits[v].in_register) {
      ++v;
      continue;
    }
    // A run of lane bits that stand together moves as one field.
    std::uint32_t run = 1;
    while (v + run < shape.bits.size() && !shape.bits[v + run].in_register) ++run;
    const std::uint32_t first = shape.bits[v].index;
    ValueId field = lane;
    if (first != 0 || run != simd_bits) {
      const auto mask = static_cast<std::int32_t>(((1u << run) - 1) << first);
      field = builder.binary(lane::Op::bit_and, lane, builder.i32(mask));
    }
    if (v > first)
      field = builder.binary(lane::Op::shift_left, field, builder.i32(static_cast<std::int32_t>(v - first)));
    offset = offset ? builder.add(*offset, field) : field;
    v += run;
  }
  return offset ? *offset : builder.i32(0);
}

Bank make_bank(const BankShape& shape, std::vector<std::vector<ValueId>> registers) {
  Bank bank;
  bank.registers = std::move(registers);
  bank.lane_bits.assign(shape.lane_bits, Bank::kMerged);
  for (std::uint32_t v = 0; v < shape.bits.size(); ++v) {
    if (shape.bits[v].in_register)
      bank.register_bits.push_back(v);
    else
      bank.lane_bits[shape.bits[v].index] = v;
  }
  return bank;
}

void merge_below(Bank& bank, std::uint32_t limit, std::uint32_t function, lane::Builder& builder,
                 const FunctionTable& functions) {
  for (;;) {
    std::uint32_t lowest = limit;
    bool in_register = false;
    std::uint32_t position = 0;
    for (std::uint32_t i = 0; i < bank.register_bits.size(); ++i)
      if (bank.register_bits[i] < lowest) lowest = bank.register_bits[i], in_register = true, position = i;
    for (std::uint32_t i = 0; i < bank.lane_bits.size(); ++i)
      if (bank.lane_bits[i] < lowest) lowest = bank.lane_bits[i], in_register = false, position = i;
    if (lowest == limit) return;
    if (in_register) {
      merge_register_bit(bank, position, function, builder, functions);
      continue;
    }
    std::uint32_t run = 1;
    while (position + run < bank.lane_bits.size() && bank.lane_bits[position + run] == lowest + run &&
           lowest + run < limit)
      ++run;
    merge_lane_bits(bank, position, run, function, builder);
  }
}

void merge_registers(Bank& bank, std::uint32_t limit, std::uint32_t function, lane::Builder& builder,
                     const FunctionTable& functions) {
  while (bank.registers.size() > 1) {
    std::uint32_t lowest = limit;
    for (std::uint32_t bit : bank.register_bits) lowest = std::min(lowest, bit);
    for (std::uint32_t bit : bank.lane_bits) lowest = std::min(lowest, bit);
    if (lowest == limit) return;
    merge_below(bank, lowest + 1, function, builder, functions);
  }
}

void merge_lowest_register_bit(Bank& bank, std::uint32_t function, lane::Builder& builder,
                               const FunctionTable& functions) {
  merge_register_bit(bank, 0, function, builder, functions);
}

void merge_blocks(const BankShape& shape, std::vector<std::vector<ValueId>>& registers, std::uint32_t bits,
                  std::uint32_t function, bool reorderable, lane::Builder& builder, const FunctionTable& functions) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t v = 0; v < bits; ++v) order.push_back(v);
  // Register bits cost no shuffle; where order does not matter they go first and shrink the work of the lane bits.
  if (reorderable)
    std::stable_partition(order.begin(), order.end(), [&](std::uint32_t v) { return shape.bits[v].in_register; });
  const auto components = static_cast<std::uint32_t>(registers[0].size());
  for (std::uint32_t v : order) {
    const BankShape::Bit bit = shape.bits[v];
    std::vector<std::vector<ValueId>> merged(registers.size());
    for (std::uint32_t r = 0; r < registers.size(); ++r) {
      if (!merged[r].empty()) continue;
      if (bit.in_register) {
        const std::uint32_t left = r & ~(1u << bit.index), right = r | (1u << bit.index);
        merged[left] = merged[right] = merge_two(function, registers[left], registers[right], builder, functions);
        // Registers that hold the same two already have the same result.
        for (std::uint32_t other = r + 1; other < registers.size(); ++other)
          if (registers[other & ~(1u << bit.index)] == registers[left] &&
              registers[other | (1u << bit.index)] == registers[right])
            merged[other] = merged[left];
      } else {
        merged[r] = builder.fold_lanes(function, registers[r], components, bit.index, 1);
        // Registers that hold one and the same value stay so.
        for (std::uint32_t other = r + 1; other < registers.size(); ++other)
          if (registers[other] == registers[r]) merged[other] = merged[r];
      }
    }
    registers = std::move(merged);
  }
}

}  // namespace lanefold::lower
