#include "topdown/kernels/kernel_source.h"

#include "codegen/code_generators.h"
#include "passes/kernel.h"
#include "text/printer.h"

namespace tapml::topdown {

KernelSource kernel_source(const Module& fixed, const std::string& name,
                           const target::Target& target, pipeline::ImplementOptions options,
                           const std::vector<CustomSource>& custom_sources, bool assembly) {
  const codegen::CodeGenerator& generator = codegen::generator_of(target);
  KernelSource source;
  if (const auto own = options.foreign.find(name); own != options.foreign.end()) {
    for (const CustomSource& one : custom_sources) {
      if (own->second.implementation.provider != "user:" + one.file) continue;
      source.code = one.text;
      source.provider = own->second.implementation.provider;
      source.language = generator.language();
      source.ending = target.description.kernel_language.ending;
    }
    return source;
  }
  Module alone = passes::kernel_alone(fixed, name);
  alone.facts = fixed.facts;
  alone.attrs = fixed.attrs;
  options.foreign.clear();
  options.cache = nullptr;  // cached kernels would not be scheduled again
  options.rewrite = [&source, own = options.rewrite](const std::string& kernel,
                                                     tir::PrimFuncRef scheduled) {
    tir::PrimFuncRef result = own ? own(kernel, std::move(scheduled)) : scheduled;
    source.loops = text::print(*result, kernel);
    return result;
  };
  std::vector<codegen::DeviceFunc> launches;
  options.lowered = [&](const codegen::DeviceFunc& launch) { launches.push_back(launch); };
  const auto executable = pipeline::implement(alone, target, options);
  const int32_t number = executable->find_kernel(name);
  if (const Implementation* made = number < 0 ? nullptr : executable->find_implementation(number)) {
    source.provider = made->provider;
  }
  if (launches.empty()) return source;
  source.code = generator.source_text(launches, target);
  if (!source.code.empty()) {
    source.language = generator.language();
    // A platform without custom kernels has no such ending.
    const std::string& own = target.description.kernel_language.ending;
    source.ending = own.empty() ? "." + source.language : own;
  } else if (assembly) {
    source.code = generator.disassembly(launches, target);
    if (source.code.empty()) return source;
    source.language = "assembly";
    source.ending = ".s";
  }
  return source;
}

}  // namespace tapml::topdown
