// What a verb takes from the command line. Values stay text here: values.h turns them into numbers and names, with diagnostics.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lanefold::cli {

/// Declares the options of one verb. The variables must outlive the parsing.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  void flag(const std::string& name, bool& value, const std::string& help);
  /// An option with one value; `shown` stands for the value in the usage.
  void text(const std::string& name, std::string& value, const std::string& shown, const std::string& help,
            bool required = false);
  /// An option with one value that may be given several times.
  void list(const std::string& name, std::vector<std::string>& values, const std::string& shown,
            const std::string& help);
  void positional(const std::string& name, std::string& value, const std::string& help);
  void positionals(const std::string& name, std::vector<std::string>& values, const std::string& help);

 private:
  CLI::App& app_;
};

}  // namespace lanefold::cli
