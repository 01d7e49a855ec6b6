// Memory of a prefill at full context for activations and results: each tensor on its own, a pool
// that frees at the last use, and the plan. Excludes workspaces, which depend on the platform.
// These numbers are computed from the model's configuration, not measured. Also compares the
// predicted peak with the maximum allocated by the cpu device.
#include "analysis/liveness.h"
#include "arith/evaluate.h"
#include "cases.h"
#include "frontend/huggingface/model.h"
#include "ir/exceptions.h"
#include "passes/memory/report.h"
#include "passes/plan_memory.h"
#include "pipeline/compile.h"
#include "relax/visit.h"
#include "support/memory_meter.h"
#include "support/random_llama.h"

namespace tapml::bench {

namespace {

constexpr const char* kFunction = "prefill";
constexpr double kMiB = 1024.0 * 1024.0;

using testing::Values;

double value_of(const PrimExpr& expr, const Values& values) {
  return static_cast<double>(testing::value_of(expr, values));
}

// Excludes memory allocated at load.
double planned_bytes(const Module& fixed, const passes::PlanMemoryOptions& options,
                     const Values& values) {
  passes::MemoryReport report = passes::memory_report(passes::plan_memory_with(fixed, options));
  for (const passes::FunctionMemory& function : report.functions) {
    if (function.name != kFunction) continue;
    return value_of(function.peak, values) - static_cast<double>(report.constant_bytes);
  }
  throw_internal(std::string("no function ") + kFunction);
}

// The maximum in use at one time.
double pool_bytes(const Module& fixed, const Values& values) {
  const auto& function = *relax::as_relax_function(fixed.find(kFunction));
  analysis::Liveness live =
      analysis::find_liveness(function, [](const relax::Expr&) { return false; });
  std::map<const relax::VarNode*, const relax::CallNode*> calls;
  relax::visit_bindings(function.body, [&](const relax::Binding& binding, bool) {
    calls[binding.var.get()] = relax::as<relax::CallNode>(binding.value);
  });
  std::map<int64_t, double> change;  // by position
  for (const analysis::Allocation& one : live.allocations) {
    const auto* tensor = relax::as_tensor(calls.at(one.owner)->annotations.at(one.output));
    double bytes = value_of(passes::storage_bytes(*tensor->shape, *tensor->dtype), values);
    change[one.first] += bytes;
    change[one.last + 1] -= bytes;
  }
  double now = 0, most = 0;
  for (const auto& [position, bytes] : change) most = std::max(most, now += bytes);
  return most;
}

Pair activations(const char* config, bool against_pool) {
  Module module = frontend::read_config(config).module;
  Module fixed = pipeline::form_kernels(module);
  int64_t context = unwrap(model_interface_of(fixed.all_attrs())).context;
  Values values = {{"b", 1}, {"n", context}, {"p", (context + 15) / 16}, {"pages", context / 16}};
  double on = planned_bytes(fixed, {}, values) / kMiB;
  double other = against_pool ? pool_bytes(fixed, values)
                              : planned_bytes(fixed, {.bounds = {}, .reuse = false}, values);
  other /= kMiB;
  return {[=] { return on; }, [=] { return other; }};
}

// Number of calls of random models whose peak differs from the prediction, over 20 configurations
// with 5 shapes each, including alignment, workspaces and packed weights.
double wrong_peaks() {
  int64_t wrong = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const testing::Compiled compiled = testing::compile_for(
        "cpu", models::build_decoder(models::llama_model(testing::random_llama(seed)), {}));
    for (int64_t n : {1, 2, 5, 17, 64}) {
      const Values values = {{"b", 1 + n % 2}, {"n", n}, {"p", 8}, {"pages", 16}};
      const int64_t predicted = testing::value_of(compiled.function(kFunction).peak, values);
      wrong += testing::measure(compiled, kFunction, values) != predicted;
    }
  }
  return static_cast<double>(wrong);
}

Pair predicted_peaks(std::string&) { return {wrong_peaks, nullptr}; }

constexpr const char* kLlama2 = "bench/models/llama2_7b.json";
constexpr const char* kLlama3 = "bench/models/llama3_8b.json";

Pair llama2_off(std::string&) { return activations(kLlama2, false); }
Pair llama2_pool(std::string&) { return activations(kLlama2, true); }
Pair llama3_off(std::string&) { return activations(kLlama3, false); }
Pair llama3_pool(std::string&) { return activations(kLlama3, true); }

Case memory_case(const char* name, const char* peer, double bar,
                 Pair (*prepare)(std::string& absent)) {
  return {.name = name,
          .unit = "MiB",
          .peer = peer,
          .bound = Bound::kAtMost,
          .bar = bar,
          .prepare = prepare,
          .pairs = 5};
}

}  // namespace

std::vector<Case> memory_cases() {
  constexpr const char* kOff = "a storage for each tensor";
  constexpr const char* kPool = "a pool that frees at the last use";
  return {
      memory_case("memory/llama2_7b_off", kOff, 0.5, llama2_off),
      memory_case("memory/llama2_7b_pool", kPool, 1.1, llama2_pool),
      memory_case("memory/llama3_8b_off", kOff, 0.5, llama3_off),
      memory_case("memory/llama3_8b_pool", kPool, 1.1, llama3_pool),
      {.name = "memory/wrong_peaks",
       .unit = "of 100",
       .bound = Bound::kAtMost,
       .bar = 0,
       .figure = true,
       .prepare = predicted_peaks,
       .pairs = 1},
  };
}

}  // namespace tapml::bench
