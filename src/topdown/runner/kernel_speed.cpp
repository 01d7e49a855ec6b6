#include "topdown/runner/kernel_speed.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "ir/exceptions.h"
#include "topdown/runner/call_runner.h"

namespace tapml::topdown {

namespace {

// For launches without waits in between. The best of many short batches shows what the device can
// do even if other work shares it.
constexpr double kBatchSeconds = 0.002;
constexpr int kMostLaunches = 64, kBatches = 10;

void time_all(const Suite& suite, const std::vector<int32_t>& kernels, Sandbox& sandbox,
              pipeline::KernelCache* cache, SpeedTable& table) {
  table.ceilings = measure_ceilings(sandbox.session(), sandbox.target(), cache);
  for (int32_t kernel : kernels) {
    auto speed = time_kernel(suite, kernel, sandbox.runner());
    if (!speed) {
      if (!sandbox.contains(speed.error())) throw_error(speed.error());
      sandbox.restart();
      continue;
    }
    if (*speed) table.kernels.push_back(std::move(**speed));
  }
}

}  // namespace

Result<std::optional<KernelSpeed>> time_kernel(const Suite& suite, int32_t kernel,
                                               runtime::KernelRunner& runner) {
  KernelSpeed speed;
  speed.kernel = suite.kernels[static_cast<size_t>(kernel)].name;
  const int32_t number = runner.executable().find_kernel(speed.kernel);
  if (number < 0 || !runner.has(number)) return std::nullopt;
  const KernelWork work(runner.executable().kernels[static_cast<size_t>(number)]);
  std::optional<size_t> largest;
  for (size_t c = 0; c < suite.calls.size(); ++c) {
    if (suite.calls[c].kernel != kernel) continue;
    const CallWork one = work.of(suite.calls[c].scalars);
    if (largest && one.bytes + one.flops <= speed.work.bytes + speed.work.flops) continue;
    largest = c;
    speed.work = one;
  }
  if (!largest) return std::nullopt;
  const SuiteCall& call = suite.calls[*largest];
  speed.sequence = call.sequence;
  runtime::Session& session = runner.session();
  TAPML_ASSIGN(std::vector<runtime::Tensor> args, make_arguments(suite, *largest, session));
  auto run = [&](int launches) -> Result<double> {
    const double start = seconds_now();
    for (int i = 0; i < launches; ++i) {
      TAPML_TRY(runner.enqueue(number, args, call.scalars));
    }
    TAPML_TRY(session.synchronize(runtime::kDefaultStream));
    return (seconds_now() - start) / launches;
  };
  // The first launch loads the code and warms up.
  TAPML_ASSIGN(const double first, run(1));
  TAPML_ASSIGN(speed.seconds, run(1));
  if (first > kBatchSeconds * kMostLaunches && speed.seconds > kBatchSeconds) return speed;
  const int launches = static_cast<int>(
      std::clamp(std::ceil(kBatchSeconds / speed.seconds), 1.0, double{kMostLaunches}));
  for (int i = 0; i < kBatches; ++i) {
    TAPML_ASSIGN(const double seconds, run(launches));
    speed.seconds = std::min(speed.seconds, seconds);
  }
  return speed;
}

SpeedTable measure_speed(const Suite& suite, const std::vector<int32_t>& kernels, Sandbox& sandbox,
                         pipeline::KernelCache* cache) {
  SpeedTable table;
  if (kernels.empty()) return table;
  const auto measured = guard([&] { time_all(suite, kernels, sandbox, cache, table); });
  if (!measured) {
    const Error& error = measured.error();
    if (error.kind != ErrorKind::kPlatform || error.fault == PlatformFault::kCancelled) {
      throw_error(error);
    }
    table.failure = error.to_string();
  }
  flag_slow(table);
  return table;
}

}  // namespace tapml::topdown
