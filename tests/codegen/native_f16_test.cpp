// f16 arithmetic of the device itself, where it has any: the code uses it for sums, differences and
// products, and goes through f32 for the rest. semantics_test.cpp compares the results.
#include <gtest/gtest.h>

#include <string>

#include "codegen/code_generator.h"
#include "codegen/lower/narrow_index.h"
#include "codegen/source/spirv.h"
#include "passes/lower_math.h"
#include "schedule/rules.h"
#include "support/spirv_validation.h"
#include "text/parser.h"

namespace tapml::testing {
namespace {

using Launches = std::vector<codegen::DeviceFunc>;

Launches launches_of(const std::string& value, const target::Target& target) {
  const Module module = text::parse(
      "prim def k(a: Buffer((4096,), f16), b: Buffer((4096,), f16), out y: Buffer((4096,), f16)) "
      "{\n"
      "  for i in parallel(4096) { y[i] = " +
          value + " }\n}\n",
      "test");
  const tir::PrimFunc& func = *tir::as_prim_func(module.find("k"));
  Launches launches =
      codegen::lower_prim_func(*passes::lower_math(*schedule::schedule_for(func, target).func), "k")
          .launches;
  for (codegen::DeviceFunc& launch : launches) {
    if (target.description.index_bits == 32) codegen::narrow_index(launch, true, "k", true);
  }
  return launches;
}

std::string code_of(const std::string& value, const std::string& text) {
  const target::Target target = target::parse_target(text);
  const codegen::CodeGenerator& generator = codegen::generator_of(target);
  const Launches launches = launches_of(value, target);
  const std::string source = generator.source_text(launches, target);
  return source.empty() ? generator.disassembly(launches, target) : source;
}

bool has(const std::string& code, const std::string& part) {
  return code.find(part) != std::string::npos;
}

TEST(NativeF16, ShadersComputeSumsAndProducts) {
  for (const char* value : {"a[i] + b[i]", "a[i] - b[i]", "a[i] * b[i]"}) {
    const std::string own = code_of(value, "vulkan:f16=native,subgroups=0");
    EXPECT_TRUE(has(own, "explicit_arithmetic_types_float16")) << own;
    EXPECT_TRUE(has(own, "float(float16_t(")) << own;
    EXPECT_FALSE(has(own, "floatBitsToUint")) << "a conversion by integer arithmetic:\n" << own;
    EXPECT_FALSE(has(code_of(value, "vulkan"), "float16_t"));
    EXPECT_FALSE(has(code_of(value, "vulkan:f16=f32"), "float16_t"));
  }
  // As the loops of operators are written.
  const std::string steps =
      "cast(f16, cast(f32, cast(f16, cast(f32, a[i])*cast(f32, b[i]))) - cast(f32, a[i]))";
  const std::string stepwise = code_of(steps, "vulkan:f16=native,subgroups=0");
  EXPECT_TRUE(has(stepwise, " * float16_t(") && has(stepwise, " - float16_t(")) << stepwise;
  EXPECT_FALSE(has(code_of(steps, "vulkan"), "float16_t"));
  // Quotients of f16 need not be exact.
  const std::string quotient = code_of("a[i] / b[i]", "vulkan:f16=native");
  EXPECT_FALSE(has(quotient, " / float16_t(")) << quotient;
}

TEST(NativeF16, ShadersAreValid) {
  for (const char* value :
       {"a[i] + b[i]*a[i]", "cast(f16, sqrt(cast(f32, a[i])))", "max(a[i], b[i] - a[i])",
        "select(a[i] < b[i], a[i], cast(f16, cast(i32, b[i])))"}) {
    for (const char* text : {"vulkan:f16=native", "vulkan:for=steam-deck", "vulkan:for=webgpu"}) {
      const target::Target target = target::parse_target(text);
      for (const codegen::DeviceFunc& launch : launches_of(value, target)) {
        const std::string source = codegen::emit_glsl(launch, target.description);
        EXPECT_EQ(spirv_complaints(codegen::compile_glsl_to_spirv(source, "k")), "") << source;
      }
    }
  }
}

TEST(NativeF16, OpenClComputesSumsAndProducts) {
  const std::string own = code_of("a[i] + b[i]*a[i]", "opencl:f16=native");
  EXPECT_TRUE(has(own, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable")) << own;
  EXPECT_TRUE(has(own, "(half)(")) << own;
  EXPECT_FALSE(has(own, "tapml_round_f16")) << own;
  const std::string through = code_of("a[i] + b[i]*a[i]", "opencl");
  EXPECT_FALSE(has(through, "(half)(") || has(through, "cl_khr_fp16")) << through;
  EXPECT_TRUE(has(through, "tapml_round_f16")) << through;
}

TEST(NativeF16, ProcessorsComputeVectors) {
  const std::string arm = "cpu:arch=aarch64,features=neon", fp16 = "+fullfp16";
  const std::string x86 =
      "cpu:arch=x86-64,features=avx+avx2+avx512bw+avx512dq+avx512f+avx512vl+"
      "evex512+f16c+fma";
  for (const auto& [value, on_arm, on_x86] : {std::tuple("a[i] + b[i]", "fadd\tv", "vaddph"),
                                              {"a[i] - b[i]", "fsub\tv", "vsubph"},
                                              {"a[i] * b[i]", "fmul\tv", "vmulph"},
                                              {"a[i] / b[i]", "fdiv\tv", "vdivph"}}) {
    const std::string wide = code_of(value, arm + fp16);
    EXPECT_TRUE(has(wide, on_arm) && has(wide, ".8h") && !has(wide, "fcvt")) << wide;
    EXPECT_TRUE(has(code_of(value, arm), "fcvtl\t"));
    const std::string ph = code_of(value, x86 + "+avx512fp16");
    EXPECT_TRUE(has(ph, on_x86) && !has(ph, "vcvtph2ps")) << ph;
    EXPECT_TRUE(has(code_of(value, x86), "vcvtph2ps"));
  }
}

}  // namespace
}  // namespace tapml::testing
