// The C-like emitter: OpenCL C text, and GLSL through shaderc and spirv-val.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "codegen/lower/narrow_index.h"
#include "codegen/source/emitter.h"
#include "ir/intrinsics.h"
#include "passes/lower_math.h"
#include "schedule/rules.h"
#include "text/parser.h"
#include "tir/builder.h"

namespace tapml::codegen {
namespace {

std::vector<DeviceFunc> lowered(const tir::PrimFuncRef& func) {
  schedule::Scheduled scheduled = schedule::fallback(*func, target::parse_target("opencl"));
  return lower_prim_func(*passes::lower_math(*scheduled.func), "kernel").launches;
}

tir::PrimFuncRef silu_program() {
  Var n = make_var("n");
  tir::Buffer x = tir::make_buffer("x", DType::kF32, {n, 4});
  tir::Buffer y = tir::make_buffer("y", DType::kF32, {n, 4});
  tir::Stmt body = tir::compute("silu", y, [&](const std::vector<Var>& i) {
    PrimExpr v = tir::load(x, {i[0], i[1]});
    PrimExpr one = make_float(1, DType::kF32);
    return fdiv(v, one + make_call("exp", DType::kF32, {make_float(0, DType::kF32) - v}));
  });
  return tir::make_prim_func({{x, AccessMode::kIn}, {y, AccessMode::kOut}}, body);
}

tir::PrimFuncRef sum_program() {
  Var n = make_var("n"), m = make_var("m");
  tir::Buffer x = tir::make_buffer("x", DType::kBF16, {n, m});
  tir::Buffer y = tir::make_buffer("y", DType::kF32, {n});
  tir::Stmt body = tir::reduce(
      "sum", y, {m}, make_float(0, DType::kF32), [](PrimExpr a, PrimExpr b) { return a + b; },
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        return cast(DType::kF32, tir::load(x, {i[0], r[0]}));
      });
  return tir::make_prim_func({{x, AccessMode::kIn}, {y, AccessMode::kOut}}, body);
}

// GLSL has no integers of 64 bits.
std::string glsl(std::vector<DeviceFunc> functions) {
  for (DeviceFunc& function : functions) narrow_index(function, false, "test");
  return emit_source(functions, glsl_dialect());
}

// Exit status of Khronos' validator on the words.
int validate_spirv(const std::vector<uint32_t>& words) {
  std::string path = ::testing::TempDir() + "/tapml_kernel.spv";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size() * 4));
  int status = std::system(("spirv-val --target-env vulkan1.1 " + path).c_str());
  std::remove(path.c_str());
  return status;
}

TEST(Glsl, ElementwiseKernelIsValidSpirv) {
  std::string source = glsl(lowered(silu_program()));
  EXPECT_NE(source.find("buffer Binding0"), std::string::npos) << source;
  EXPECT_EQ(validate_spirv(compile_glsl_to_spirv(source, "silu")), 0) << source;
}

TEST(Glsl, ReductionKernelIsValidSpirv) {
  std::string source = glsl(lowered(sum_program()));
  // Two bf16 a word: no 16-bit storage is needed.
  EXPECT_NE(source.find(">> 1]"), std::string::npos) << source;
  EXPECT_EQ(validate_spirv(compile_glsl_to_spirv(source, "sum")), 0) << source;
}

DeviceFunc parsed(const std::string& source) {
  Module module = text::parse(source, "test");
  const tir::PrimFunc& func = *tir::as_prim_func(module.functions.begin()->second.get());
  return lower_prim_func(*passes::lower_math(func), "kernel").launches.at(0);
}

