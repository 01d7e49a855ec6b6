// The compiler of Chromium on the shaders of a module (tests/webgpu).
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/strings.h"
#include "exec/executable.h"
#include "io/host/command.h"
#include "support/temp_folder.h"

namespace tapml::testing {

inline const std::string kWebGpuTests = TAPML_SOURCE_DIR "/tests/webgpu";

// Whether `npm ci --prefix tests/webgpu` has installed it.
inline bool has_wgsl_compiler() {
  std::error_code error;
  return std::filesystem::exists(kWebGpuTests + "/node_modules/webgpu/index.js", error);
}

// What the compiler says of the shaders that it refuses; one line for each if the last one is the
// number of shaders.
inline void expect_valid_wgsl(const ModuleBlob& blob) {
  TempFolder folder;
  const std::string file = folder / "module";
  write_bytes(file, {reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size()});
  auto result =
      run_command({"node", kWebGpuTests + "/validate.mjs", file}, std::chrono::minutes(5));
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->output, std::to_string(blob.entries.size()) + "\n");
}

}  // namespace tapml::testing
