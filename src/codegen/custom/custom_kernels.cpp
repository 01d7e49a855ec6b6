#include "codegen/custom/custom_kernels.h"

#include <algorithm>

#include "codegen/code_generators.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

constexpr size_t kLogLines = 30;
// The first lines of a compiler's log.
std::string shortened_log(const std::string& log) {
  size_t end = 0;
  for (size_t i = 0; i < kLogLines && end != std::string::npos; ++i) {
    end = log.find('\n', end == 0 ? 0 : end + 1);
  }
  std::string text = log.substr(0, end);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

std::vector<tir::Param> CustomSource::tensors() const {
  std::vector<tir::Param> all = signature->params;
  std::stable_partition(all.begin(), all.end(), [](const tir::Param& param) {
    return param.mode != AccessMode::kWorkspace;
  });
  return all;
}

const CustomKernels& custom_kernels_of(const target::Target& target) {
  const CustomKernels* kernels = generator_of(target).custom_kernels();
  if (kernels) return *kernels;
  throw_internal("it does not support custom kernels", target.description.platform);
}

ModuleBlob compile_custom_module(const CustomSource& source, const target::Target& target,
                                 const std::function<bool()>& cancelled) {
  const CustomKernels& language = custom_kernels_of(target);
  ModuleBlob blob = language.compile(source, target, cancelled);
  for (size_t i = 0; i < source.launches.size(); ++i) {
    const std::string entry = language.entry(source, i);
    if (std::find(blob.entries.begin(), blob.entries.end(), entry) == blob.entries.end()) {
      blob.entries.push_back(entry);
    }
  }
  return blob;
}

void refuse_custom_source(const CustomSource& source, const target::Target& target,
                          const std::string& log) {
  if (log.find("conflicting types") != std::string::npos) {
    std::string expected = custom_kernels_of(target).declarations(source);
    while (expected.ends_with('\n')) expected.pop_back();
    throw_user("the parameters of a kernel do not match its launch", source.file, expected,
               shortened_log(log), "see docs/custom-kernels.md for how kernels are called");
  }
  throw_user("this kernel does not compile for " + target.description.platform, source.file, "",
             shortened_log(log));
}

}  // namespace tapml::codegen
