// What only a build with the JIT can tell: machine code as text, and the facts about compiler and cache.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "lane/module.h"
#include "target/target.h"

namespace lanefold::cli {

enum class CodeText { llvm, assembly };

/// The module's code as text; device_missing in a build without the JIT, no_machine_code for a target that is no CPU.
Result<std::string> machine_code(const lane::Module& module, const target::Target& target, CodeText form);

/// The compiler and where its kernels are kept.
struct JitFacts {
  bool built = false;
  std::string llvm_version;
  std::optional<std::string> cache_folder;  ///< none: kernels are kept in memory only
  bool cache_writable = false;
};
JitFacts jit_facts();

}  // namespace lanefold::cli
