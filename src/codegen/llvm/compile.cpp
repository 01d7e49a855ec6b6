#include "codegen/llvm/compile.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>

#include "codegen/llvm/byte_dot.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/native.h"
#include "codegen/llvm/target_machine.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

// Suppresses remarks about loops that could not be vectorized as requested.
struct QuietRemarks : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    return info.getSeverity() != llvm::DS_Error;
  }
};

std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context,
                                          const std::vector<DeviceFunc>& functions,
                                          const target::Description& description,
                                          llvm::TargetMachine& machine) {
  auto module = std::make_unique<llvm::Module>("tapml", context);
  module->setTargetTriple(machine.getTargetTriple().str());
  module->setDataLayout(machine.createDataLayout());
  for (const DeviceFunc& function : functions) emit_function(*module, function);
  const std::string tuning = tuning_of(description.processor);
  const std::string width = std::to_string(8 * description.vectors.bytes);
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("prefer-vector-width", width);
    if (!tuning.empty()) function.addFnAttr("tune-cpu", tuning);
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
  if (!lower_byte_dots(module, machine)) return;
  // What is equal for several rows or steps is computed once.
  llvm::FunctionPassManager clean;
  clean.addPass(llvm::InstCombinePass());
  clean.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  clean.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                      /*UseMemorySSA=*/true));
  modules.clear();
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(clean)));
  all.run(module, modules);
}

}  // namespace

struct ObjectCompiler::State {
  target::Description description;
  std::unique_ptr<llvm::TargetMachine> machine;

  llvm::SmallVector<char, 0> emit(const std::string& name, const std::vector<DeviceFunc>& functions,
                                  llvm::CodeGenFileType type);
};

ObjectCompiler::ObjectCompiler(const target::Description& description)
    : state_(std::make_unique<State>(description, make_vm(description.processor))) {}
ObjectCompiler::~ObjectCompiler() = default;

// Optimizes the module and emits a file of the given type.
llvm::SmallVector<char, 0> ObjectCompiler::State::emit(const std::string& name,
                                                       const std::vector<DeviceFunc>& functions,
                                                       llvm::CodeGenFileType type) {
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<QuietRemarks>());
  auto module = emit_module(context, functions, description, *machine);
  module->setModuleIdentifier(name);
  module->setSourceFileName(name);
  optimize(*module, *machine);
  llvm::SmallVector<char, 0> file;
  llvm::raw_svector_ostream stream(file);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, stream, nullptr, type)) {
    throw_internal("LLVM cannot write objects for " + description.processor.architecture);
  }
  codegen.run(*module);
  return file;
}

std::string ObjectCompiler::assembly(const std::string& name,
                                     const std::vector<DeviceFunc>& functions) {
  const auto file = state_->emit(name, functions, llvm::CodeGenFileType::AssemblyFile);
  return {file.data(), file.size()};
}

std::vector<std::byte> ObjectCompiler::object(const std::string& name,
                                              const std::vector<DeviceFunc>& functions) {
  const auto object = state_->emit(name, functions, llvm::CodeGenFileType::ObjectFile);
  auto bytes = std::as_bytes(std::span(object.data(), object.size()));
  return {bytes.begin(), bytes.end()};
}

std::string ObjectCompiler::ir(const std::vector<DeviceFunc>& functions) {
  llvm::LLVMContext context;
  auto module = emit_module(context, functions, state_->description, *state_->machine);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, nullptr);
  return stream.str();
}

std::string native_identity(const target::Description& description) {
  const target::Processor& processor = description.processor;
  const target::Architecture& architecture = known_architecture(processor);
  return std::string("llvm ") + LLVM_VERSION_STRING + ", " + architecture.triple + ", " +
         architecture.baseline + " tuned for " + tuning_of(processor) + ", " + processor.features +
         ", vectors of " + std::to_string(description.vectors.bytes) + ", O2";
}

}  // namespace tapml::codegen
