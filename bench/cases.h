// The benchmarks, grouped by subject. Each list is explicit in its file.
#pragma once

#include "harness.h"

namespace tapml::bench {

// Single operators on the CPU, against its ceilings.
std::vector<Case> kernel_cases();
// Language models: compile, decode, prefill, the overhead of the virtual machine and of carving.
std::vector<Case> model_cases();
// Models of 150 million parameters of each family: experts, latent attention, scans.
std::vector<Case> family_cases();
// Compiling a large model's configuration, cold and with the cache; loading executables.
std::vector<Case> compile_cases();
// Memory for activations, planned and unplanned.
std::vector<Case> memory_cases();
// The cost of top-down bring-up relative to rooting the model.
std::vector<Case> migration_cases();
// The reference evaluator: a step of a model of 1.1 billion parameters, one kernel.
std::vector<Case> reference_cases();
// A custom kernel, from saving its file to its verdict.
std::vector<Case> watch_cases();
// A language model with and without single optimizations.
std::vector<Case> optimization_cases();

// Four-bit weights compared with the same model's in bf16.
std::vector<Case> quantization_cases();
// GGUF files compared with llama.cpp.
std::vector<Case> llama_cpp_cases();
// Many texts at once, and the interface of a server, compared with one text and the engine alone.
std::vector<Case> serving_cases();
// Speculative decoding, compared with the times of its steps and with plain decoding.
std::vector<Case> speculation_cases();
// Library kernels compared with generated code for the same kernels.
std::vector<Case> library_cases();
// Work-group kernels on the OpenCL device, compared with the fallback and the ceilings.
std::vector<Case> opencl_cases();

// Remote devices compared with bare sockets and with the same device in this process.
std::vector<Case> rpc_cases();
// Leases among many devices, and the bytes that a tracker carries.
std::vector<Case> tracker_cases();
// A tab of a browser as a device.
std::vector<Case> web_cases();
// Launches and memory on the Vulkan device.
std::vector<Case> vulkan_cases();

}  // namespace tapml::bench
