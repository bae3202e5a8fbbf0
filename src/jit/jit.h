// The JIT: lane module → machine code through LLVM. SIMD groups become vector registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lane/module.h"
#include "target/target.h"

namespace lanefold::jit {

/// Runs threadgroups [begin, end). `arguments` has one word per kernel argument; `shared` has lane::shared_bytes(kernel) bytes, aligned
/// to 64. The caller sets the floating-point environment (base/float_environment.h).
using Entry = void (*)(const lane::ArgumentWord* arguments, std::int64_t begin, std::int64_t end, std::byte* shared);

/// Machine code of one module in this process; it lives as long as this object.
class LinkedModule {
 public:
  virtual ~LinkedModule() = default;
  /// The entry of kernel `index` of the module.
  virtual Entry entry(std::size_t index) const = 0;
};

/// A relocatable object file.
using Object = std::vector<std::byte>;

/// Compiles the module for a CPU target. The module must verify.
Result<Object> compile(const lane::Module& module, const target::Target& target);
/// Links an object of `kernels` kernels into this process. A damaged object is a diagnostic.
Result<std::shared_ptr<LinkedModule>> load(const Object& object, const lane::Module& module);

/// The optimised LLVM IR as text.
Result<std::string> llvm_text(const lane::Module& module, const target::Target& target);
/// The assembly as text.
Result<std::string> assembly_text(const lane::Module& module, const target::Target& target);

/// The symbol of kernel `index` in the module's object file.
std::string kernel_symbol(const lane::Module& module, std::size_t index);

/// LLVM's version, such as "19.1.7": part of every cache key.
std::string_view llvm_version();
/// A hash of this folder's source, so that machine code of another state of the code generator is not taken for this one's:
/// part of every cache key too.
std::string_view generator_hash();

}  // namespace lanefold::jit
