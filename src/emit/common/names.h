// Names of emitted source: unique where they are visible, and short words for what a value is.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lane/module.h"

namespace lanefold::emit {

/// Names of nested scopes. No name hides another.
class Names {
 public:
  explicit Names(std::set<std::string, std::less<>> reserved) : taken_(std::move(reserved)) {}

  /// `base`, or base_2, base_3, … where that is taken; it is free again when the innermost scope closes.
  std::string declare(std::string_view base);
  void open() { scopes_.emplace_back(); }
  void close();

 private:
  struct Declared {
    std::string name, base;
    std::size_t number;
  };
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, std::size_t, std::less<>> next_;
  std::vector<std::vector<Declared>> scopes_{1};
};

/// A word for what the statement's result is, such as "sum" or "is_below"; `types` are those of its body's values.
std::string base_name(const lane::Module& module, const lane::Kernel* kernel, const lane::Statement& s,
                      const std::vector<ElementType>& types);

}  // namespace lanefold::emit
