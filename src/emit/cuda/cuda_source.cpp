#include "emit/cuda/cuda_source.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "emit/common/body_writer.h"
#include "emit/cuda/cuda_dialect.h"
#include "target/target.h"

namespace lanefold::emit {
namespace {

using lane::Op;
using lane::Statement;

constexpr std::uint32_t kStaticSharedBytes = 48 * 1024;
constexpr std::uint32_t kMostSharedBytes = 227 * 1024;
constexpr std::size_t kShortFunction = 116;
constexpr const char* kDynamicMemory = "threadgroup_memory";

/// Words of C++ and CUDA that no name may be.
const std::set<std::string, std::less<>>& reserved_words() {
  static const std::set<std::string, std::less<>> kWords = [] {
    std::set<std::string, std::less<>> words = CudaHelpers::names();
    for (const char* word :
         {"alignas",     "alignof",     "and",        "and_eq",    "asm",          "auto",         "bitand",
          "bitor",       "bool",        "break",      "case",      "catch",        "char",         "char16_t",
          "char32_t",    "char8_t",     "class",      "co_await",  "co_return",    "co_yield",     "compl",
          "concept",     "const",       "const_cast", "consteval", "constexpr",    "constinit",    "continue",
          "decltype",    "default",     "delete",     "do",        "double",       "dynamic_cast", "else",
          "enum",        "explicit",    "export",     "extern",    "false",        "float",        "for",
          "friend",      "goto",        "if",         "inline",    "int",          "long",         "mutable",
          "namespace",   "new",         "noexcept",   "not",       "not_eq",       "nullptr",      "operator",
          "or",          "or_eq",       "private",    "protected", "public",       "register",     "reinterpret_cast",
          "requires",    "return",      "short",      "signed",    "sizeof",       "static",       "static_assert",
          "static_cast", "struct",      "switch",     "template",  "this",         "thread_local", "throw",
          "true",        "try",         "typedef",    "typeid",    "typename",     "union",        "unsigned",
          "using",       "virtual",     "void",       "volatile",  "wchar_t",      "while",        "xor",
          "xor_eq",      "threadIdx",   "blockIdx",   "blockDim",  "gridDim",      "warpSize",     "float2",
          "float4",      "int2",        "int4",       "uint2",     "uint4",        "longlong2",    "main",
          "fabsf",       "sqrtf",       "rsqrtf",     "truncf",    "fmaf",         "tanhf",        "erff",
          "make_float2", "make_float4", "make_int2",  "make_int4", "make_uint2",   "make_uint4",   "make_longlong2",
          "signbit",     "isnan",       "isinf",      "isfinite",  kDynamicMemory, "NULL",         "linux",
          "unix",        "assert"})
      words.insert(word);
    return words;
  }();
  return kWords;
}

/// Functions that CUDA declares with C linkage, so that no kernel can have their names, and one that a helper declares.
constexpr std::string_view kFunctionsOfC[] = {
    "max",   "min",  "acos",  "acosh",  "asin",   "asinh",     "atan",           "atan2",  "atanh",
    "cbrt",  "ceil", "clock", "cos",    "cosh",   "erf",       "erfc",           "exp",    "exp2",
    "expm1", "fabs", "floor", "fmax",   "fmin",   "fmod",      "free",           "frexp",  "hypot",
    "ldexp", "log",  "log10", "log1p",  "log2",   "logb",      "malloc",         "memcpy", "memset",
    "modf",  "norm", "pow",   "printf", "rint",   "round",     "rsqrt",          "sin",    "sincos",
    "sinh",  "tan",  "tanh",  "tgamma", "labs",   "norm3d",    "norm4d",         "j0",     "j1",
    "jn",    "y0",   "y1",    "yn",     "lround", "remainder", "exp_nonpositive"};

std::string launch_comment(const lane::Kernel& k) {
  std::string grid = k.threadgroups != 0 ? fmt::format("{}", k.threadgroups) : "";
  const auto over = [](const char* size, std::uint32_t by) {
    return by == 1 ? std::string(size) : fmt::format("ceil({} / {})", size, by);
  };
  if (grid.empty()) grid = over("rows", k.rows_per_threadgroup);
  if (k.threadgroups_per_row > 1) grid += fmt::format(" * {}", k.threadgroups_per_row);
  if (k.cols_per_threadgroup != 0) grid += " * " + over("cols", k.cols_per_threadgroup);
  if (k.cluster > 1 && k.cluster != k.threadgroups_per_row) grid += fmt::format(", up to a multiple of {}", k.cluster);
  std::string text = fmt::format("// Launch: grid = {}; block = {}", grid, k.simd_width * k.simd_groups);
  if (k.cluster > 1) text += fmt::format("; cluster = {}", k.cluster);
  if (k.cluster > target::kPortableCluster) text += " (not portable: the kernel must be allowed it)";
  const std::uint32_t bytes = cuda_dynamic_shared_bytes(k);
  return text +
         (bytes == 0 ? "; no dynamic shared memory.\n" : fmt::format("; {} bytes of dynamic shared memory.\n", bytes));
}

/// Threads of a block. Of clusters of wide blocks a multiprocessor is to hold two, as the plan takes for granted: without a bound the compiler
/// may take a few registers more, for loads that it moves up, and then there is room for one.
std::string launch_bounds(const lane::Kernel& k) {
  const std::uint32_t threads = k.simd_width * k.simd_groups;
  return fmt::format("{}{}", threads, k.cluster > 1 && threads == 512 ? ", 2" : "");
}

void find_stores(const std::vector<Statement>& block, std::vector<bool>& stored) {
  for (const Statement& s : block) {
    if (s.op == Op::store) stored[s.a] = true;
    find_stores(s.body, stored);
    find_stores(s.otherwise, stored);
  }
}

class ModuleWriter {
 public:
  ModuleWriter(const lane::Module& module, const CudaOptions& options)
      : module_(module), options_(options), dialect_(options), taken_(reserved_words()) {}

