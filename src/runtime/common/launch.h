// Kernel arguments from the views of one call.
#pragma once

#include <span>

#include "base/view.h"
#include "lane/module.h"

namespace lanefold::runtime {

/// The buffers and sizes of one call, in the program's order.
struct Call {
  std::span<const View> inputs;
  std::span<const View> outputs;
  std::span<const float> parameters;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// Fills one word per kernel argument by its role; `words` has room for all of them. Arguments of role `other` are an internal error.
void fill_arguments(const lane::Kernel& kernel, const Call& call, std::span<lane::ArgumentWord> words);

}  // namespace lanefold::runtime
