#include "plan/analysis.h"

#include <algorithm>
#include <limits>

namespace lanefold::plan {
namespace {

using ir::Kind;
using ir::ValueId;

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
constexpr double kDearWork = 10;  // simple operations of a function from portable.def, about
constexpr double kSlowWork = 5;   // a division or square root

bool along_row(Kind kind) { return kind.tag == Kind::Tag::element || kind.tag == Kind::Tag::block; }

double work_of(ir::Op op) {
  switch (op) {
    case ir::Op::constant:
    case ir::Op::input:
    case ir::Op::parameter:
    case ir::Op::col:
    case ir::Op::cols:
    case ir::Op::rows:
    case ir::Op::fold_result: return 0;
    case ir::Op::div:
    case ir::Op::sqrt:
    case ir::Op::quantize: return kSlowWork;
    default: return is_dear(op) ? kDearWork : 1;
  }
}

/// Walks the values that each sweep needs, from the arguments of its row folds and the stores down to the inputs.
class Walk {
 public:
  /// `everything`: whatever varies along the row is kept, not only what is dear.
  Walk(const ir::Program& program, const Analysis& analysis, bool everything)
      : program_(program), analysis_(analysis), dear_(program.values.size()), first_(program.values.size(), kNever) {
    if (everything) {
      for (ValueId v = 0; v < program.values.size(); ++v) {
        const ir::Value& value = program.values[v];
        dear_[v] = value.kind.tag == Kind::Tag::element && value.op != ir::Op::col;
      }
      return;
    }
    // Dear: the value holds a function of something that varies along the row.
    for (ValueId v = 0; v < program.values.size(); ++v) {
      const ir::Value& value = program.values[v];
      dear_[v] = value.kind.tag == Kind::Tag::element &&
                 (is_dear(value.op) ||
                  std::any_of(value.operands.begin(), value.operands.end(), [&](ValueId o) { return dear_[o]; }));
    }
  }

  /// The first sweep whose row folds need the value.
  std::uint32_t first(ValueId v) const { return first_[v]; }

  /// Visits what sweep `p` needs. With `keep`, values first needed by a row fold of an earlier sweep become tiles and are
  /// not descended into.
  void sweep(std::uint32_t p, bool keep, Sweep& out, std::vector<ValueId>& tiles) {
    seen_.assign(program_.values.size(), false);
    inputs_.clear();
    work_ = 0;
    p_ = p;
    keep_ = keep;
    tiles_ = &tiles;
    for (const std::uint32_t f : out.folds) {
      for (const ValueId a : program_.folds[f].arguments) visit(a);
    }
    if (p == analysis_.depth) {
      for (const ir::Store& s : program_.stores) {
        if (along_row(s.kind)) visit(s.value);
      }
    }
    if (keep_) {
      for (ValueId v = 0; v < seen_.size(); ++v) {
        if (seen_[v] && first_[v] == kNever) first_[v] = p;
      }
    }
    std::sort(inputs_.begin(), inputs_.end());
    inputs_.erase(std::unique(inputs_.begin(), inputs_.end()), inputs_.end());
    (keep ? out.inputs : out.inputs_recomputing) = inputs_;
    (keep ? out.work : out.work_recomputing) = work_;
  }

 private:
  void visit(ValueId root) {
    std::vector<ValueId> stack{root};
    while (!stack.empty()) {
      const ValueId v = stack.back();
      stack.pop_back();
      const ir::Value& value = program_.values[v];
      if (seen_[v] || !(along_row(value.kind) || value.kind.tag == Kind::Tag::column)) continue;
      seen_[v] = true;
      if (keep_ && dear_[v] && first_[v] < p_) {
        tiles_->push_back(v);
        continue;
      }
      work_ += work_of(value.op);
      if (value.op == ir::Op::input && value.kind.tag == Kind::Tag::element) inputs_.push_back(value.index);
      if (value.op == ir::Op::fold_result && program_.folds[value.index].block != 0) {
        const auto& arguments = program_.folds[value.index].arguments;
        work_ += static_cast<double>(arguments.size());
        stack.insert(stack.end(), arguments.begin(), arguments.end());
      }
      stack.insert(stack.end(), value.operands.begin(), value.operands.end());
    }
  }

