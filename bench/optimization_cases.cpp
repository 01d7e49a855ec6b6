// The benefit of single optimizations on a language model, and the cost of symbolic dimensions: the
// same model with and without them, alternating.
#include <numeric>
#include <set>

#include "cases.h"
#include "device/cpu/library/host_library.h"
#include "frontend/huggingface/model.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "passes/specialize.h"
#include "pipeline/compile.h"
#include "programs.h"
#include "random_model.h"
#include "relax/visit.h"

namespace tapml::bench {

namespace {

constexpr int64_t kOptimizedPrompt = 512;

// ---- bytes

// Bytes of activations that the kernels of `function` read and write at n tokens: only what kernels
// produce, without parameters (weights, pools) and in-place updates.
double activation_bytes(const Module& fixed, const std::string& function, int64_t n) {
  const auto& source = *relax::as_relax_function(fixed.find(function));
  std::map<const relax::VarNode*, double> made;
  auto bytes_of = [&](const relax::Annotation& annotation) {
    const auto* tensor = relax::as_tensor(annotation);
    if (!tensor || !tensor->shape) return 0.0;
    double bytes = static_cast<double>(dtype_bytes(*tensor->dtype));
    for (PrimExpr dim : *tensor->shape) {
      VarMap values;
      for (const Var& var : free_vars(dim)) values[var.get()] = var->name == "n" ? n : 1;
      dim = rewrite_expr(substitute(dim, values), [](const PrimExpr& e) {
        return is_binary(e.kind()) && e.operand(0).is_int() && e.operand(1).is_int() &&
                       e.kind() == ExprKind::kSub
                   ? PrimExpr(e.operand(0)->int_value - e.operand(1)->int_value)
                   : PrimExpr();
      });
      if (!dim.is_int()) throw_internal("no value of " + to_string(dim));
      bytes *= static_cast<double>(dim->int_value);
    }
    return bytes;
  };
  double moved = 0;
  relax::visit_bindings(source.body, [&](const relax::Binding& binding, bool) {
    const std::string& op = relax::called_operator(binding.value);
    const auto* call = relax::as<relax::CallNode>(binding.value);
    if (op == "reshape") {
      if (const auto* from = relax::as<relax::VarNode>(call->args[0]); made.contains(from)) {
        made[binding.var.get()] = made.at(from);
      }
    }
    if (!relax::is_call_tir(binding.value)) return;
    for (const relax::Expr& arg : relax::call_tir_args(*call)) {
      const auto* var = relax::as<relax::VarNode>(arg);
      if (var && made.contains(var)) moved += made.at(var);
    }
    if (op == "call_tir") moved += made[binding.var.get()] = bytes_of(binding.var->annotation);
  });
  return moved;
}

Pair fused_bytes(std::string&) {
  const Module module = frontend::read_config(kLlama171m).module;
  pipeline::Instruments apart;
  apart.skip = {"fuse_ops"};
  constexpr double kMiB = 1024.0 * 1024.0;
  const double with =
      activation_bytes(pipeline::form_kernels(module), "prefill", kOptimizedPrompt) / kMiB;
  const double without =
      activation_bytes(pipeline::form_kernels(module, apart), "prefill", kOptimizedPrompt) / kMiB;
  return {[=] { return with; }, [=] { return without; }};
}

// ---- speed

using Weights = decltype(frontend::HuggingFaceModel::weights);

// A model and the workload of a sample.
struct Subject {
  frontend::HuggingFaceModel files;
  int64_t prompt = kOptimizedPrompt;  // of prefill
  int64_t decode_prompt = 4;          // before the steps
  int64_t steps = 8;
};

// One model compiled in two ways, on one session.
class Arms {
 public:
  using Change = std::function<void(Module&, pipeline::ImplementOptions&)>;

  // `change`: the second variant, on target `changed`.
  Arms(const Subject& subject, const Change& change, const std::string& changed)
      : prompt(subject.prompt), decode_prompt(subject.decode_prompt), steps(subject.steps) {
    const frontend::HuggingFaceModel& files = subject.files;
    pipeline::ImplementOptions options;
    options.libraries.is_installed = device::is_library_installed;
    with_ = engine(pipeline::compile(files.module, target::parse_target("cpu"), options),
                   files.weights);
    Module module = files.module;
    change(module, options);
    without_ =
        engine(pipeline::compile(module, target::parse_target(changed), options), files.weights);
  }

  llm::Engine& with() const { return *with_; }
  llm::Engine& without() const { return *without_; }
  runtime::LocalSession& session() const { return *session_; }

  const int64_t prompt, decode_prompt, steps;

 private:
  std::unique_ptr<llm::Engine> engine(std::shared_ptr<const Executable> executable,
                                      const Weights& weights) const {
    return unwrap(llm::Engine::create(*session_, std::move(executable), weights));
  }

