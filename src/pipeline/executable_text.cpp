#include "pipeline/executable_text.h"

namespace tapml::pipeline {

std::string executable_text(const Executable& executable) {
  std::string text;
  for (size_t i = 0; i < executable.modules.size(); ++i) {
    const ModuleBlob& blob = executable.modules[i];
    text += "module " + std::to_string(i) + ": " + blob.platform + ", " + blob.format + ", " +
            std::to_string(blob.bytes.size()) + " bytes:";
    for (const std::string& entry : blob.entries) text += " " + entry;
    text += "\n";
  }
  for (const VmFunction& function : executable.functions) {
    text += "function " + function.name + ": " + std::to_string(function.code.size()) +
            " instructions, " + std::to_string(function.registers) + " registers\n";
  }
  return text;
}

}  // namespace tapml::pipeline
