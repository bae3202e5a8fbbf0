#include <algorithm>

#include "lower/cooperative.h"

namespace lanefold::lower {

using ir::Kind;

void CooperativeRow::along_row(const BankShape& wide, bool whole_banks,
                               const std::function<void(const BankShape&, std::vector<Point>)>& body) {
  const BankShape narrow = linear_shape(wide.lane_bits, 0);
  const auto covered = [&](std::uint32_t width) {
    return b_.binary(lane::Op::bit_and, c_.cols, b_.i64(-static_cast<std::int64_t>(width)));
  };
  const ValueId banks = covered(wide.size());
  b_.loop(b_.i64(0), banks, b_.i64(wide.size()), [&](ValueId first) { body(wide, points(wide, first, std::nullopt)); });
  if (whole_banks) {
    b_.branch(b_.binary(lane::Op::lt, banks, c_.cols),
              [&] { body(wide, points(wide, banks, remaining_columns(c_.cols, banks))); });
    return;
  }
  ValueId vectors = banks;
  if (wide.registers() > 1) {
    vectors = covered(narrow.size());
    b_.loop(banks, vectors, b_.i64(narrow.size()),
            [&](ValueId first) { body(narrow, points(narrow, first, std::nullopt)); });
  }
  b_.branch(b_.binary(lane::Op::lt, vectors, c_.cols),
            [&] { body(narrow, points(narrow, vectors, remaining_columns(c_.cols, vectors))); });
}

void CooperativeRow::store_sweep() {
  std::vector<std::uint32_t> along, per_row;
  std::vector<ir::ValueId> roots;
  for (std::uint32_t i = 0; i < c_.program.stores.size(); ++i) {
    const ir::Store& store = c_.program.stores[i];
    (store.kind.tag == Kind::Tag::row ? per_row : along).push_back(i);
    roots.push_back(store.value);
  }
  std::map<ir::ValueId, ValueId> stop;
  for (ir::ValueId tile : tiles_->written()) stop[tile] = 0;
  c_.prepare(roots, stop);
  if (!along.empty()) {
    b_.comment("store");
    if (linear_)
      linear_stores(along);
    else
      structured_stores(along);
  }
  if (!per_row.empty()) row_stores(per_row);
}

void CooperativeRow::emit_stores(const std::vector<std::uint32_t>& stores, BankEvaluator& bank) {
  // All values of the bank first, then all stores: an output may lie exactly on an input.
  std::vector<std::vector<ValueId>> values(stores.size());
  for (std::size_t s = 0; s < stores.size(); ++s)
    for (std::size_t p = 0; p < bank.points().size(); ++p)
      values[s].push_back(bank.value(c_.program.stores[stores[s]].value, p));
  for (std::size_t s = 0; s < stores.size(); ++s) {
    const ir::Store& store = c_.program.stores[stores[s]];
    for (std::size_t p = 0; p < bank.points().size(); ++p) {
      const Point& at = bank.points()[p];
      if (store.kind.tag != Kind::Tag::block) {
        c_.store_output(stores[s], at.column, values[s][p], at.inside, linear_ && c_.streams() && !at.inside,
                        bank.packed_base(at));
        continue;
      }
      store_block(c_, stores[s], at, values[s][p]);
    }
  }
}

void CooperativeRow::linear_stores(const std::vector<std::uint32_t>& stores) {
  const BankShape wide = linear_shape(shape_.lane_bits, log2_of(along_registers_));
  const bool blocks = analysis_.widest_block_fold > 0;
  along_row(wide, blocks, [&](const BankShape& shape, std::vector<Point> at) {
    BankEvaluator bank(c_, *tiles_, shape, std::move(at));
    emit_stores(stores, bank);
  });
}

void CooperativeRow::structured_stores(const std::vector<std::uint32_t>& stores) {
  const bool blocks = analysis_.widest_block_fold > 0;
  const auto segment = [&](ValueId begin, ValueId columns) {
    const auto pass = [&](ValueId offset) {
      for_banks(begin, columns, offset, blocks, [&](ValueId first, std::optional<ValueId> remaining) {
        BankEvaluator bank(c_, *tiles_, shape_, points(shape_, first, remaining));
        emit_stores(stores, bank);
      });
    };
    if (pass_bits_ == 0)
      pass(b_.i64(0));
    else
      b_.loop(b_.i64(0), b_.i64(std::int64_t{1} << pass_bits_), b_.i64(1),
              [&](ValueId p) { pass(b_.mul(p, b_.i64(shape_.size()))); });
  };
  if (!plan_.width.segmented || plan_.order != ir::Order::canonical) return segment(b_.i64(0), c_.cols);
  constexpr std::int64_t length = ir::CanonicalOrder::segment;
  b_.loop(b_.i64(0), c_.cols, b_.i64(length),
          [&](ValueId begin) { segment(begin, b_.binary(lane::Op::min, b_.sub(c_.cols, begin), b_.i64(length))); });
}

void CooperativeRow::row_stores(const std::vector<std::uint32_t>& stores) {
  // The first worker of the row stores for it.
  const std::optional<ValueId> first = c_.is_first_worker(shape_.lane_bits);
  for (std::uint32_t s : stores) c_.store_output(s, b_.i64(0), c_.row_value(c_.program.stores[s].value), first);
}

}  // namespace lanefold::lower
