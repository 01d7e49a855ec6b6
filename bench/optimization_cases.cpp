// What single optimizations are worth on a language model: the same model with and without them, in
// turn.
#include <numeric>
#include <set>

#include "base/rng.h"
#include "cases.h"
#include "frontend/huggingface/model.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "models/table.h"
#include "pipeline/compile.h"
#include "programs.h"
#include "relax/visit.h"

namespace tapml::bench {

namespace {

constexpr const char* kLlama171m = "bench/models/llama_171m.json";
constexpr int64_t kPrompt = 512, kSteps = 8;

// ---- bytes

// Bytes of activations that the kernels of `function` read and write at n tokens: what kernels
// make, without parameters (weights, pools) and what is updated in place.
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
  const double with = activation_bytes(pipeline::fix_kernels(module), "prefill", kPrompt) / kMiB;
  const double without =
      activation_bytes(pipeline::fix_kernels(module, apart), "prefill", kPrompt) / kMiB;
  return {[=] { return with; }, [=] { return without; }};
}

// ---- speed

using Weights = decltype(frontend::HuggingFaceModel::weights);

// One model with random weights, compiled in two ways on one session.
class Arms {
 public:
  explicit Arms(const pipeline::ImplementOptions& without) {
    frontend::HuggingFaceModel files = frontend::read_config(kLlama171m);
    const auto& architecture = models::find_architecture(files.config.architecture);
    for (const models::WeightSpec& spec : architecture.weights(files.config.model)) {
      HostTensor tensor = HostTensor::zeros(DType::kF32, spec.shape);
      std::span<float> values = tensor.mutable_values<float>();
      fill_uniform(values, philox_key(1, spec.name));
      for (float& value : values) value *= 0.03f;
      files.weights[spec.name] = tensor;
    }
    const target::Target target = target::parse_target("cpu");
    with_ = engine(pipeline::compile(files.module, target), files.weights);
    without_ = engine(pipeline::compile(files.module, target, without), files.weights);
  }

  llm::Engine& with() const { return *with_; }
  llm::Engine& without() const { return *without_; }
  runtime::LocalSession& session() const { return *session_; }

 private:
  std::unique_ptr<llm::Engine> engine(std::shared_ptr<const Executable> executable,
                                      const Weights& weights) const {
    return unwrap(llm::Engine::create(*session_, std::move(executable), weights));
  }

  std::shared_ptr<runtime::LocalSession> session_ = cpu_session();
  std::unique_ptr<llm::Engine> with_, without_;
};

double prefill_rate(llm::Engine& engine, runtime::LocalSession& session) {
  engine.reset();
  std::vector<int32_t> tokens(kPrompt);
  std::iota(tokens.begin(), tokens.end(), 1);
  const double start = seconds_now();
  unwrap(engine.prefill(tokens));
  unwrap(session.synchronize(runtime::kDefaultStream));
  return kPrompt / (seconds_now() - start);
}

double decode_rate(llm::Engine& engine) {
  engine.reset();
  unwrap(engine.set_sampler({}));
  int32_t token = unwrap(engine.sample(unwrap(engine.prefill(std::vector<int32_t>{1, 2, 3, 4}))));
  const double start = seconds_now();
  for (int64_t i = 0; i < kSteps; ++i) {
    token = unwrap(engine.sample(unwrap(engine.decode(token))));
  }
  return kSteps / (seconds_now() - start);
}

// Rows of one optimization stand beside each other: they share the arms.
enum class Without : uint8_t { kFusion, kPlanning };

std::shared_ptr<Arms> arms(Without what) {
  static std::weak_ptr<Arms> kept[2];
  auto& known = kept[static_cast<size_t>(what)];
  if (auto shared = known.lock()) return shared;
  pipeline::ImplementOptions options;
  if (what == Without::kFusion) options.instruments.skip = {"fuse_ops"};
  if (what == Without::kPlanning) options.memory.reuse = false;
  auto made = std::make_shared<Arms>(options);
  known = made;
  return made;
}

Pair prefill(Without what) {
  auto both = arms(what);
  return {[=] { return prefill_rate(both->with(), both->session()); },
          [=] { return prefill_rate(both->without(), both->session()); }};
}

Pair decode(Without what) {
  auto both = arms(what);
  return {[=] { return decode_rate(both->with()); }, [=] { return decode_rate(both->without()); }};
}

Pair fusion_prefill(std::string&) { return prefill(Without::kFusion); }
Pair fusion_decode(std::string&) { return decode(Without::kFusion); }
Pair planning_prefill(std::string&) { return prefill(Without::kPlanning); }
Pair planning_decode(std::string&) { return decode(Without::kPlanning); }

}  // namespace

std::vector<Case> optimization_cases() {
  auto speed = [](const char* name, const char* peer, Pair (*prepare)(std::string&)) {
    return Case{.name = name, .unit = "tokens/s", .peer = peer, .bar = 1, .prepare = prepare};
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
  };
}

}  // namespace tapml::bench
