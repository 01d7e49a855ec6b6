// The languages that users write kernels in.
#pragma once

#include "codegen/custom/custom_kernels.h"

namespace tapml::codegen {

const CustomKernels& custom_c();  // by the system's cc, for this machine's processor
const CustomKernels& custom_opencl_c();
const CustomKernels& custom_glsl();

}  // namespace tapml::codegen
