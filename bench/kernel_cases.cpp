#include "cases.h"
#include "ceilings.h"
#include "programs.h"
#include "relax/annotation.h"

namespace tapml::bench {

namespace {

using relax::Variable;

constexpr int64_t kBytes = int64_t{64} << 20;  // of one array of the memory-bound operators

relax::Annotation f32(Dims shape) {
  return relax::tensor_annotation(std::move(shape), DType::kF32);
}

// A program with the arguments of its runs, which are destroyed before their session.
struct Runs {
  std::shared_ptr<Program> program;
  std::vector<std::vector<runtime::Tensor>> arguments;
  size_t turn = 0;
};

// Rate of a program that does `amount` of work (1e9 a second is 1 in the unit).
std::function<double()> rate(std::shared_ptr<Program> program,
                             std::vector<std::vector<runtime::Tensor>> arguments, double amount) {
  auto runs = std::make_shared<Runs>(Runs{std::move(program), std::move(arguments)});
  runs->program->run(runs->arguments[0]);  // warms up pages and caches
  return [runs, amount] {
    const auto& now = runs->arguments[runs->turn++ % runs->arguments.size()];
    return 1e-9 * amount / seconds_of([&] { runs->program->run(now); });
  };
}

Pair matmul(std::string&) {
  auto program = std::make_shared<Program>([](build::FunctionBuilder& f) {
    Variable a = f.param("a", f32({512, 4096})), b = f.param("b", f32({4096, 4096}));
    return f.emit_op("matmul", {a, b});
  });
  runtime::Tensor a = program->random({512, 4096}), b = program->random({4096, 4096});
  return against_ceiling(rate(program, {{a, b}}, 2.0 * 512 * 4096 * 4096),
                         [] { return fma_gflops(cpu_threads()); });
}

// A vector times eight matrices of 64 MiB in turn; each element reduces a row or a column.
Pair products_of_vector(bool rows) {
  auto program = std::make_shared<Program>([rows](build::FunctionBuilder& f) {
    Variable x = f.param("x", f32({1, 4096})), w = f.param("w", f32({4096, 4096}));
    return f.emit_op("matmul", {x, w}, {{"transpose_b", rows}});
  });
  runtime::Tensor x = program->random({1, 4096});
  std::vector<std::vector<runtime::Tensor>> arguments;
  for (int i = 0; i < 8; ++i) arguments.push_back({x, program->random({4096, 4096})});
  return against_ceiling(rate(program, arguments, kBytes),
                         [] { return read_gbps(kBytes, cpu_threads()); });
}

Pair matrix_vector(std::string&) { return products_of_vector(true); }
Pair vector_matrix(std::string&) { return products_of_vector(false); }

Pair convolution(std::string& absent) {
  if (!op::find_operator("conv2d")) {
    absent = "no operator conv2d";
    return {};
  }
  auto program = std::make_shared<Program>([](build::FunctionBuilder& f) {
    Variable x = f.param("x", f32({1, 64, 56, 56})), w = f.param("w", f32({64, 64, 3, 3}));
    return f.emit_op("conv2d", {x, w}, {{"padding", std::vector<int64_t>{1, 1, 1, 1}}});
  });
  runtime::Tensor x = program->random({1, 64, 56, 56}), w = program->random({64, 64, 3, 3});
  return against_ceiling(rate(program, {{x, w}}, 2.0 * 64 * 56 * 56 * 64 * 9),
                         [] { return fma_gflops(cpu_threads()); });
}

// Operators that read an array of 64 MiB and write one.
Pair streaming(std::string& absent, const std::string& op,
               const std::function<Variable(build::FunctionBuilder&, const Variable&)>& emit) {
  if (!op::find_operator(op)) {
    absent = "no operator " + op;
    return {};
  }
  constexpr int64_t kWidth = 4096;
  const int64_t rows = kBytes / 4 / kWidth;
  auto program = std::make_shared<Program>(
      [&](build::FunctionBuilder& f) { return emit(f, f.param("x", f32({rows, kWidth}))); });
  runtime::Tensor x = program->random({rows, kWidth});
  return against_ceiling(rate(program, {{x}}, 2.0 * kBytes),
                         [] { return triad_gbps(2 * kBytes, cpu_threads()); });
}

relax::Expr ones(int64_t width) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, {width});
  for (float& value : tensor.mutable_values<float>()) value = 1;
  return relax::make_constant(tensor);
}

Pair rms_norm(std::string& absent) {
  return streaming(absent, "rms_norm", [](build::FunctionBuilder& f, const Variable& x) {
    return f.emit_op("rms_norm", {x, ones(4096)});
  });
}

Pair layer_norm(std::string& absent) {
  return streaming(absent, "layer_norm", [](build::FunctionBuilder& f, const Variable& x) {
    return f.emit_op("layer_norm", {x, ones(4096), ones(4096)});
  });
}

Pair softmax(std::string& absent) {
  return streaming(absent, "softmax", [](build::FunctionBuilder& f, const Variable& x) {
    return f.emit_op("softmax", {x});
  });
}

Pair chain(std::string& absent) {
  return streaming(absent, "silu", [](build::FunctionBuilder& f, const Variable& x) {
    f.begin_dataflow();
    Variable y = f.emit_op("multiply", {x, x});
    y = f.emit_op("add", {y, x});
    y = f.emit_op("silu", {y});
    y = f.emit_op("subtract", {y, x});
    y = f.emit_op("maximum", {y, x}, {}, "", true);
    f.end_dataflow();
    return y;
  });
}

Case at_least(const char* name, const char* unit, const char* peer, double bar,
              Pair (*prepare)(std::string&)) {
  return {.name = name, .unit = unit, .peer = peer, .bar = bar, .prepare = prepare};
}

}  // namespace

std::vector<Case> kernel_cases() {
  return {
      at_least("matmul/512x4096x4096", "GFLOP/s", "fma", 0.6, matmul),
      at_least("matrix_vector/4096", "GB/s", "read", 0.8, matrix_vector),
      at_least("vector_matrix/4096", "GB/s", "read", 0.8, vector_matrix),
      at_least("conv2d/64x56x56x64", "GFLOP/s", "fma", 0.4, convolution),
      at_least("rms_norm/64MiB", "GB/s", "triad", 0.7, rms_norm),
      at_least("softmax/64MiB", "GB/s", "triad", 0.7, softmax),
      at_least("layer_norm/64MiB", "GB/s", "triad", 0.7, layer_norm),
      at_least("elementwise_chain/64MiB", "GB/s", "triad", 0.7, chain),
  };
}

}  // namespace tapml::bench
