// One function per hand-written module, for the list of them, and the refusals that they share.
#pragma once

#include <string>
#include <string_view>

#include "kernels/hand_written.h"

namespace lanefold::kernels {

HandWritten gr_norm_module();
HandWritten gr_down_module();
HandWritten gr_up_module();
HandWritten gr_up3_module();
HandWritten qsa_merge_module();

/// module_size_invalid: sizes of a module that do not fit together, and what would.
Diagnostic misfit(std::string_view module, std::string message, std::string hint);
/// Refuses a threadgroup of more SIMD groups or threads than a lane kernel may have.
Status check_threads(std::string_view module, const ModuleSizes& sizes, std::int64_t simd_groups);
/// Refuses a SIMD width in which 16 consecutive threads would not lie in one SIMD group.
Status check_sums_of_16(std::string_view module, const ModuleSizes& sizes);
/// Refuses a whole that is no multiple of a part: "hidden is 40, not a multiple of 16".
Status check_multiple(std::string_view module, std::string_view name, std::int64_t whole, std::int64_t part,
                      std::string_view why);

}  // namespace lanefold::kernels
