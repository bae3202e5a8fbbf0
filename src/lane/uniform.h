// Which values of a kernel are the same in all lanes of a threadgroup, and which addresses run along the lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "lane/module.h"

namespace lanefold::lane {

/// How a value varies over the lanes of a SIMD group.
struct Variation {
  bool uniform = false;  ///< the same in every lane of the threadgroup
  bool affine =
      false;  ///< value(lane) = value(lane 0) + stride·lane within a SIMD group, uniform across its lanes otherwise
  std::int64_t stride = 0;  ///< where affine (0 where uniform in the group)
};

/// One entry per value of the kernel.
std::vector<Variation> variations(const Module& module, const Kernel& kernel);

}  // namespace lanefold::lane
