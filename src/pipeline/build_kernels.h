// From kernels to the code of one executable. Private to pipeline/.
#pragma once

#include <string>
#include <vector>

#include "codegen/code_generator.h"
#include "codegen/lower/preparation.h"
#include "codegen/lower/segment_tensors.h"
#include "pipeline/compile.h"
#include "pipeline/kernel_cache.h"

namespace tapml::pipeline {

// Schedules, lowers and generates code for all kernels of one executable. Code may be made on other
// threads while the next kernels are scheduled, or come from the cache; the result does not depend
// on either.
class KernelBuilder {
 public:
  KernelBuilder(const target::Target& target, const ImplementOptions& options,
                Executable& executable);

  // Implements executable.kernels[kernel] by `func`. `programs`: the hand-written ones among what
  // the kernel computes, "@f, @g". `most`: what its scalars can be at most, where that is known.
  void add(const tir::PrimFunc& func, int32_t kernel, const std::string& programs,
           const std::vector<std::optional<int64_t>>& most = {});
  // Adds the module with the code of all.
  void finish();

 private:
  // A kernel and its code, which is the cache's, or the compiler's once it has finished.
  struct Part {
    std::string key;  // empty: not for the cache
    bool cached = false;
    codegen::KernelCode code;
    size_t implementation = 0;
  };

  // Lowers one form of a kernel's program: launches into `implementation`, functions into `code`.
  // The segments and workspaces of the form that is added last are the implementation's; launches
  // choose between two forms by the rows of `symbolic`.
  void add_launches(const codegen::SegmentedFunc& segmented,
                    const std::vector<codegen::SegmentedFunc::Rows>& symbolic, bool whole,
                    const std::string& prefix, const std::string& programs,
                    Implementation& implementation, std::vector<codegen::DeviceFunc>& code);
  // What of a lowered form can be done once, when weights are loaded.
  codegen::Preparation find_preparation(const codegen::SegmentedFunc& segmented,
                                        const codegen::LoweredKernel& lowered) const;
  bool add_from_cache(Part& part, int32_t kernel, const std::vector<std::optional<int64_t>>& most,
                      bool by_rules);
  void keep(const Part& part);
  // One module, or one for each part.
  std::vector<ModuleBlob> generate();

  const target::Target& target_;
  const ImplementOptions& options_;
  Executable& executable_;
  const codegen::CodeGenerator& generator_;
  std::unique_ptr<codegen::KernelCompiler> compiler_;  // made when it is needed
  std::vector<Part> parts_;
  double schedule_seconds_ = 0;
  bool generates_ = false;  // some implementation is code of ours, if of no launch
};

}  // namespace tapml::pipeline
