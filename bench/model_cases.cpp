#include "carving.h"
#include "cases.h"
#include "ceilings.h"
#include "compiled_model.h"
#include "device/allocations.h"
#include "device/null/null_device.h"
#include "frontend/huggingface/model.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "pipeline/compile.h"
#include "programs.h"

namespace tapml::bench {

namespace {

std::shared_ptr<CompiledModel> random_171m() {
  static std::weak_ptr<CompiledModel> kept;
  if (auto model = kept.lock()) return model;
  auto model = std::make_shared<CompiledModel>(random_model(kLlama171m));
  kept = model;
  return model;
}

Pair decode_171m(std::string&) {
  auto model = random_171m();
  int64_t bytes = model->decode_bytes();
  model->decode(4);
  return against_ceiling([=] { return 1e-9 * static_cast<double>(bytes) / model->decode(8); },
                         [=] { return read_gbps(bytes, cpu_threads()); });
}

Pair prefill_171m(std::string& absent) {
  auto model = random_171m();
  return against_torch(absent, 512, [=] { return model->prefill(512); },
                       {kLlama171m, "prefill", "512"});
}

Pair decode_demo(std::string& absent) {
  auto model = std::make_shared<CompiledModel>(frontend::read_model(kDemo));
  return against_torch(absent, 1, [=] { return model->decode(64); }, {kDemo, "decode", "64"});
}

Pair compile_demo(std::string&) {
  auto module = std::make_shared<Module>(frontend::read_model(kDemo).module);
  return {
      [=] { return seconds_of([&] { pipeline::compile(*module, target::parse_target("cpu")); }); },
      nullptr};
}

// Sums the time from before() to after() over all kernel calls.
class KernelClock final : public runtime::Observer {
 public:
  bool wants(const runtime::CallSite&, int64_t) noexcept override { return true; }
  Status before(const runtime::KernelCall&) noexcept override {
    start_ = seconds_now();
    return {};
  }
  Status after(const runtime::KernelCall&) noexcept override {
    seconds_ += seconds_now() - start_;
    return {};
  }
  double take() { return std::exchange(seconds_, 0.0); }

 private:
  double start_ = 0, seconds_ = 0;
};

// A decode step without its kernels: VM, call point, session, sampling.
Pair decode_over_kernels(std::string&) {
  auto model = std::make_shared<CompiledModel>(frontend::read_model(kDemo));
  auto clock = std::make_shared<KernelClock>();
  constexpr int64_t kSteps = 100;
  model->decode(kSteps);
  return {[=] { return 1e3 * model->decode(kSteps); },
          [=] {
            runtime::CallPoint& calls = model->engine->local_vm().call_point();
            calls.set_observer(clock.get());
            // Includes the prefill before the steps, which is a few percent.
            model->decode(kSteps);
            calls.set_observer(nullptr);
            return 1e3 * clock->take() / kSteps;
          }};
}

// A program of many small kernel calls on a device that computes nothing.
class Calls {
 public:
  static constexpr int kCalls = 500;

  Calls() {
    Module module;
    build::FunctionBuilder f(module);
    auto square = relax::tensor_annotation({1, 1}, DType::kF32);
    relax::Variable x = f.param("x", square), w = f.param("w", square);
    for (int i = 0; i < kCalls; ++i) x = f.emit_op("matmul", {x, w});
    module.functions["main"] = f.finish(x);
    session_ = unwrap(runtime::LocalSession::create(device_));
    auto executable = pipeline::compile(module, target::parse_target("null"));
    vm_ = unwrap(runtime::LocalVirtualMachine::create(*session_, executable));
    runtime::Tensor one =
        unwrap(runtime::upload(*session_, HostTensor::zeros(DType::kF32, {1, 1})));
    arguments_ = {one, one};
    for (int i = 0; i < 4; ++i) run();
  }

  void run() { last_ = unwrap(vm_->call("main", arguments_)); }
  // Number of allocations so far, on the heap and on the device.
  int64_t allocations() const { return test::allocation_count + device_->counts().allocations; }

 private:
  // Declared in order of dependence: values are destroyed first.
  std::shared_ptr<device::NullDevice> device_ = std::make_shared<device::NullDevice>();
  std::unique_ptr<runtime::LocalSession> session_;
  std::unique_ptr<runtime::LocalVirtualMachine> vm_;
  std::vector<runtime::Value> arguments_;
  runtime::Value last_;
};

// Nanoseconds per call of the virtual machine.
Pair vm_overhead(std::string&) {
  auto calls = std::make_shared<Calls>();
  return {[=] { return 1e9 * seconds_of([&] { calls->run(); }, 5) / Calls::kCalls; }, nullptr};
}

// Allocations of a run after identical runs.
Pair vm_allocations(std::string& absent) {
  if (!test::counts_allocations) {
    absent = "under sanitizers";
    return {};
  }
  auto calls = std::make_shared<Calls>();
  return {[=] {
            int64_t before = calls->allocations();
            calls->run();
            return static_cast<double>(calls->allocations() - before);
          },
          nullptr};
}

// Seconds that carving adds to a run, relative to the allowance: 20 us a call and 1 GB/s of new
// bytes.
Pair carving(std::string&) {
  auto model = std::make_shared<CompiledModel>(frontend::read_model(kDemo));
  return {[=] {
            const auto run = [&] { return seconds_of([&] { model->decode(16); }); };
            return carving_cost(*model->executable, model->engine->local_vm().call_point(), run)
                .over_bound;
          },
          nullptr};
}

}  // namespace

std::vector<Case> model_cases() {
  return {
      {.name = "compile/demo",
       .unit = "s",
       .bound = Bound::kAtMost,
       .bar = 3,
       .figure = true,
       .prepare = compile_demo,
       .pairs = 5},
      {.name = "decode/demo_over_kernels",
       .unit = "ms/token",
       .peer = "sum of kernels",
       .bound = Bound::kAtMost,
       .bar = 1.5,
       .prepare = decode_over_kernels},
      {.name = "decode/demo",
       .unit = "tokens/s",
       .peer = "PyTorch eager",
       .bar = 5,
       .prepare = decode_demo},
      {.name = "decode/llama_171m",
       .unit = "GB/s",
       .peer = "read",
       .bar = 0.8,
       .prepare = decode_171m},
      {.name = "prefill/llama_171m_512",
       .unit = "tokens/s",
       .peer = "PyTorch eager",
       .bar = 0.8,
       .prepare = prefill_171m},
      {.name = "vm/call",
       .unit = "ns",
       .bound = Bound::kAtMost,
       .bar = 150,
       .figure = true,
       .prepare = vm_overhead},
      {.name = "vm/allocations",
       .unit = "a run",
       .bound = Bound::kAtMost,
       .bar = 0,
       .figure = true,
       .prepare = vm_allocations},
      {.name = "carve/demo",
       .unit = "of bound",
       .bound = Bound::kAtMost,
       .bar = 1,
       .figure = true,
       .prepare = carving},
  };
}

}  // namespace tapml::bench
