// Modules for the Vulkan device from a test's GLSL.
#pragma once

#include <string>
#include <vector>

#include "codegen/source/spirv.h"
#include "exec/executable.h"

namespace tapml::testing {

struct GlslKernel {
  std::string name;
  std::vector<std::string> buffers;  // element types: "float" declares binding 0 as b0[], and so on
  int scalars = 0;                   // s0, s1, ..
  std::string body;                  // for one work item, i
  int threads = 64;                  // of a work group
};

inline std::string glsl_text(const GlslKernel& kernel) {
  std::string text = "#version 450\nlayout(local_size_x = " + std::to_string(kernel.threads) +
                     ") in;\nlayout(push_constant) uniform Scalars { int extent;";
  for (int i = 0; i < kernel.scalars; ++i) text += " int s" + std::to_string(i) + ";";
  text += " };\n";
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    std::string number = std::to_string(i);
    text += "layout(std430, binding = " + number + ") buffer B" + number + " { " +
            kernel.buffers[i] + " b" + number + "[]; };\n";
  }
  return text +
         "void main() {\n"
         "  for (uint i = gl_GlobalInvocationID.x; i < uint(extent);\n"
         "       i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {\n" +
         kernel.body + "\n  }\n}\n";
}

// Appends the header and code of an entry point to a module.
inline void append_spirv(ModuleBlob& blob, const std::string& name, uint32_t buffers,
                         uint32_t push_bytes, const std::vector<uint32_t>& words) {
  auto append = [&](uint32_t word) {
    for (int i = 0; i < 4; ++i) blob.bytes.push_back(static_cast<std::byte>(word >> (8 * i)));
  };
  append(static_cast<uint32_t>(words.size()));
  append(buffers);
  append(push_bytes);
  for (uint32_t word : words) append(word);
  blob.entries.push_back(name);
}

inline ModuleBlob glsl_module(const std::vector<GlslKernel>& kernels) {
  ModuleBlob blob;
  blob.platform = "vulkan";
  blob.format = "spirv";
  for (const GlslKernel& kernel : kernels) {
    append_spirv(blob, kernel.name, static_cast<uint32_t>(kernel.buffers.size()),
                 4 * static_cast<uint32_t>(kernel.scalars + 1),
                 codegen::compile_glsl_to_spirv(glsl_text(kernel), kernel.name));
  }
  return blob;
}

}  // namespace tapml::testing
