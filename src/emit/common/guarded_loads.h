// Vector loads that some lanes leave out.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lane/module.h"

namespace lanefold::emit {

/// The register arrays that one load in a branch fills and that are zero where a lane does not take it, with their loads: in the
/// outermost block all elements are set to zero, then a branch loads a vector and sets them to it, and what reads them comes later. The
/// statements are those of the body.
std::map<std::uint32_t, const lane::Statement*> guarded_loads(const std::vector<lane::Statement>& body,
                                                              const lane::Kernel& kernel);

}  // namespace lanefold::emit
