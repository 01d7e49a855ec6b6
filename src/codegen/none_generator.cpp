// Entries without code, for devices that check and count calls.
#include "codegen/code_generators.h"

namespace tapml::codegen {

namespace {

class NoneGenerator : public CodeGenerator {
 public:
  std::unique_ptr<KernelCompiler> compiler(const target::Target&, int) const override {
    return serial_compiler([](const std::vector<DeviceFunc>&) { return std::vector<std::byte>(); });
  }
  ModuleBlob link(const std::vector<KernelCode>& kernels,
                  const target::Target& target) const override {
    return empty_module(kernels, target, "none");
  }
  Kept kept() const override { return Kept::kNone; }
};

}  // namespace

const CodeGenerator& none_generator() {
  static const NoneGenerator kGenerator;
  return kGenerator;
}

}  // namespace tapml::codegen
