// A kernel as linear code with jumps, so that each SIMD group can be advanced alone.
#pragma once

#include <cstddef>
#include <vector>

#include "lane/module.h"

namespace lanefold::machine {

enum class Step : std::uint8_t {
  statement,  ///< run the statement
  branch,     ///< keep the lanes whose condition holds; none: jump to `target`, the otherwise step
  otherwise,  ///< the lanes whose condition did not hold; none: jump to `target`, the join step
  join,       ///< all lanes that came to the branch
  loop,       ///< start to count; past the end: jump to `target`, after the repeat step
  repeat,     ///< count on; not past the end: jump to `target`, after the loop step
  end,        ///< of the kernel
};

struct Instruction {
  Step step = Step::end;
  const lane::Statement* statement = nullptr;
  std::size_t target = 0;
};

/// The code of a kernel body; it refers to the body's statements.
std::vector<Instruction> flatten(const lane::Kernel& kernel);

}  // namespace lanefold::machine
