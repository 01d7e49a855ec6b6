// The modules of code in an executable, and the entries of launches in them.
#include <gtest/gtest.h>

#include <map>

#include "codegen/lower/device_func.h"
#include "exec/validate.h"
#include "steps_program.h"
#include "text/parser.h"

namespace tapml::pipeline {
namespace {

// The entries of all launches, in order of kernels.
std::vector<std::string> launched(const Executable& executable) {
  std::vector<std::string> entries;
  for (const Implementation& one : executable.implementations) {
    for (const LaunchInfo& launch : one.launches) entries.push_back(launch.entry);
  }
  return entries;
}

TEST(GenerateCode, OneModuleHasAnEntryForEachLaunch) {
  const std::map<std::string, std::string> formats = {
      {"cpu", "elf-archive"}, {"opencl", "opencl-c"}, {"vulkan", "spirv"}, {"null", "none"}};
  for (const auto& [target, format] : formats) {
    const auto executable = compile_steps_program(target);
    ASSERT_EQ(executable->modules.size(), 1u) << target;
    const ModuleBlob& module = executable->modules[0];
    EXPECT_EQ(module.platform, target);
    EXPECT_EQ(module.format, format);
    EXPECT_EQ(module.bytes.empty(), target == "null");
    EXPECT_EQ(module.entries, launched(*executable)) << target;
    for (const Implementation& one : executable->implementations) EXPECT_EQ(one.module, 0);
  }
}

// A driver then builds only the modules that it has not seen.
TEST(GenerateCode, AModuleForEachKernelWhereTheDriverBuildsThem) {
  ImplementOptions options;
  options.module_per_kernel = true;
  const auto executable = compile_steps_program("opencl", options);
  ASSERT_EQ(executable->modules.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(executable->implementations[i].module, static_cast<int32_t>(i));
    for (const std::string& entry : executable->modules[i].entries) {
      EXPECT_TRUE(entry.starts_with(executable->kernels[i].name)) << entry;
    }
  }
  EXPECT_EQ(compile_steps_program("cpu", options)->modules.size(), 1u);
}

TEST(GenerateCode, EachLaunchIsSeenBeforeItIsCompiled) {
  for (const char* target : {"cpu", "opencl", "vulkan"}) {
    std::vector<std::string> seen;
    ImplementOptions options;
    options.lowered = [&](const codegen::DeviceFunc& launch) { seen.push_back(launch.entry); };
    const auto executable = compile_steps_program(target, options);
    EXPECT_EQ(seen, launched(*executable)) << target;
  }
}

// Foreign code is a module after the generated ones, and its kernel gets no other code.
TEST(GenerateCode, ForeignCodeFollows) {
  const auto plain = compile_steps_program("null");
  const Implementation& tanh = implementation_of(*plain, "tanh_");
  const std::string name = plain->kernels.at(static_cast<size_t>(tanh.kernel)).name;
  ImplementOptions options;
  ForeignKernel foreign{tanh, {.platform = "null", .format = "none"}};
  for (const LaunchInfo& launch : tanh.launches) foreign.module.entries.push_back(launch.entry);
  options.foreign.emplace(name, foreign);
  const auto executable = compile_steps_program("null", options);
  ASSERT_EQ(executable->modules.size(), 2u);
  EXPECT_EQ(implementation_of(*executable, "tanh_").module, 1);
  EXPECT_EQ(implementation_of(*executable, "matmul_").module, 0);
  EXPECT_EQ(executable->modules[1].entries, foreign.module.entries);
  for (const std::string& entry : executable->modules[0].entries) {
    EXPECT_FALSE(entry.starts_with("tanh_")) << entry;
  }
  EXPECT_TRUE(validate(*executable));
}

// Otherwise the code of a row grows with its length, and the time to compile it with the third
// power.
TEST(GenerateCode, LongBodiesAreNotUnrolled) {
  const auto code_of_row = [](int64_t length, const char* function) {
    const std::string type = "Tensor((n, " + std::to_string(length) + "), f32)";
    const Module module =
        text::parse("module {phase: \"import\"}\ndef main(x: " + type + ") -> " + type +
                        " {\n  y: " + type + " = " + function + "(x)\n  return y\n}",
                    "test");
    return compile(module, target::parse_target("wasm"))->modules.at(0).bytes.size();
  };
  for (const char* function : {"log10", "erf"}) {
    EXPECT_LT(code_of_row(64, function), 2 * code_of_row(8, function)) << function;
  }
}

}  // namespace
}  // namespace tapml::pipeline
