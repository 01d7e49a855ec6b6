// Functions that may be omitted on platforms that cannot compute them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "target/target.h"

namespace tapml::pipeline {

// An optional function (FunctionFacts::optional) that an executable lacks.
struct OmittedFunction {
  std::string function;
  std::string reason;  // "kernel draw_token_1f0a3c5d computes in f64, which the platform lacks"
};

// `fixed` (kernels formed) without kernels whose dtype the target cannot compute, if no function
// needs them, and without the optional functions that call such kernels. f16 and bf16 are computed
// in f32 regardless of storage. `given`: kernels with external code.
Module without_unsupported(const Module& fixed, const target::Target& target,
                           const std::function<bool(const std::string& kernel)>& given,
                           std::vector<OmittedFunction>& omitted_functions);

}  // namespace tapml::pipeline
