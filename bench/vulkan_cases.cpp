// The cost of launches, memory and products on the Vulkan device, compared with OpenCL, with a loop
// on the CPU (which is the device for lavapipe), and with each other.
#include <algorithm>

#include "cases.h"
#include "ceilings.h"
#include "device/opencl/opencl_device.h"
#include "device/vulkan/vulkan_device.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "pipeline/compile.h"
#include "programs.h"
#include "random_model.h"
#include "relax/annotation.h"

namespace tapml::bench {

namespace {

using relax::Variable;

Result<std::shared_ptr<runtime::Device>> open_platform(const std::string& platform) {
  return platform == "vulkan" ? device::create_vulkan_device() : device::create_opencl_device();
}

struct Operand {
  Shape shape;
  DType dtype = DType::kF32;
};

// An operator on two tensors, or a chain of products, compiled for the device's own description.
class DeviceProgram {
 public:
  DeviceProgram(const std::string& platform, const char* op, const std::vector<Operand>& operands,
                const AttrMap& attrs = {})
      : DeviceProgram(platform, operands,
                      [&](build::FunctionBuilder& f, const std::vector<Variable>& params) {
                        return f.emit_op(op, {params[0], params[1]}, attrs);
                      }) {}
  DeviceProgram(const std::string& platform, int products)
      : DeviceProgram(platform, {{{16, 16}}, {{16, 16}}},
                      [&](build::FunctionBuilder& f, const std::vector<Variable>& params) {
                        Variable product = params[0];
                        for (int i = 0; i < products; ++i) {
                          product = f.emit_op("matmul", {product, params[1]});
                        }
                        return product;
                      }) {}

  // Seconds per call; the final wait is shared by all calls.
  double run(int calls) {
    return seconds_of([&] {
             for (int i = 0; i < calls; ++i) unwrap(vm_->call("main", arguments_));
             unwrap(session_->synchronize(runtime::kDefaultStream));
           }) /
           calls;
  }

  // Seconds until a call returns, before its work is done.
  double enqueue() {
    const double seconds = seconds_of([&] { unwrap(vm_->call("main", arguments_)); });
    unwrap(session_->synchronize(runtime::kDefaultStream));
    return seconds;
  }

 private:
  template <class Build>
  DeviceProgram(const std::string& platform, const std::vector<Operand>& operands, Build&& build)
      : session_(unwrap(runtime::LocalSession::create(unwrap(open_platform(platform))))) {
    Module module;
    build::FunctionBuilder f(module);
    std::vector<Variable> params;
    for (const Operand& operand : operands) {
      const Dims dims(operand.shape.begin(), operand.shape.end());
      params.push_back(f.param("x", relax::tensor_annotation(dims, operand.dtype)));
      HostTensor zeros = HostTensor::zeros(operand.dtype, operand.shape);
      arguments_.emplace_back(unwrap(runtime::upload(*session_, zeros)));
    }
    module.functions["main"] = f.finish(build(f, params));
    target::Target target = target::parse_target(platform);
    target::adopt_device(target, session_->info());
    vm_ = unwrap(runtime::LocalVirtualMachine::create(
        *session_, pipeline::compile(module, std::move(target))));
    run(1);
  }

