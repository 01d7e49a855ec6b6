// OpenCL C, compiled by the device's driver.
#include <set>

#include "codegen/code_generator.h"
#include "codegen/custom/languages.h"
#include "codegen/source/emitter.h"
#include "codegen/source/opencl.h"

namespace tapml::codegen {

namespace {

std::string escaped_path(const std::string& path) {
  std::string text;
  for (char c : path) text += (c == '"' || c == '\\' ? std::string("\\") : "") + c;
  return text;
}

class CustomOpenClC : public CustomKernels {
 public:
  std::string skeleton(const std::vector<DeviceFunc>& launches,
                       const target::Target&) const override {
    return emit_source(launches, opencl_c_dialect(), Readers::kPeople);
  }
  std::string declarations(const CustomSource& source) const override {
    std::string text;
    std::set<std::string> declared;
    const std::vector<tir::Param> tensors = source.tensors();
    for (const CustomLaunch& launch : source.launches) {
      if (!declared.insert(launch.entry).second) continue;
      text += "__kernel void " + launch.entry + "(";
      for (int32_t buffer : launch.buffers) {
        text +=
            "__global uchar* base_" + tensors.at(static_cast<size_t>(buffer)).buffer->name + ", ";
      }
      for (int32_t buffer : launch.buffers) {
        text += "long offset_" + tensors.at(static_cast<size_t>(buffer)).buffer->name + ", ";
      }
      for (int32_t scalar : launch.scalars) {
        text += "long " + source.signature->scalars.at(static_cast<size_t>(scalar))->name + ", ";
      }
      text += "long extent);\n";
    }
    return text;
  }
  ModuleBlob compile(const CustomSource& source, const target::Target& target,
                     const std::function<bool()>&) const override {
    ModuleBlob blob;
    blob.platform = target.description.platform;
    blob.format = kOpenClFormat;
    // Makes the driver's log refer to the user's file and lines.
    blob.bytes = bytes_of(declarations(source) + "#line 1 \"" + escaped_path(source.file) + "\"\n" +
                          source.text);
    return blob;
  }
};

}  // namespace

const CustomKernels& custom_opencl_c() {
  static const CustomOpenClC kLanguage;
  return kLanguage;
}

}  // namespace tapml::codegen
