#include "runtime/cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>

namespace lanefold::runtime {
namespace {

namespace fs = std::filesystem;

constexpr int kCompilationFailed = 6;

constexpr const char* kHint =
    "NVRTC is part of NVIDIA's CUDA toolkit 12 or newer and of the Python package nvidia-cuda-nvrtc; LANEFOLD_NVRTC "
    "names "
    "its library, or the folder that holds it";

/// The library libnvrtc.so.N with the highest N under the folder.
std::optional<fs::path> library_in(const fs::path& folder) {
  constexpr std::string_view kStem = "libnvrtc.so.";
  std::optional<fs::path> best;
  int best_version = 0;
  std::error_code ignored;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, ignored), end;
       !ignored && it != end; it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kStem)) continue;
    int version = 0;
    std::from_chars(name.data() + kStem.size(), name.data() + name.size(), version);
    if (version <= best_version) continue;
    best = it->path();
    best_version = version;
  }
  return best;
}

/// NVRTC opens its builtins by name, which a folder that is not on the linker's path would not give it.
void preload_builtins(const fs::path& library) {
  if (!library.has_parent_path()) return;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(library.parent_path(), ignored))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so."))
      ::dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
}

std::string last_error(const std::string& library) {
  const char* text = ::dlerror();
  return text ? text : library + " cannot be loaded";
}

}  // namespace

struct Nvrtc::Functions {
  using Program = void*;
  const char* (*error_string)(int);
  int (*version)(int*, int*);
  int (*architecture_count)(int*);
  int (*architectures)(int*);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(Program*);
  int (*compile)(Program, int, const char* const*);
  int (*cubin_size)(Program, std::size_t*);
  int (*cubin)(Program, char*);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
};

const ResourceUsage* CudaBinary::find(std::string_view kernel) const {
  for (const ResourceUsage& u : usage)
    if (u.kernel == kernel) return &u;
  return nullptr;
}

Result<const Nvrtc*> Nvrtc::get() {
  static const Result<std::unique_ptr<Nvrtc>> kNvrtc = [] {
    const char* named = std::getenv("LANEFOLD_NVRTC");
    return find_nvrtc(named != nullptr ? named : "");
  }();
  if (!kNvrtc) return kNvrtc.error();
  return kNvrtc.value().get();
}

Result<std::unique_ptr<Nvrtc>> find_nvrtc(const std::string& named) {
  std::string reason;
  if (!named.empty()) {
    if (fs::path(named).filename().string().find(".so") != std::string::npos) return Nvrtc::load(named);
    if (const auto library = library_in(named)) return Nvrtc::load(library->string());
    reason = fmt::format("{} holds no libnvrtc.so.N, and ", named);
  }
  for (const char* library : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
    if (Result<std::unique_ptr<Nvrtc>> loaded = Nvrtc::load(library)) return loaded;
  }
  return Diagnostic{Code::device_missing,
                    fmt::format("CUDA source cannot be compiled here: {}the linker finds no libnvrtc.so", reason),
                    kHint, ""};
}

Result<std::unique_ptr<Nvrtc>> Nvrtc::load(const std::string& library) {
  preload_builtins(library);
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Diagnostic{Code::device_missing, fmt::format("CUDA source cannot be compiled here: {}", last_error(library)),
                      kHint, ""};
  }
  auto functions = std::make_shared<Functions>();
  const char* absent = nullptr;
  const auto resolve = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, symbol));
    if (function == nullptr && absent == nullptr) absent = symbol;
  };
  resolve(functions->error_string, "nvrtcGetErrorString");
  resolve(functions->version, "nvrtcVersion");
  resolve(functions->architecture_count, "nvrtcGetNumSupportedArchs");
  resolve(functions->architectures, "nvrtcGetSupportedArchs");
  resolve(functions->create, "nvrtcCreateProgram");
  resolve(functions->destroy, "nvrtcDestroyProgram");
  resolve(functions->compile, "nvrtcCompileProgram");
  resolve(functions->cubin_size, "nvrtcGetCUBINSize");
  resolve(functions->cubin, "nvrtcGetCUBIN");
  resolve(functions->log_size, "nvrtcGetProgramLogSize");
  resolve(functions->log, "nvrtcGetProgramLog");
  if (absent != nullptr) {
    return Diagnostic{Code::device_missing,
                      fmt::format("CUDA source cannot be compiled here: {} has no function {}", library, absent), kHint,
                      ""};
  }
  int major = 0;
  int minor = 0;
  functions->version(&major, &minor);
  Dl_info place{};
  const bool placed = ::dladdr(reinterpret_cast<void*>(functions->version), &place) != 0;
  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc(std::move(functions)));
  nvrtc->version_ = fmt::format("{}.{}", major, minor);
  nvrtc->path_ = placed ? place.dli_fname : library;
  return nvrtc;
}

