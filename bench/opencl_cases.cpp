// Schedules on the OpenCL device, compared with one invocation an element (the fallback) and with
// the CPU's ceilings, which are the device's if it is PoCL.
#include "base/rng.h"
#include "cases.h"
#include "ceilings.h"
#include "device/opencl/opencl_device.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "programs.h"
#include "relax/annotation.h"

namespace tapml::bench {

namespace {

using relax::Variable;
using Emit = Variable (*)(build::FunctionBuilder&, const std::vector<Variable>&);

struct Argument {
  Shape shape;
  DType dtype = DType::kF32;
};

struct Work {
  const char* name;
  const char* unit;
  std::vector<Argument> arguments;
  Emit emit;
  double amount;  // in the unit, times 1e9
  std::function<double()> ceiling;
};

// A program on its own session, ready to run.
class OpenClRun {
 public:
  OpenClRun(const Work& work, const std::string& target)
      : session_(unwrap(runtime::LocalSession::create(unwrap(device::create_opencl_device())))) {
    Module module;
    build::FunctionBuilder f(module);
    std::vector<Variable> params;
    for (const Argument& argument : work.arguments) {
      params.push_back(
          f.param("x", relax::tensor_annotation(Dims(argument.shape.begin(), argument.shape.end()),
                                                argument.dtype)));
      HostTensor tensor = HostTensor::zeros(argument.dtype, argument.shape);
      for (int64_t i = 0; i < tensor.size(); ++i) {
        tensor.set_f64(i, static_cast<double>(i * 37 % 64 - 32) / 32);
      }
      arguments_.emplace_back(unwrap(runtime::upload(*session_, tensor)));
    }
    f.begin_dataflow();
    Variable result = work.emit(f, params);
    f.end_dataflow();
    module.functions["main"] = f.finish(result);
    vm_ = unwrap(runtime::LocalVirtualMachine::create(
        *session_, pipeline::compile(module, target::parse_target(target))));
    run(1);
  }

  void run(int times) {
    for (int i = 0; i < times; ++i) unwrap(vm_->call("main", arguments_));
    unwrap(session_->synchronize(runtime::kDefaultStream));
  }

 private:
  std::shared_ptr<runtime::LocalSession> session_;
  std::unique_ptr<runtime::LocalVirtualMachine> vm_;
  std::vector<runtime::Value> arguments_;
};

std::function<double()> opencl_rate(const Work& work, const std::string& target) {
  auto program = std::make_shared<OpenClRun>(work, target);
  const double seconds = seconds_of([&] { program->run(1); }, 3);
  const int repeats = std::max(1, static_cast<int>(0.03 / std::max(seconds, 1e-7)));
  return [program, repeats, amount = work.amount] {
    return 1e-9 * amount * repeats / seconds_of([&] { program->run(repeats); });
  };
}

Case beside_fallback(const Work& work) {
  return {.name = std::string("opencl/") + work.name + "/fallback",
          .unit = work.unit,
          .peer = "fallback",
          .bar = 0.97,
          .prepare = [work](std::string& absent) {
            if (!device::create_opencl_device()) {
              absent = "no OpenCL device";
              return Pair();
            }
            return Pair{opencl_rate(work, "opencl"), opencl_rate(work, "opencl:schedule=fallback")};
          }};
}

Case beside_ceiling(const Work& work) {
  return {.name = std::string("opencl/") + work.name + "/ceiling",
          .unit = work.unit,
          .peer = "ceiling",
          .bar = 0,
          .prepare = [work](std::string& absent) {
            if (!device::create_opencl_device()) {
              absent = "no OpenCL device";
              return Pair();
            }
            return against_ceiling(opencl_rate(work, "opencl"), work.ceiling);
          }};
}

Variable product_columns(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("matmul", {x[0], x[1]}, {}, "", true);
}
Variable product_rows(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("matmul", {x[0], x[1]}, {{"transpose_b", true}}, "", true);
}
Variable softmax_rows(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("softmax", {x[0]}, {}, "", true);
}
Variable rms_norm_rows(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("rms_norm", {x[0], x[1]}, {}, "", true);
}
Variable sum_of_rows(build::FunctionBuilder& f, const std::vector<Variable>& x) {
  return f.emit_op("sum", {x[0]}, {{"axes", std::vector<int64_t>{1}}}, "", true);
}

constexpr double kMatrix = 4096.0 * 4096 * 4;  // bytes
constexpr double kRowsBytes = 2048.0 * 4096 * 4;

}  // namespace

std::vector<Case> opencl_cases() {
  auto fma = [] { return fma_gflops(cpu_threads()); };
  auto read = [] { return read_gbps(64 << 20, cpu_threads()); };
  auto triad = [] { return triad_gbps(64 << 20, cpu_threads()); };
  const double products = 2.0 * 512 * 1024 * 1024;
  const DType bf16 = DType::kBF16;
  const std::vector<Work> works = {
      {"matmul_rows", "GFLOP/s", {{{512, 1024}}, {{1024, 1024}}}, product_rows, products, fma},
      {"matmul_columns",
       "GFLOP/s",
       {{{512, 1024}}, {{1024, 1024}}},
       product_columns,
       products,
       fma},
      {"matmul_rows_bf16",
       "GFLOP/s",
       {{{512, 1024}}, {{1024, 1024}, bf16}},
       product_rows,
       products,
       fma},
      {"matrix_vector", "GB/s", {{{1, 4096}}, {{4096, 4096}}}, product_rows, kMatrix, read},
      {"vector_matrix", "GB/s", {{{1, 4096}}, {{4096, 4096}}}, product_columns, kMatrix, read},
      {"decode_512x192",
       "GB/s",
       {{{1, 192}}, {{512, 192}, bf16}},
       product_rows,
       512.0 * 192 * 2,
       read},
      {"softmax", "GB/s", {{{2048, 4096}}}, softmax_rows, 2 * kRowsBytes, triad},
      {"rms_norm", "GB/s", {{{2048, 4096}}, {{4096}}}, rms_norm_rows, 2 * kRowsBytes, triad},
      {"row_sums", "GB/s", {{{2048, 4096}}}, sum_of_rows, kRowsBytes, read},
  };
  std::vector<Case> cases;
  for (const Work& work : works) {
    cases.push_back(beside_fallback(work));
    cases.push_back(beside_ceiling(work));
  }
  return cases;
}

}  // namespace tapml::bench