  std::shared_ptr<runtime::LocalSession> session_ = cpu_session();
  std::unique_ptr<llm::Engine> with_, without_;
};

std::vector<int32_t> tokens_from_one(int64_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 1);
  return tokens;
}

double prefill_rate(llm::Engine& engine, const Arms& arms) {
  engine.reset();
  const std::vector<int32_t> tokens = tokens_from_one(arms.prompt);
  const double start = seconds_now();
  unwrap(engine.prefill(tokens));
  unwrap(arms.session().synchronize(runtime::kDefaultStream));
  return static_cast<double>(arms.prompt) / (seconds_now() - start);
}

double decode_rate(llm::Engine& engine, const Arms& arms) {
  engine.reset();
  unwrap(engine.set_sampler({}));
  int32_t token =
      unwrap(engine.sample(unwrap(engine.prefill(tokens_from_one(arms.decode_prompt)))));
  const double start = seconds_now();
  for (int64_t i = 0; i < arms.steps; ++i) {
    token = unwrap(engine.sample(unwrap(engine.decode(token))));
  }
  return static_cast<double>(arms.steps) / (seconds_now() - start);
}

// The rows of one optimization share the arms.
enum class Without : uint8_t { kFusion, kPlanning, kLibraries, kSymbols, kSymbolsDemo };

// The context of both has room for the steps.
constexpr int64_t kDemoPrompt = 256;

Subject subject_of(Without what) {
  if (what == Without::kSymbolsDemo) {
    return {frontend::read_model(kDemo), kDemoPrompt, kDemoPrompt, 64};
  }
  Subject subject{random_model(kLlama171m)};
  if (what == Without::kSymbols) subject.decode_prompt = subject.prompt;
  return subject;
}

// One sequence; the prefill has the subject's number of tokens.
void make_static(Module& module, int64_t prompt) {
  module = passes::specialize(module, "prefill", {{"b", 1}, {"n", prompt}});
  module = passes::specialize(module, "decode", {{"b", 1}});
}

std::shared_ptr<Arms> arms(Without what) {
  static std::weak_ptr<Arms> kept[5];
  auto& known = kept[static_cast<size_t>(what)];
  if (auto shared = known.lock()) return shared;
  const Subject subject = subject_of(what);
  const auto change = [&](Module& module, pipeline::ImplementOptions& options) {
    if (what == Without::kFusion) options.instruments.skip = {"fuse_ops"};
    if (what == Without::kPlanning) options.memory.reuse = false;
    if (what == Without::kSymbols || what == Without::kSymbolsDemo) {
      make_static(module, subject.prompt);
    }
  };
  auto made =
      std::make_shared<Arms>(subject, change, what == Without::kLibraries ? "cpu:libs=off" : "cpu");
  known = made;
  return made;
}

Pair prefill(Without what) {
  auto both = arms(what);
  return {[=] { return prefill_rate(both->with(), *both); },
          [=] { return prefill_rate(both->without(), *both); }};
}

Pair decode(Without what) {
  auto both = arms(what);
  return {[=] { return decode_rate(both->with(), *both); },
          [=] { return decode_rate(both->without(), *both); }};
}

Pair fusion_prefill(std::string&) { return prefill(Without::kFusion); }
Pair fusion_decode(std::string&) { return decode(Without::kFusion); }
Pair planning_prefill(std::string&) { return prefill(Without::kPlanning); }
Pair planning_decode(std::string&) { return decode(Without::kPlanning); }
Pair libraries_prefill(std::string&) { return prefill(Without::kLibraries); }
Pair libraries_decode(std::string&) { return decode(Without::kLibraries); }
Pair symbolic_prefill(std::string&) { return prefill(Without::kSymbols); }
Pair symbolic_decode(std::string&) { return decode(Without::kSymbols); }
Pair symbolic_demo_prefill(std::string&) { return prefill(Without::kSymbolsDemo); }
Pair symbolic_demo_decode(std::string&) { return decode(Without::kSymbolsDemo); }

}  // namespace

std::vector<Case> optimization_cases() {
  auto speed = [](const char* name, const char* peer, Pair (*prepare)(std::string&),
                  double bar = 1) {
    return Case{.name = name, .unit = "tokens/s", .peer = peer, .bar = bar, .prepare = prepare};
  };
  return {
      {.name = "fusion/activation_bytes_512",
       .unit = "MiB",
       .peer = "without fusion",
       .bound = Bound::kAtMost,
       .bar = 0.9,
       .prepare = fused_bytes,
       .pairs = 5},
      speed("fusion/prefill_512", "without fusion", fusion_prefill),
      speed("fusion/decode", "without fusion", fusion_decode),
      speed("planning/prefill_512", "without planning", planning_prefill),
      speed("planning/decode", "without planning", planning_decode),
      speed("libraries/prefill_512", "libs=off", libraries_prefill),
      speed("libraries/decode", "libs=off", libraries_decode),
      speed("symbolic/prefill_512", "static dimensions", symbolic_prefill, 0.9),
      speed("symbolic/decode", "static dimensions", symbolic_decode, 0.9),
      speed("symbolic/demo_prefill_256", "static dimensions", symbolic_demo_prefill, 0.9),
      speed("symbolic/demo_decode", "static dimensions", symbolic_demo_decode, 0.9),
  };
}

}  // namespace tapml::bench
