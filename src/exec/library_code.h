// Calls of library routines as code of a module of format "library".
#pragma once

#include <string>
#include <vector>

#include "exec/executable.h"

namespace tapml {

inline constexpr const char* kLibraryFormat = "library";

// A tensor of a call; its dims are computed from the launch's scalars.
struct LibraryTensor {
  DType dtype = DType::kF32;
  std::vector<ScalarProgram> dims;
};

// One entry of such a module. The buffers of its launch are the inputs, then the outputs.
struct LibraryCode {
  std::string entry;
  std::string library, routine;
  std::vector<int64_t> parameters;
  std::vector<LibraryTensor> inputs, outputs;
};

// The module of these entries for a platform that calls routines; deterministic.
ModuleBlob write_library_module(const std::string& platform, const std::vector<LibraryCode>& code);
// The entries of a module. UserError for bytes that write_library_module() did not make.
Result<std::vector<LibraryCode>> read_library_module(const ModuleBlob& module);

// Ok if the entry of `launch` is among `code`, its programs each leave one value and read only the
// launch's scalars, and the launch has a buffer for each of its tensors.
Status check_library_launch(const std::vector<LibraryCode>& code, const LaunchInfo& launch,
                            const std::string& where);

}  // namespace tapml
