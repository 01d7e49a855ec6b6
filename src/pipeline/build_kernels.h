// From kernels to the code of one executable. Private to pipeline/.
#pragma once

#include <string>
#include <vector>

#include "codegen/llvm/native.h"
#include "codegen/lower/preparation.h"
#include "codegen/lower/segment_tensors.h"
#include "pipeline/compile.h"
#include "pipeline/kernel_cache.h"

namespace tapml::pipeline {

// Schedules, lowers and generates code for all kernels of one executable. Native code is made on
// other threads while the next kernels are scheduled, or comes from the cache; the result does not
// depend on either.
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
  // A kernel whose code may be kept: `object` is there, or is made of its functions. Of a native
  // one it is what the compiler makes, of a Vulkan one the part of a module.
  struct Native {
    std::string key;  // empty: not for the cache
    bool cached = false;
    codegen::NativeObject object;
    size_t implementation = 0;
    size_t functions = 0;  // how many of functions_ are its own
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
  bool add_from_cache(Native& native, int32_t kernel,
                      const std::vector<std::optional<int64_t>>& most, bool by_rules);
  void keep(const Native& native);
  // One module, or one for each of own_functions_.
  std::vector<ModuleBlob> generate();
  ModuleBlob generate_native();
  std::vector<ModuleBlob> generate_opencl();
  std::vector<ModuleBlob> generate_spirv();

  const target::Target& target_;
  const ImplementOptions& options_;
  Executable& executable_;
  std::unique_ptr<codegen::NativeCompiler> compiler_;  // made when it is needed
  std::vector<Native> natives_;
  std::vector<codegen::DeviceFunc> functions_;  // of targets that are not native
  // Implementations and how many of functions_ each has, in that order.
  std::vector<std::pair<size_t, size_t>> own_functions_;
  double schedule_seconds_ = 0;
  bool generates_ = false;  // some implementation is code of ours, if of no launch
};

}  // namespace tapml::pipeline
