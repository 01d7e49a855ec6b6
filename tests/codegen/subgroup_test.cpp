// Subgroup operations: the emitted code, and what devices compute with native subgroups and by
// exchange through local memory, compared with the interpreter.
#include <gtest/gtest.h>

#include "device_kernels.h"
#include "interp/interpreter.h"
#include "support/attention_case.h"
#include "support/expect_error.h"
#include "support/kernel_cases.h"
#include "text/parser.h"

namespace tapml::testing {
namespace {

using cases::each;

constexpr int64_t kThreads = 64;

// Every operation in one dtype, over the values of a group of 64 threads.
tir::PrimFuncRef every_operation(const std::string& dtype, int64_t width) {
  const std::string w = std::to_string(width), far = std::to_string(width / 2);
  Module module = text::parse("prim def k(x: Buffer((n, 64), " + dtype +
                                  "), out y: Buffer((n, 5, 64), " + dtype +
                                  "), n: i64) {workgroup_threads: 64} {\n"
                                  "for g in workgroup(n) { for t in thread(64) {\n"
                                  "alloc own: Buffer((5,), " +
                                  dtype +
                                  ", local)\n"
                                  "own[0] = subgroup_sum(x[g, t], " +
                                  w +
                                  ")\n"
                                  "for turn in serial(2) { own[1] = subgroup_max(x[g, t], " +
                                  w +
                                  ") }\n"
                                  "own[2] = subgroup_min(x[g, t], " +
                                  w +
                                  ")\n"
                                  "own[3] = subgroup_shuffle_xor(x[g, t], 1, " +
                                  w +
                                  ")\n"
                                  "own[4] = subgroup_shuffle_xor(own[3] + x[g, t], " +
                                  far + ", " + w +
                                  ")\n"
                                  "for i in serial(5) { y[g, i, t] = own[i] }\n} } }\n",
                              "test");
  return std::dynamic_pointer_cast<const tir::PrimFunc>(module.functions.begin()->second);
}

codegen::DeviceFunc launch_for(const tir::PrimFunc& func, const target::Target& target) {
  codegen::DeviceFunc launch = codegen::lower_prim_func(func, "kernel").launches.at(0);
  if (target.description.index_bits == 32) codegen::narrow_index(launch, true, "kernel", true);
  return launch;
}

std::string emitted(const tir::PrimFunc& func, const std::string& text) {
  const target::Target target = target::parse_target(text);
  const codegen::DeviceFunc launch = launch_for(func, target);
  return codegen::generator_of(target).source_text({launch}, target);
}

void expect_source_parts(const std::string& source, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(source.find(part), std::string::npos) << part << " is not in:\n" << source;
  }
}

TEST(SubgroupText, GlslHasTheLanguagesOperationsAtTheDevicesWidth) {
  const std::string source = emitted(*every_operation("f32", 32), "vulkan:for=rtx");
  expect_source_parts(
      source,
      {"#extension GL_KHR_shader_subgroup_arithmetic : require",
       "layout(constant_id = 0) const uint tapml_subgroup_width = 32u;",
       "int(gl_SubgroupID * tapml_subgroup_width + gl_SubgroupInvocationID)", "subgroupAdd(",
       "tapml_subgroup_max(", "tapml_subgroup_min(", "subgroupShuffleXor(", ", 16u)"});
  EXPECT_EQ(source.find("shared "), std::string::npos) << source;
  expect_source_parts(emitted(*every_operation("i32", 32), "vulkan:for=rtx"),
                      {"subgroupMax(", "subgroupMin("});
}

// What the schedule rules make of a row: no barrier within a subgroup's width, one barrier above
// it.
TEST(SubgroupText, ScheduleRulesUseThem) {
  auto text = [](const KernelProgram& kernel, const char* name) {
    const target::Target target = target::parse_target(name);
    return emitted(*passes::lower_math(*schedule::schedule_for(*kernel.func, target).func), name);
  };
  auto count = [](const std::string& source, const std::string& part) {
    int found = 0;
    for (size_t at = 0; (at = source.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  Var n = make_var("n");
  const AttrMap last = {{"axes", std::vector<int64_t>{-1}}};
  const KernelProgram wide = operator_program("sum", {{{n, 512}, kF32}}, {}, last);
  const KernelProgram narrow = operator_program("sum", {{{n, 128}, kF32}}, {}, last);
  for (const auto& [target, barriers] : {std::pair("vulkan:for=rtx", 2), {"vulkan:for=rdna3", 0}}) {
    const std::string source = text(wide, target);
    EXPECT_EQ(count(source, "subgroupAdd("), 1) << source;
    EXPECT_EQ(count(source, "barrier();"), barriers) << source;
  }
  // A team of 32 lanes, and shuffles for a team below the width.
  EXPECT_EQ(count(text(narrow, "vulkan:for=rtx"), "subgroupAdd("), 1);
  EXPECT_EQ(count(text(narrow, "vulkan:for=rdna3"), "subgroupShuffleXor("), 5);
  EXPECT_EQ(count(text(narrow, "vulkan"), "subgroup"), 0);
  EXPECT_EQ(count(text(narrow, "vulkan"), "barrier();"), 6) << "a tree of 32, and the end";
}

TEST(SubgroupText, GlslUsesLocalMemoryAtOtherWidths) {
  for (const char* target : {"vulkan", "vulkan:for=rdna3", "vulkan:for=rtx,subgroups=0"}) {
    const std::string source = emitted(*every_operation("f32", 32), target);
    expect_source_parts(
        source, {"shared float exchange_0[64];", "int(gl_LocalInvocationID.x)", "& (-32))"});
    EXPECT_EQ(source.find("subgroup_"), std::string::npos) << source;
    EXPECT_EQ(source.find("gl_Subgroup"), std::string::npos) << source;
  }
}

TEST(SubgroupText, OpenClLeavesItToTheDevicesCompiler) {
  const std::string source = emitted(*every_operation("f32", 32), "opencl:for=adreno-740");
  expect_source_parts(
      source, {"#ifdef TAPML_SUBGROUPS\n", "if (tapml_in_subgroups(32)) {", "sub_group_reduce_add(",
               "sub_group_reduce_max(", "tapml_shuffle_xor(", "__local float exchange_0[64];",
               "= tapml_thread(32)"});
}

TEST(SubgroupText, WidthsAreNotMixed) {
  Module module = text::parse(R"(
prim def k(out y: Buffer((n, 64), i32), n: i64) {workgroup_threads: 64} {
  for g in workgroup(n) { for t in thread(64) {
    alloc a: Buffer((1,), i32, local)
    a[0] = subgroup_sum(cast(i32, t), 8)
    a[0] = subgroup_sum(a[0], 16)
    y[g, t] = a[0]
  } }
}
)",
                              "test");
  const auto& func = *tir::as_prim_func(module.find("k"));
  expect_user_error([&] { emitted(func, "vulkan"); }, {"different widths", "8 and 16"});
}

class SubgroupsOn : public ::testing::TestWithParam<const char*> {};

// Exact agreement with the interpreter, except for the order of sums. NaN propagates in extrema.
TEST_P(SubgroupsOn, EveryOperationAgreesWithTheInterpreter) {
  DeviceKernels device(GetParam());
  if (!device.available()) GTEST_SKIP() << GetParam() << " is unavailable";
  const std::vector<std::pair<std::string, DType>> dtypes = {
      {"f32", DType::kF32}, {"i32", DType::kI32}, {"u32", DType::kU32}};
  std::vector<tir::PrimFuncRef> programs;
  for (int64_t width : {2, 8, 64}) {
    for (const auto& [name, dtype] : dtypes) programs.push_back(every_operation(name, width));
  }
  for (const tir::PrimFuncRef& program : programs) device.add_scheduled(*program);
  device.load();
  for (size_t p = 0; p < programs.size(); ++p) {
    SCOPED_TRACE(p);
    const DType dtype = dtypes[p % dtypes.size()].second;
    constexpr int64_t kGroups = 3;
    HostTensor x = HostTensor::zeros(dtype, {kGroups, kThreads});
    for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, static_cast<double>((i * 37) % 101));
    if (is_float(dtype)) x.set_f64(70, std::nan(""));
    std::vector<HostTensor> found = {x, HostTensor::zeros(dtype, {kGroups, 5, kThreads})};
    std::vector<HostTensor> expected = found;
    interp::run_prim_func(*programs[p], expected, {kGroups});
    device.run(static_cast<int32_t>(p), found, {kGroups});
    ASSERT_FALSE(HasFatalFailure());
    for (int64_t i = 0; i < found[1].size(); ++i) {
      const double a = found[1].at_f64(i), b = expected[1].at_f64(i);
      ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i << ": " << a << ", not " << b;
    }
  }
}

// Rows, reductions and one-row products, around the widths of subgroups and groups.
TEST_P(SubgroupsOn, ReductionsAreWithinTheirBounds) {
  Var n = make_var("n"), m = make_var("m");
  const std::vector<Sizes> around =
      each("m", {1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 300}, {{"n", 5}});
  const AttrMap last = {{"axes", std::vector<int64_t>{-1}}}, transposed = {{"transpose_b", true}};
  std::vector<KernelProgram> kernels;
  kernels.push_back(operator_program("prod", {{{n, m}, kF32}}, around, last, near_one()));
  kernels.push_back(operator_program("prod", {{{n, m}, kI32}}, around, last));
  for (const char* op : {"sum", "max", "min"}) {
    kernels.push_back(operator_program(op, {{{n, m}, kF32}}, around, last));
    kernels.push_back(operator_program(op, {{{n, m}, kI32}}, around, last));
  }
  // Teams of 2 and of 8 lanes.
  kernels.push_back(operator_program("sum", {{{n, 17}, kF32}}, each("n", {1, 9, 40}), last));
  kernels.push_back(operator_program("max", {{{n, 40}, kF32}}, each("n", {1, 9, 40}), last));
  for (const char* op : {"softmax", "log_softmax", "argmax"}) {
    kernels.push_back(operator_program(op, {{{n, m}, kF32}}, around));
  }
  kernels.push_back(operator_program("softmax", {{{n, m}, DType::kF16}}, around));
  kernels.push_back(operator_program("rms_norm", {{{n, m}, kF32}, {{m}, kF32}}, around));
  kernels.push_back(
      operator_program("layer_norm", {{{n, m}, kF32}, {{m}, kF32}, {{m}, kF32}}, around));
  for (int64_t k : {16, 33, 300}) {
    kernels.push_back(operator_program("matmul", {{{1, k}, kF32}, {{m, k}, DType::kBF16}},
                                       each("m", {1, 3, 4, 5, 65}), transposed));
  }
  kernels.push_back(long_attention(kF32, 8, attention_sizes()));
  kernels.push_back(long_attention(DType::kBF16, 64, attention_sizes()));
  expect_on_device(GetParam(), kernels);
}

// lavapipe has subgroups of 8 threads: native operations for that width, the exchange for the
// others.
INSTANTIATE_TEST_SUITE_P(Platforms, SubgroupsOn,
                         ::testing::Values("vulkan:subgroups=8", "vulkan:subgroups=0",
                                           "opencl:groups=gpu,subgroups=8"),
                         [](const auto& info) { return target_test_name(info.param); });

// A device reports the width of its subgroups; code for another width is refused, not run.
TEST(Subgroups, OfAnotherWidthAreRefused) {
  auto session = open_session("vulkan");
  if (!session) GTEST_SKIP() << "vulkan is unavailable";
  const target::Target target = target::parse_target("vulkan:subgroups=2");
  const tir::PrimFuncRef func = every_operation("f32", 2);
  const ModuleBlob blob = codegen::compile_module({launch_for(*func, target)}, target);
  expect_valid_spirv(blob);
  Status loaded = session->load_module(runtime::ModuleId{1}, blob);
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  Status kernel =
      session->get_kernel(runtime::KernelId{1}, runtime::ModuleId{1}, blob.entries.at(0));
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().fault, PlatformFault::kLimit);
  EXPECT_NE(kernel.error().message.find("made for subgroups of 2 threads"), std::string::npos);
}

}  // namespace
}  // namespace tapml::testing
