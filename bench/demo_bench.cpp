// Compile time of a model for the CPU, and the time of a decode step against the sum of its
// kernels' times: what is left is the cost of the virtual machine, the call point and the session.
//
//   demo_bench MODEL_DIRECTORY [tokens]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "codegen/llvm/native.h"
#include "device/cpu/cpu_device.h"
#include "frontend/huggingface/model.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "pipeline/compile.h"
#include "runtime/local_session.h"

namespace {

using namespace tapml;
using Clock = std::chrono::steady_clock;

constexpr int kRepeats = 5;
constexpr double kMaxCompileSeconds = 3;
constexpr double kMaxDecodeRatio = 1.5;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Sums the time from before() to after() of every kernel call.
class KernelClock final : public runtime::Observer {
 public:
  bool wants(const runtime::CallSite&, int64_t) noexcept override { return true; }
  Status before(const runtime::KernelCall&) noexcept override {
    start_ = Clock::now();
    return {};
  }
  Status after(const runtime::KernelCall&) noexcept override {
    seconds_ += seconds_since(start_);
    ++calls_;
    return {};
  }
  void reset() {
    seconds_ = 0;
    calls_ = 0;
  }
  double seconds() const { return seconds_; }
  int64_t calls() const { return calls_; }

 private:
  Clock::time_point start_;
  double seconds_ = 0;
  int64_t calls_ = 0;
};

// Seconds of `steps` greedy decode steps after a short prompt; `clock`, when given, sees only them.
double decode_seconds(llm::Engine& engine, int64_t steps, KernelClock* clock) {
  engine.reset();
  unwrap(engine.set_sampler({}));
  const std::vector<int32_t> prompt = {1, 2, 3, 4};
  int32_t token = unwrap(engine.sample(unwrap(engine.prefill(prompt))));
  if (clock) {
    clock->reset();
    engine.vm().call_point().set_observer(clock);
  }
  Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < steps; ++i) token = unwrap(engine.sample(unwrap(engine.decode(token))));
  double seconds = seconds_since(start);
  engine.vm().call_point().set_observer(nullptr);
  return seconds;
}

void print_compile(const Module& module, const target::Target& target) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    Clock::time_point start = Clock::now();
    pipeline::compile(module, target);
    seconds.push_back(seconds_since(start));
  }
  std::printf("compile   %8.3f s      (median of %d; at most %.0f s)\n", median(seconds), kRepeats,
              kMaxCompileSeconds);
}

void print_decode(llm::Engine& engine, int64_t steps) {
  KernelClock clock;
  decode_seconds(engine, steps, nullptr);  // caches and pages are warm from here on
  // The machine's speed drifts, so a plain run and a timed one stand side by side.
  std::vector<double> plain, kernels, ratios;
  for (int i = 0; i < kRepeats; ++i) {
    plain.push_back(decode_seconds(engine, steps, nullptr));
    decode_seconds(engine, steps, &clock);
    kernels.push_back(clock.seconds());
    ratios.push_back(plain.back() / kernels.back());
  }
  double count = static_cast<double>(steps);
  std::printf("decode    %8.3f ms/token  (%.1f tokens/s, %lld kernel calls a token)\n",
              1e3 * median(plain) / count, count / median(plain),
              static_cast<long long>(clock.calls() / steps));
  std::printf("kernels   %8.3f ms/token  (sum of their times)\n", 1e3 * median(kernels) / count);
  std::printf("ratio     %8.3f           (decode / kernels; at most %.1f)\n", median(ratios),
              kMaxDecodeRatio);
}

int run(const std::string& folder, int64_t steps) {
  frontend::HuggingFaceModel model = frontend::read_model(folder);
  target::Target target = target::parse_target("cpu");
  std::printf("model     %s, target cpu, %lld decode steps, median of %d\n", folder.c_str(),
              static_cast<long long>(steps), kRepeats);
  print_compile(model.module, target);

  auto device = std::make_shared<device::CpuDevice>(0, codegen::make_jit_loader());
  auto session = unwrap(runtime::LocalSession::create(device));
  auto engine =
      unwrap(llm::Engine::create(*session, pipeline::compile(model.module, target), model.weights));
  print_decode(*engine, std::min(steps, engine->capacity() - 8));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: demo_bench MODEL_DIRECTORY [tokens]\n");
    return 2;
  }
  auto code = guard([&] { return run(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 100); });
  if (code) return *code;
  std::fprintf(stderr, "demo_bench: %s\n", code.error().to_string().c_str());
  return 2;
}
