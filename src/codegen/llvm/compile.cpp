#include "codegen/llvm/compile.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include "base/host/cpu_features.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/native.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

// "+avx2,+fma,...": what code may use. Nothing else is switched on, so that these are what a
// machine must have to run it.
std::string feature_string() {
  std::string text;
  for (const std::string& feature : cpu_features()) text += (text.empty() ? "+" : ",+") + feature;
  return text;
}

const char* baseline_cpu() {
#if defined(__x86_64__)
  return "x86-64";
#else
  return "generic";
#endif
}

std::unique_ptr<llvm::TargetMachine> host_machine() {
  static const bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  std::string triple = llvm::sys::getProcessTriple(), message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target) throw_internal("LLVM does not know this host: " + message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, baseline_cpu(), feature_string(), options, llvm::Reloc::PIC_));
}

// A loop that may run as lanes but does not is nobody's mistake: nothing is printed about it.
struct QuietRemarks : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    return info.getSeverity() != llvm::DS_Error;
  }
};

std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context,
                                          const std::vector<DeviceFunc>& functions,
                                          llvm::TargetMachine& machine) {
  auto module = std::make_unique<llvm::Module>("tapml", context);
  module->setTargetTriple(machine.getTargetTriple().str());
  module->setDataLayout(machine.createDataLayout());
  for (const DeviceFunc& function : functions) emit_function(*module, function);
  // The processor decides how instructions are ordered, not which there are.
  for (llvm::Function& function : *module) {
    if (!function.isDeclaration()) function.addFnAttr("tune-cpu", llvm::sys::getHostCPUName());
  }
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (llvm::verifyModule(*module, &stream)) {
    throw_internal("invalid LLVM IR: " + stream.str());
  }
  return module;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager cgscc;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(cgscc);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, cgscc, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

}  // namespace

struct ObjectCompiler::State {
  std::unique_ptr<llvm::TargetMachine> machine = host_machine();
};

ObjectCompiler::ObjectCompiler() : state_(std::make_unique<State>()) {}
ObjectCompiler::~ObjectCompiler() = default;

std::vector<std::byte> ObjectCompiler::object(const std::string& name,
                                              const std::vector<DeviceFunc>& functions) {
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<QuietRemarks>());
  llvm::TargetMachine& machine = *state_->machine;
  auto module = emit_module(context, functions, machine);
  module->setModuleIdentifier(name);
  module->setSourceFileName(name);
  optimize(*module, machine);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  if (machine.addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    throw_internal("LLVM cannot write objects for this host");
  }
  codegen.run(*module);
  auto bytes = std::as_bytes(std::span(object.data(), object.size()));
  return {bytes.begin(), bytes.end()};
}

std::string ObjectCompiler::ir(const std::vector<DeviceFunc>& functions) {
  llvm::LLVMContext context;
  auto module = emit_module(context, functions, *state_->machine);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return stream.str();
}

std::string native_identity() {
  return std::string("llvm ") + LLVM_VERSION_STRING + ", " + llvm::sys::getProcessTriple() + ", " +
         baseline_cpu() + " tuned for " + llvm::sys::getHostCPUName().str() + ", " +
         feature_string() + ", O2";
}

}  // namespace tapml::codegen
