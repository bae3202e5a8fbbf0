// The matrices of a call as the views that the rest of the house knows, in the program's order.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/view.h"
#include "ir/names.h"
#include "ir/program.h"
#include "lanefold/lanefold.h"

namespace lanefold::api {

/// The internal element type; a value that is none of Type's is an Error (call_type_mismatch).
ElementType element_type(Type type);

/// Up to ir::kMaxNames views without an allocation; room that is not used is not touched either.
class ViewList {
 public:
  void push_back(const View& view) { std::construct_at(data() + size_++, view); }
  std::span<const View> span() const { return {data(), size_}; }

 private:
  View* data() { return reinterpret_cast<View*>(memory_); }
  const View* data() const { return reinterpret_cast<const View*>(memory_); }
  std::size_t size_ = 0;
  alignas(View) std::byte memory_[sizeof(View) * ir::kMaxNames];
};

/// Fills the lists; throws where the counts are not the program's.
void fill_views(const ir::Program& program, std::span<const ConstMatrix> inputs, std::span<const Matrix> outputs,
                ViewList& input_views, ViewList& output_views);

/// A call by name, put in order.
struct Arguments {
  std::vector<ConstMatrix> inputs;
  std::vector<Matrix> outputs;
  std::vector<float> parameters;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};
Arguments arrange(const ir::Program& program, const std::vector<NamedInput>& inputs,
                  const std::vector<NamedOutput>& outputs, const std::vector<NamedParameter>& parameters);

}  // namespace lanefold::api
