// lanefold doctor: what this machine has, what is missing and how to get it.
#include <algorithm>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/machine_code.h"
#include "cli/report.h"
#include "driver/processor.h"
#include "driver/version.h"
#include "verify/device.h"

namespace lanefold::cli {
namespace {

using nlohmann::json;

/// The processor's name as the system tells it, or "unknown".
std::string processor() { return driver::processor_name().empty() ? "unknown" : driver::processor_name(); }

/// What later versions are to bring: named here, so that nobody looks for it in vain.
constexpr const char* kNotInThisVersion[] = {"metal", "python"};

std::string cache_text(const JitFacts& facts) {
  if (!facts.built) return "none: nothing is compiled";
  if (!facts.cache_folder)
    return "none: kernels are compiled anew in each process (set LANEFOLD_CACHE_DIR to a folder)";
  if (facts.cache_writable) return *facts.cache_folder;
  return *facts.cache_folder + " (cannot be written: set LANEFOLD_CACHE_DIR to a folder of yours)";
}

Result<int> examine(const Context& context) {
  const JitFacts facts = jit_facts();
  const target::Target& target = target::host();
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  if (context.json) {
    json devices = json::array();
    for (const verify::DeviceFact& fact : verify::devices())
      devices.push_back({{"name", fact.name}, {"available", fact.available}, {"why_not", fact.why_not}});
    for (const char* name : kNotInThisVersion)
      devices.push_back({{"name", name}, {"available", false}, {"why_not", "not built into this version"}});
    json jit = {{"built", facts.built},
                {"llvm", facts.llvm_version},
                {"tbb", facts.built},
                {"cache_writable", facts.cache_writable}};
    jit["cache"] = facts.cache_folder ? json(*facts.cache_folder) : json();
    print_json({{"version", driver::kVersion},
                {"processor", processor()},
                {"cores", cores},
                {"target", target.name},
                {"simd_width", target.simd_width},
                {"jit", jit},
                {"devices", devices}});
    return kSuccess;
  }
  std::string text = fmt::format("lanefold {}\n\n", driver::kVersion);
  text += fmt::format("processor    {}, {} core{}\n", processor(), cores, cores == 1 ? "" : "s");
  text += fmt::format("target       {} ({} f32 elements a vector)\n", target.name, target.simd_width);
  text +=
      fmt::format("JIT          {}\n",
                  facts.built ? "LLVM " + facts.llvm_version
                              : "missing: install LLVM 19 (Debian: llvm-19-dev) and configure with -DLANEFOLD_JIT=ON");
  text += fmt::format("threads      {}\n",
                      facts.built ? "oneTBB" : "missing: oneTBB (Debian: libtbb-dev) comes with the JIT");
  text += fmt::format("cache        {}\n\ndevices\n", cache_text(facts));
  for (const verify::DeviceFact& fact : verify::devices())
    text +=
        fmt::format("  {:<12} {}\n", fact.name, fact.available ? "ready" : fmt::format("missing: {}", fact.why_not));
  for (const char* name : kNotInThisVersion) text += fmt::format("  {:<12} not built into this version\n", name);
  print(text);
  return kSuccess;
}

}  // namespace

Action declare_doctor(Options&) { return examine; }

}  // namespace lanefold::cli
