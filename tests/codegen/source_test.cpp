// The C-like emitter: OpenCL C text, and GLSL through shaderc and spirv-val.
#include <gtest/gtest.h>

#include "codegen/code_generators.h"
#include "codegen/lower/narrow_index.h"
#include "codegen/source/emitter.h"
#include "codegen/source/spirv.h"
#include "ir/intrinsics.h"
#include "passes/lower_math.h"
#include "schedule/rules.h"
#include "support/expect_error.h"
#include "support/spirv_validation.h"
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

const target::Description kVulkan = *target::find_description("vulkan");

// Shaders use 32-bit indices.
std::string glsl(DeviceFunc function, const target::Description& target = kVulkan) {
  narrow_index(function, target.features.compute_dtypes.contains(DType::kI64), "test", true);
  return emit_glsl(function, target);
}

void expect_valid(const std::string& source) {
  EXPECT_EQ(testing::spirv_complaints(compile_glsl_to_spirv(source, "test")), "") << source;
}

// The number of named index subexpressions in a program whose loop over i has this `body`.
size_t names_in(const std::string& body) {
  const Module module = text::parse(R"(
prim def k(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64, d: i64) {
  for i in parallel(n) {
)" + body + "\n  }\n}\n",
                                    "test");
  const auto launches = lower_prim_func(*tir::as_prim_func(module.find("k")), "k").launches;
  const std::string source = emit_source({launches.at(0)}, opencl_c_dialect());
  size_t names = 0;
  for (size_t at = 0; (at = source.find("const long t_", at)) != std::string::npos; ++at) ++names;
  return names;
}

TEST(OpenClC, AnIndexIsDividedOnceInItsScope) {
  const std::string store = "y[i // (n - d)] = x[i // (n - d)]";
  const size_t once = names_in("y[0] = x[i // (n - d)]");
  ASSERT_GT(once, 0);
  EXPECT_EQ(names_in(store), once);
  EXPECT_EQ(names_in(store + "\n for j in serial(d) { " + store + " }"), once);
  // Names defined in a loop or a branch are not visible after it.
  EXPECT_EQ(names_in("if (i < d) { " + store + " }\n if (i < 7) { " + store + " }"), 2 * once);
  // Another index has its own names.
  EXPECT_GT(names_in(store + "\n for j in serial(d) { y[j // (n - d)] = x[j] }"), once);
}

TEST(Glsl, ElementwiseKernelIsValidSpirv) {
  std::string source = glsl(lowered(silu_program()).at(0));
  EXPECT_NE(source.find("buffer Binding0"), std::string::npos) << source;
  expect_valid(source);
}

TEST(Glsl, ReductionKernelIsValidSpirv) {
  std::string source = glsl(lowered(sum_program()).at(0));
  EXPECT_NE(source.find("uint16_t x_0[]"), std::string::npos) << source;
  expect_valid(source);
}

DeviceFunc parsed(const std::string& source) {
  Module module = text::parse(source, "test");
  const tir::PrimFunc& func = *tir::as_prim_func(module.functions.begin()->second.get());
  return lower_prim_func(*passes::lower_math(func), "kernel").launches.at(0);
}

TEST(Glsl, PortableMathIsValidSpirv) {
  std::string body;
  for (const IntrinsicInfo& info : intrinsic_table()) {
    if (!info.needs_math) continue;
    body += "    y[i] = y[i] + " + std::string(info.name) + "(x[i]" +
            (info.operands > 1 ? ", x[i])\n" : ")\n");
  }
  std::string source = glsl(parsed(R"(
prim def k(x: Buffer((n,), f32), inout y: Buffer((n,), f32), n: i64) {
  for i in parallel(n) {
)" + body + "  }\n}\n"));
  expect_valid(source);
}

TEST(Glsl, IntegersOfEveryWidthAreValidSpirv) {
  for (DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
                      DType::kU32, DType::kU64}) {
    std::string type = dtype_name(dtype), wide = is_signed_integer(dtype) ? "i64" : "u64";
    std::string body;
    for (const char* text :
         {"x[i] + x[i + 1]", "x[i] * x[i + 1]", "x[i] // x[i + 1]", "x[i] % x[i + 1]",
          "trunc_div(x[i], x[i + 1])", "trunc_mod(x[i], x[i + 1])", "shift_left(x[i], x[i + 1])",
          "shift_right(x[i], x[i + 1])", "bit_not(x[i])", "bit_xor(x[i], x[i + 1])", "abs(x[i])",
          "sign(x[i])", "popcount(x[i])", "max(x[i], x[i + 1])", "mul_high(x[i], x[i + 1])"}) {
      body += "    y[i] = cast(" + wide + ", " + text + ")\n";
    }
    for (const char* real : {"f16", "bf16", "f32", "f64"}) {
      body += "    y[i] = cast(" + wide + ", cast(" + type + ", cast(" + real + ", x[i])))\n";
    }
    body += "    z[i] = x[i] + x[i + 1]\n";
    body += "    y[i] = cast(" + wide + ", cast(bool, x[i]) and cast(bf16, x[i]) < bf16(2.0))\n";
    std::string source =
        glsl(parsed("prim def k(x: Buffer((n + 1,), " + type + "), out y: Buffer((n,), " + wide +
                    "), out z: Buffer((n,), " + type + "), n: i64) {\n  for i in parallel(n) {\n" +
                    body + "  }\n}\n"));
    expect_valid(source);
  }
}

