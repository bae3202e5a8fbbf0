// NVRTC, which compiles CUDA source to machine code, loaded at run time. It needs no device.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/cuda/resource_usage.h"

namespace lanefold::runtime {

/// What to compile.
struct CudaSource {
  std::string text;
  std::string name = "kernel.cu";       ///< stands in messages
  std::vector<std::string> flags = {};  ///< more options of NVRTC, such as "--maxrregcount=64"
  /// Whose fault source is that does not compile: our own is an internal error, somebody's a diagnostic.
  bool generated = true;
};

/// Machine code of one source for one architecture.
struct CudaBinary {
  std::vector<std::byte> cubin;
  std::string log;                   ///< what the compiler and the assembler said
  std::vector<ResourceUsage> usage;  ///< of each kernel
  bool from_disk = false;
  /// The resources of a kernel; null where the binary has none of that name.
  const ResourceUsage* find(std::string_view kernel) const;
};

/// What became of a source: machine code, or none and the log says why.
struct CudaCompilation {
  std::optional<CudaBinary> binary;
  std::string log;
};

/// A loaded NVRTC. It stays loaded until the process ends.
class Nvrtc {
 public:
  /// The NVRTC of this process, looked for at the first call: LANEFOLD_NVRTC names the library, or a folder to search
  /// before the linker's path is (so that an unpacked Python wheel will do). device_missing where there is none.
  static Result<const Nvrtc*> get();
  /// Loads NVRTC from that library.
  static Result<std::unique_ptr<Nvrtc>> load(const std::string& library);

  /// "13.0".
  const std::string& version() const { return version_; }
  /// The library's file.
  const std::string& path() const { return path_; }
  /// Compiles for an architecture such as "sm_90". Source that does not compile is no error here; an architecture that this
  /// NVRTC does not know, or a flag, is one (code_generation_failed).
  Result<CudaCompilation> try_compile(const CudaSource& source, std::string_view architecture) const;
  /// The machine code; source that does not compile is an internal error with the log and the lines that it names, or
  /// code_generation_failed with the same where the source is not generated.
  Result<CudaBinary> compile(const CudaSource& source, std::string_view architecture) const;
  /// Every option that NVRTC is given for the source.
  static std::vector<std::string> options(const CudaSource& source, std::string_view architecture);

 private:
  struct Functions;
  explicit Nvrtc(std::shared_ptr<const Functions> functions) : functions_(std::move(functions)) {}

  std::shared_ptr<const Functions> functions_;
  std::string version_;
  std::string path_;
};

/// What is loaded where LANEFOLD_NVRTC has this value ("" where it is not set): a name with ".so" in it is a library and
/// loaded or refused; another is a folder, after which the linker's path is searched.
Result<std::unique_ptr<Nvrtc>> find_nvrtc(const std::string& named);

/// The log, and each source line that it names as "NAME(LINE)", numbered.
std::string log_with_lines(std::string_view log, const CudaSource& source);

}  // namespace lanefold::runtime
