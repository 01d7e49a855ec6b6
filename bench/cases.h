// The benchmarks, by what they measure. Each list is explicit in its file.
#pragma once

#include "harness.h"

namespace tapml::bench {

// Single operators on the processor, against its ceilings.
std::vector<Case> kernel_cases();
// Language models: compile, decode, prefill, the cost of the virtual machine and of carving.
std::vector<Case> model_cases();
// Compiling a large model's configuration, cold and through the cache; loading executables.
std::vector<Case> compile_cases();
// Bytes that activations need, planned and not.
std::vector<Case> memory_cases();
// What top-down bring-up costs beside rooting the model.
std::vector<Case> migration_cases();
// A kernel of the user's own, from its saved file to its verdict.
std::vector<Case> watch_cases();
// A language model with and without single optimizations.
std::vector<Case> optimization_cases();

// Weights of four bits beside the same model's in bf16.
std::vector<Case> quantization_cases();
// Kernels by libraries beside the same kernels by generated code.
std::vector<Case> library_cases();
// Kernels on the OpenCL device by work groups, beside the fallback and the ceilings.
std::vector<Case> opencl_cases();

// Remote devices beside bare sockets and beside the same device here.
std::vector<Case> rpc_cases();
// Launches and memory on the Vulkan device.
std::vector<Case> vulkan_cases();

}  // namespace tapml::bench