  CudaSource run() {
    Names names(taken_);
    for (const lane::Kernel& kernel : module_.kernels) taken_.insert(names.declare(cuda_kernel_name(kernel)));
    for (const lane::Function& function : module_.functions) {
      function_names_.push_back(names.declare(function.name));
      taken_.insert(function_names_.back());
    }
    used_.assign(module_.functions.size(), false);
    std::string kernels;
    for (const lane::Kernel& kernel : module_.kernels) kernels += '\n' + kernel_text(kernel);
    // A function calls only earlier ones, so the last is looked at first.
    std::string functions;
    for (std::size_t i = module_.functions.size(); i-- > 0;)
      if (used_[i]) functions = '\n' + function_text(i) + functions;
    std::string text = fmt::format("namespace lanefold_{} {{\n", module_.name);
    text += dialect_.helpers().text() + functions;
    if (!dialect_.tables().empty()) text += '\n' + dialect_.tables();
    return {text + kernels + fmt::format("\n}}  // namespace lanefold_{}\n", module_.name)};
  }

 private:
  std::string function_text(std::size_t index) {
    const lane::Function& f = module_.functions[index];
    std::string text, result = "void";
    if (f.returns.size() == 1) result = dialect_.type(f.types[f.returns[0]]);
    if (f.returns.size() > 1) {
      result = function_names_[index] + "_result";
      text = fmt::format("struct {} {{\n", result);
      for (std::size_t i = 0; i < f.returns.size(); ++i)
        text += fmt::format("  {} v{};\n", dialect_.type(f.types[f.returns[i]]), i);
      text += "};\n\n";
    }
    std::vector<std::string> names;
    std::string parameters;
    for (std::size_t i = 0; i < f.parameters.size(); ++i) {
      names.push_back(parameter_name(f, i));
      parameters += fmt::format("{}{} {}", i == 0 ? "" : ", ", dialect_.type(f.parameters[i]), names.back());
    }
    const std::string head =
        fmt::format("__device__ __forceinline__ {} {}({}) {{", result, function_names_[index], parameters);
    BodyWriter writer(module_, dialect_, function_names_, Names(taken_));
    const std::string body = writer.function(f, names, result);
    for (const std::uint32_t called : writer.called()) used_[called] = true;
    const bool is_short =
        std::count(body.begin(), body.end(), '\n') == 1 && head.size() + body.size() <= kShortFunction;
    if (is_short) return text + fmt::format("{} {} }}\n", head, body.substr(2, body.size() - 3));
    append_line(text, 0, head);
    return text + body + "}\n";
  }

  static std::string parameter_name(const lane::Function& f, std::size_t i) {
    const std::size_t half = f.returns.size();
    if (f.parameters.size() == 1) return "x";
    if (f.parameters.size() == 2 && half < 2) return i == 0 ? "a" : "b";
    if (f.parameters.size() != 2 * half) return fmt::format("a{}", i);
    return i < half ? fmt::format("a{}", i) : fmt::format("b{}", i - half);
  }

