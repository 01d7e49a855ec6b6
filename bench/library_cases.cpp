// Library kernels compared with generated code for the same kernels, at shapes of models. The
// `faster` rules in src/library are based on these (docs/libraries.md has the table).
#include "cases.h"
#include "ir/exceptions.h"
#include "programs.h"
#include "relax/annotation.h"

namespace tapml::bench {

namespace {

using relax::Variable;

struct Shapes {
  std::vector<Shape> arguments;
  double amount;  // work of one run, in the unit
};

using Emit = Variable (*)(build::FunctionBuilder&, const std::vector<Variable>&);

std::function<double()> rate(const std::string& target, const Shapes& shapes, Emit emit) {
  auto program = std::make_shared<Program>(
      [&](build::FunctionBuilder& f) {
        std::vector<Variable> params;
        for (const Shape& shape : shapes.arguments) {
          Dims dims(shape.begin(), shape.end());
          params.push_back(f.param("x" + std::to_string(params.size()),
                                   relax::tensor_annotation(dims, DType::kF32)));
        }
        f.begin_dataflow();
        Variable result = emit(f, params);
        f.end_dataflow();
        return result;
      },
      target);
  std::vector<runtime::Tensor> arguments;
  for (const Shape& shape : shapes.arguments) arguments.push_back(program->random(shape));
  program->run(arguments);
  const double seconds = seconds_of([&] { program->run(arguments); }, 3);
  // Make a sample long enough for the clock's resolution and for threads to wake up.
  const int repeats = std::max(1, static_cast<int>(0.02 / std::max(seconds, 1e-7)));
  struct Runs {
    std::shared_ptr<Program> program;
    std::vector<runtime::Tensor> arguments;
  };
  auto runs = std::make_shared<Runs>(Runs{program, std::move(arguments)});
  return [runs, repeats, amount = shapes.amount] {
    double each = seconds_of(
                      [&] {
                        for (int i = 0; i < repeats; ++i) runs->program->run(runs->arguments);
                      },
                      1) /
                  repeats;
    return 1e-9 * amount / each;
  };
}

// `library` relative to generated code: above 1 the library is faster.
Case beside(const std::string& library, const std::string& name, const char* unit,
            const Shapes& shapes, Emit emit) {
  Case result{.name = "library/" + library + "/" + name,
              .unit = unit,
              .peer = "generated code",
              .bar = 0,
              .prepare = {}};
  result.prepare = [library, shapes, emit](std::string& absent) {
    Pair pair;
    try {
      pair.ours = rate("cpu:libs=" + library, shapes, emit);
    } catch (const CompilerException& exception) {
      absent = exception.error().message;
      return Pair();
    }
    pair.peer = rate("cpu:libs=off", shapes, emit);
    return pair;
  };
  return result;
}

// The target's default choice relative to no library: it must never be slower.
Case chosen(const std::string& name, const char* unit, const Shapes& shapes, Emit emit) {
  Case result = beside("auto", name, unit, shapes, emit);
  result.bar = 0.97;
  return result;
}

Variable product(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("matmul", {x[0], x[1]}, {}, "", true);
}
Variable product_t(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("matmul", {x[0], x[1]}, {{"transpose_b", true}}, "", true);
}
Variable linear_gelu(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("gelu", {f.emit_op("linear", {x[0], x[1], x[2]})}, {}, "", true);
}
Variable softmax(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("softmax", {x[0]}, {}, "", true);
}
Variable layer_norm(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("layer_norm", {x[0], x[1], x[2]}, {}, "", true);
}
Variable convolution(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("conv2d", {x[0], x[1]}, {{"padding", std::vector<int64_t>{1, 1, 1, 1}}}, "",
                   true);
}
Variable convolution_1x1(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("conv2d", {x[0], x[1]}, {}, "", true);
}
Variable depthwise(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("conv2d", {x[0], x[1]},
                   {{"padding", std::vector<int64_t>{1, 1, 1, 1}}, {"groups", int64_t{128}}}, "",
                   true);
}

}  // namespace

std::vector<Case> library_cases() {
  std::vector<Case> cases;
  struct Product {
    int64_t m, k, n;
  };
  for (const Product& p :
       {Product{1, 1024, 1024}, Product{8, 1024, 1024}, Product{64, 1024, 4096},
        Product{128, 128, 128}, Product{512, 1024, 1024}, Product{512, 2048, 2048}}) {
    const double flops = 2.0 * static_cast<double>(p.m * p.k * p.n);
    const std::string size =
        std::to_string(p.m) + "x" + std::to_string(p.k) + "x" + std::to_string(p.n);
    Shapes plain{{{p.m, p.k}, {p.k, p.n}}, flops}, transposed{{{p.m, p.k}, {p.n, p.k}}, flops};
    for (const char* library : {"openblas", "onednn"}) {
      cases.push_back(beside(library, "matmul/" + size, "GFLOP/s", plain, product));
      cases.push_back(beside(library, "matmul_t/" + size, "GFLOP/s", transposed, product_t));
    }
    cases.push_back(chosen("matmul/" + size, "GFLOP/s", plain, product));
    cases.push_back(chosen("matmul_t/" + size, "GFLOP/s", transposed, product_t));
  }
  Shapes batched{{{32, 128, 64}, {32, 64, 128}}, 2.0 * 32 * 128 * 64 * 128};
  for (const char* library : {"openblas", "onednn"}) {
    cases.push_back(beside(library, "matmul/32*128x64x128", "GFLOP/s", batched, product));
  }
  const auto add = [&](const std::string& name, const char* unit, const Shapes& shapes, Emit emit) {
    cases.push_back(beside("onednn", name, unit, shapes, emit));
    cases.push_back(chosen(name, unit, shapes, emit));
  };
  add("linear_gelu/128x768x3072", "GFLOP/s",
      {{{128, 768}, {3072, 768}, {3072}}, 2.0 * 128 * 768 * 3072}, linear_gelu);
  add("softmax/1024x1024", "GB/s", {{{1024, 1024}}, 8.0 * 1024 * 1024}, softmax);
  add("softmax/64x64", "GB/s", {{{64, 64}}, 8.0 * 64 * 64}, softmax);
  add("layer_norm/512x1024", "GB/s", {{{512, 1024}, {1024}, {1024}}, 8.0 * 512 * 1024}, layer_norm);
  add("layer_norm/1x1024", "GB/s", {{{1, 1024}, {1024}, {1024}}, 8.0 * 1024}, layer_norm);
  add("conv2d/64x56x56x64", "GFLOP/s",
      {{{1, 64, 56, 56}, {64, 64, 3, 3}}, 2.0 * 64 * 56 * 56 * 576}, convolution);
  add("conv2d/256x14x14x256", "GFLOP/s",
      {{{1, 256, 14, 14}, {256, 256, 3, 3}}, 2.0 * 256 * 14 * 14 * 2304}, convolution);
  add("conv2d/3x224x224x32", "GFLOP/s",
      {{{1, 3, 224, 224}, {32, 3, 3, 3}}, 2.0 * 32 * 224 * 224 * 27}, convolution);
  add("conv2d_1x1/256x28x28x128", "GFLOP/s",
      {{{1, 256, 28, 28}, {128, 256, 1, 1}}, 2.0 * 256 * 28 * 28 * 128}, convolution_1x1);
  add("conv2d_depthwise/128x56x56", "GFLOP/s",
      {{{1, 128, 56, 56}, {128, 1, 3, 3}}, 2.0 * 128 * 56 * 56 * 9}, depthwise);
  return cases;
}

}  // namespace tapml::bench
