// The table of code generators, and their common behavior.
#include "codegen/code_generators.h"

#include <gtest/gtest.h>

#include "codegen/custom/custom_kernels.h"
#include "codegen/lower/narrow_index.h"
#include "codegen/source/emitter.h"
#include "codegen/source/opencl.h"
#include "ir/exceptions.h"
#include "passes/lower_math.h"
#include "schedule/rules.h"
#include "tir/builder.h"

namespace tapml::codegen {
namespace {

// The launches of a program that computes exp(x) + 1, as kernel `name` of the target.
std::vector<DeviceFunc> launches_of(const std::string& name, const target::Target& target) {
  const Var n = make_var("n");
  const tir::Buffer x = tir::make_buffer("x", DType::kF32, {n, 4});
  const tir::Buffer y = tir::make_buffer("y", DType::kF32, {n, 4});
  const tir::Stmt body = tir::compute("f", y, [&](const std::vector<Var>& i) {
    return make_call("exp", DType::kF32, {tir::load(x, {i[0], i[1]})}) + make_float(1, DType::kF32);
  });
  const auto func = tir::make_prim_func({{x, AccessMode::kIn}, {y, AccessMode::kOut}}, body);
  const auto scheduled = passes::lower_math(*schedule::fallback(*func, target).func);
  std::vector<DeviceFunc> launches = lower_prim_func(*scheduled, name).launches;
  for (DeviceFunc& launch : launches) {
    if (target.description.index_bits == 32) narrow_index(launch, true, name, true);
  }
  return launches;
}

class EveryPlatform : public ::testing::TestWithParam<std::string> {
 protected:
  const target::Target target_ = target::parse_target(GetParam());
  const CodeGenerator& generator_ = generator_of(target_);
};

// The code is the same whether one compiler or one per kernel, on any number of threads, generates
// it.
TEST_P(EveryPlatform, SeparatelyCompiledKernelsMakeTheSameModule) {
  auto together = generator_.compiler(target_, 0);
  std::vector<KernelCode> apart;
  for (const std::string name : {"first", "second"}) {
    together->add(name, launches_of(name, target_));
    auto alone = generator_.compiler(target_, 1);
    alone->add(name, launches_of(name, target_));
    for (KernelCode& code : alone->finish({})) apart.push_back(std::move(code));
  }
  const ModuleBlob one = generator_.link(together->finish({}), target_);
  const ModuleBlob other = generator_.link(apart, target_);
  EXPECT_EQ(one.entries, (std::vector<std::string>{"first_0", "second_0"}));
  EXPECT_EQ(one.platform, GetParam());
  EXPECT_EQ(one.entries, other.entries);
  EXPECT_EQ(one.format, other.format);
  EXPECT_EQ(one.bytes, other.bytes);
  EXPECT_EQ(one.bytes.empty(), !target_.description.computes);
}

TEST_P(EveryPlatform, AModuleWithoutKernelsLinks) {
  const ModuleBlob blob = generator_.link({}, target_);
  EXPECT_EQ(blob.platform, GetParam());
  EXPECT_TRUE(blob.entries.empty());
  EXPECT_EQ(generator_.portable(blob).platform, GetParam());
}

// The code of every platform that computes is readable.
TEST_P(EveryPlatform, CodeIsTextOrIsDisassembled) {
  const auto launches = launches_of("plain", target_);
  const std::string text = generator_.source_text(launches, target_);
  const std::string shown = text.empty() ? generator_.disassembly(launches, target_) : text;
  EXPECT_EQ(shown.find("plain_0") != std::string::npos, target_.description.computes) << shown;
}

TEST_P(EveryPlatform, CustomKernelsHaveTheLanguageOfTheDescription) {
  if (target_.description.kernel_language.ending.empty()) return;
  ASSERT_NE(generator_.custom_kernels(), nullptr);
  const std::string text =
      custom_kernels_of(target_).skeleton(launches_of("plain", target_), target_);
  EXPECT_FALSE(text.empty());
}

INSTANTIATE_TEST_SUITE_P(Table, EveryPlatform, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const target::Platform& one : target::platforms()) {
                             names.push_back(one.description.platform);
                           }
                           return names;
                         }()),
                         [](const auto& info) { return info.param; });

TEST(CodeGenerators, AreFoundByTheNameInTheDescription) {
  target::Target target = target::parse_target("opencl");
  EXPECT_EQ(&generator_of(target), &opencl_c_generator());
  target.generator = &none_generator();  // an entry's own generator has priority
  EXPECT_EQ(&generator_of(target), &none_generator());
  target.generator = nullptr;
  target.description.code = "cobol";
  EXPECT_THROW(generator_of(target), CompilerException);
}

TEST(CodeGenerators, OpenClWritesTheHelpersOfAllKernelsOnce) {
  const target::Target target = target::parse_target("opencl");
  std::vector<DeviceFunc> all;
  auto compiler = opencl_c_generator().compiler(target, 1);
  for (const std::string name : {"first", "second"}) {
    compiler->add(name, launches_of(name, target));
    for (DeviceFunc& launch : launches_of(name, target)) all.push_back(std::move(launch));
  }
  const ModuleBlob blob = opencl_c_generator().link(compiler->finish({}), target);
  EXPECT_EQ(blob.format, kOpenClFormat);
  EXPECT_EQ(blob.bytes, bytes_of(emit_source(all, opencl_c_dialect())));
}

}  // namespace
}  // namespace tapml::codegen