TEST(Glsl, FloatsOfEveryWidthAreValidSpirv) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    std::string type = dtype_name(dtype), body;
    for (const char* text :
         {"x[i] + x[i + 1]", "x[i] * x[i + 1] + x[i]", "x[i] / x[i + 1]", "sqrt(x[i])",
          "rsqrt(x[i])", "floor(x[i])", "ceil(x[i])", "trunc(x[i])", "round(x[i])", "abs(x[i])",
          "sign(x[i])", "fma(x[i], x[i + 1], x[i])", "min(x[i], x[i + 1])"}) {
      body += "    y[i] = y[i] + " + std::string(text) + "\n";
    }
    for (const char* text : {"isnan(bool, x[i])", "isinf(bool, x[i])", "isfinite(bool, x[i])",
                             "x[i] < x[i + 1]", "cast(bool, x[i])"}) {
      body += "    z[i] = z[i] and " + std::string(text) + "\n";
    }
    body += "    y[i] = reinterpret(" + type + ", reinterpret(" +
            (dtype == DType::kF64   ? "i64"
             : dtype == DType::kF32 ? "u32"
                                    : "i16") +
            ", x[i])) + " + type + "(inf)\n";
    expect_valid(
        glsl(parsed("prim def k(x: Buffer((n + 1,), " + type + "), inout y: Buffer((n,), " + type +
                    "), inout z: Buffer((n,), bool), n: i64) {\n  for i in parallel(n) {\n" + body +
                    "  }\n}\n")));
  }
}

