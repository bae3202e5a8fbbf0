// The tensors of a call as launches over matrices: leading dimensions joined where strides allow it, else looped over.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "api/arguments.h"
#include "ir/program.h"
#include "lanefold/lanefold.h"

namespace lanefold::api {

/// Leading dimensions that lie evenly in every tensor of a call, as one.
struct Group {
  std::int64_t size = 1;
  int dimensions = 0;                             ///< of the call's
  std::array<int, kMostDimensions> members = {};  ///< those, the outermost first
};

/// One tensor of a call.
struct Placed {
  View view;             ///< the rows of the first launch
  bool has_rows = true;  ///< false: Kind::column
  /// By group: elements between neighbours; 0 for Kind::column.
  std::array<std::int64_t, kMostDimensions> steps = {};
};

/// How a call runs: one group of leading dimensions is the rows of a launch, and launches follow each other for the others.
/// Rows are independent, so neither the choice nor the order shows in the results. Makes no copies and allocates nothing.
class Launches {
 public:
  /// Throws where the tensors are not those of the program, or launches would touch each other's elements.
  Launches(const ir::Program& program, std::span<const ConstTensor> inputs, std::span<const ConstTensor> outputs);
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  std::int64_t cols() const { return cols_; }
  /// Of one launch; 0 where the call has no rows at all.
  std::int64_t rows() const { return rows_; }
  /// 1 or more.
  std::int64_t count() const { return count_; }
  /// The views of launch `number`, which the next call of this replaces.
  void go_to(std::int64_t number);
  std::span<const View> inputs() const { return input_views_.span(); }
  std::span<const View> outputs() const { return output_views_.span(); }
  /// The number that a row of the current launch has among all rows of the call, the last dimension counted fastest.
  std::int64_t row_of_call(std::int64_t row) const;

 private:
  void learn_shape(const ir::Program& program, std::span<const ConstTensor> inputs,
                   std::span<const ConstTensor> outputs);
  template <class Port>
  Placed place(const ConstTensor& tensor, const char* what, const Port& port) const;
  std::span<const std::int64_t> leading() const { return std::span(sizes_).first(static_cast<std::size_t>(leading_)); }
  void join();
  void choose_rows();
  std::span<const Placed> placed_inputs() const { return placed_.span().first(input_count_); }
  std::span<const Placed> placed_outputs() const { return placed_.span().subspan(input_count_); }

  std::size_t input_count_ = 0;
  int leading_ = 0;                                       ///< dimensions before the columns
  std::array<std::int64_t, kMostDimensions> sizes_ = {};  ///< of them
  std::int64_t cols_ = 0, rows_ = 0, count_ = 1, number_ = 0;
  FixedList<Group, kMostDimensions> groups_;
  std::size_t row_group_ = 0;                    ///< which is not there where every leading dimension has one element
  FixedList<Placed, 2 * ir::kMaxNames> placed_;  ///< inputs, then outputs
  ViewList input_views_, output_views_;
};

}  // namespace lanefold::api
