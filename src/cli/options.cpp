#include "cli/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace lanefold::cli {

void Options::flag(const std::string& name, bool& value, const std::string& help) { app_.add_flag(name, value, help); }

void Options::text(const std::string& name, std::string& value, const std::string& shown, const std::string& help,
                   bool required) {
  app_.add_option(name, value, help)->option_text(shown + (required ? " (required)" : ""))->required(required);
}

void Options::list(const std::string& name, std::vector<std::string>& values, const std::string& shown,
                   const std::string& help) {
  // One value each time: the next word may be the kernel.
  app_.add_option(name, values, help)->option_text(shown + " ...")->allow_extra_args(false);
}

void Options::positional(const std::string& name, std::string& value, const std::string& help) {
  app_.add_option(name, value, help)->option_text(" ")->required();
}

void Options::positionals(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  app_.add_option(name, values, help)->option_text("...");
}

}  // namespace lanefold::cli
