#include "topdown/kernels/kernel_source.h"

#include "codegen/llvm/native.h"
#include "codegen/lower/device_func.h"
#include "codegen/source/spirv.h"
#include "passes/kernel.h"
#include "text/printer.h"

namespace tapml::topdown {

namespace {

const char* language_of(const target::Target& target) {
  switch (target.description.code) {
    case target::CodeKind::kOpenClC:
      return "opencl-c";
    case target::CodeKind::kGlsl:
      return "glsl";
    default:
      return "c";
  }
}

}  // namespace

KernelSource kernel_source(const Module& fixed, const std::string& name,
                           const target::Target& target, pipeline::ImplementOptions options,
                           const std::vector<UserSource>& user_sources, bool assembly) {
  KernelSource source;
  if (const auto own = options.foreign.find(name); own != options.foreign.end()) {
    for (const UserSource& one : user_sources) {
      if (own->second.implementation.provider != "user:" + one.file) continue;
      source.code = one.text;
      source.provider = own->second.implementation.provider;
      source.language = language_of(target);
    }
    return source;
  }
  Module alone = passes::kernel_alone(fixed, name);
  alone.attrs = fixed.attrs;
  options.foreign.clear();
  options.cache = nullptr;  // what it has is not scheduled again
  options.rewrite = [&source, own = options.rewrite](const std::string& kernel,
                                                     tir::PrimFuncRef scheduled) {
    tir::PrimFuncRef result = own ? own(kernel, std::move(scheduled)) : scheduled;
    source.loops = text::print(*result, kernel);
    return result;
  };
  if (target.description.code == target::CodeKind::kGlsl) {
    options.lowered = [&](const codegen::DeviceFunc& launch) {
      source.language = language_of(target);
      source.code +=
          "// launch " + launch.entry + "\n" + codegen::emit_glsl(launch, target.description);
    };
  }
  std::vector<codegen::DeviceFunc> launches;
  if (assembly && target.description.code == target::CodeKind::kNative) {
    options.lowered = [&](const codegen::DeviceFunc& launch) { launches.push_back(launch); };
  }
  const auto executable = pipeline::implement(alone, target, options);
  const int32_t number = executable->find_kernel(name);
  if (const Implementation* made = number < 0 ? nullptr : executable->find_implementation(number)) {
    source.provider = made->provider;
  }
  if (!launches.empty()) {
    source.language = "assembly";
    source.code = codegen::native_assembly(launches, target.description);
  }
  for (const ModuleBlob& blob : executable->modules) {
    if (blob.format != "opencl-c") continue;
    source.language = blob.format;
    source.code.append(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size());
  }
  return source;
}

}  // namespace tapml::topdown