std::vector<std::string> Nvrtc::options(const CudaSource& source, std::string_view architecture) {
  // The assembler's report is where registers and spills are read.
  std::vector<std::string> all = {fmt::format("--gpu-architecture={}", architecture), "--std=c++17",
                                  "--ptxas-options=-v"};
  all.insert(all.end(), source.flags.begin(), source.flags.end());
  return all;
}

Result<CudaCompilation> Nvrtc::try_compile(const CudaSource& source, std::string_view architecture) const {
  const auto refused = [&](std::string_view what, std::string hint) {
    return Diagnostic{Code::code_generation_failed, fmt::format("NVRTC {} {}", version_, what), std::move(hint),
                      source.name};
  };
  int count = 0;
  functions_->architecture_count(&count);
  std::vector<int> known(static_cast<std::size_t>(count));
  functions_->architectures(known.data());
  std::string names;
  bool is_known = false;
  for (const int number : known) {
    names += fmt::format("{}sm_{}", names.empty() ? "" : ", ", number);
    // "sm_90a" has the instructions of one chip only.
    const std::string name = fmt::format("sm_{}", number);
    is_known |= architecture == name || architecture == name + "a" || architecture == name + "f";
  }
  if (!is_known) {
    return refused(fmt::format("makes no code for {}", architecture),
                   fmt::format("it makes code for {}; another release of NVRTC may know the device", names));
  }

  Functions::Program program = nullptr;
  if (const int e = functions_->create(&program, source.text.c_str(), source.name.c_str(), 0, nullptr, nullptr); e != 0)
    return refused(fmt::format("does not take the source: {}", functions_->error_string(e)), "");
  const auto destroy = [&](void*) { functions_->destroy(&program); };
  const std::unique_ptr<void, decltype(destroy)> owner(program, destroy);

  std::vector<std::string> options = Nvrtc::options(source, architecture);
  // NVRTC 13 has a cache of its own, and what it takes from there has no log.
  if (version_.size() > 2 && version_.substr(0, 2) >= "13") options.emplace_back("--no-cache");
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  const int outcome = functions_->compile(program, static_cast<int>(pointers.size()), pointers.data());

  CudaCompilation compilation;
  std::size_t size = 0;
  functions_->log_size(program, &size);
  compilation.log.resize(size);
  if (size > 0) functions_->log(program, compilation.log.data());
  while (!compilation.log.empty() && (compilation.log.back() == '\0' || compilation.log.back() == '\n'))
    compilation.log.pop_back();
  if (outcome == kCompilationFailed) return compilation;
  if (outcome != 0) return refused(fmt::format("fails: {}", functions_->error_string(outcome)), compilation.log);

  CudaBinary& binary = compilation.binary.emplace();
  functions_->cubin_size(program, &size);
  binary.cubin.resize(size);
  if (const int e = functions_->cubin(program, reinterpret_cast<char*>(binary.cubin.data())); e != 0 || size == 0)
    return refused(fmt::format("gives no machine code: {}", functions_->error_string(e)), compilation.log);
  binary.log = compilation.log;
  binary.usage = parse_resource_usage(binary.log);
  return compilation;
}

Result<CudaBinary> Nvrtc::compile(const CudaSource& source, std::string_view architecture) const {
  LANEFOLD_TRY(CudaCompilation compilation, try_compile(source, architecture));
  if (compilation.binary) return std::move(*compilation.binary);
  const std::string log = log_with_lines(compilation.log, source);
  if (source.generated)
    internal_error(fmt::format("NVRTC {} does not compile generated source for {}:\n{}", version_, architecture, log));
  return Diagnostic{Code::code_generation_failed,
                    fmt::format("the source does not compile for {}:\n{}", architecture, log), "", source.name};
}

std::string log_with_lines(std::string_view log, const CudaSource& source) {
  std::set<std::size_t> numbers;
  const std::string mark = source.name + "(";
  for (std::size_t at = log.find(mark); at != std::string_view::npos; at = log.find(mark, at + 1)) {
    std::size_t number = 0;
    std::from_chars(log.data() + at + mark.size(), log.data() + log.size(), number);
    numbers.insert(number);
  }
  std::string text(log);
  std::size_t number = 0;
  std::string_view rest = source.text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (numbers.contains(++number)) text += fmt::format("\n{:5} | {}", number, line);
  }
  return text;
}

}  // namespace lanefold::runtime
