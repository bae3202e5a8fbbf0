#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>

#include "jit/codegen.h"
#include "jit/jit.h"

namespace lanefold::jit {
namespace {

/// Passes that turn register arrays into registers and clean up; loops stay as the lane module has them.
constexpr const char* kPasses =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse<memssa>,instcombine<"
    "no-verify-fixpoint>,simplifycfg)";

/// Whether LLVM knows the processor: it would print a warning and compile for the oldest one otherwise.
bool knows_processor(const llvm::Target& llvm_target, const std::string& triple, const std::string& cpu) {
  const std::unique_ptr<llvm::MCSubtargetInfo> facts(llvm_target.createMCSubtargetInfo(triple, "", ""));
  return facts && facts->isCPUStringValid(cpu);
}

Diagnostic failure(const std::string& what) {
  return {Code::code_generation_failed, "LLVM cannot compile the kernel: " + what,
          "check the target's processor and features (lanefold doctor)", ""};
}

std::string message(llvm::Error error) { return llvm::toString(std::move(error)); }

void initialise() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

struct Compilation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

Result<std::unique_ptr<Compilation>> optimise(const lane::Module& module, const target::Target& target) {
  for (const lane::Kernel& kernel : module.kernels)
    if (kernel.cluster > 1)
      return Diagnostic{Code::cluster_on_cpu,
                        kernel.name + " launches clusters of " + std::to_string(kernel.cluster) + " threadgroups",
                        "run it on the device lane-machine", kernel.name};
  initialise();
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvm_target) return failure(error);
  if (!knows_processor(*llvm_target, triple, target.llvm_cpu))
    return failure("it knows no processor \"" + target.llvm_cpu + "\" (target " + target.name + ") on " + triple);
  auto result = std::make_unique<Compilation>();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  result->machine.reset(llvm_target->createTargetMachine(triple, target.llvm_cpu, target.llvm_features, options,
                                                         llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                         llvm::CodeGenOptLevel::Default, true));
  if (!result->machine) return failure("no code generator for " + target.llvm_cpu);
  result->module = std::make_unique<llvm::Module>(module.name, result->context);
  result->module->setTargetTriple(triple);
  result->module->setDataLayout(result->machine->createDataLayout());
  const llvm::MCSubtargetInfo* facts = result->machine->getMCSubtargetInfo();
  const bool arm = result->machine->getTargetTriple().isAArch64();
  const Features features{.half_conversion = arm || facts->checkFeatures("+f16c"),
                          .narrow_masks = !arm && facts->checkFeatures("+avx512bw")};
  for (std::size_t i = 0; i < module.kernels.size(); ++i)
    KernelCodegen(module, module.kernels[i], *result->module, features).emit(kernel_symbol(module, i));
  for (llvm::Function& function : *result->module)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", target.llvm_cpu);
      function.addFnAttr("target-features", target.llvm_features);
      // The subnormal mode is the caller's promise: IEEE, whatever the host program has set outside.
      function.addFnAttr("denormal-fp-math", "ieee,ieee");
      function.addFnAttr("prefer-vector-width", "512");
    }
  std::string faults;
  llvm::raw_string_ostream stream(faults);
  if (llvm::verifyModule(*result->module, &stream)) internal_error("generated LLVM IR is malformed: " + faults);

  llvm::PassBuilder builder(result->machine.get());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  llvm::ModulePassManager passes;
  if (auto wrong = builder.parsePassPipeline(passes, kPasses)) internal_error(message(std::move(wrong)));
  passes.run(*result->module, modules);
  return result;
}

Result<llvm::SmallVector<char, 0>> generate(const lane::Module& module, const target::Target& target,
                                            llvm::CodeGenFileType type) {
  LANEFOLD_TRY(std::unique_ptr<Compilation> compilation, optimise(module, target));
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (compilation->machine->addPassesToEmitFile(passes, stream, nullptr, type, true))
    return failure("the target cannot emit this kind of file");
  passes.run(*compilation->module);
  return bytes;
}

}  // namespace

std::string kernel_symbol(const lane::Module& module, std::size_t index) {
  return "lanefold_kernel_" + std::to_string(index) + "_" + module.kernels[index].name;
}

Result<Object> compile(const lane::Module& module, const target::Target& target) {
  LANEFOLD_TRY(auto bytes, generate(module, target, llvm::CodeGenFileType::ObjectFile));
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return Object(data, data + bytes.size());
}

Result<std::string> assembly_text(const lane::Module& module, const target::Target& target) {
  LANEFOLD_TRY(auto bytes, generate(module, target, llvm::CodeGenFileType::AssemblyFile));
  return std::string(bytes.begin(), bytes.end());
}

Result<std::string> llvm_text(const lane::Module& module, const target::Target& target) {
  LANEFOLD_TRY(std::unique_ptr<Compilation> compilation, optimise(module, target));
  std::string text;
  llvm::raw_string_ostream stream(text);
  compilation->module->print(stream, nullptr);
  return text;
}

std::string_view llvm_version() { return LLVM_VERSION_STRING; }
std::string_view generator_hash() { return LANEFOLD_GENERATOR_HASH; }

}  // namespace lanefold::jit
