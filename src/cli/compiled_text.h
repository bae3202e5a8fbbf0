// What the compiler of a CUDA target says of kernels, for people and as JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "ir/order.h"
#include "lane/module.h"
#include "target/target.h"

namespace lanefold::cli {

struct CompiledText {
  /// {"compiler", "architecture", "kernels": [{"name", "registers", "spill_bytes", "shared_bytes"}]}; null without a compiler.
  nlohmann::json json;
  /// "registers 40, spills 0, shared 32 bytes (NVRTC 13.0 for sm_90)", or why there is nothing to say.
  std::string text;
};

/// Compiles the module for a CUDA target.
CompiledText compiled_text(const lane::Module& module, const target::Target& target, ir::Order order);

}  // namespace lanefold::cli
