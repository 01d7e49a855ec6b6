// The text of a target's implementation of a kernel.
#pragma once

#include <string>

namespace tapml::topdown {

struct KernelSource {
  std::string loops;  // the scheduled tensor program, as text; empty for the user's own code
  // In the platform's language, as the user wrote it or as it was generated; empty if it is not
  // text.
  std::string code;
  // The language of `code`: the generator's (codegen/code_generator.h), or "assembly".
  std::string language;
  std::string provider;  // "schedule:<rule>", "library:<name>", "user:<file>"

  std::string ending;  // the extension of a file with `code`: ".cl", ".comp", ".c", ".s"
};

}  // namespace tapml::topdown
