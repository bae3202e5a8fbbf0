#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>

#include <atomic>
#include <mutex>

#include "jit/jit.h"

namespace lanefold::jit {
namespace {

std::string message(llvm::Error error) { return llvm::toString(std::move(error)); }

/// One linking session for the process; each object gets a library of its own in it.
llvm::Expected<llvm::orc::LLJIT*> session() {
  static std::unique_ptr<llvm::orc::LLJIT> jit;
  static std::string fault;
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto made = llvm::orc::LLJITBuilder().create();
    if (made)
      jit = std::move(*made);
    else
      fault = message(made.takeError());
  });
  if (!jit) return llvm::createStringError(fault);
  return jit.get();
}

class LinkedObject final : public LinkedModule {
 public:
  LinkedObject(llvm::orc::LLJIT& jit, llvm::orc::JITDylib& library) : jit_(jit), library_(library) {}
  ~LinkedObject() override {
    if (auto error = jit_.getExecutionSession().removeJITDylib(library_)) llvm::consumeError(std::move(error));
  }
  LinkedObject(const LinkedObject&) = delete;
  LinkedObject& operator=(const LinkedObject&) = delete;
  Entry entry(std::size_t index) const override { return entries_.at(index); }
  void add(Entry kernel) { entries_.push_back(kernel); }

 private:
  llvm::orc::LLJIT& jit_;
  llvm::orc::JITDylib& library_;
  std::vector<Entry> entries_;
};

}  // namespace

Result<std::shared_ptr<LinkedModule>> load(const Object& object, const lane::Module& module) {
  const auto damaged = [](llvm::Error error) {
    return Diagnostic{Code::object_damaged, "the compiled kernel cannot be linked: " + message(std::move(error)),
                      "remove the kernel cache and compile again", ""};
  };
  auto jit = session();
  if (!jit) return damaged(jit.takeError());
  static std::atomic<std::uint64_t> number{0};
  auto library = (*jit)->createJITDylib("kernel" + std::to_string(number++));
  if (!library) return damaged(library.takeError());
  auto code = std::make_shared<LinkedObject>(**jit, *library);
  // Math functions that a small processor lacks instructions for (fmaf, truncf) come from this process.
  auto process =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
  if (!process) return damaged(process.takeError());
  library->addGenerator(std::move(*process));
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  if (auto error = (*jit)->addObjectFile(*library, llvm::MemoryBuffer::getMemBufferCopy(bytes, module.name)))
    return damaged(std::move(error));
  for (std::size_t i = 0; i < module.kernels.size(); ++i) {
    auto symbol = (*jit)->lookup(*library, kernel_symbol(module, i));
    if (!symbol) return damaged(symbol.takeError());
    code->add(symbol->toPtr<Entry>());
  }
  return std::shared_ptr<LinkedModule>(std::move(code));
}

}  // namespace lanefold::jit
