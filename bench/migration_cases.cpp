// The cost of top-down bring-up, as in Table 7 of the TapML paper: rooting a model on the source
// platform, carving it, and validating its kernels on the target. The workload is the paper's: a
// prompt of six tokens and one decode step.
#include <algorithm>

#include "carving.h"
#include "cases.h"
#include "device/opencl/opencl_device.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "pipeline/compile.h"
#include "programs.h"
#include "random_model.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/child_process.h"
#include "topdown/migrate/migrate.h"

namespace tapml::bench {

namespace {

constexpr const char* kMigratingProgram = "build/tapml";
const std::vector<int32_t> kMigratedPrompt = {1, 2, 3, 4, 5, 6};

// A model on one platform, compiled without a cache.
struct Rooted {
  double compile = 0, load = 0, run = 0;  // seconds
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<llm::Engine> engine;

  Rooted(const frontend::HuggingFaceModel& model, const target::Target& target,
         runtime::Session& session) {
    compile = seconds_of([&] { executable = pipeline::compile(model.module, target); });
    load = seconds_of([&] {
      engine = unwrap(
          llm::Engine::create(session, executable, model.weights, {.weights_in_place = true}));
    });
    run = generate();
  }

  // Runs the workload and returns its seconds.
  double generate() const {
    unwrap(engine->clear());
    llm::GenerateOptions options;
    options.max_tokens = 2;
    return seconds_of([&] { unwrap(engine->generate(kMigratedPrompt, options)); });
  }
};

struct Overhead {
  double target_compile = 0, target_load = 0, target_run = 0;
  double source_compile = 0, source_load = 0, carve = 0;
  double carve_over_bound = 0;  // allowance: 20 us a call and 1 GB/s of new bytes
  double kernel = 0;            // median of the validations
  double migration = 0;
};

// Kernels under test run in a separate process, as in `tapml migrate`.
topdown::Platform target_platform() {
  topdown::Platform platform;
  platform.target = target::parse_target("opencl");
  platform.open = [] {
    rpc::ConnectOptions connect;
    connect.target = "opencl";
    auto channel =
        unwrap(rpc::start_program({kMigratingProgram, "kernel-worker"}, "the kernel under test"));
    return std::unique_ptr<runtime::Session>(
        unwrap(rpc::RemoteSession::connect(std::move(channel), connect)));
  };
  return platform;
}

Overhead measure(const frontend::HuggingFaceModel& model) {
  Overhead result;
  {
    auto device = unwrap(device::create_opencl_device());
    auto session = unwrap(runtime::LocalSession::create(device));
    const Rooted target(model, target::parse_target("opencl"), *session);
    result.target_compile = target.compile;
    result.target_load = target.load;
    result.target_run = target.run;
  }
  auto session = cpu_session();
  {
    const Rooted source(model, target::parse_target("cpu"), *session);
    result.source_compile = source.compile;
    result.source_load = source.load;
    const CarvingCost cost =
        carving_cost(*source.executable, source.engine->local_vm().call_point(),
                     [&] { return source.generate(); });
    result.carve = cost.seconds;
    result.carve_over_bound = cost.over_bound;
  }
  topdown::MigrateOptions options;
  options.max_tokens = options.validation_tokens = 2;
  const topdown::Migration migration = topdown::migrate(
      model.module, model.weights, kMigratedPrompt, {target::parse_target("cpu"), session.get()},
      topdown::MigrationTarget{target_platform()}, options);
  if (!migration.passed()) throw_internal("the measured migration does not pass");
  std::vector<double> kernels;
  for (const topdown::MigrationStep& step : migration.steps) {
    kernels.push_back(step.verdict.seconds);
  }
  result.kernel = median_interval(kernels).middle;
  result.migration = migration.seconds;
  return result;
}

// All rows of a model share the same measurements, one a sample.
struct Measured {
  std::function<frontend::HuggingFaceModel()> read;
  std::vector<Overhead> samples;

  const Overhead& sample(size_t index) {
    while (samples.size() <= index) samples.push_back(measure(read()));
    return samples[index];
  }
};

struct Figure {
  const char* name;
  const char* unit;
  double Overhead::* value;
  double bar;  // 0: none
};

void add(std::vector<Case>& cases, const std::string& name,
         std::function<frontend::HuggingFaceModel()> read, int samples, double whole_bar) {
  constexpr double kNone = 0;
  auto measured = std::make_shared<Measured>(Measured{std::move(read), {}});
  for (const Figure& figure : {
           Figure{"target_compile", "s", &Overhead::target_compile, kNone},
           Figure{"target_load", "s", &Overhead::target_load, kNone},
           Figure{"target_first_run", "s", &Overhead::target_run, kNone},
           Figure{"source_compile", "s", &Overhead::source_compile, kNone},
           Figure{"source_load", "s", &Overhead::source_load, kNone},
           Figure{"carve", "s", &Overhead::carve, kNone},
           Figure{"carve_over_bound", "of bound", &Overhead::carve_over_bound, 1},
           Figure{"validate_a_kernel", "s", &Overhead::kernel, 0.1},
           Figure{"migrate", "s", &Overhead::migration, whole_bar},
       }) {
    Case row;
    row.name = "overhead/" + name + "/" + figure.name;
    row.unit = figure.unit;
    row.bound = Bound::kAtMost;
    row.bar = figure.bar;
    row.figure = true;
    row.no_bar = figure.bar == kNone;
    row.pairs = samples;
    row.prepare = [measured, value = figure.value](std::string& absent) -> Pair {
      if (auto device = device::create_opencl_device(); !device) {
        absent = device.error().message;
        return {};
      }
      auto next = std::make_shared<size_t>(0);
      return {[measured, value, next] { return measured->sample((*next)++).*value; }, nullptr};
    };
    cases.push_back(std::move(row));
  }
}

}  // namespace

std::vector<Case> migration_cases() {
  std::vector<Case> cases;
  add(cases, "demo", [] { return frontend::read_model(kDemo); }, 5, 30);
  add(cases, "llama_171m", [] { return random_model(kLlama171m); }, 1, 120);
  return cases;
}

}  // namespace tapml::bench
