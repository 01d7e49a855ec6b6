// Products of rows with matrices that each row chooses, as experts are: machine code and the
// interpreter (which rejects out-of-range indices) against the reference, for row counts around the
// one from which rows are sorted by their matrices.
#include <gtest/gtest.h>

#include "device_kernels.h"
#include "support/dtypes.h"
#include "support/kernel_cases.h"
#include "support/kernel_program.h"

namespace tapml::testing {
namespace {

constexpr int64_t kMatrices = 5;

// Every index, in both forms, and some outside; half of the rows choose the same one.
void fill_choices(HostTensor& tensor, const Sizes&) {
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, i % 2 == 0 ? 3 : (i * 7 / 2) % (2 * kMatrices + 3) - kMatrices - 1);
  }
}

struct Form {
  int64_t lanes, steps;
  bool transposed = false, is_quantized = false, has_epilogue = false;
  DType dtype = kF32;
  std::vector<int64_t> rows = {0, 1, 4, 5, 6, 23};
};

KernelProgram gathered(const Form& form) {
  Var n = make_var("n");
  KernelMaker maker("gather_matmul_" + std::to_string(form.lanes) + "_" +
                    std::to_string(form.steps) + (form.transposed ? "_transposed" : "") +
                    (form.is_quantized ? "_quantized" : "") +
                    (form.has_epilogue ? "_multiply" : "") + "_" + dtype_name(form.dtype));
  relax::Variable x = maker.param({2, n, 1, form.steps}, kF32, uniform(-2, 2));
  std::vector<int64_t> weights = {1};
  relax::Variable matrices;
  if (form.is_quantized) {
    relax::Variable packed =
        maker.param({kMatrices, form.lanes, form.steps / 2}, DType::kU8, uniform(0, 255));
    matrices = maker.op(
        "dequantize",
        {packed, maker.param({kMatrices, form.lanes, form.steps / 32}, kF32, uniform(0, 1))},
        {{"group", int64_t{32}}});
    weights.push_back(2);
  } else {
    Dims shape = {kMatrices, form.lanes, form.steps};
    if (form.transposed) std::swap(shape[1], shape[2]);
    matrices = maker.param(shape, form.dtype, uniform(-2, 2));
  }
  AttrMap attrs;
  if (form.transposed) attrs["transposed"] = true;
  relax::Variable y =
      maker.op("gather_matmul", {x, matrices, maker.param({2, n, 2}, kI32, fill_choices)}, attrs);
  if (form.has_epilogue) maker.op("multiply", {y, maker.param({2, n, 2, 1}, kF32)});
  std::vector<Sizes> sizes;
  for (const int64_t rows : form.rows) sizes.push_back({{"n", rows}});
  KernelProgram kernel = form.is_quantized || form.has_epilogue ? maker.fused(std::move(sizes))
                                                                : maker.single(std::move(sizes));
  auto func = std::make_shared<tir::PrimFunc>(*kernel.func);
  func->facts.weights = weights;
  kernel.func = std::move(func);
  return kernel;
}

TEST(GatheredProducts, AreWithinTheirBounds) {
  std::vector<KernelProgram> list;
  for (const int64_t lanes : {9, 65}) {
    list.push_back(gathered({.lanes = lanes, .steps = 17}));
    list.push_back(gathered({.lanes = lanes, .steps = 33, .transposed = true}));
    list.push_back(gathered({.lanes = lanes, .steps = 64, .is_quantized = true}));
  }
  list.push_back(gathered({.lanes = 33, .steps = 300, .has_epilogue = true}));
  list.push_back(gathered({.lanes = 33, .steps = 320, .is_quantized = true, .has_epilogue = true}));
  list.push_back(gathered({.lanes = 33, .steps = 40, .dtype = kBF16}));
  // More rows of one matrix than an item keeps.
  list.push_back(gathered({.lanes = 16, .steps = 3, .rows = {600}}));
  for (const char* platform : {"cpu", "opencl"}) {
    SCOPED_TRACE(platform);
    // The loops are the same on both, and OpenCL's compiler is slow.
    if (platform == std::string("opencl")) list.resize(3);
    DeviceKernels device(platform);
    for (const KernelProgram& kernel : list) device.add(*kernel.func);
    device.load();
    if (HasFatalFailure()) return;
    const target::Target target = target::parse_target(platform);
    for (size_t k = 0; k < list.size(); ++k) {
      const schedule::Scheduled scheduled = schedule::schedule_for(*list[k].func, target);
      EXPECT_EQ(scheduled.rule, "cpu_gathered") << list[k].name;
      const tir::PrimFuncRef loops = passes::lower_math(*scheduled.func);
      for (const Sizes& sizes : list[k].sizes) {
        SCOPED_TRACE(list[k].label(sizes));
        std::vector<HostTensor> arguments = list[k].arguments(sizes), again = arguments;
        const std::vector<op::RefTensor> expected = list[k].expected(arguments, sizes);
        device.run(static_cast<int32_t>(k), arguments, list[k].scalars(sizes));
        if (HasFatalFailure()) return;
        if (!expect_within_bounds(list[k], sizes, arguments, expected)) break;
        if (expected[0].values.size() > 2000) continue;
        interp::run_prim_func(*loops, again, list[k].scalars(sizes));
        if (!expect_within_bounds(list[k], sizes, again, expected)) break;
      }
    }
  }
}

}  // namespace
}  // namespace tapml::testing