  std::string kernel_text(const lane::Kernel& kernel) {
    BodyWriter body(module_, dialect_, function_names_, Names(taken_));
    const std::vector<std::string>& names = body.name_arguments(kernel);
    std::vector<bool> stored(kernel.arguments.size());
    find_stores(kernel.body, stored);
    std::string parameters;
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      const lane::Argument& a = kernel.arguments[i];
      const std::string type = a.buffer ? fmt::format("{}{}*", stored[i] ? "" : "const ", dialect_.storage_type(a.type))
                                        : std::string(dialect_.type(a.type));
      parameters += fmt::format("{}{} {}", i == 0 ? "" : ", ", type, names[i]);
    }
    std::string text = launch_comment(kernel);
    text += fmt::format("extern \"C\" __global__ void __launch_bounds__({})\n", launch_bounds(kernel));
    append_line(text, 0, fmt::format("{}({}) {{", cuda_kernel_name(kernel), parameters));
    if (kernel.programmatic_launch)
      text +=
          "  // What the launch before has stored is there after the wait; the next one may begin then, and wait in "
          "turn.\n"
          "  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
          "  asm volatile(\"griddepcontrol.launch_dependents;\");\n";
    const std::string arrays = shared_text(kernel, body), begin = dialect_.begin_kernel(body, kernel);
    text += arrays + begin + body.kernel(kernel) + "}\n";
    for (const std::uint32_t called : body.called()) used_[called] = true;
    return text;
  }

  std::string shared_text(const lane::Kernel& kernel, const BodyWriter& body) {
    std::string text;
    const bool is_dynamic = cuda_dynamic_shared_bytes(kernel) != 0;
    if (is_dynamic) text += fmt::format("  extern __shared__ __align__(128) unsigned char {}[];\n", kDynamicMemory);
    for (std::uint32_t i = 0; i < kernel.shared.size(); ++i) {
      const std::string type = dialect_.storage_type(kernel.shared[i].type);
      const std::string& name = body.shared_name(i);
      if (is_dynamic)
        text += fmt::format("  {0}* const {1} = reinterpret_cast<{0}*>({2} + {3});\n", type, name, kDynamicMemory,
                            lane::shared_offset(kernel, i));
      else
        text += fmt::format("  __shared__ __align__(16) {} {}[{}];\n", type, name, std::max(1u, kernel.shared[i].size));
    }
    return text;
  }

  const lane::Module& module_;
  CudaOptions options_;
  CudaDialect dialect_;
  std::set<std::string, std::less<>> taken_;
  std::vector<std::string> function_names_;
  std::vector<bool> used_;
};

Status check(const lane::Kernel& kernel) {
  const auto refuse = [&](std::string message, std::string hint) {
    return Diagnostic{Code::not_for_cuda, std::move(message), std::move(hint), kernel.name};
  };
  if (kernel.simd_width != 32)
    return refuse(fmt::format("its SIMD groups have {} lanes, and those of CUDA have 32", kernel.simd_width),
                  "make it for a target of SIMD width 32, such as cuda-sm90");
  if (lane::shared_bytes(kernel) > kMostSharedBytes)
    return refuse(fmt::format("its threadgroup arrays take {} bytes, and a block has at most {}",
                              lane::shared_bytes(kernel), kMostSharedBytes),
                  "keep less in threadgroup memory");
  return success();
}

}  // namespace

std::string cuda_kernel_name(const lane::Kernel& kernel) {
  const bool is_taken =
      reserved_words().contains(kernel.name) ||
      std::find(std::begin(kFunctionsOfC), std::end(kFunctionsOfC), kernel.name) != std::end(kFunctionsOfC);
  return is_taken ? kernel.name + "_kernel" : kernel.name;
}

std::uint32_t cuda_dynamic_shared_bytes(const lane::Kernel& kernel) {
  const std::uint32_t bytes = lane::shared_bytes(kernel);
  return bytes > kStaticSharedBytes ? bytes : 0;
}

Result<CudaSource> cuda_source(const lane::Module& module, const CudaOptions& options) {
  if (const std::vector<Diagnostic> faults = lane::verify(module); !faults.empty()) return faults.front();
  std::set<std::string> names;
  for (const lane::Kernel& kernel : module.kernels) {
    LANEFOLD_CHECK(check(kernel));
    if (!names.insert(cuda_kernel_name(kernel)).second)
      return Diagnostic{Code::not_for_cuda, fmt::format("two kernels would be called {}", cuda_kernel_name(kernel)),
                        "rename one of them", kernel.name};
  }
  return ModuleWriter(module, options).run();
}

}  // namespace lanefold::emit
