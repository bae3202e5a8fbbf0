// Arithmetic of lane modules on lane vectors.
#pragma once

#include "lane/module.h"
#include "machine/words.h"

namespace lanefold::machine {

/// Up to three operand vectors of `width` words and the result vector.
struct LaneOperands {
  std::uint32_t width = 0;
  LaneMask mask = 0;
  const Word* a = nullptr;
  const Word* b = nullptr;
  const Word* c = nullptr;
  Word* out = nullptr;
};

/// Computes a plain arithmetic operation in the lanes of the mask; `type` is that of operand 0 (for select, of the
/// result). Returns the lanes where an integer division or shift lies outside its domain; their results are 0.
LaneMask compute(lane::Op op, ElementType type, const LaneOperands& operands);

/// Converts between register types in the lanes of the mask.
void convert(ElementType from, ElementType to, const LaneOperands& operands);

}  // namespace lanefold::machine
