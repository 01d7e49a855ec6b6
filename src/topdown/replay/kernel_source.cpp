#include "topdown/replay/kernel_source.h"

#include "passes/kernel.h"
#include "text/printer.h"

namespace tapml::topdown {

KernelSource kernel_source(const Module& fixed, const std::string& name,
                           const target::Target& target, pipeline::ImplementOptions options) {
  KernelSource source;
  Module alone = passes::kernel_alone(fixed, name);
  alone.attrs = fixed.attrs;
  std::erase_if(options.foreign, [&](const auto& one) { return one.first != name; });
  options.cache = nullptr;  // what it has is not scheduled again
  options.rewrite = [&source, own = options.rewrite](const std::string& kernel,
                                                     tir::PrimFuncRef scheduled) {
    tir::PrimFuncRef result = own ? own(kernel, std::move(scheduled)) : scheduled;
    source.loops = text::print(*result, kernel);
    return result;
  };
  const auto executable = pipeline::implement(alone, target, options);
  for (const ModuleBlob& blob : executable->modules) {
    if (blob.format != "opencl-c") continue;
    source.language = blob.format;
    source.code.append(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size());
  }
  return source;
}

}  // namespace tapml::topdown
