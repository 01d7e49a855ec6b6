// Processors as targets name them, and as devices report them.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/host/cpu_features.h"
#include "support/expect_error.h"
#include "target/target.h"

namespace tapml::testing {
namespace {

using target::adopt_device;
using target::parse_target;
using target::Target;

DeviceInfo machine(std::string cpu, std::string features) {
  DeviceInfo info;
  info.platform = "cpu";
  info.cpu = std::move(cpu);
  info.cpu_features = std::move(features);
  return info;
}

TEST(Processor, DefaultsToTheHostProcessor) {
  const Target target = parse_target("cpu:threads=2");
  EXPECT_EQ(target.description.processor.architecture, cpu_architecture());
  EXPECT_EQ(target.description.processor.features, target::host_processor().features);
}

TEST(Processor, OptionsNameAnother) {
  Target target = parse_target("cpu:arch=aarch64");
  EXPECT_EQ(target.description.processor.architecture, "aarch64");
  EXPECT_EQ(target.description.processor.features, "");
  EXPECT_EQ(target.description.vectors.bytes, 16);
  target = parse_target("cpu:arch=aarch64,features=fullfp16+dotprod+fullfp16");
  EXPECT_EQ(target.description.processor.features, "+dotprod,+fullfp16");
  target = parse_target("cpu:arch=x86-64,features=fma+avx2");
  EXPECT_EQ(target.description.processor.features, "+avx2,+fma");
  EXPECT_EQ(target.description.vectors.bytes, 32);
}

// A tile of sums that is wider than the registers would be kept in memory.
TEST(Processor, VectorsAreAsWideAsItsRegisters) {
  const auto width = [](const std::string& features) {
    return parse_target("cpu:arch=x86-64,features=" + features).description.vectors.bytes;
  };
  EXPECT_EQ(parse_target("cpu:arch=x86-64").description.vectors.bytes, 16);
  EXPECT_EQ(width("sse4.2+popcnt"), 16);
  EXPECT_EQ(width("avx"), 32);
  EXPECT_EQ(width("avx+avx2+f16c+fma+vaes"), 32);
  EXPECT_EQ(width("avx2+avx512f+avx512vl+fma"), 64);
  EXPECT_EQ(parse_target("cpu:arch=x86-64,features=avx2").description.vectors.count, 16);
  EXPECT_EQ(parse_target("cpu:arch=x86-64,features=avx512f").description.vectors.count, 32);
  EXPECT_EQ(parse_target("cpu:arch=aarch64").description.vectors.count, 32);
}

TEST(Processor, RefusesUnknownNames) {
  expect_user_error([] { parse_target("cpu:arch=z80"); },
                    {"unknown processor architecture", "aarch64, x86-64", "z80"});
  expect_user_error([] { parse_target("cpu:arch=aarch64,features=dotprod+avx2"); },
                    {"unknown feature of aarch64", "dotprod", "avx2"});
  expect_user_error([] { parse_target("cpu:arch=wasm32"); },
                    {"unknown processor architecture", "wasm32"});
  expect_user_error([] { parse_target("wasm:arch=aarch64"); },
                    {"unknown option", "accumulation, division, precision"});
  expect_user_error([] { parse_target("opencl:arch=aarch64"); }, {"unknown option", "arch"});
}

// All features that the program detects may be named, in the order of the text form.
TEST(Processor, HostFeaturesAreKnown) {
  for (const target::Architecture& architecture : target::architectures()) {
    EXPECT_TRUE(std::ranges::is_sorted(architecture.features, {}, [](const char* name) {
      return std::string(name);
    })) << architecture.name;
    if (std::string(architecture.name) != cpu_architecture()) continue;
    for (const std::string& feature : cpu_features()) {
      EXPECT_NE(std::ranges::find(architecture.features, feature), architecture.features.end())
          << feature;
    }
  }
}

TEST(Processor, TheDeviceDeterminesTheProcessor) {
  Target target = parse_target("cpu@board:9000");
  adopt_device(target, machine("aarch64", "+dotprod,+from-the-future,+neon"));
  EXPECT_EQ(target.description.processor.architecture, "aarch64");
  EXPECT_EQ(target.description.processor.features, "+dotprod,+neon");
  EXPECT_EQ(target.description.vectors.bytes, 16);
  // A server that does not report it, and targets of other code, do not change.
  target = parse_target("cpu@board:9000");
  adopt_device(target, machine("", ""));
  EXPECT_EQ(target.description.processor.architecture, cpu_architecture());
  target = parse_target("wasm@pipe:host");
  adopt_device(target, machine("x86-64", "+avx2"));
  EXPECT_EQ(target.description.processor.architecture, "wasm32");
  target = parse_target("null@board:9000");
  adopt_device(target, machine("aarch64", ""));
  EXPECT_EQ(target.description.processor.architecture, "");
}

TEST(Processor, TheTargetsOptionsMustFitTheDevice) {
  Target target = parse_target("cpu:arch=aarch64,features=dotprod@board:9000");
  adopt_device(target, machine("aarch64", "+dotprod,+neon"));
  EXPECT_EQ(target.description.processor.features, "+dotprod");
  expect_platform_error([&] { adopt_device(target, machine("aarch64", "+neon")); },
                        PlatformFault::kAbsent, {"lacks dotprod", "it has +neon"});
  expect_platform_error([&] { adopt_device(target, machine("x86-64", "+avx")); },
                        PlatformFault::kAbsent,
                        {"code for aarch64 was requested, but the machine is x86-64", "omit"});
  Target here = parse_target("cpu:arch=aarch64");
  expect_platform_error([&] { adopt_device(here, machine("x86-64", "+avx")); },
                        PlatformFault::kAbsent, {"the machine is x86-64", "cpu@ENDPOINT", "-o"});
  Target any = parse_target("cpu@board:9000");
  expect_platform_error([&] { adopt_device(any, machine("z80", "")); }, PlatformFault::kAbsent,
                        {"is not supported", "z80", "aarch64, x86-64"});
}

}  // namespace
}  // namespace tapml::testing
