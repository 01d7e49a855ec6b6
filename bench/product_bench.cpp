// Matrix products and convolutions on one thread, in processor time: the share of the fused
// multiply-adds that registers reach. Processor time stays meaningful where other programs share
// the machine; the ceiling is read right before and after each sample.
//
// Usage: product_bench [pattern]
#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/rng.h"
#include "build/block_builder.h"
#include "codegen/llvm/native.h"
#include "device/cpu/cpu_device.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "runtime/local_session.h"
#include "runtime/vm.h"

namespace tapml::bench {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

volatile float g_sink;

__attribute__((target("avx512f"))) void fma_512(int64_t steps) {
  __m512 sum[12], factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  for (auto& value : sum) value = _mm512_set1_ps(1);
  for (int64_t i = 0; i < steps; ++i) {
    for (auto& value : sum) value = _mm512_fmadd_ps(value, factor, term);
  }
  float total = 0;
  for (auto& value : sum) total += value[0];
  g_sink = total;
}

__attribute__((target("avx2,fma"))) void fma_256(int64_t steps) {
  __m256 sum[12], factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  for (auto& value : sum) value = _mm256_set1_ps(1);
  for (int64_t i = 0; i < steps; ++i) {
    for (auto& value : sum) value = _mm256_fmadd_ps(value, factor, term);
  }
  float total = 0;
  for (auto& value : sum) total += value[0];
  g_sink = total;
}

// GFLOP/s of multiply-adds on registers.
double ceiling() {
  constexpr int64_t kSteps = 500'000;
  bool wide = __builtin_cpu_supports("avx512f");
  double start = processor_seconds();
  wide ? fma_512(kSteps) : fma_256(kSteps);
  return 2e-9 * 12 * (wide ? 16 : 8) * kSteps / (processor_seconds() - start);
}

struct Case {
  const char* name;
  const char* op;
  std::vector<Shape> shapes;
  AttrMap attrs;
  double flops;
  bool symbolic_rows = false;  // the first argument's first dimension
};

void measure(const Case& test) {
  auto device = std::make_shared<device::CpuDevice>(1, codegen::make_jit_loader());
  auto session = unwrap(runtime::LocalSession::create(device));
  Module module;
  build::FunctionBuilder f(module);
  std::vector<relax::Expr> params;
  for (const Shape& shape : test.shapes) {
    Dims dims(shape.begin(), shape.end());
    if (params.empty() && test.symbolic_rows) dims[0] = make_var("m");
    params.push_back(
        f.param("x" + std::to_string(params.size()), relax::tensor_annotation(dims, DType::kF32)));
  }
  relax::Variable result = f.emit_op(test.op, params, test.attrs);
  module.functions["main"] = f.finish(result);
  auto executable = pipeline::compile(module, target::parse_target("cpu"));
  auto vm = unwrap(runtime::VirtualMachine::create(*session, executable));
  std::vector<runtime::Value> values;
  for (const Shape& shape : test.shapes) {
    HostTensor tensor = HostTensor::zeros(DType::kF32, shape);
    fill_uniform(tensor.mutable_values<float>(), philox_key(1, shape_to_string(shape)));
    values.push_back(unwrap(runtime::upload(*session, tensor)));
  }
  auto run = [&] {
    unwrap(vm->call("main", values));
    unwrap(session->synchronize(runtime::kDefaultStream));
  };
  run();
  int repeats = std::max(1, static_cast<int>(4e9 / test.flops));
  std::vector<double> shares, rates;
  for (int sample = 0; sample < 5; ++sample) {
    double before = ceiling();
    double start = processor_seconds();
    for (int i = 0; i < repeats; ++i) run();
    double rate = 1e-9 * test.flops * repeats / (processor_seconds() - start);
    double best = std::max(before, ceiling());
    rates.push_back(rate);
    shares.push_back(rate / best);
  }
  std::sort(shares.begin(), shares.end());
  std::sort(rates.begin(), rates.end());
  std::printf("%-28s %8.1f GFLOP/s   share of the ceiling %.2f (%.2f to %.2f)\n", test.name,
              rates[2], shares[2], shares.front(), shares.back());
  std::fflush(stdout);
}

int run(const char* pattern) {
  auto product = [](const char* name, int64_t m, int64_t k, int64_t n, bool transposed,
                    bool symbolic = false) {
    Shape b = transposed ? Shape{n, k} : Shape{k, n};
    return Case{name,
                "matmul",
                {{m, k}, b},
                {{"transpose_b", transposed}},
                2.0 * static_cast<double>(m * k * n),
                symbolic};
  };
  auto conv = [](const char* name, Shape x, Shape w, int64_t stride, int64_t padding) {
    int64_t out = (x[2] + 2 * padding - w[2]) / stride + 1;
    std::vector<int64_t> strides = {stride, stride}, pads = {padding, padding};
    double flops = 2.0 * static_cast<double>(x[0] * out * out * element_count(w));
    return Case{name, "conv2d", {x, w}, {{"strides", strides}, {"padding", pads}}, flops};
  };
  const std::vector<Case> cases = {
      product("matmul 512x4096x4096", 512, 4096, 4096, false),
      product("matmul 512x4096x4096^T", 512, 4096, 4096, true),
      product("matmul m=512 x1024x2816^T", 512, 1024, 2816, true, true),
      product("matmul 64x512x512", 64, 512, 512, false),
      product("matrix-vector 1x4096x4096^T", 1, 4096, 4096, true),
      product("matrix-vector m=1 ^T", 1, 1024, 2816, true, true),
      product("matrix-vector 1x1024x2816", 1, 1024, 2816, false),
      conv("conv2d 64x56x56 3x3", {1, 64, 56, 56}, {64, 64, 3, 3}, 1, 1),
      conv("conv2d 128x28x28 3x3", {1, 128, 28, 28}, {128, 128, 3, 3}, 1, 1),
      conv("conv2d 256x14x14 3x3", {1, 256, 14, 14}, {256, 256, 3, 3}, 1, 1),
      conv("conv2d 64x56x56 1x1", {1, 64, 56, 56}, {256, 64, 1, 1}, 1, 0),
      conv("conv2d 3x224x224 7x7/2", {1, 3, 224, 224}, {64, 3, 7, 7}, 2, 3),
  };
  for (const Case& test : cases) {
    if (std::strstr(test.name, pattern) != nullptr) measure(test);
  }
  return 0;
}

}  // namespace
}  // namespace tapml::bench

int main(int argc, char** argv) {
  try {
    return tapml::bench::run(argc > 1 ? argv[1] : "");
  } catch (const tapml::CompilerException& e) {
    std::fprintf(stderr, "%s\n", e.error().message.c_str());
    return 1;
  }
}
