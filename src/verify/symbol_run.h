// One part of an instance's launch, run on symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "verify/instance.h"

namespace lanefold::verify {

/// What is proved at a time: threadgroups [begin, end) of the only kernel, or everything; and which elements of each output are
/// looked at.
struct Part {
  std::string name;
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;
  std::optional<std::int64_t> row;  ///< only this row's elements
};

/// The memory that a part leaves behind, or why it could not be run.
struct SymbolRun {
  machine::GlobalMemory memory;
  std::optional<Diagnostic> fault;
  /// Elements [first, last) of a buffer that the part is about.
  struct Range {
    std::int64_t first = 0, last = 0;
  };
};

SymbolRun run_on_symbols(const Instance& instance, const Part& part, machine::Symbols& symbols, std::uint64_t seed);

/// The elements of a buffer that a part is about: a row's, or all.
SymbolRun::Range range_of(const ModuleBuffer& buffer, const Part& part, std::int64_t rows);

/// The threadgroups of the only kernel of a row program's module that work on a row.
Part row_part(const Instance& instance, std::int64_t row);

}  // namespace lanefold::verify