  const ir::Program& program_;
  const Analysis& analysis_;
  std::vector<bool> dear_;            // worth keeping
  std::vector<std::uint32_t> first_;  // the first sweep whose row folds need the value
  std::vector<bool> seen_;
  std::vector<std::uint32_t> inputs_;
  double work_ = 0;
  std::uint32_t p_ = 0;
  bool keep_ = false;
  std::vector<ValueId>* tiles_ = nullptr;
};

void find_depths(const ir::Program& program, Analysis& a) {
  a.fold_depth.assign(program.folds.size(), 0);
  a.value_depth.assign(program.values.size(), 0);
  // Operands come before their users, and a fold's arguments before its results, so that one pass is enough.
  for (ValueId v = 0; v < program.values.size(); ++v) {
    const ir::Value& value = program.values[v];
    std::uint32_t depth = 0;
    for (const ValueId o : value.operands) depth = std::max(depth, a.value_depth[o]);
    if (value.op == ir::Op::fold_result) {
      const ir::Fold& fold = program.folds[value.index];
      for (const ValueId o : fold.arguments) depth = std::max(depth, a.value_depth[o]);
      if (fold.block == 0) ++depth;
    }
    a.value_depth[v] = depth;
  }
  for (std::uint32_t f = 0; f < program.folds.size(); ++f) {
    const ir::Fold& fold = program.folds[f];
    std::uint32_t depth = 0;
    for (const ValueId o : fold.arguments) depth = std::max(depth, a.value_depth[o]);
    a.fold_depth[f] = depth + (fold.block == 0 ? 1 : 0);
    a.depth = std::max(a.depth, a.fold_depth[f]);
    if (fold.block == 0) a.row_folds.push_back(f);
  }
  std::stable_sort(a.row_folds.begin(), a.row_folds.end(),
                   [&](std::uint32_t l, std::uint32_t r) { return a.fold_depth[l] < a.fold_depth[r]; });
}

void find_sizes(const ir::Program& program, Analysis& a) {
  for (const ir::Fold& f : program.folds) a.widest_block_fold = std::max(a.widest_block_fold, f.block);
  a.widest_block = a.widest_block_fold;
  for (const ir::Input& i : program.inputs) {
    a.widest_block = std::max(a.widest_block, i.kind.block);
    if (i.kind.tag == Kind::Tag::element) a.input_bytes += static_cast<double>(element_bytes(i.storage));
  }
  for (const ir::Store& s : program.stores) {
    a.widest_block = std::max(a.widest_block, s.kind.block);
    if (!along_row(s.kind)) continue;
    a.element_stores = true;
    a.output_bytes +=
        static_cast<double>(element_bytes(s.storage)) / (s.kind.tag == Kind::Tag::block ? s.kind.block : 1);
  }
}

/// Whether the roots need a fold of blocks along the row. Row values are known before; an input of blocks is read column by column.
bool needs_blocks(const ir::Program& program, std::vector<ValueId> work) {
  std::vector<bool> seen(program.values.size(), false);
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const ir::Value& value = program.values[id];
    if (value.kind.tag == ir::Kind::Tag::uniform || value.kind.tag == ir::Kind::Tag::row) continue;
    if (value.op == ir::Op::fold_result) return true;
    work.insert(work.end(), value.operands.begin(), value.operands.end());
  }
  return false;
}

/// Registers that a kept value takes where elements of 16 bits stay packed.
double registers_of(const ir::Program& program, const ir::Value& value) {
  const auto is_narrow = [&](const ir::Value& v) {
    return v.op == ir::Op::input && v.kind.tag == Kind::Tag::element &&
           element_bytes(program.inputs[v.index].storage) == 2;
  };
  if (is_narrow(value)) return 0.5;
  if (value.op != ir::Op::add && value.op != ir::Op::sub && value.op != ir::Op::mul) return 1;
  const ir::Value &a = program.values[value.operands[0]], &b = program.values[value.operands[1]];
  const auto is_of_row = [](const ir::Value& v) {
    return v.kind.tag == Kind::Tag::row || v.kind.tag == Kind::Tag::uniform;
  };
  return (is_narrow(a) && is_of_row(b)) || (is_narrow(b) && is_of_row(a)) ? 0.5 : 1;
}

/// Fills in `kept`, of an analysis whose sweeps know their folds.
void find_kept(const ir::Program& program, Analysis& a) {
  Walk walk(program, a, true);
  std::vector<std::uint32_t> last(program.values.size(), 0);
  for (std::uint32_t p = 0; p < a.sweeps.size(); ++p) {
    Sweep sweep;
    sweep.folds = a.sweeps[p].folds;
    std::vector<ValueId> needed;
    walk.sweep(p, true, sweep, needed);
    for (const ValueId v : needed) last[v] = p;
    a.kept.insert(a.kept.end(), needed.begin(), needed.end());
  }
  std::sort(a.kept.begin(), a.kept.end());
  a.kept.erase(std::unique(a.kept.begin(), a.kept.end()), a.kept.end());
  std::vector<bool> at_first(program.inputs.size(), false), read(program.inputs.size(), false);
  for (ValueId v = 0; v < program.values.size(); ++v) {
    const ir::Value& value = program.values[v];
    if (value.op != ir::Op::input || walk.first(v) == kNever) continue;
    const bool element = value.kind.tag == Kind::Tag::element;
    if (element && walk.first(v) == 0) at_first[value.index] = true;
    if (element || value.kind.tag == Kind::Tag::column) read[value.index] = true;
  }
  for (std::uint32_t i = 0; i < read.size(); ++i) {
    a.kept_values += at_first[i];
    const double registers = element_bytes(program.inputs[i].storage) == 2 ? 0.5 : 1;
    if (at_first[i]) a.kept_registers += registers;
    if (!read[i] || at_first[i]) continue;
    a.later_inputs.push_back(i);
    a.later_registers += registers;
  }
  for (std::uint32_t p = 0; p + 1 < a.sweeps.size(); ++p) {
    std::uint32_t values = 0;
    double registers = 0;
    for (const ValueId v : a.kept)
      if (walk.first(v) <= p && last[v] > p) {
        ++values;
        registers += registers_of(program, program.values[v]);
      }
    a.kept_values = std::max(a.kept_values, values);
    a.kept_registers = std::max(a.kept_registers, registers);
  }
}

/// Fills in `joins`, of an analysis that is otherwise finished.
void find_joining(const ir::Program& program, Analysis& a) {
  if (a.depth != 1 || a.element_stores || !a.tiles.empty() || a.widest_block_fold != 0 || a.row_folds.size() < 2)
    return;
  const std::uint32_t first = program.folds[a.row_folds.front()].monoid;
  const ir::Monoid& monoid = program.monoids[first];
  a.joins = monoid.state.size() == 1 && monoid.identity && !monoid.reorderable &&
            std::all_of(a.row_folds.begin(), a.row_folds.end(),
                        [&](std::uint32_t f) { return program.folds[f].monoid == first; });
  if (!a.joins) return;
  std::vector<bool> seen(program.values.size(), false);
  std::vector<ValueId> work;
  for (const std::uint32_t f : a.row_folds)
    work.insert(work.end(), program.folds[f].arguments.begin(), program.folds[f].arguments.end());
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    if (seen[v]) continue;
    seen[v] = true;
    const ir::Value& value = program.values[v];
    if (value.op == ir::Op::input && value.kind.tag == Kind::Tag::column) a.shared_inputs.push_back(value.index);
    work.insert(work.end(), value.operands.begin(), value.operands.end());
  }
  std::sort(a.shared_inputs.begin(), a.shared_inputs.end());
  a.shared_inputs.erase(std::unique(a.shared_inputs.begin(), a.shared_inputs.end()), a.shared_inputs.end());
}

}  // namespace

