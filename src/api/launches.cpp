#include "api/launches.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/failure.h"
#include "api/launch_overlap.h"
#include "verify/check.h"

namespace lanefold::api {
namespace {

using Tag = ir::Kind::Tag;

std::string shape_text(std::span<const std::int64_t> sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

std::span<const std::int64_t> shape_of(const ConstTensor& tensor) {
  return std::span(tensor.shape).first(static_cast<std::size_t>(tensor.rank));
}

/// An input or output as its user knows it.
template <class Port>
std::string place_of(const char* what, const Port& port) {
  return fmt::format("{} {}", what, ir::declared_name(port.name, port.part));
}

template <class Port>
void check_rank(const ConstTensor& tensor, const char* what, const Port& port) {
  const auto told = [&] { return fmt::format("{} {}", what, ir::part_name(port.name, port.part)); };
  if (tensor.rank < 0 || tensor.rank > kMostDimensions)
    fail({Code::call_shape_mismatch, fmt::format("{} has {} dimensions", told(), tensor.rank),
          fmt::format("use 0 to {}", kMostDimensions), place_of(what, port)});
  for (const std::int64_t size : shape_of(tensor))
    if (size < 0)
      fail({Code::call_shape_mismatch, fmt::format("{} has the shape {}", told(), shape_text(shape_of(tensor))),
            "sizes are not negative", place_of(what, port)});
}

/// Whether dimension `outer` steps over all of dimension `inner`, so that both are one.
bool lies_around(std::int64_t outer, std::int64_t inner, std::int64_t inner_size) {
  std::int64_t whole = 0;
  return !__builtin_mul_overflow(inner, inner_size, &whole) && whole == outer;
}

}  // namespace

Launches::Launches(const ir::Program& program, std::span<const ConstTensor> inputs,
                   std::span<const ConstTensor> outputs)
    : input_count_(inputs.size()) {
  check_counts(program.name, {inputs.size(), outputs.size()}, {program.inputs.size(), program.stores.size()});
  for (std::size_t i = 0; i < inputs.size(); ++i) check_rank(inputs[i], "input", program.inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i) check_rank(outputs[i], "output", program.stores[i]);
  learn_shape(program, inputs, outputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) placed_.push_back(place(inputs[i], "input", program.inputs[i]));
  for (std::size_t i = 0; i < outputs.size(); ++i) placed_.push_back(place(outputs[i], "output", program.stores[i]));
  for (std::size_t i = 0; i < inputs.size(); ++i) placed_.span()[i].view.packing = packing_of(program.inputs[i].part);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    placed_.span()[inputs.size() + i].view.packing = packing_of(program.stores[i].part);
  join();
  choose_rows();
  if (count_ > 1 && verify::needs_all_rows(program))
    fail({Code::call_shape_mismatch,
          fmt::format("{} folds or counts all rows, which lie too unevenly to be the rows of one launch", program.name),
          "give it rows that lie evenly in every tensor", program.name});
  if (count_ > 1)
    if (const auto overlap = launch_overlap(program, groups_.span(), placed_inputs(), placed_outputs())) fail(*overlap);
  go_to(0);
}

void Launches::learn_shape(const ir::Program& program, std::span<const ConstTensor> inputs,
                           std::span<const ConstTensor> outputs) {
  bool has_rows = false, has_cols = false;
  const auto learn = [&](const ConstTensor& tensor, const char* what, const auto& port) {
    const ir::Kind& kind = port.kind;
    const auto told = [&] { return fmt::format("{} {}", what, ir::part_name(port.name, port.part)); };
    const bool along_row = kind.tag == Tag::element || kind.tag == Tag::block;
    if (along_row && tensor.rank == 0)
      fail({Code::call_shape_mismatch, fmt::format("{} has no dimensions", told()), "its last dimension is the columns",
            place_of(what, port)});
    // A [..] tensor may end in a dimension of size 1.
    int leading = tensor.rank - (along_row ? 1 : 0);
    if (kind.tag == Tag::row && leading > 1 && tensor.shape[static_cast<std::size_t>(leading) - 1] == 1) --leading;
    if (kind.tag != Tag::column && !has_rows) {
      if (leading >= kMostDimensions)
        fail({Code::call_shape_mismatch, fmt::format("{} has {} leading dimensions", told(), leading),
              fmt::format("use up to {}", kMostDimensions - 1), place_of(what, port)});
      has_rows = true;
      leading_ = leading;
      std::copy_n(tensor.shape.begin(), leading, sizes_.begin());
    }
    if (kind.tag != Tag::row && !has_cols && tensor.rank > 0) {
      has_cols = true;
      cols_ = tensor.shape[static_cast<std::size_t>(tensor.rank) - 1];
      if (kind.tag == Tag::block && __builtin_mul_overflow(cols_, std::int64_t{kind.block}, &cols_))
        fail({Code::call_shape_mismatch,
              fmt::format("{} has {} columns of {} elements each", told(),
                          tensor.shape[static_cast<std::size_t>(tensor.rank) - 1], kind.block),
              "give the number of blocks of a row as the last dimension", place_of(what, port)});
    }
  };
  // Those that vary along the row tell both sizes, so they come first.
  for (const bool along_row : {true, false}) {
    const auto turn = [&](const ir::Kind& kind) {
      return along_row == (kind.tag == Tag::element || kind.tag == Tag::block);
    };
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (turn(program.inputs[i].kind)) learn(inputs[i], "input", program.inputs[i]);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (turn(program.stores[i].kind)) learn(outputs[i], "output", program.stores[i]);
  }
  if (!has_cols || !has_rows)
    fail({Code::shape_unknown,
          fmt::format("no matrix of {} tells the number of {}", program.name, has_cols ? "rows" : "columns"),
          "use the run on matrices by position, which is told rows and columns", program.name});
  const std::span<const std::int64_t> sizes = leading();
  std::int64_t rows = std::count(sizes.begin(), sizes.end(), 0) == 0 ? 1 : 0;
  for (const std::int64_t size : sizes)
    if (rows > 0 && __builtin_mul_overflow(rows, size, &rows))
      fail({Code::call_shape_mismatch, fmt::format("a call over {} rows", shape_text(sizes)), "no memory has so many",
            program.name});
}

template <class Port>
Placed Launches::place(const ConstTensor& tensor, const char* what, const Port& port) const {
  const ir::Kind& kind = port.kind;
  std::array<std::int64_t, kMostDimensions> wanted = sizes_;
  int rank = kind.tag == Tag::column ? 0 : leading_;
  if (kind.tag != Tag::row)
    wanted[static_cast<std::size_t>(rank++)] = kind.tag == Tag::block ? cols_ / kind.block : cols_;
  const std::span<const std::int64_t> given = shape_of(tensor);
  const auto fits = [&](std::span<const std::int64_t> shape) {
    return std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.begin() + rank);
  };
  std::span<const std::int64_t> shape = given;
  if (kind.tag == Tag::row && !fits(shape) && !shape.empty() && shape.back() == 1)
    shape = shape.first(shape.size() - 1);
  std::size_t skipped = 0;
  while (kind.tag == Tag::column && shape.size() > 1 && shape.front() == 1) {
    shape = shape.subspan(1);
    ++skipped;
  }
  if (!fits(shape))
    fail({Code::call_shape_mismatch,
          fmt::format("{} {} is {}, the call over {} rows of {} columns wants {}", what,
                      ir::part_name(port.name, port.part), shape_text(given), shape_text(leading()), cols_,
                      shape_text(std::span(wanted).first(static_cast<std::size_t>(rank)))),
          "shapes follow from the first tensor with columns; weights have one value per column", place_of(what, port)});
  Placed placed;
  placed.has_rows = kind.tag != Tag::column;
  placed.view = {.data = static_cast<std::byte*>(const_cast<void*>(tensor.data)),
                 .type = element_type(tensor.type, what, port.name, port.part),
                 .rows = 1,
                 .cols = 1,
                 .row_stride = 0,
                 .column_stride = 0};
  if (kind.tag != Tag::row) {
    placed.view.cols = wanted[static_cast<std::size_t>(rank) - 1];
    placed.view.column_stride = tensor.strides[skipped + shape.size() - 1];
  }
  if (placed.has_rows) std::copy_n(tensor.strides.begin(), leading_, placed.steps.begin());
  return placed;
}

void Launches::join() {
  // First each dimension by itself; the steps of a dimension of one element do not matter.
  for (int d = 0; d < leading_; ++d) {
    const std::int64_t size = sizes_[static_cast<std::size_t>(d)];
    if (size == 1) continue;
    for (Placed& one : placed_.span()) one.steps[groups_.size()] = one.steps[static_cast<std::size_t>(d)];
    groups_.push_back({.size = size, .dimensions = 1, .members = {d}});
  }
  const auto joined = [&](std::size_t outer, std::size_t inner) {
    return outer != inner && std::all_of(placed_.span().begin(), placed_.span().end(), [&](const Placed& one) {
             return lies_around(one.steps[outer], one.steps[inner], groups_.span()[inner].size);
           });
  };
  for (std::size_t outer = 0; outer < groups_.size(); ++outer)
    for (std::size_t inner = 0; inner < groups_.size(); ++inner) {
      if (!joined(outer, inner)) continue;
      Group& around = groups_.span()[outer];
      const Group within = groups_.span()[inner];
      around.size *= within.size;
      for (int i = 0; i < within.dimensions; ++i)
        around.members[static_cast<std::size_t>(around.dimensions++)] = within.members[static_cast<std::size_t>(i)];
      for (Placed& one : placed_.span()) {
        one.steps[outer] = one.steps[inner];
        for (std::size_t g = inner; g + 1 < groups_.size(); ++g) one.steps[g] = one.steps[g + 1];
      }
      groups_.erase(inner);
      outer = 0;  // the new group may join another one
      inner = static_cast<std::size_t>(-1);
    }
}

void Launches::choose_rows() {
  rows_ = 1;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::int64_t size = groups_.span()[g].size;
    if (g == 0 || size > rows_) row_group_ = g;
    if (g == 0 || size > rows_) rows_ = size;
  }
  const auto is_empty = [](const Group& group) { return group.size == 0; };
  if (std::any_of(groups_.span().begin(), groups_.span().end(), is_empty)) {
    rows_ = 0;
  } else {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (g != row_group_) count_ *= groups_.span()[g].size;
  }
  for (Placed& one : placed_.span()) {
    if (!one.has_rows) continue;
    one.view.rows = rows_;
    if (groups_.size() > 0) one.view.row_stride = one.steps[row_group_];
  }
}

