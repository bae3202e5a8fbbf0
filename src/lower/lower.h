// Lowering: row program + plan → lane module.
#pragma once

#include <vector>

#include "base/result.h"
#include "ir/program.h"
#include "lane/module.h"
#include "plan/plan.h"

namespace lanefold::lower {

/// Facts about the bindings that change the code: which inputs and outputs have a column stride other than 1 or are packed, and
/// whether outputs should bypass the cache.
struct Access {
  std::vector<bool> strided_inputs = {};   ///< one per input; empty: none
  std::vector<bool> strided_outputs = {};  ///< one per store; empty: none
  std::vector<bool> packed_inputs = {};    ///< one per input: Packing::q8_0_codes; empty: none
  std::vector<bool> packed_outputs = {};   ///< one per store; empty: none
  /// Rows of all element and row buffers lie one element apart, and a call has whole threadgroups of them: then the lanes of a
  /// SIMD group that each have a row of their own read and write neighbours. For matrices that are stored column by column.
  bool unit_rows = false;
  /// Whole vectors of element outputs are streamed. The caller promises that each row of those outputs begins at a
  /// multiple of a SIMD group's bytes. Honoured where one SIMD group works along a row.
  bool streaming = false;
  friend bool operator==(const Access&, const Access&) = default;
};

/// The module that computes the program as the plan says: one kernel, whose arguments are, in order, for each input its
/// buffer, then (unless its kind is column) its row stride, then (where strided) its column stride; the same for each
/// output; rows; cols; and the parameters. The plan must pass plan::check.
Result<lane::Module> lower(const ir::Program& program, const plan::Plan& plan, const Access& access = {});

/// The form without cooperation: `threads` lanes a threadgroup (a multiple of the SIMD width), each of which folds the whole row in
/// serial order and stores one column of it, or one block. For n columns that is n² reads of a fold.
Result<lane::Module> lower_per_lane(const ir::Program& program, std::uint32_t simd_width, std::uint32_t threads,
                                    const Access& access = {});

}  // namespace lanefold::lower