bool is_dear(ir::Op op) {
  switch (op) {
    case ir::Op::exp:
    case ir::Op::log:
    case ir::Op::tanh:
    case ir::Op::sigmoid:
    case ir::Op::erf: return true;
    default: return false;
  }
}

bool is_reorderable(const ir::Program& program, const ir::Fold& fold) {
  return program.monoids[fold.monoid].reorderable;
}

std::vector<std::int64_t> Analysis::domains(std::int64_t cols) const {
  std::vector<std::int64_t> sizes(tiles.size(), cols);
  sizes.push_back(element_stores ? cols : 1);
  return sizes;
}

Analysis analyse(const ir::Program& program) {
  Analysis a;
  find_depths(program, a);
  find_sizes(program, a);
  a.sweeps.resize(a.depth + 1);
  for (const std::uint32_t f : a.row_folds) {
    Sweep& sweep = a.sweeps[a.fold_depth[f] - 1];
    const auto components = static_cast<std::uint32_t>(program.monoids[program.folds[f].monoid].state.size());
    sweep.folds.push_back(f);
    const ir::Monoid& monoid = program.monoids[program.folds[f].monoid];
    sweep.state_bytes += components * 4 + (monoid.identity ? 0 : 1);
    sweep.any_order = sweep.any_order && monoid.reorderable;
    sweep.folds_blocks = sweep.folds_blocks || needs_blocks(program, program.folds[f].arguments);
    sweep.accumulators += components;
    a.partials += components;
  }
  Walk walk(program, a, false);
  std::vector<ValueId> tiles, ignored;
  for (std::uint32_t p = 0; p < a.sweeps.size(); ++p) {
    walk.sweep(p, true, a.sweeps[p], tiles);
    walk.sweep(p, false, a.sweeps[p], ignored);
  }
  std::sort(tiles.begin(), tiles.end());
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  a.tiles = std::move(tiles);
  a.tile_values = static_cast<std::uint32_t>(a.tiles.size());
  std::vector<std::uint32_t> readings(program.inputs.size(), 0);
  for (const Sweep& s : a.sweeps) {
    for (const std::uint32_t i : s.inputs) ++readings[i];
  }
  for (std::uint32_t i = 0; i < readings.size(); ++i) {
    if (readings[i] < 2) continue;
    a.reread_inputs.push_back(i);
    ++a.reread_values;
  }
  find_kept(program, a);
  find_joining(program, a);
  a.shifted_sums = shifted_sums(program);
  return a;
}

}  // namespace lanefold::plan