  std::shared_ptr<runtime::LocalSession> session_;
  std::unique_ptr<runtime::LocalVirtualMachine> vm_;
  std::vector<runtime::Value> arguments_;
};

bool is_missing(const std::string& platform, std::string& absent) {
  auto device = open_platform(platform);
  if (!device) absent = device.error().message;
  return !device;
}

std::shared_ptr<DeviceProgram> vector_sum_of(const std::string& platform, int64_t elements) {
  return std::make_shared<DeviceProgram>(platform, "add",
                                         std::vector<Operand>{{{elements}}, {{elements}}});
}

// Microseconds per call of a kernel over 16 elements, with `calls` before each wait.
Pair call_time(std::string& absent, int calls, int waits) {
  if (is_missing("vulkan", absent) || is_missing("opencl", absent)) return {};
  auto of = [=](const std::string& platform) {
    auto sum = vector_sum_of(platform, 16);
    return [=] {
      double seconds = 0;
      for (int i = 0; i < waits; ++i) seconds += sum->run(calls);
      return 1e6 * seconds / waits;
    };
  };
  return {of("vulkan"), of("opencl")};
}
Pair launches(std::string& absent) { return call_time(absent, 1000, 1); }
Pair waits(std::string& absent) { return call_time(absent, 1, 200); }

// Microseconds of the host per launch of a function of 64 products of 16 by 16, called again and
// again as a model's step is. The device's time is not in it: each call waits for the one before.
Pair enqueued(std::string& absent) {
  if (is_missing("vulkan", absent) || is_missing("opencl", absent)) return {};
  constexpr int kProducts = 64, kCalls = 50;
  auto of = [=](const std::string& platform) {
    auto chain = std::make_shared<DeviceProgram>(platform, kProducts);
    return [=] {
      double seconds = 0;
      for (int i = 0; i < kCalls; ++i) seconds += chain->enqueue();
      return 1e6 * seconds / (kCalls * kProducts);
    };
  };
  return {of("vulkan"), of("opencl")};
}

constexpr int64_t kSumElements = 8 << 20;
constexpr int64_t kSumBytes = 3 * 4 * kSumElements;

// GB/s over 96 MiB in three vectors.
Pair vector_sum(std::string& absent, const std::string& platform) {
  if (is_missing(platform, absent)) return {};
  auto sum = vector_sum_of(platform, kSumElements);
  return against_ceiling([=] { return 1e-9 * kSumBytes / sum->run(4); },
                         [] { return triad_gbps(kSumBytes, cpu_threads()); });
}
Pair vulkan_sum(std::string& absent) { return vector_sum(absent, "vulkan"); }
Pair opencl_sum(std::string& absent) { return vector_sum(absent, "opencl"); }

struct MatrixVector {
  int64_t rows, columns;  // of the weights in memory
  bool transposed;        // reduces rows, as in linear layers; otherwise columns
  DType dtype = DType::kF32;
};

constexpr MatrixVector kMatrixVectors[] = {
    {576, 576, true},
    {1536, 576, true},
    {576, 1536, true},
    {49152, 576, true},
    {49152, 576, true, DType::kBF16},
    {4096, 4096, true},
    {4096, 4096, true, DType::kBF16},
    {4096, 4096, true, DType::kF16},
    {576, 576, false},
    {576, 1536, false},
    {4096, 4096, false},
};

// GB/s of the weights, compared with a vector sum of 96 MiB on the same device.
Pair matrix_vector(std::string& absent, const MatrixVector& of) {
  if (is_missing("vulkan", absent)) return {};
  const int64_t length = of.transposed ? of.columns : of.rows;
  auto product = std::make_shared<DeviceProgram>(
      "vulkan", "matmul", std::vector<Operand>{{{1, length}}, {{of.rows, of.columns}, of.dtype}},
      AttrMap{{"transpose_b", of.transposed}});
  const int64_t bytes = of.rows * of.columns * static_cast<int64_t>(dtype_bytes(of.dtype));
  const int calls = static_cast<int>(std::max<int64_t>(1, (32 << 20) / bytes));
  auto sum = vector_sum_of("vulkan", kSumElements);
  return {[=] { return 1e-9 * static_cast<double>(bytes) / product->run(calls); },
          [=] { return 1e-9 * kSumBytes / sum->run(1); }};
}

// Tokens per second of a model of 135M random weights after a prompt of four tokens.
Pair decode_135m(std::string& absent) {
  if (is_missing("vulkan", absent)) return {};
  struct Model {
    std::shared_ptr<runtime::LocalSession> session;
    std::unique_ptr<llm::Engine> engine;
  };
  const auto files = random_model(kSmolLm2, {.dtype = DType::kBF16});
  auto model = std::make_shared<Model>();
  model->session = unwrap(runtime::LocalSession::create(unwrap(open_platform("vulkan"))));
  target::Target target = target::parse_target("vulkan");
  target::adopt_device(target, model->session->info());
  model->engine = unwrap(
      llm::Engine::create(*model->session, pipeline::compile(files.module, target), files.weights));
  auto decode = [=] {
    constexpr int kTokens = 8;
    llm::Engine& engine = *model->engine;
    engine.reset();
    unwrap(engine.set_sampler({}));
    int32_t token = unwrap(engine.sample(unwrap(engine.prefill(std::vector<int32_t>{1, 2, 3, 4}))));
    return kTokens / seconds_of([&] {
             for (int i = 0; i < kTokens; ++i) {
               token = unwrap(engine.sample(unwrap(engine.decode(token))));
             }
           });
  };
  decode();
  return {decode, nullptr};
}

std::vector<Case> device_cases() {
  auto call = [](const char* name, Pair (*prepare)(std::string&)) {
    return Case{.name = name,
                .unit = "us",
                .peer = "opencl",
                .bound = Bound::kAtMost,
                .bar = 4,
                .prepare = prepare};
  };
  auto sum = [](const char* name, double bar, Pair (*prepare)(std::string&)) {
    return Case{.name = name, .unit = "GB/s", .peer = "triad", .bar = bar, .prepare = prepare};
  };
  return {call("vulkan/launch", launches), call("vulkan/launch_and_wait", waits),
          call("vulkan/enqueue", enqueued), sum("vulkan/vector_sum", 0.1, vulkan_sum),
          sum("opencl/vector_sum", 0.5, opencl_sum)};
}

}  // namespace

std::vector<Case> vulkan_cases() {
  std::vector<Case> cases = device_cases();
  for (const MatrixVector& of : kMatrixVectors) {
    cases.push_back({.name = std::string("vulkan/") +
                             (of.transposed ? "matrix_vector_" : "vector_matrix_") +
                             std::to_string(of.rows) + "x" + std::to_string(of.columns) + "_" +
                             dtype_name(of.dtype),
                     .unit = "GB/s",
                     .peer = "vector sum",
                     .bar = 0.6,
                     .prepare = [of](std::string& absent) { return matrix_vector(absent, of); }});
  }
  cases.push_back({.name = "vulkan/smollm2_135m/decode",
                   .unit = "tokens/s",
                   .peer = "",
                   .bar = 2,
                   .figure = true,
                   .prepare = decode_135m,
                   .pairs = 5});
  return cases;
}

}  // namespace tapml::bench
