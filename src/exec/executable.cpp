#include "exec/executable.h"

namespace tapml {

const VmFunction* Executable::find_function(std::string_view name) const {
  for (const VmFunction& function : functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

int32_t Executable::find_kernel(std::string_view name) const {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].name == name) return static_cast<int32_t>(i);
  }
  return -1;
}

const Implementation* Executable::find_implementation(int32_t kernel) const {
  for (const Implementation& implementation : implementations) {
    if (implementation.kernel == kernel) return &implementation;
  }
  return nullptr;
}

}  // namespace tapml
