// Functions that a program can do without where a platform cannot compute them.
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

// `fixed` (kernels formed) without the kernels of a dtype that the target does not compute, where
// no function needs them, and without the optional functions that call such kernels. f16 and bf16
// are computed in f32 wherever they are stored. `given`: kernels whose code comes from elsewhere.
Module without_unsupported(const Module& fixed, const target::Target& target,
                           const std::function<bool(const std::string& kernel)>& given,
                           std::vector<OmittedFunction>& omitted_functions);

}  // namespace tapml::pipeline
