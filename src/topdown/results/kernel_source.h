// How a target implements a kernel, as text.
#pragma once

#include <string>

namespace tapml::topdown {

struct KernelSource {
  std::string loops;  // the scheduled tensor program, as text; empty where code is the user's
  // In the platform's language, where that is text, as the user wrote it or as it was generated;
  // else empty.
  std::string code;
  // Of `code`: the generator's (codegen/code_generator.h), or "assembly".
  std::string language;
  std::string provider;  // "schedule:<rule>", "library:<name>", "user:<file>"

  std::string ending;  // of a file with `code`: ".cl", ".comp", ".c", ".s"
};

}  // namespace tapml::topdown
