// Machine code and WebAssembly, through LLVM.
#include "codegen/code_generators.h"
#include "codegen/custom/languages.h"
#include "codegen/llvm/archive.h"
#include "codegen/llvm/native.h"

namespace tapml::codegen {

namespace {

class NativeGenerator : public CodeGenerator {
 public:
  std::unique_ptr<KernelCompiler> compiler(const target::Target& target,
                                           int threads) const override {
    return std::make_unique<NativeCompiler>(target.description, threads);
  }

  ModuleBlob link(const std::vector<KernelCode>& kernels,
                  const target::Target& target) const override {
    ModuleBlob archive = archive_native(kernels, target.description);
    // Remotely or in a separate process, rely only on the system's loader, not on the JIT linker.
    const bool is_local = target.endpoint.empty() && !target.description.own_process;
    return is_local ? archive : link_shared(archive);
  }

  ModuleBlob portable(const ModuleBlob& module) const override {
    return module.format == kArchiveFormat ? link_shared(module) : module;
  }

  std::string identity(const target::Description& description) const override {
    return native_identity(description);
  }

  std::string language() const override { return "c"; }
  std::string disassembly(const std::vector<DeviceFunc>& launches,
                          const target::Target& target) const override {
    return native_assembly(launches, target.description);
  }
  const CustomKernels* custom_kernels() const override { return &custom_c(); }
};

}  // namespace

const CodeGenerator& native_generator() {
  static const NativeGenerator kGenerator;
  return kGenerator;
}

}  // namespace tapml::codegen
