// Column reductions, scans by columns and grouped products, with sizes around vectors, pieces and
// windows: machine code and the interpreter against the reference.
#include <gtest/gtest.h>

#include "device_kernels.h"
#include "support/dtypes.h"
#include "support/kernel_program.h"

namespace tapml::testing {
namespace {

using Ints = std::vector<int64_t>;

struct Expected {
  KernelProgram kernel;
  const char* rule;
};

KernelProgram call(const char* op, const std::vector<std::pair<Dims, DType>>& tensors,
                   AttrMap attrs = {}, std::vector<Sizes> sizes = {{}}) {
  KernelMaker maker(op);
  std::vector<relax::Expr> args;
  for (const auto& [shape, dtype] : tensors) args.push_back(maker.param(shape, dtype));
  maker.op(op, args, std::move(attrs));
  return maker.single(std::move(sizes));
}

KernelProgram grouped_convolution(Dims x, Dims w, int64_t groups, Ints strides = {1, 1},
                                  Ints padding = {1, 1}, Ints dilation = {1, 1}) {
  return call("conv2d", {{std::move(x), kF32}, {std::move(w), kF32}},
              {{"groups", groups},
               {"strides", std::move(strides)},
               {"padding", std::move(padding)},
               {"dilation", std::move(dilation)}});
}

std::vector<Expected> column_kernels() {
  Var m = make_var("m"), n = make_var("n"), k = make_var("k");
  std::vector<Expected> list;
  auto columns = [&](KernelProgram kernel) { list.push_back({std::move(kernel), "cpu_columns"}); };
  auto packed = [&](KernelProgram kernel) { list.push_back({std::move(kernel), "cpu_product"}); };

  // A vector times a matrix, with sizes around vectors (16) and pieces (256).
  std::vector<Sizes> widths;
  for (int64_t width : {0, 1, 3, 16, 17, 255, 256, 257, 513}) {
    widths.push_back({{"n", width}, {"k", 5}});
    columns(call("matmul", {{{1, 5}, kF32}, {{5, width < 4 ? 4 : width}, kF32}}));
  }
  for (int64_t steps : {0, 1, 70}) widths.push_back({{"n", 20}, {"k", steps}});
  columns(call("matmul", {{{1, k}, kF32}, {{k, n}, kF32}}, {}, widths));
  columns(call("matmul", {{{1, k}, kF64}, {{k, n}, kF64}}, {}, widths));
  columns(call("matmul", {{{1, k}, kBF16}, {{k, n}, kBF16}}, {}, widths));
  columns(call("matmul", {{{3, k}, kF32}, {{k, n}, kF32}}, {}, widths));
  std::vector<Sizes> rows;
  for (int64_t count : {0, 1, 2, 7, 8, 9}) rows.push_back({{"m", count}, {"n", 260}, {"k", 9}});
  packed(call("matmul", {{{m, k}, kF32}, {{k, n}, kF32}}, {}, rows));

  // Sums and extrema of columns.
  for (const char* op : {"sum", "max", "min", "prod"}) {
    for (DType dtype : {kF32, kI32}) {
      columns(call(op, {{{k, n}, dtype}}, {{"axes", Ints{0}}}, widths));
      columns(call(op, {{{2, k, n}, dtype}}, {{"axes", Ints{1}}}, widths));
    }
  }

  // Convolutions with one channel per filter, and with few filters.
  for (int64_t width : {1, 2, 4, 7, 16, 33, 66}) {
    list.push_back({grouped_convolution({2, 3, 5, width}, {3, 1, 3, 3}, 3),
                    width < 4 ? "cpu_reduction" : "cpu_columns"});
  }
  columns(grouped_convolution({1, 4, 9, 40}, {4, 1, 3, 3}, 4, {2, 2}));
  columns(grouped_convolution({1, 4, 9, 40}, {8, 1, 3, 3}, 4, {1, 1}, {2, 0, 1, 3}, {2, 2}));
  columns(grouped_convolution({1, 4, 9, 140}, {3, 4, 3, 5}, 1));

  // Groups with enough filters to form rows, and groups with fewer.
  packed(grouped_convolution({1, 8, 5, 20}, {16, 4, 3, 3}, 2));
  packed(grouped_convolution({2, 6, 4, 70}, {24, 2, 3, 3}, 3, {1, 2}));
  columns(grouped_convolution({1, 8, 5, 20}, {8, 4, 3, 3}, 2));

  // Scans of columns, also around pieces (256).
  for (const char* op : {"cumsum", "cumprod"}) {
    for (DType dtype : {kF32, kBF16, kI32}) {
      for (bool flag : {false, true}) {
        AttrMap attrs = {{"axis", int64_t{0}}, {"exclusive", flag}, {"reverse", flag}};
        list.push_back({call(op, {{{k, n}, dtype}}, attrs, widths), "cpu_scan"});
      }
    }
    list.push_back({call(op, {{{2, 5, 257}, kF32}}, {{"axis", int64_t{1}}}), "cpu_scan"});
    list.push_back(
        {call(op, {{{5, n}, kF32}}, {{"axis", int64_t{1}}}, {{{"n", 0}}, {{"n", 9}}}), "fallback"});
  }

  KernelMaker fused("fused_vector_matmul_add_silu");
  relax::Variable x = fused.param({1, 33}, kF32), weight = fused.param({33, n}, kF32);
  fused.op("silu", {fused.op("add", {fused.op("matmul", {x, weight}), fused.param({n}, kF32)})});
  columns(fused.fused({{{"n", 0}}, {{"n", 5}}, {{"n", 256}}, {{"n", 300}}}));
  return list;
}

TEST(Columns, AreWithinTheirBounds) {
  DeviceKernels device("cpu");
  std::vector<Expected> list = column_kernels();
  for (const Expected& test : list) device.add(*test.kernel.func);
  device.load();
  if (HasFatalFailure()) return;
  target::Target cpu = target::parse_target("cpu");
  for (size_t k = 0; k < list.size(); ++k) {
    const KernelProgram& kernel = list[k].kernel;
    schedule::Scheduled scheduled = schedule::schedule_for(*kernel.func, cpu);
    EXPECT_NE(scheduled.rule.find(list[k].rule), std::string::npos)
        << kernel.name << " number " << k << ": " << scheduled.rule;
    tir::PrimFuncRef loops = passes::lower_math(*scheduled.func);
    for (const Sizes& sizes : kernel.sizes) {
      SCOPED_TRACE(kernel.label(sizes));
      std::vector<HostTensor> arguments = kernel.arguments(sizes), again = arguments;
      std::vector<op::RefTensor> expected = kernel.expected(arguments, sizes);
      device.run(static_cast<int32_t>(k), arguments, kernel.scalars(sizes));
      if (HasFatalFailure()) return;
      if (!expect_within_bounds(kernel, sizes, arguments, expected)) break;
      interp::run_prim_func(*loops, again, kernel.scalars(sizes));
      if (!expect_within_bounds(kernel, sizes, again, expected)) break;
    }
  }
}

}  // namespace
}  // namespace tapml::testing
