// Four elements at once: which kernels do it, that the text says so, and that it computes the same.
#include "codegen/source/vector_access.h"

#include "device_kernels.h"
#include "support/kernel_cases.h"

namespace tapml::testing {
namespace {

using cases::each;
using cases::kBF16;
using cases::kF32;

KernelProgram biased(int64_t columns, DType bias = kF32, bool scaled = false) {
  KernelMaker m("add_multiply");
  Var n = make_var("n");
  relax::Variable x = m.param({n, columns}, kF32);
  relax::Variable sum = m.op("add", {x, m.param({columns}, bias)});
  m.op("multiply", {sum, m.param(scaled ? Dims{n, columns} : Dims{}, kF32)});
  return m.fused(each("n", {0, 1, 3, 17}));
}

std::vector<codegen::DeviceFunc> launches(const KernelProgram& kernel, const char* target) {
  const target::Target parsed = target::parse_target(target);
  auto scheduled = schedule::schedule_for(*kernel.func, parsed);
  auto lowered = codegen::lower_prim_func(*passes::lower_math(*scheduled.func), "kernel").launches;
  for (codegen::DeviceFunc& launch : lowered) {
    if (parsed.description.index_bits == 32) codegen::narrow_index(launch, true, "kernel", true);
  }
  return lowered;
}

std::string glsl_of(const KernelProgram& kernel) {
  return codegen::emit_glsl(launches(kernel, "vulkan").at(0),
                            target::parse_target("vulkan").description);
}

TEST(VectorAccess, IsWrittenWhereTheLastAxisIsDivisible) {
  const std::string source = glsl_of(biased(64, kF32, true));
  EXPECT_NE(source.find("{ vec4 "), std::string::npos) << source;
  EXPECT_EQ(source.find("{ float "), std::string::npos) << source;
  EXPECT_EQ(glsl_of(biased(63, kF32, true)).find("vec4"), std::string::npos);
  // The bias is of another width: its launch stays point by point.
  EXPECT_EQ(glsl_of(biased(64, kBF16, true)).find("vec4"), std::string::npos);
  const std::string opencl = codegen::emit_source(
      launches(biased(64, kF32, true), "opencl:groups=gpu"), codegen::opencl_c_dialect());
  EXPECT_NE(opencl.find("vload4("), std::string::npos) << opencl;
  EXPECT_NE(opencl.find("vstore4("), std::string::npos) << opencl;
}

TEST(VectorAccess, OfABufferThatIsReadOtherwiseTooIsNot) {
  Var lane = make_var("lane"), item = make_var("item");
  tir::Buffer x = tir::make_buffer("x", kF32, {64}), y = tir::make_buffer("y", kF32, {64});
  auto function = [&](const PrimExpr& read, const PrimExpr& value) {
    codegen::DeviceFunc f;
    f.item = item;
    f.extent = 16;
    f.buffers = {{x, AccessMode::kIn}, {y, AccessMode::kOut}};
    f.body =
        tir::make_for(lane, 4, tir::make_store(y, {item * 4 + lane}, tir::load(x, {read}) + value),
                      tir::ForKind::kVectorized);
    return codegen::vector_buffers(f);
  };
  const PrimExpr zero = make_float(0, kF32), side = item * 4 + lane;
  EXPECT_EQ(function(side, zero), (std::set<const tir::BufferNode*>{x.get(), y.get()}));
  const std::set<const tir::BufferNode*> only_y = {y.get()};
  EXPECT_EQ(function(side, tir::load(x, {item})), only_y) << "one element as well";
  EXPECT_EQ(function(item * 4 + lane + 1, zero), only_y) << "not where four begin";
  EXPECT_EQ(function(item * 2 + lane, zero), only_y) << "not always where four begin";
  EXPECT_EQ(function(lane * 16 + item, zero), only_y) << "not side by side";
  const PrimExpr guarded = select(lt(item, PrimExpr(8)), tir::load(x, {side}), zero);
  EXPECT_EQ(function(side, guarded), only_y) << "perhaps not read";
}

class VectorAccessOn : public ::testing::TestWithParam<const char*> {};

TEST_P(VectorAccessOn, ComputesTheSame) {
  DeviceKernels device(GetParam());
  if (!device.here()) GTEST_SKIP() << GetParam() << " is not here";
  std::vector<KernelProgram> kernels = {biased(64), biased(4), biased(63), biased(64, kBF16),
                                        biased(128, kF32, true)};
  KernelMaker ints("ints");
  relax::Variable i = ints.param({make_var("n"), 3, 8}, DType::kI32);
  ints.op("add", {i, ints.param({8}, DType::kI32)});
  kernels.push_back(ints.single(each("n", {0, 1, 5})));
  for (const KernelProgram& kernel : kernels) device.add(*kernel.func);
  device.load();
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (const Sizes& sizes : kernels[k].sizes) {
      SCOPED_TRACE(kernels[k].label(sizes));
      std::vector<HostTensor> arguments = kernels[k].arguments(sizes);
      std::vector<op::RefTensor> expected = kernels[k].expected(arguments, sizes);
      device.run(static_cast<int32_t>(k), arguments, kernels[k].scalars(sizes));
      if (!expect_within_bounds(kernels[k], sizes, arguments, expected)) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, VectorAccessOn,
                         ::testing::Values("vulkan", "opencl:groups=gpu", "opencl"),
                         [](const auto& info) { return target_test_name(info.param); });

}  // namespace
}  // namespace tapml::testing
