// A package of a toy model, in whose prompts a byte is a token.
#pragma once

#include <fstream>
#include <map>
#include <string>

#include "app/executable.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "llm/package.h"
#include "llm/tokenizer/sample_tokenizer.h"
#include "pipeline/compile.h"

namespace tapml::testing {

// Writes the package to `folder`/package and returns that path.
inline std::string write_toy_package(const std::string& folder, const Module& module,
                                     const std::map<std::string, HostTensor>& weights) {
  std::ofstream(folder + "/tokenizer.json") << tokenizer::sample_json().dump(1);
  const target::Target target = target::parse_target("cpu");
  const auto executable = pipeline::compile(module, target);
  const std::string package = folder + "/package";
  unwrap(llm::write_package(
      package, {.file = app::executable_file(*executable, target, pipeline::form_kernels(module),
                                             ModelSource()),
                .weights = weights,
                .end_tokens = {},
                .model_folder = folder}));
  return package;
}

inline void write_tensor(const std::string& path, const std::string& name,
                         const HostTensor& tensor) {
  const auto image = write_safetensors({{name, tensor}});
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(image.data()), std::ssize(image));
}

}  // namespace tapml::testing
