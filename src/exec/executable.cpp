#include "exec/executable.h"

#include <set>

namespace tapml {

bool has_prepared(const Implementation& implementation) {
  for (const ParamInfo& scratch : implementation.workspaces) {
    if (scratch.mode == AccessMode::kPrepared) return true;
  }
  return false;
}

std::vector<int32_t> prepared_sources(const Implementation& implementation,
                                      const KernelInfo& kernel) {
  std::set<int32_t> found;
  for (const LaunchInfo& launch : implementation.launches) {
    if (!launch.prepares) continue;
    for (int32_t buffer : launch.buffers) {
      if (static_cast<size_t>(buffer) < kernel.params.size()) found.insert(buffer);
    }
  }
  return {found.begin(), found.end()};
}

Result<int64_t> prepared_bytes(const Implementation& implementation) {
  int64_t total = 0;
  for (const ParamInfo& scratch : implementation.workspaces) {
    if (scratch.mode != AccessMode::kPrepared) continue;
    Shape shape;
    for (const ScalarProgram& dim : scratch.dims) {
      TAPML_ASSIGN(int64_t extent, evaluate(dim, {}));
      shape.push_back(extent);
    }
    TAPML_ASSIGN(int64_t bytes, checked_byte_count(scratch.dtype, shape));
    int64_t padded = 0;
    if (__builtin_add_overflow(bytes, kScratchAlignment - 1, &padded) ||
        __builtin_add_overflow(total, padded / kScratchAlignment * kScratchAlignment, &total)) {
      return fail(internal_error("prepared scratch has more than 2^63 - 1 bytes"));
    }
  }
  return total;
}

const ValueCheck* check_of_parameter(const VmFunction& function, size_t parameter) {
  for (const Instruction& instruction : function.code) {
    if (instruction.op != Opcode::kCheck) break;
    if (instruction.a == static_cast<int32_t>(parameter)) {
      return &function.checks[static_cast<size_t>(instruction.b)];
    }
  }
  return nullptr;
}

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
