#include "cli/machine_code.h"

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#if LANEFOLD_JIT
#include "driver/cpu/kernel_cache.h"
#include "jit/jit.h"
#endif

namespace lanefold::cli {
namespace {

#if LANEFOLD_JIT
/// Whether a folder can be written to, or made: whether its nearest ancestor that exists can.
bool is_writable(std::filesystem::path folder) {
  std::error_code ignored;
  folder = std::filesystem::absolute(folder, ignored);
  while (!std::filesystem::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  return std::filesystem::is_directory(folder, ignored) && access(folder.c_str(), W_OK | X_OK) == 0;
}
#endif

}  // namespace

Result<std::string> machine_code(const lane::Module& module, const target::Target& target, CodeText form) {
  if (target.family != target::Family::cpu)
    return Diagnostic{Code::no_machine_code,
                      fmt::format("{} is no CPU, and LLVM IR and assembly are emitted for CPUs", target.name),
                      "emit --as lane, or choose a CPU target", "--target"};
#if LANEFOLD_JIT
  return form == CodeText::llvm ? jit::llvm_text(module, target) : jit::assembly_text(module, target);
#else
  (void)module;
  (void)form;
  return Diagnostic{Code::device_missing, "this build has no JIT, and so no machine code",
                    "emit --as lane, or configure with -DLANEFOLD_JIT=ON (needs LLVM 19)", "--as"};
#endif
}

JitFacts jit_facts() {
  JitFacts facts;
#if LANEFOLD_JIT
  facts.built = true;
  facts.llvm_version = jit::llvm_version();
  if (const auto folder = driver::KernelCache::user().folder()) {
    facts.cache_folder = folder->string();
    facts.cache_writable = is_writable(*folder);
  }
#endif
  return facts;
}

}  // namespace lanefold::cli
