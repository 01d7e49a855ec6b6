// Kernels that library routines implement. Private to pipeline/.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "exec/library_code.h"
#include "library/choose.h"
#include "pipeline/compile.h"

namespace tapml::pipeline {

class LibraryKernels {
 public:
  LibraryKernels(const target::Target& target, const ImplementOptions& options,
                 Executable& executable);

  // Implements executable.kernels[kernel] by a routine; false where generated code is to.
  bool add(const relax::Function& spec, const tir::PrimFunc& program, int32_t kernel);
  // Adds the module of all calls, where there are some.
  void finish();
  // Names of the kernels that routines implement.
  const std::set<std::string>& kernels() const { return kernels_; }

 private:
  const std::string platform_;
  const ImplementOptions& options_;
  Executable& executable_;
  library::Chooser chooser_;
  std::vector<LibraryCode> code_;
  std::vector<size_t> implementations_;  // of executable_
  std::set<std::string> kernels_;
};

}  // namespace tapml::pipeline
