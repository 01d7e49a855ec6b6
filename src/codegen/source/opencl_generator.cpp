// OpenCL C, compiled by the device's driver. A kernel's code is the text of its functions; a module
// starts with the helpers that they call.
#include "codegen/code_generators.h"
#include "codegen/custom/languages.h"
#include "codegen/source/emitter.h"
#include "codegen/source/opencl.h"

namespace tapml::codegen {

namespace {

class OpenClGenerator : public CodeGenerator {
 public:
  std::unique_ptr<KernelCompiler> compiler(const target::Target& target, int) const override {
    const Dialect& dialect = opencl_c_dialect(target.description);
    return serial_compiler([&dialect](const std::vector<DeviceFunc>& launches) {
      return bytes_of(emit_functions(launches, dialect));
    });
  }

  ModuleBlob link(const std::vector<KernelCode>& kernels,
                  const target::Target& target) const override {
    std::string functions;
    for (const KernelCode& kernel : kernels) {
      functions.append(reinterpret_cast<const char*>(kernel.bytes.data()), kernel.bytes.size());
    }
    ModuleBlob blob = empty_module(kernels, target, kOpenClFormat);
    blob.bytes = bytes_of(opencl_c_dialect(target.description).prelude(functions) + functions);
    return blob;
  }

  bool driver_builds_modules() const override { return true; }
  Kept kept() const override { return Kept::kOwnModules; }

  std::string language() const override { return "opencl-c"; }
  std::string source_text(const std::vector<DeviceFunc>& launches,
                          const target::Target& target) const override {
    return emit_source(launches, opencl_c_dialect(target.description));
  }
  const CustomKernels* custom_kernels() const override { return &custom_opencl_c(); }
};

}  // namespace

const CodeGenerator& opencl_c_generator() {
  static const OpenClGenerator kGenerator;
  return kGenerator;
}

}  // namespace tapml::codegen
