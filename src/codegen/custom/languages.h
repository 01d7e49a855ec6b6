// The languages of custom kernels.
#pragma once

#include "codegen/custom/custom_kernels.h"

namespace tapml::codegen {

const CustomKernels& custom_c();  // through the system's cc, for this machine's processor
const CustomKernels& custom_opencl_c();
const CustomKernels& custom_glsl();

}  // namespace tapml::codegen
