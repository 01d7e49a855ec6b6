#include "models/qwen2_moe.h"

#include <algorithm>

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

bool Qwen2MoeConfig::is_sparse(int64_t layer) const {
  return experts > 0 && (layer + 1) % sparse_step == 0 &&
         std::find(dense_layers.begin(), dense_layers.end(), layer) == dense_layers.end();
}

namespace {

void add_gated(std::vector<WeightSpec>& weights, const std::string& path, int64_t hidden,
               int64_t inner) {
  add_linear(weights, path + ".gate_proj", inner, hidden, false);
  add_linear(weights, path + ".up_proj", inner, hidden, false);
  add_linear(weights, path + ".down_proj", hidden, inner, false);
}

// Adds the matrices of all experts as one weight.
void add_experts(std::vector<WeightSpec>& weights, const std::string& path,
                 const std::string& projection, const Qwen2MoeConfig& config, int64_t outputs,
                 int64_t inputs) {
  WeightSpec spec{path + "." + projection + ".weight", {config.experts, outputs, inputs}, {}, true};
  for (int64_t expert = 0; expert < config.experts; ++expert) {
    spec.parts.push_back(path + "." + std::to_string(expert) + "." + projection + ".weight");
  }
  weights.push_back(std::move(spec));
}

// Computes the experts that the router selects for each token, weighted by its softmax.
class ExpertLayer {
 public:
  ExpertLayer(DecoderFunction& f, const Qwen2MoeConfig& config, std::string path)
      : f_(f), config_(config), path_(std::move(path)) {}

  Variable build(const Variable& x) {
    route(x);
    Variable routed = mix(x);
    if (config_.shared_intermediate == 0) return f_.narrowed(routed);
    Variable shared = f_.gated(path_ + ".shared_expert", x);
    Variable gate = f_.linear(path_ + ".shared_expert_gate", x);
    f_.origin(path_);
    gate = f_.op("sigmoid", {gate});
    return f_.narrowed(f_.op("add", {routed, f_.op("multiply", {shared, gate})}));
  }

 private:
  // chosen_ i32[b, n, k] and shares_ f32[b, n, k]
  void route(const Variable& x) {
    Variable scores = f_.linear(path_ + ".gate", x);
    scores = f_.op("softmax", {scores}, {{"axis", int64_t{-1}}});
    Variable best =
        f_.op("topk", {scores}, {{"k", config_.experts_per_token}, {"axis", int64_t{-1}}});
    shares_ = f_.field(best, 0);
    chosen_ = f_.field(best, 1);
    if (!config_.renormalize) return;
    Variable total =
        f_.op("sum", {shares_}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}});
    shares_ = f_.op("divide", {shares_, total});
  }

  Variable expert_linear(const char* projection, const Variable& x) {
    const std::string path = path_ + ".experts." + projection;
    f_.origin(path);
    AttrMap attrs;
    f_.add_accumulation(attrs);
    return f_.narrowed(f_.op("gather_matmul", {x, f_.weight(path), chosen_}, std::move(attrs)));
  }

  Variable mix(const Variable& x) {
    const PrimExpr b = f_.batch(), &n = f_.tokens();
    const int64_t k = config_.experts_per_token, hidden = config_.hidden;
    f_.origin(path_);
    Variable row = f_.op("reshape", {x, make_shape({b, n, 1, hidden})});
    Variable gate = expert_linear("gate_proj", row);
    Variable up = expert_linear("up_proj", row);
    f_.origin(path_ + ".experts.act_fn");
    gate = f_.op("silu", {gate});
    f_.origin(path_ + ".experts");
    Variable down = expert_linear("down_proj", f_.op("multiply", {gate, up}));
    f_.origin(path_);
    Variable shares = f_.op("reshape", {shares_, make_shape({b, n, k, 1})});
    return f_.op("sum", {f_.op("multiply", {down, shares})}, {{"axes", std::vector<int64_t>{2}}});
  }

  DecoderFunction& f_;
  const Qwen2MoeConfig& config_;
  std::string path_;
  Variable chosen_, shares_;
};

DecoderArchitecture qwen2_moe(const Qwen2MoeConfig& config) {
  return {
      .name = "qwen2_moe",
      .feed_forward_weights =
          [&config](int64_t layer, std::vector<WeightSpec>& weights) {
            const std::string path = layer_path(layer) + ".mlp", experts = path + ".experts";
            const int64_t hidden = config.hidden, inner = config.expert_intermediate;
            if (!config.is_sparse(layer)) {
              add_gated(weights, path, hidden, config.intermediate);
              return;
            }
            add_linear(weights, path + ".gate", config.experts, hidden, false, true);
            add_experts(weights, experts, "gate_proj", config, inner, hidden);
            add_experts(weights, experts, "up_proj", config, inner, hidden);
            add_experts(weights, experts, "down_proj", config, hidden, inner);
            if (config.shared_intermediate == 0) return;
            add_gated(weights, path + ".shared_expert", hidden, config.shared_intermediate);
            add_linear(weights, path + ".shared_expert_gate", 1, hidden, false, true);
          },
      .feed_forward =
          [&config](DecoderFunction& f, int64_t layer, const Variable& x) {
            const std::string path = layer_path(layer) + ".mlp";
            return config.is_sparse(layer) ? ExpertLayer(f, config, path).build(x)
                                           : f.gated(path, x);
          },
  };
}

}  // namespace

std::vector<WeightSpec> qwen2_moe_weights(const Qwen2MoeConfig& config) {
  return decoder_weights(config, qwen2_moe(config));
}

Module build_qwen2_moe(const Qwen2MoeConfig& config, const ModelDTypes& dtypes) {
  return build_decoder(config, qwen2_moe(config), dtypes);
}

}  // namespace tapml::models
