// Four elements at once: which kernels do it, how the text looks, and that the results are the
// same.
#include "codegen/source/vector_access.h"

#include "device_kernels.h"
#include "support/kernel_cases.h"

namespace tapml::testing {
namespace {

using cases::each;

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

std::set<const tir::BufferNode*> keys(const std::map<const tir::BufferNode*, int>& elements) {
  std::set<const tir::BufferNode*> result;
  for (const auto& [buffer, count] : elements) result.insert(buffer);
  return result;
}

TEST(VectorAccess, IsWrittenWhereTheLastAxisIsDivisible) {
  const std::string source = glsl_of(biased(64, kF32, true));
  EXPECT_NE(source.find("{ vec4 "), std::string::npos) << source;
  EXPECT_EQ(source.find("{ float "), std::string::npos) << source;
  EXPECT_EQ(glsl_of(biased(63, kF32, true)).find("vec4"), std::string::npos);
  // The bias has another width: its launch stays scalar.
  EXPECT_EQ(glsl_of(biased(64, kBF16, true)).find("vec4"), std::string::npos);
  const std::string opencl = codegen::emit_source(
      launches(biased(64, kF32, true), "opencl:groups=gpu"), codegen::opencl_c_dialect());
  EXPECT_NE(opencl.find("vload4("), std::string::npos) << opencl;
  EXPECT_NE(opencl.find("vstore4("), std::string::npos) << opencl;
}

TEST(VectorAccess, IsNotUsedForBuffersWithOtherAccesses) {
  Var lane = make_var("lane"), item = make_var("item");
  tir::Buffer x = tir::make_buffer("x", kF32, {64}), y = tir::make_buffer("y", kF32, {64});
  auto function_of = [&](const PrimExpr& value) {
    codegen::DeviceFunc f;
    f.item = item;
    f.extent = 16;
    f.buffers = {{x, AccessMode::kIn}, {y, AccessMode::kOut}};
    f.body = tir::make_for(lane, 4, tir::make_store(y, {item * 4 + lane}, value),
                           tir::ForKind::kVectorized);
    return f;
  };
  auto function = [&](const PrimExpr& read, const PrimExpr& value) {
    return keys(codegen::vector_buffers(function_of(tir::load(x, {read}) + value)));
  };
  const PrimExpr zero = make_float(0, kF32), side = item * 4 + lane;
  EXPECT_EQ(function(side, zero), (std::set<const tir::BufferNode*>{x.get(), y.get()}));
  const std::set<const tir::BufferNode*> only_y = {y.get()};
  EXPECT_EQ(function(side, tir::load(x, {item})), only_y) << "one element as well";
  EXPECT_EQ(function(item * 4 + lane + 1, zero), only_y) << "not where four begin";
  EXPECT_EQ(function(item * 2 + lane, zero), only_y) << "not always where four begin";
  EXPECT_EQ(function(lane * 16 + item, zero), only_y) << "not side by side";
  tir::Buffer z = tir::make_buffer("z", kF32, {60});
  auto guarded = [&](const tir::Buffer& buffer) {
    codegen::DeviceFunc f = function_of(zero);
    const PrimExpr read = select(lt(item, PrimExpr(8)), tir::load(buffer, {side}), zero);
    f.buffers.push_back({z, AccessMode::kIn});
    f.body = tir::make_for(lane, 4, tir::make_store(y, {side}, read), tir::ForKind::kVectorized);
    return keys(codegen::vector_buffers(f));
  };
  EXPECT_EQ(guarded(x).size(), 2u) << "possibly not read, but in bounds";
  EXPECT_EQ(guarded(z), only_y) << "possibly out of bounds";
}

// Narrow floats that are only read: by fours, and by eights if every access is a half of eight.
TEST(VectorAccess, NarrowBuffersAreReadByEights) {
  const Var item = make_var("item"), lane = make_var("lane");
  const tir::Buffer x = tir::make_buffer("x", DType::kBF16, {4096});
  const tir::Buffer y = tir::make_buffer("y", kF32, {8}, tir::Scope::kLocal);
  auto elements = [&](const std::vector<PrimExpr>& reads, AccessMode mode = AccessMode::kIn) {
    codegen::DeviceFunc f;
    f.item = item;
    f.buffers = {{x, mode}};
    std::vector<tir::Stmt> loops;
    for (const PrimExpr& first : reads) {
      loops.push_back(tir::make_for(
          lane, 4, tir::make_store(y, {lane}, cast(kF32, tir::load(x, {first + lane}))),
          tir::ForKind::kVectorized));
    }
    f.body = tir::make_seq(loops);
    const auto found = codegen::vector_buffers(f, true);
    EXPECT_EQ(codegen::vector_buffers(f).size(), 0u);
    return found.empty() ? 0 : found.at(x.get());
  };
  EXPECT_EQ(elements({item * 8, item * 8 + 4}), 8);
  EXPECT_EQ(elements({item * 576 + (item * 64 + 4), (item * 2) * 4 + 520}), 8);
  EXPECT_EQ(elements({item * 8, item * 4}), 4) << "not always a half";
  EXPECT_EQ(elements({item * 8 + 2}), 0) << "not where four begin";
  EXPECT_EQ(elements({item * 8}, AccessMode::kInOut), 4) << "stored by fours, since it is written";
  const auto second = codegen::half_of_eight(item * 16 + 4 + item * 8);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->second);
  EXPECT_EQ(to_string(second->first), to_string(item * 16 + item * 8 + 0));
  EXPECT_FALSE(codegen::half_of_eight(item * 8)->second);
  EXPECT_FALSE(codegen::half_of_eight(item * 4));
}

// A select of two numbers, of a NaN, and with an expensive side.
void with_nan(HostTensor& tensor, const Sizes& at) {
  uniform(-9, 9)(tensor, at);
  for (int64_t i = 0; i < tensor.size(); i += 3) tensor.set_f64(i, std::nan(""));
}

std::vector<KernelProgram> selections() {
  std::vector<KernelProgram> result;
  Var n = make_var("n");
  for (DType dtype : {kF32, DType::kI32, DType::kU32}) {
    const Fill fill = uniform(dtype == DType::kU32 ? 0 : -9, 9);
    KernelMaker m(std::string("where_") + dtype_name(dtype));
    relax::Variable x = m.param({n, 8}, dtype, fill), y = m.param({n, 8}, dtype, fill);
    relax::Variable other = m.op("subtract", {m.op("multiply", {y, y}), x});
    m.op("where", {m.op("less", {x, y}), other, m.op("maximum", {x, y})});
    result.push_back(m.fused(each("n", {0, 1, 5})));
  }
  KernelMaker m("where_nan");
  relax::Variable x = m.param({n, 8}, kF32, with_nan), y = m.param({n, 8}, kF32);
  m.op("where", {m.op("isnan", {x}), m.op("relu", {y}), x});
  result.push_back(m.fused(each("n", {0, 1, 5})));
  KernelMaker clip("clip");
  clip.op("clip", {clip.param({n, 8}, kF32, with_nan)}, {{"min", -1.0}, {"max", 2.0}});
  result.push_back(clip.single(each("n", {0, 1, 50})));
  KernelMaker silu("silu_where");
  relax::Variable a = silu.param({n, 8}, kF32), b = silu.param({n, 8}, kF32);
  silu.op("where", {silu.op("less", {a, b}), silu.op("silu", {a}), b});
  result.push_back(silu.fused(each("n", {0, 1, 5})));
  return result;
}

TEST(VectorSelect, HasNoBranches) {
  const std::vector<KernelProgram> kernels = selections();
  std::string source = glsl_of(kernels[0]);
  for (const char* part : {"mix(", "lessThan(", "notEqual("}) {
    EXPECT_NE(source.find(part), std::string::npos) << part << source;
  }
  for (const char* part : {"?", "if ("}) EXPECT_EQ(source.find(part), std::string::npos) << source;
  EXPECT_NE(glsl_of(kernels[3]).find("mix("), std::string::npos) << "a mask of its lanes";
  source =
      codegen::emit_source(launches(kernels[0], "opencl:groups=gpu"), codegen::opencl_c_dialect());
  EXPECT_NE(source.find("select("), std::string::npos) << source;
  // The exp of the side not taken should not be evaluated.
  source = glsl_of(kernels.back());
  EXPECT_EQ(source.find("mix("), std::string::npos) << source;
  EXPECT_NE(source.find("vec4("), std::string::npos) << source;
}

class VectorAccessOn : public ::testing::TestWithParam<const char*> {};

TEST_P(VectorAccessOn, ComputesTheSame) {
  std::vector<KernelProgram> kernels = {biased(64), biased(4), biased(63), biased(64, kBF16),
                                        biased(128, kF32, true)};
  KernelMaker ints("ints");
  relax::Variable i = ints.param({make_var("n"), 3, 8}, DType::kI32);
  ints.op("add", {i, ints.param({8}, DType::kI32)});
  kernels.push_back(ints.single(each("n", {0, 1, 5})));
  for (KernelProgram& kernel : selections()) kernels.push_back(std::move(kernel));
  expect_on_device(GetParam(), kernels);
}

INSTANTIATE_TEST_SUITE_P(Platforms, VectorAccessOn,
                         ::testing::Values("vulkan", "opencl:groups=gpu", "opencl"),
                         [](const auto& info) { return target_test_name(info.param); });

}  // namespace
}  // namespace tapml::testing
