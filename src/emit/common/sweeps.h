// In which sweeps of a body its values are used: outermost barriers and exchanges part it into sweeps.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lane/module.h"

namespace lanefold::emit {

class Sweeps {
 public:
  /// `is_dead`: statements that are not written. Their uses of values don't count.
  Sweeps(const std::vector<lane::Statement>& body, std::size_t values,
         const std::function<bool(const lane::Statement&)>& is_dead);

  /// The sweep whose outermost block defines the value, or some block inside of it.
  std::uint32_t defined(lane::ValueId v) const { return uses_[v].defined; }
  /// The last sweep that uses the value; where none does, the one that defines it.
  std::uint32_t last(lane::ValueId v) const;
  /// How often the sweep uses the value.
  std::uint32_t count(lane::ValueId v, std::uint32_t sweep) const;

 private:
  struct Uses {
    std::uint32_t defined = 0;
    std::vector<std::uint32_t> counts = {};  ///< of each sweep, as far as it is used
  };
  void visit(const lane::Statement& s, std::uint32_t sweep, const std::function<bool(const lane::Statement&)>& is_dead);
  std::vector<Uses> uses_;
};

/// Whether a sweep ends at the statement, where it stands in the outermost block.
bool ends_sweep(const lane::Statement& s);

}  // namespace lanefold::emit
