// What a run has found wrong: at most one finding per code and instruction, the first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"

namespace lanefold::machine {

/// A fault that ends the run.
struct Fault {
  Code code;
  std::string message;
  std::string hint;
};

class Findings {
 public:
  /// Whether a finding of this code at this instruction is new, so that its text must be made.
  bool is_new(Code code, std::uint32_t counter) { return ++seen_[{code, counter}] == 1; }
  void add(Diagnostic diagnostic) { list_.push_back(std::move(diagnostic)); }
  std::vector<Diagnostic> take() { return std::move(list_); }
  bool empty() const { return list_.empty(); }

 private:
  std::map<std::pair<Code, std::uint32_t>, std::uint64_t> seen_;
  std::vector<Diagnostic> list_;
};

}  // namespace lanefold::machine
