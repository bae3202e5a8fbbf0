// The arguments of a call as the rest of the house knows them, in the program's order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "base/view.h"
#include "ir/names.h"
#include "ir/program.h"
#include "lanefold/lanefold.h"

namespace lanefold::api {

/// The internal element type; a value that is none of Type's, and q8_0, which has blocks for elements, are Errors
/// (call_type_mismatch).
ElementType element_type(Type type);
/// The same for an array of a call: `what` is "input" or "output".
ElementType element_type(Type type, const char* what, const std::string& name, const ir::Part& part);

/// Up to `kMost` values without an allocation; room that is not used is not touched either.
template <class T, std::size_t kMost>
class FixedList {
 public:
  void push_back(const T& value) { std::construct_at(data() + size_++, value); }
  void clear() { size_ = 0; }
  void erase(std::size_t index) {
    std::copy(data() + index + 1, data() + size_, data() + index);
    --size_;
  }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {data(), size_}; }
  std::span<const T> span() const { return {data(), size_}; }

 private:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  T* data() { return reinterpret_cast<T*>(memory_); }
  const T* data() const { return reinterpret_cast<const T*>(memory_); }
  std::size_t size_ = 0;
  alignas(T) std::byte memory_[sizeof(T) * kMost];
};
using ViewList = FixedList<View, ir::kMaxNames>;

/// How codes lie in the arrays that callers hold.
Packing packing_of(const ir::Part& part);

struct Counts {
  std::size_t inputs = 0, outputs = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};
/// Throws where a call of the kernel of that name has not as many inputs and outputs as it wants.
void check_counts(const std::string& kernel, Counts given, Counts wanted);

/// Fills the lists; throws where the counts are not the program's.
void fill_views(const ir::Program& program, std::span<const ConstMatrix> inputs, std::span<const ConstMatrix> outputs,
                ViewList& input_views, ViewList& output_views);

}  // namespace lanefold::api
