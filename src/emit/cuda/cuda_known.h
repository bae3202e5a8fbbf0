// Functions of lane modules for which CUDA has a way of its own to the same bits.
#pragma once

#include <cstdint>

#include "lane/module.h"

namespace lanefold::emit {

enum class Known : std::uint8_t {
  other,
  exp_nonpositive,
  step_argmax,
  step_argmin,
  merge_argmax,
  merge_argmin,
  merge_max,
  merge_min
};

/// Which function it is, by its name and its printed text: a function of such a name in a module that somebody wrote may be any other.
Known known_function(const lane::Function& function);

}  // namespace lanefold::emit
