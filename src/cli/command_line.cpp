#include "cli/command_line.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/measure_options.h"
#include "cli/report.h"
#include "driver/version.h"

namespace lanefold::cli {
namespace {

struct Verb {
  const char* name;
  const char* summary;
  Action (*declare)(Options&);
};

constexpr std::array<Verb, 13> kVerbs = {{
    {"run", "run a kernel on matrices from files, or show it step by step", declare_run},
    {"check", "compare kernels with the FP64 oracle, element for element", declare_check},
    {"count", "what kernels read, write and exchange, side by side", declare_count},
    {"prove", "whether two kernels store equal bytes for all inputs", declare_prove},
    {"bench", "time kernels beside a copy and other frameworks, after checking every element", declare_bench},
    {"ab", "two kernels side by side: their bytes, then their times in pairs", declare_ab},
    {"tune", "time the legal plans, and keep one that is faster for kernels to come", declare_tune},
    {"report", "results of bench and ab as tables or as one page; old ones beside new ones", declare_report},
    {"plan", "choose how lanes cooperate, and say why", declare_plan},
    {"emit", "print a kernel as a lane module, LLVM IR or assembly", declare_emit},
    {"digest", "SHA-256 of a kernel's outputs on the standard inputs", declare_digest},
    {"ops", "list the operators and hand-written modules of the library", declare_ops},
    {"doctor", "say what this machine has and what is missing", declare_doctor},
}};

constexpr const char* kFooter =
    "KERNEL is OP[:FORM][@PLAN.json], FILE.fold[@PLAN.json] or FILE.lane; prove also takes canonical.\n"
    "Exit status: 0, 1 for a failed check or a difference, 2 for a user's error, 3 for what prove cannot prove,\n"
    "70 for a fault of Lanefold.\n"
    "`lanefold VERB --help` tells the options of a verb.";

/// Whether --json was given; for errors in the arguments themselves, which leave nothing parsed.
bool wants_json(const std::vector<std::string>& arguments) {
  return std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
}

Diagnostic bad_arguments(const std::vector<std::string>& arguments, const std::string& message) {
  std::string verb;
  for (const Verb& known : kVerbs)
    if (!arguments.empty() && arguments.front() == known.name) verb = fmt::format(" {}", known.name);
  std::string_view line = message;
  while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  return {Code::bad_arguments, std::string(line), fmt::format("see `lanefold{} --help`", verb), "lanefold" + verb};
}

/// An option with an empty value, as an unset variable of a script is: to the verbs an empty text means "not given".
Status check_values(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options()) {
    const std::vector<std::string> values = option->results();
    const std::string name = option->get_name();
    if (option->get_positional() || option->count() == 0 || std::find(values.begin(), values.end(), "") == values.end())
      continue;
    return Diagnostic{Code::bad_arguments, fmt::format("{} is given and its value is empty", name),
                      fmt::format("give {} a value, or leave it out", name), name};
  }
  return success();
}

Result<int> run(const std::vector<std::string>& arguments) {
  CLI::App app("Lanefold compiles row programs into kernels whose lanes cooperate, and checks every byte.", "lanefold");
  app.footer(kFooter);
  app.set_help_flag("-h,--help", "print this help");
  Context context;
  bool version = false;
  app.add_flag("--version", version, "print the version");
  app.add_flag("--json", context.json, "print JSON");
  app.require_subcommand(0, 1);
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Verb& verb : kVerbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    Options options(*sub);
    Action action = verb.declare(options);
    sub->add_flag("--json", context.json, "print JSON");
    actions.emplace_back(sub, std::move(action));
  }
  try {
    // CLI11 takes the words from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return kSuccess;
  } catch (const CLI::ParseError& error) {
    return bad_arguments(arguments, error.what());
  }
  if (version) {
    if (context.json) {
      print_json({{"version", driver::kVersion}});
    } else {
      print(fmt::format("lanefold {}\n", driver::kVersion));
    }
    return kSuccess;
  }
  for (const auto& [sub, action] : actions)
    if (sub->parsed()) {
      LANEFOLD_CHECK(check_values(*sub));
      return action(context);
    }
  return bad_arguments(arguments, "no verb is given");
}

}  // namespace

int run_command_line(int count, char** words) {
  const std::vector<std::string> arguments(words + std::min(count, 1), words + count);
  const bool json = wants_json(arguments);
  // A file that grows too large is a diagnostic, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  remember_command(count, words);
  try {
    Result<int> status = kInternalError;
    try {
      status = run(arguments);
    } catch (const std::bad_alloc&) {
      status = Diagnostic{Code::out_of_memory, "there is not enough memory for the matrices",
                          "take fewer rows or columns", ""};
    }
    if (status) {
      const Status written = finish_output();
      if (written) return *status;
      status = written.error();
    }
    report_error(status.error(), json);
    (void)finish_output();
    return kUserError;
  } catch (const std::exception& error) {
    report_internal_error(error.what(), json);
  } catch (...) {
    report_internal_error("something unknown was thrown", json);
  }
  (void)finish_output();
  return kInternalError;
}

}  // namespace lanefold::cli
