#include "codegen/llvm/target_machine.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include "ir/exceptions.h"

namespace tapml::codegen {

void initialize_back_ends() {
  static const bool initialized = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    return true;
  }();
  (void)initialized;
}

const target::Architecture& known_architecture(const target::Processor& processor) {
  const target::Architecture* architecture = target::find_architecture(processor.architecture);
  if (!architecture) {
    throw_platform(PlatformFault::kAbsent,
                   "machine code is not supported for processors of " + processor.architecture,
                   "cpu");
  }
  return *architecture;
}

std::unique_ptr<llvm::TargetMachine> make_vm(const target::Processor& processor) {
  initialize_back_ends();
  const target::Architecture& architecture = known_architecture(processor);
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(architecture.triple, message);
  if (!target) {
    throw_platform(PlatformFault::kAbsent,
                   "LLVM was built without a back end for " + processor.architecture, "cpu",
                   "install Debian's package llvm-19");
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  // Enable only the baseline and the named features, which are then what a machine must have.
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      architecture.triple, architecture.baseline, processor.features, options, llvm::Reloc::PIC_));
}

std::string tuning_of(const target::Processor& processor) {
  const bool is_local = processor.architecture == target::host_processor().architecture;
  return is_local ? llvm::sys::getHostCPUName().str() : "";
}

}  // namespace tapml::codegen
