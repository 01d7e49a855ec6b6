// Packed products on the CPU, with sizes around tiles, panels, blocks and pieces: machine code and
// the interpreter (which rejects out-of-range indices) against the reference.
#include <gtest/gtest.h>

#include "codegen/lower/preparation.h"
#include "device_kernels.h"
#include "support/dtypes.h"
#include "support/kernel_cases.h"
#include "support/kernel_program.h"

namespace tapml::testing {
namespace {

using Ints = std::vector<int64_t>;

KernelProgram product(Dims a, Dims b, std::vector<Sizes> sizes, AttrMap attrs = {},
                      DType a_dtype = kF32, DType b_dtype = kF32) {
  KernelMaker maker("matmul_" + std::to_string(sizes.size()));
  relax::Variable x = maker.param(std::move(a), a_dtype, uniform(-9, 9));
  maker.op("matmul", {x, maker.param(std::move(b), b_dtype, uniform(-9, 9))}, std::move(attrs));
  return maker.single(std::move(sizes));
}

// A product whose right operand is marked as weights.
KernelProgram of_weights(KernelProgram kernel) {
  auto func = std::make_shared<tir::PrimFunc>(*kernel.func);
  func->facts.weights = {1};
  kernel.func = std::move(func);
  return kernel;
}

KernelProgram convolution(Dims x, Dims w, AttrMap attrs, std::vector<Sizes> sizes = {{}},
                          const char* op = "conv2d") {
  KernelMaker maker(op);
  relax::Variable image = maker.param(std::move(x), kF32);
  maker.op(op, {image, maker.param(std::move(w), kF32)}, std::move(attrs));
  return maker.single(std::move(sizes));
}

std::vector<KernelProgram> product_kernels() {
  Var m = make_var("m"), n = make_var("n"), k = make_var("k"), b = make_var("b");
  std::vector<KernelProgram> list;
  AttrMap transposed = {{"transpose_b", true}};
  std::vector<Sizes> sizes;
  for (int64_t rows : {0, 1, 7, 8, 9, 12, 13}) sizes.push_back({{"m", rows}, {"n", 65}, {"k", 9}});
  for (int64_t lanes : {0, 1, 63, 64, 129}) sizes.push_back({{"m", 8}, {"n", lanes}, {"k", 5}});
  for (int64_t steps : {0, 1, 255, 256, 257}) sizes.push_back({{"m", 9}, {"n", 3}, {"k", steps}});
  sizes.push_back({{"m", 255}, {"n", 2}, {"k", 3}});
  sizes.push_back({{"m", 259}, {"n", 2}, {"k", 3}});
  list.push_back(product({m, k}, {k, n}, sizes));
  list.push_back(product({m, k}, {n, k}, sizes, transposed));
  list.push_back(product({k, m}, {k, n}, sizes, {{"transpose_a", true}}));
  // Rows of several dimensions; batches on both sides.
  std::vector<Sizes> batches = {{{"b", 0}, {"m", 5}}, {{"b", 2}, {"m", 3}}, {{"b", 3}, {"m", 5}}};
  list.push_back(product({b, m, 33}, {33, 70}, batches));
  list.push_back(product({b, m, 10}, {b, 10, 18}, batches));
  list.push_back(product({b, 9, 10}, {b, 10, 18}, {{{"b", 0}}, {{"b", 3}}}));
  // Static sizes use their own tiles.
  for (int64_t rows : {8, 10, 13, 24}) {
    for (int64_t lanes : {8, 16, 17, 32, 40, 64, 65}) {
      list.push_back(product({rows, 20}, {20, lanes}, {{}}));
    }
  }
  // Squares in which lanes and steps are transposed, and the remainders beside them.
  for (int64_t steps : {7, 8, 15, 16, 17, 33, 257, 300}) {
    for (int64_t lanes : {16, 64, 65, 130}) {
      list.push_back(product({9, steps}, {lanes, steps}, {{}}, transposed));
    }
  }
  for (DType dtype : {kF64, kBF16}) {
    list.push_back(product({9, 37}, {70, 37}, {{}}, transposed, dtype, dtype));
  }
  list.push_back(product({300, 600}, {600, 70}, {{}}));
  list.push_back(product({16, 40}, {24, 40}, {{}}, transposed, kBF16, kBF16));
  list.push_back(product({m, 40}, {24, 40}, {{{"m", 9}}}, transposed, kF32, kBF16));
  list.push_back(product({m, 40}, {40, 24}, {{{"m", 9}}}, {}, kF64, kF64));
  list.push_back(product({m, 40}, {40, 24}, {{{"m", 9}}}, {}, DType::kI32, DType::kI32));

  auto window = [](Ints strides, Ints padding, Ints dilation) {
    return AttrMap{{"strides", strides}, {"padding", padding}, {"dilation", dilation}};
  };
  for (int64_t width : {7, 15, 30, 56, 66}) {
    list.push_back(convolution({2, 5, 6, width}, {9, 5, 3, 3}, window({1, 1}, {1, 1}, {1, 1})));
  }
  list.push_back(convolution({1, 70, 4, 17}, {16, 70, 3, 3}, window({2, 2}, {1, 1}, {1, 1})));
  list.push_back(convolution({1, 3, 9, 40}, {8, 3, 3, 2}, window({1, 2}, {0, 1, 2, 0}, {2, 3})));
  list.push_back(convolution({1, 12, 8, 18}, {12, 12, 1, 1}, {}));
  Var h = make_var("h"), w = make_var("w");
  list.push_back(convolution({b, 4, h, w}, {8, 4, 3, 3}, window({1, 1}, {1, 1}, {1, 1}),
                             {{{"b", 2}, {"h", 3}, {"w", 70}},
                              {{"b", 1}, {"h", 5}, {"w", 1}},
                              {{"b", 0}, {"h", 5}, {"w", 9}}}));
  list.push_back(convolution({1, 8, 5, 9}, {8, 10, 3, 3}, window({2, 2}, {1, 1}, {1, 1}), {{}},
                             "conv2d_transpose"));
  list.push_back(convolution({1, 8, 5, 20}, {16, 4, 3, 3}, {{"groups", int64_t{2}}}));

  KernelMaker fused("fused_matmul_bias_silu");
  relax::Variable x = fused.param({m, 33}, kF32), weight = fused.param({33, 70}, kF32);
  relax::Variable sum = fused.op("add", {fused.op("matmul", {x, weight}), fused.param({70}, kF32)});
  fused.op("silu", {sum});
  list.push_back(fused.fused({{{"m", 1}}, {{"m", 8}}, {{"m", 20}}}));
  // Results that are added to, or multiplied by, results of other kernels; row counts around the
  // tile, the packing threshold and the block.
  std::vector<Sizes> rows;
  for (int64_t count : {0, 1, 4, 5, 7, 8, 9, 12, 13, 257}) rows.push_back({{"m", count}});
  for (int64_t lanes : {64, 70}) {
    KernelMaker residual("fused_matmul_add_" + std::to_string(lanes));
    relax::Variable before = residual.param({1, m, lanes}, kF32);
    relax::Variable fed =
        residual.op("matmul", {residual.param({1, m, 33}, kF32), residual.param({lanes, 33}, kF32)},
                    transposed);
    residual.op("add", {before, fed});
    list.push_back(residual.fused(rows));
    KernelMaker gated("fused_matmul_silu_multiply_" + std::to_string(lanes));
    relax::Variable gate = gated.op(
        "matmul", {gated.param({1, m, 33}, kF32), gated.param({lanes, 33}, kF32)}, transposed);
    gated.op("multiply", {gated.op("silu", {gate}), gated.param({1, m, lanes}, kF32)});
    list.push_back(gated.fused(rows));
  }
  return list;
}

// Products with weights: every row count reads panels that a separate launch packs.
std::vector<KernelProgram> kernels_of_weights() {
  Var m = make_var("m"), b = make_var("b");
  AttrMap transposed = {{"transpose_b", true}};
  std::vector<Sizes> rows;
  for (int64_t count : {0, 1, 2, 5, 6, 7, 13, 259}) rows.push_back({{"m", count}});
  std::vector<KernelProgram> list;
  for (int64_t lanes : {64, 65, 17, 200}) {
    list.push_back(product({m, 300}, {lanes, 300}, rows, transposed));
    list.push_back(product({m, 300}, {300, lanes}, rows));
  }
  list.push_back(product({b, 1, 257}, {64, 257}, {{{"b", 1}}, {{"b", 3}}}, transposed));
  for (int64_t count : {1, 3, 20}) {
    list.push_back(product({count, 70}, {90, 70}, {{}}, transposed));
  }
  list.push_back(product({m, 300}, {70, 300}, rows, transposed, kF32, kBF16));
  list.push_back(product({m, 300}, {300, 70}, rows, {}, kF32, kBF16));
  list.push_back(product({m, 300}, {70, 300}, rows, transposed, kF64, kF64));
  KernelMaker gated("fused_matmul_silu_multiply");
  relax::Variable gate =
      gated.op("matmul", {gated.param({1, m, 70}, kF32), gated.param({70, 70}, kF32)}, transposed);
  gated.op("multiply", {gated.op("silu", {gate}), gated.param({1, m, 70}, kF32)});
  list.push_back(gated.fused(rows));
  for (KernelProgram& kernel : list) kernel = of_weights(std::move(kernel));
  return list;
}

TEST(PackedProducts, OfWeightsAreWithinTheirBounds) {
  DeviceKernels device("cpu");
  std::vector<KernelProgram> list = kernels_of_weights();
  for (const KernelProgram& kernel : list) device.add(*kernel.func);
  device.load();
  if (HasFatalFailure()) return;
  target::Target cpu = target::parse_target("cpu");
  for (size_t k = 0; k < list.size(); ++k) {
    schedule::Scheduled scheduled = schedule::schedule_for(*list[k].func, cpu);
    EXPECT_EQ(scheduled.rule, "cpu_packed") << list[k].name;
    tir::PrimFuncRef loops = passes::lower_math(*scheduled.func);
    codegen::LoweredKernel lowered = codegen::lower_prim_func(*loops, "kernel");
    codegen::Preparation preparation =
        codegen::find_preparation(lowered, list[k].func->params.size(), {1});
    EXPECT_EQ(preparation.workspaces, (std::vector<bool>{true})) << list[k].name;
    EXPECT_EQ(preparation.launches, (std::vector<bool>{true, false})) << list[k].name;
    EXPECT_EQ(preparation.digest.size(), 16u);
    for (const Sizes& sizes : list[k].sizes) {
      SCOPED_TRACE(list[k].label(sizes));
      std::vector<HostTensor> arguments = list[k].arguments(sizes), again = arguments;
      std::vector<op::RefTensor> expected = list[k].expected(arguments, sizes);
      device.run(static_cast<int32_t>(k), arguments, list[k].scalars(sizes));
      if (HasFatalFailure()) return;
      if (!expect_within_bounds(list[k], sizes, arguments, expected)) break;
      if (expected[0].values.size() > 1000) continue;
      interp::run_prim_func(*loops, again, list[k].scalars(sizes));
      if (!expect_within_bounds(list[k], sizes, again, expected)) break;
    }
  }
}

// Kernels that differ in their epilogues and row counts pack a weight the same way.
TEST(PackedProducts, EqualPackingsHaveEqualDigests) {
  target::Target cpu = target::parse_target("cpu");
  auto digest = [&](const KernelProgram& kernel) {
    tir::PrimFuncRef func = schedule::schedule_for(*of_weights(kernel).func, cpu).func;
    return codegen::find_preparation(codegen::lower_prim_func(*func, "kernel"), func->params.size(),
                                     {1})
        .digest;
  };
  AttrMap transposed = {{"transpose_b", true}};
  const std::string many = digest(product({make_var("m"), 90}, {70, 90}, {}, transposed));
  EXPECT_EQ(digest(product({1, 90}, {70, 90}, {}, transposed)), many);
  KernelMaker fused("fused");
  relax::Variable sum =
      fused.op("matmul", {fused.param({12, 90}, kF32), fused.param({70, 90}, kF32)}, transposed);
  fused.op("silu", {sum});
  EXPECT_EQ(digest(fused.fused({})), many);
  EXPECT_NE(digest(product({1, 70}, {70, 90}, {})), many) << "along the other axis";
  EXPECT_NE(digest(product({1, 90}, {71, 90}, {}, transposed)), many);
  EXPECT_EQ(digest(product({1, 9}, {70, 9}, {}, transposed)), "") << "too small";
}

TEST(PackedProducts, AreWithinTheirBounds) {
  DeviceKernels device("cpu");
  std::vector<KernelProgram> list = product_kernels();
  for (const KernelProgram& kernel : list) device.add(*kernel.func);
  device.load();
  if (HasFatalFailure()) return;
  target::Target cpu = target::parse_target("cpu");
  int packed = 0;
  for (size_t k = 0; k < list.size(); ++k) {
    schedule::Scheduled scheduled = schedule::schedule_for(*list[k].func, cpu);
    packed += scheduled.rule.find("cpu_product") != std::string::npos ? 1 : 0;
    tir::PrimFuncRef loops = passes::lower_math(*scheduled.func);
    for (const Sizes& sizes : list[k].sizes) {
      SCOPED_TRACE(list[k].label(sizes));
      std::vector<HostTensor> arguments = list[k].arguments(sizes), again = arguments;
      std::vector<op::RefTensor> expected = list[k].expected(arguments, sizes);
      device.run(static_cast<int32_t>(k), arguments, list[k].scalars(sizes));
      if (HasFatalFailure()) return;
      if (!expect_within_bounds(list[k], sizes, arguments, expected)) break;
      if (expected[0].values.size() > 2000) continue;
      interp::run_prim_func(*loops, again, list[k].scalars(sizes));
      if (!expect_within_bounds(list[k], sizes, again, expected)) break;
    }
  }
  // All but a few.
  EXPECT_GE(packed, static_cast<int>(list.size()) - 4);
}

// At the widths of models: one row and a few, weights of each layout and dtype.
TEST(LaneProducts, OfModelsWidthsAreWithinTheirBounds) {
  auto session = open_session("vulkan");
  if (!session || session->info().kind != DeviceKind::kProcessor) {
    GTEST_SKIP() << "the Vulkan device is not a CPU";
  }
  Var n = make_var("n");
  const AttrMap transposed = {{"transpose_b", true}};
  std::vector<KernelProgram> kernels;
  for (DType dtype : {kF32, kBF16, DType::kF16}) {
    kernels.push_back(product({1, 576}, {1536, 576}, {{}}, transposed, kF32, dtype));
    kernels.push_back(product({1, 1536}, {576, 1536}, {{}}, transposed, kF32, dtype));
    kernels.push_back(product({1, 4096}, {260, 4096}, {{}}, transposed, kF32, dtype));
    kernels.push_back(product({n, 576}, {192, 576}, {{{"n", 1}}, {{"n", 4}}, {{"n", 6}}},
                              transposed, kF32, dtype));
    kernels.push_back(product({1, 576}, {576, 1536}, {{}}, {}, kF32, dtype));
    kernels.push_back(product({1, 4096}, {4096, 576}, {{}}, {}, kF32, dtype));
    kernels.push_back(
        product({n, 576}, {576, 192}, {{{"n", 1}}, {{"n", 4}}, {{"n", 6}}}, {}, kF32, dtype));
  }
  const target::Target target = target::parse_target("vulkan:for=lavapipe");
  auto rule = [&](const KernelProgram& kernel) {
    return schedule::schedule_for(*kernel.func, target).rule;
  };
  for (const KernelProgram& kernel : kernels) EXPECT_EQ(rule(kernel), "gpu_lane_product");
  for (KernelProgram& kernel : kernel_cases()) {
    if (rule(kernel) == "gpu_lane_product") kernels.push_back(std::move(kernel));
  }
  expect_on_device("vulkan:for=lavapipe", kernels);
}

}  // namespace
}  // namespace tapml::testing
