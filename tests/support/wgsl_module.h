// Hand-written kernels as a module of format "wgsl".
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "exec/executable.h"

namespace tapml::testing {

// A kernel of buffers b0, b1, .. and i32 scalars s0, s1, ..; `body` does work item i (u32).
struct WgslKernel {
  std::string entry;
  std::string access;              // "in in out"
  std::vector<std::string> types;  // of the buffers' elements
  int scalars = 0;
  std::string body;
};

inline std::string wgsl_text(const WgslKernel& kernel) {
  std::string text = "// access: " + kernel.access + "\n";
  const auto binding = [](size_t number) {
    return "@group(0) @binding(" + std::to_string(number) + ") var<";
  };
  for (size_t i = 0; i < kernel.types.size(); ++i) {
    text += binding(i) + "storage, read_write> b" + std::to_string(i) + ": array<" +
            kernel.types[i] + ">;\n";
  }
  text += binding(kernel.types.size()) + "uniform> scalars: array<vec4<i32>, " +
          std::to_string(kernel.scalars / 4 + 1) + ">;\n";
  text +=
      "@id(0) override threads: u32 = 64;\n"
      "@compute @workgroup_size(threads)\n"
      "fn main(@builtin(global_invocation_id) id: vec3<u32>,\n"
      "        @builtin(num_workgroups) groups: vec3<u32>) {\n";
  const auto scalar = [](int number) {
    return "scalars[" + std::to_string(number / 4) + "]." + "xyzw"[number % 4];
  };
  for (int i = 0; i < kernel.scalars; ++i) {
    text += "  let s" + std::to_string(i) + " = " + scalar(i) + ";\n";
  }
  return text + "  for (var i = id.x; i < u32(" + scalar(kernel.scalars) +
         "); i += groups.x * threads) {\n    " + kernel.body + "\n  }\n}\n";
}

inline ModuleBlob wgsl_module(const std::vector<WgslKernel>& kernels) {
  ModuleBlob blob;
  blob.platform = "webgpu";
  blob.format = "wgsl";
  for (const WgslKernel& kernel : kernels) {
    const std::string text = wgsl_text(kernel);
    const auto size = static_cast<uint32_t>(text.size());
    const size_t at = blob.bytes.size();
    blob.bytes.resize(at + sizeof size + size);
    std::memcpy(blob.bytes.data() + at, &size, sizeof size);
    std::memcpy(blob.bytes.data() + at + sizeof size, text.data(), size);
    blob.entries.push_back(kernel.entry);
  }
  return blob;
}

}  // namespace tapml::testing