TEST(Glsl, OwnMathIsValidSpirv) {
  std::string body;
  for (const IntrinsicInfo& info : intrinsic_table()) {
    if (!info.needs_math) continue;
    body += "    y[i] = y[i] + " + std::string(info.name) + "(x[i]" +
            (info.operands > 1 ? ", x[i])\n" : ")\n");
  }
  std::string source = glsl({parsed(R"(
prim def k(x: Buffer((n,), f32), inout y: Buffer((n,), f32), n: i64) {
  for i in parallel(n) {
)" + body + "  }\n}\n")});
  EXPECT_EQ(validate_spirv(compile_glsl_to_spirv(source, "math")), 0) << source;
}

TEST(Glsl, IntegersOfEveryWidthAreValidSpirv) {
  for (DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kU8, DType::kU16, DType::kU32}) {
    std::string type = dtype_name(dtype), wide = is_signed_integer(dtype) ? "i32" : "u32";
    std::string body;
    for (const char* text :
         {"x[i] + x[i + 1]", "x[i] * x[i + 1]", "x[i] // x[i + 1]", "x[i] % x[i + 1]",
          "trunc_div(x[i], x[i + 1])", "trunc_mod(x[i], x[i + 1])", "shift_left(x[i], x[i + 1])",
          "shift_right(x[i], x[i + 1])", "bit_not(x[i])", "bit_xor(x[i], x[i + 1])", "abs(x[i])",
          "sign(x[i])", "popcount(x[i])", "max(x[i], x[i + 1])"}) {
      body += "    y[i] = cast(" + wide + ", " + text + ")\n";
    }
    body += "    y[i] = cast(" + wide + ", cast(" + type + ", cast(f32, x[i])))\n";
    body += "    y[i] = cast(" + wide + ", cast(bool, x[i]) and cast(bf16, x[i]) < bf16(2.0))\n";
    std::string source =
        glsl({parsed("prim def k(x: Buffer((n + 1,), " + type + "), out y: Buffer((n,), " + wide +
                     "), n: i64) {\n  for i in parallel(n) {\n" + body + "  }\n}\n")});
    EXPECT_EQ(validate_spirv(compile_glsl_to_spirv(source, "integers")), 0) << source;
  }
}

// The language leaves % of negative operands open.
TEST(Glsl, RemaindersAvoidTheLanguages) {
  std::string source = glsl({parsed(R"(
prim def k(x: Buffer((n,), i32), out y: Buffer((n,), i32), n: i64) {
  for i in parallel(n) {
    y[i] = x[i] % i32(7)
  }
}
)")});
  EXPECT_EQ(source.find('%'), std::string::npos) << source;
}

TEST(OpenClC, DataWrapsAndIndicesDoNot) {
  std::string source = emit_source({parsed(R"(
prim def k(x: Buffer((n,), i64), out y: Buffer((n,), i64), n: i64) {
  for i in parallel(n) {
    y[i] = x[(i + 3) % n] + x[i]
  }
}
)")},
                                   opencl_c_dialect());
  EXPECT_NE(source.find("((long)((ulong)x_0["), std::string::npos) << source;
  EXPECT_NE(source.find("(i_0 + 3L)"), std::string::npos) << source;
}

TEST(OpenClC, KernelsStrideOverTheirItems) {
  std::string source = emit_source(lowered(sum_program()), opencl_c_dialect());
  EXPECT_NE(source.find("+= get_global_size(0)"), std::string::npos) << source;
  EXPECT_NE(source.find("__kernel void kernel_0("), std::string::npos);
  EXPECT_NE(source.find("as_float((uint)x_0["), std::string::npos) << source;
}

TEST(OpenClC, SelectEvaluatesOnlyTheChosenSide) {
  Var n = make_var("n");
  tir::Buffer x = tir::make_buffer("x", DType::kF32, {n});
  tir::Buffer y = tir::make_buffer("y", DType::kF32, {n});
  tir::Stmt body = tir::compute("guarded", y, [&](const std::vector<Var>& i) {
    PrimExpr next = make_call("exp", DType::kF32, {tir::load(x, {i[0] + 1})});
    return select(lt(i[0] + 1, n), next, make_float(0, DType::kF32));
  });
  std::string source =
      emit_source(lowered(tir::make_prim_func({{x, AccessMode::kIn}, {y, AccessMode::kOut}}, body)),
                  opencl_c_dialect());
  // The load stands inside the branch.
  EXPECT_LT(source.find("if ("), source.find("x_0[")) << source;
}

}  // namespace
}  // namespace tapml::codegen