void Launches::go_to(std::int64_t number) {
  number_ = number;
  input_views_.clear();
  output_views_.clear();
  for (std::size_t i = 0; i < placed_.size(); ++i) {
    const Placed& one = placed_.span()[i];
    View view = one.view;
    std::int64_t rest = number;
    for (std::size_t g = groups_.size(); g-- > 0;) {
      if (g == row_group_ || rest == 0) continue;
      const std::int64_t size = groups_.span()[g].size;
      view.data += rest % size * one.steps[g] * static_cast<std::int64_t>(element_bytes(view.type));
      rest /= size;
    }
    (i < input_count_ ? input_views_ : output_views_).push_back(view);
  }
}

std::int64_t Launches::row_of_call(std::int64_t row) const {
  std::array<std::int64_t, kMostDimensions> at = {};
  std::int64_t rest = number_;
  for (std::size_t g = groups_.size(); g-- > 0;) {
    const Group& group = groups_.span()[g];
    std::int64_t index = row;
    if (g != row_group_) {
      index = rest % group.size;
      rest /= group.size;
    }
    for (int i = group.dimensions; i-- > 0;) {
      const auto dimension = static_cast<std::size_t>(group.members[static_cast<std::size_t>(i)]);
      at[dimension] = index % sizes_[dimension];
      index /= sizes_[dimension];
    }
  }
  std::int64_t number = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(leading_); ++d) number = number * sizes_[d] + at[d];
  return number;
}

}  // namespace lanefold::api