// The language leaves % of negative operands undefined.
TEST(Glsl, RemaindersAvoidTheLanguages) {
  std::string source = glsl(parsed(R"(
prim def k(x: Buffer((n,), i32), out y: Buffer((n,), i32), n: i64) {
  for i in parallel(n) {
    y[i] = x[i] % i32(7)
  }
}
)"));
  EXPECT_EQ(source.find('%'), std::string::npos) << source;
}

std::string narrow_program(const char* type) {
  return "prim def k(x: Buffer((n,), " + std::string(type) + "), inout y: Buffer((n,), " + type +
         "), n: i64) {\n  for i in parallel(n) {\n    y[i] = x[i] + y[i]\n  }\n}\n";
}

// Without 8- and 16-bit storage, elements are fields of words; bits of other elements do not
// change.
TEST(Glsl, NarrowBuffersDoWithoutNarrowStorage) {
  target::Description target = kVulkan;
  target.features.narrow_stores = false;
  for (const char* type : {"i8", "u8", "i16", "u16", "f16", "bf16"}) {
    std::string source = glsl(parsed(narrow_program(type)), target);
    EXPECT_EQ(source.find("#extension"), std::string::npos) << source;
    EXPECT_NE(source.find("atomicAnd("), std::string::npos) << source;
    EXPECT_NE(source.find("bitfieldExtract("), std::string::npos) << source;
    expect_valid(source);
  }
}

TEST(Glsl, ExtensionsAndHelpersOnlyWhereTheyAreUsed) {
  std::string plain = glsl(parsed(narrow_program("f32")));
  EXPECT_EQ(plain.find("#extension"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("tapml_"), std::string::npos) << plain;
  std::string bytes = glsl(parsed(narrow_program("i8")));
  EXPECT_NE(bytes.find("GL_EXT_shader_8bit_storage"), std::string::npos) << bytes;
  EXPECT_EQ(bytes.find("16bit"), std::string::npos) << bytes;
  EXPECT_EQ(bytes.find("int64"), std::string::npos) << bytes;
}

TEST(Glsl, RefusesFeaturesThatThePlatformLacks) {
  target::Description target = kVulkan;
  target.features.compute_dtypes.erase(DType::kF64);
  target.features.compute_dtypes.erase(DType::kI64);
  target.features.compute_dtypes.erase(DType::kU64);
  for (const char* type : {"f64", "i64", "u64"}) {
    testing::expect_platform_error([&] { glsl(parsed(narrow_program(type)), target); },
                                   PlatformFault::kLimit, {type});
  }
}

// The language has only roots and roundings in f64, and portable math has no f64 functions.
TEST(Glsl, FunctionsOfDoublesAreRefusedByName) {
  for (const IntrinsicInfo& info : intrinsic_table()) {
    if (!info.needs_math) continue;
    const std::string name = info.name;
    DeviceFunc function = parsed(
        "prim def k(inout y: Buffer((n,), f64), n: i64) {\n  for i in parallel(n) {\n"
        "    y[i] = " +
        name + (info.operands > 1 ? "(y[i], y[i])" : "(y[i])") + "\n  }\n}\n");
    testing::expect_platform_error([&] { glsl(function); }, PlatformFault::kLimit,
                                   {name + " of f64", "kernel_0"});
  }
}

TEST(Glsl, MoreScalarsThanPushConstantsAreRefused) {
  for (int count : {31, 32}) {
    DeviceFunc function = parsed(narrow_program("f32"));
    PrimExpr sum = 0;
    function.scalars.clear();
    for (int i = 0; i < count; ++i) function.scalars.push_back(make_var("n" + std::to_string(i)));
    function.index = DType::kI32;
    function.body = tir::make_seq({});
    if (count == 31) {
      expect_valid(emit_glsl(function, kVulkan));
    } else {
      testing::expect_platform_error([&] { emit_glsl(function, kVulkan); }, PlatformFault::kLimit,
                                     {"32 scalars", "31"});
    }
  }
}

bool has_instruction(const std::vector<uint32_t>& words, const std::vector<uint32_t>& tail,
                     uint32_t op) {
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const uint32_t length = words[at] >> 16;
    if ((words[at] & 0xffff) == op && length > tail.size() &&
        std::equal(tail.begin(), tail.end(),
                   words.begin() + static_cast<std::ptrdiff_t>(at + length - tail.size()))) {
      return true;
    }
  }
  return false;
}

TEST(Glsl, ShadersDeclareFloatSemantics) {
  auto words = compile_glsl_to_spirv(glsl(parsed(narrow_program("f32"))), "test");
  EXPECT_TRUE(has_instruction(words, {42}, 71)) << "NoContraction";
  EXPECT_TRUE(has_instruction(words, {4461, 32}, 16)) << "SignedZeroInfNanPreserve";
  EXPECT_TRUE(has_instruction(words, {4462, 32}, 16)) << "RoundingModeRTE";
  words = compile_glsl_to_spirv(glsl(parsed(narrow_program("i32"))), "test");
  EXPECT_FALSE(has_instruction(words, {42}, 71));
  EXPECT_FALSE(has_instruction(words, {4461, 32}, 16));
}

TEST(Glsl, BuffersThatShareMemoryAreDeclaredAliased) {
  DeviceFunc function = parsed(narrow_program("i32"));
  constexpr uint32_t kAliased = 20;
  EXPECT_FALSE(has_instruction(compile_glsl_to_spirv(glsl(function), "test"), {kAliased}, 71));
  function.may_alias = true;
  EXPECT_TRUE(has_instruction(compile_glsl_to_spirv(glsl(function), "test"), {kAliased}, 71));
}

TEST(Glsl, EqualShadersAreMadeOnce) {
  DeviceFunc function = parsed(narrow_program("f16"));
  narrow_index(function, true, "test", true);
  DeviceFunc other = function;
  other.entry = "other";
  ModuleBlob blob = compile_module({function, other}, target::parse_target("vulkan"));
  EXPECT_EQ(blob.entries, (std::vector<std::string>{"kernel_0", "other"}));
  testing::expect_valid_spirv(blob);
  auto entries = testing::spirv_entries(blob);
  EXPECT_EQ(entries.at(0), entries.at(1));
}

TEST(Glsl, NamesAvoidTheLanguages) {
  DeviceFunc function = parsed(R"(
prim def k(gl_x: Buffer((n,), f32), out buffer: Buffer((n,), f32), n: i64) {
  for main in parallel(n) {
    buffer[main] = let a__b: f32 = gl_x[main] in a__b + a__b
  }
}
)");
  expect_valid(glsl(function));
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
  // The load is inside the branch.
  EXPECT_LT(source.find("if ("), source.find("x_0[")) << source;
}

}  // namespace
}  // namespace tapml::codegen
