#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
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

#include "codegen/llvm/emit.h"
#include "codegen/llvm/native.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

// "+avx2,-avx512f,..." of this host, sorted by name.
std::string host_features() {
  std::string text;
  std::map<std::string, bool> sorted;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    sorted[feature.first().str()] = feature.second;
  }
  for (const auto& [name, on] : sorted) {
    text += (text.empty() ? "" : ",") + std::string(on ? "+" : "-") + name;
  }
  return text;
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
      triple, llvm::sys::getHostCPUName(), host_features(), options, llvm::Reloc::PIC_));
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

ModuleBlob compile_native(const std::vector<DeviceFunc>& functions) {
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<QuietRemarks>());
  auto machine = host_machine();
  auto module = emit_module(context, functions, *machine);
  optimize(*module, *machine);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    throw_internal("LLVM cannot write objects for this host");
  }
  codegen.run(*module);
  ModuleBlob blob;
  blob.platform = "cpu";
  blob.format = "elf-object";
  auto bytes = std::as_bytes(std::span(object.data(), object.size()));
  blob.bytes.assign(bytes.begin(), bytes.end());
  for (const DeviceFunc& function : functions) blob.entries.push_back(function.entry);
  blob.cpu = llvm::sys::getHostCPUName().str();
  blob.features = host_features();
  return blob;
}

std::string native_ir(const std::vector<DeviceFunc>& functions) {
  llvm::LLVMContext context;
  auto machine = host_machine();
  auto module = emit_module(context, functions, *machine);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return stream.str();
}

}  // namespace tapml::codegen
