// GLSL, compiled to SPIR-V in this process. A kernel's code is its part of a module.
#include "codegen/code_generators.h"
#include "codegen/custom/languages.h"
#include "codegen/source/spirv.h"

namespace tapml::codegen {

namespace {

class ShaderCompiler : public KernelCompiler {
 public:
  ShaderCompiler(const target::Description& description, int threads)
      : description_(description), threads_(threads) {}

  void add(std::string kernel, std::vector<DeviceFunc> launches) override {
    done_.push_back({std::move(kernel), entries_of(launches), {}});
    for (DeviceFunc& launch : launches) functions_.push_back(std::move(launch));
  }

  std::vector<KernelCode> finish(const WorkWatcher& watcher) override {
    const auto parts = compile_shaders(functions_, description_, threads_, watcher);
    auto part = parts.begin();
    for (KernelCode& kernel : done_) {
      for (size_t i = 0; i < kernel.entries.size(); ++i, ++part) {
        kernel.bytes.insert(kernel.bytes.end(), part->begin(), part->end());
      }
    }
    return std::move(done_);
  }

 private:
  const target::Description description_;
  const int threads_;
  std::vector<KernelCode> done_;
  std::vector<DeviceFunc> functions_;  // of all kernels, in order
};

class GlslGenerator : public CodeGenerator {
 public:
  bool needs_narrow_index() const override { return true; }

  std::unique_ptr<KernelCompiler> compiler(const target::Target& target,
                                           int threads) const override {
    return std::make_unique<ShaderCompiler>(target.description, threads);
  }

  ModuleBlob link(const std::vector<KernelCode>& kernels,
                  const target::Target& target) const override {
    ModuleBlob blob = empty_module(kernels, target, kSpirvFormat);
    for (const KernelCode& kernel : kernels) {
      blob.bytes.insert(blob.bytes.end(), kernel.bytes.begin(), kernel.bytes.end());
    }
    return blob;
  }

  bool driver_builds_modules() const override { return true; }

  std::string language() const override { return "glsl"; }
  std::string source_text(const std::vector<DeviceFunc>& launches,
                          const target::Target& target) const override {
    std::string text;
    for (const DeviceFunc& launch : launches) {
      text += "// launch " + launch.entry + "\n" + emit_glsl(launch, target.description);
    }
    return text;
  }
  const CustomKernels* custom_kernels() const override { return &custom_glsl(); }
};

}  // namespace

const CodeGenerator& glsl_generator() {
  static const GlslGenerator kGenerator;
  return kGenerator;
}

}  // namespace tapml::codegen
