// A kernel that devices refuse.
#pragma once

#include "pipeline/compile.h"
#include "support/temp_folder.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/kernels/skeleton.h"

namespace tapml::topdown {

// Cpu code for the kernel that requests work groups of 1,000,000 threads, in `folder`.
inline std::vector<CustomSource> too_large_for_devices(const Module& module,
                                                       const std::string& kernel,
                                                       const testing::TempFolder& folder) {
  const target::Target target = target::parse_target("cpu");
  std::string text = kernel_skeleton(pipeline::form_kernels(module), kernel, target);
  const std::string groups = " in groups of ";
  const size_t size = text.find(groups) + groups.size();
  text.replace(size, text.find('\n', size) - size, "1000000");
  testing::write_bytes(folder / "k.c", text);
  return read_custom_sources(folder / ".", target);
}

}  // namespace tapml::topdown
