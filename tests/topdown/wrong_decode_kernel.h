// A kernel that only decode calls, with wrong code for the cpu.
#pragma once

#include "pipeline/compile.h"
#include "support/temp_folder.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/kernels/skeleton.h"
#include "topdown/small_model.h"
#include "topdown/suite/coverage.h"

namespace tapml::topdown {

// The first norm that decode calls and prefill does not.
inline std::string decode_norm() {
  const Executable& executable = *small_model().executable;
  const std::vector<std::string> prefill = names_of(called_kernels(executable, {"prefill"}));
  for (const std::string& name : names_of(called_kernels(executable, {"decode"}))) {
    if (name.starts_with("rms_norm_") && std::ranges::find(prefill, name) == prefill.end()) {
      return name;
    }
  }
  return "none";
}

// Its results have the wrong sign.
inline std::vector<CustomSource> wrong_decode_norm(const testing::TempFolder& folder) {
  const target::Target target = target::parse_target("cpu");
  std::string text = kernel_skeleton(pipeline::form_kernels(small_model().golden.model.module),
                                     decode_norm(), target);
  // The last assignment is that of the output.
  text.insert(text.rfind("] = ") + 4, "-");
  testing::write_bytes(folder / "k.c", text);
  return read_custom_sources(folder / ".", target);
}

}  // namespace tapml::topdown
