// The copy that a case is timed beside, on the case's device.
#pragma once

#include <memory>
#include <string_view>

#include "bench/arms/arm.h"

namespace lanefold::bench {

struct Ceiling {
  std::unique_ptr<Arm> arm;
  std::int64_t bytes = 0;  ///< that a call really moves
  bool streaming = false;  ///< its stores pass the cache by
};

/// A copy that reads half of the bytes and writes as many, so many times a call. `threads`: of the CPU.
Result<Ceiling> make_ceiling(std::string_view device, std::int64_t bytes, unsigned threads, std::int64_t copies);

}  // namespace lanefold::bench
