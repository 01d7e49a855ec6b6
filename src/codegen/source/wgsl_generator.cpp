// WGSL: each launch is a shader of its own. A module is, for each entry in order, the length of its
// text in four bytes, least significant first, and the text (device/webgpu/).
#include "codegen/code_generators.h"
#include "codegen/source/emitter.h"

namespace tapml::codegen {

namespace {

// The shader of a launch. Its first line names the access to each buffer: WebGPU refuses memory
// that is bound twice and written, so the device gives a kernel copies of what it only reads.
std::string emit_wgsl(const DeviceFunc& launch, const target::Description& target) {
  std::string text = "// access:";
  for (const tir::Param& param : launch.buffers) {
    const bool is_read = param.mode == AccessMode::kIn || param.mode == AccessMode::kPrepared;
    text += is_read ? " in" : param.mode == AccessMode::kOut ? " out" : " inout";
  }
  return text + "\n" + emit_source({launch}, *wgsl_dialect(target));
}

void append(std::vector<std::byte>& bytes, const std::string& text) {
  for (int shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<std::byte>(text.size() >> shift));
  }
  const std::vector<std::byte> own = bytes_of(text);
  bytes.insert(bytes.end(), own.begin(), own.end());
}

class WgslGenerator : public CodeGenerator {
 public:
  bool needs_narrow_index() const override { return true; }

  std::unique_ptr<KernelCompiler> compiler(const target::Target& target, int) const override {
    return serial_compiler(
        [description = target.description](const std::vector<DeviceFunc>& launches) {
          std::vector<std::byte> bytes;
          for (const DeviceFunc& launch : launches) append(bytes, emit_wgsl(launch, description));
          return bytes;
        });
  }

  ModuleBlob link(const std::vector<KernelCode>& kernels,
                  const target::Target& target) const override {
    ModuleBlob blob = empty_module(kernels, target, "wgsl");
    for (const KernelCode& kernel : kernels) {
      blob.bytes.insert(blob.bytes.end(), kernel.bytes.begin(), kernel.bytes.end());
    }
    return blob;
  }

  bool driver_builds_modules() const override { return true; }

  std::string language() const override { return "wgsl"; }
  std::string source_text(const std::vector<DeviceFunc>& launches,
                          const target::Target& target) const override {
    std::string text;
    for (const DeviceFunc& launch : launches) {
      text += "// launch " + launch.entry + "\n" + emit_wgsl(launch, target.description);
    }
    return text;
  }
};

}  // namespace

const CodeGenerator& wgsl_generator() {
  static const WgslGenerator kGenerator;
  return kGenerator;
}

}  // namespace tapml::codegen
