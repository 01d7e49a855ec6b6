#include "models/llama.h"

#include <cmath>
#include <span>

#include "abi/model_interface.h"
#include "build/block_builder.h"
#include "ir/exceptions.h"

namespace tapml::models {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

std::string layer_path(int64_t layer) { return "model.layers." + std::to_string(layer); }

// The weight that maps hidden states to logits.
const char* head_weight(const LlamaConfig& config) {
  return config.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
}

enum class LogitsOf : uint8_t { kLastToken, kAllTokens };

// Builds one of prefill, decode and logits_all.
class LlamaFunction {
 public:
  LlamaFunction(const LlamaConfig& config, const WeightDTypes& dtypes, const Module& module,
                PrimExpr tokens, LogitsOf logits_of)
      : config_(config), builder_(module), n_(std::move(tokens)), logits_of_(logits_of) {
    std::vector<float> frequencies = rope_frequencies(config.rope, config.head_dim);
    inv_freq_ = make_constant(
        HostTensor::from(DType::kF32, {config.head_dim / 2}, std::span<const float>(frequencies)));
    add_params(dtypes);
  }

  FunctionRef build() {
    builder_.begin_dataflow();
    origin("model.embed_tokens");
    Variable x = op("take", {weight("model.embed_tokens"), tokens_},
                    {{"axis", int64_t{0}}, {"out_dtype", DType::kF32}});
    for (int64_t layer = 0; layer < config_.layers; ++layer) x = transformer_layer(layer, x);
    std::vector<Expr> results = {logits(x)};
    results.insert(results.end(), pools_.begin(), pools_.end());
    return builder_.finish(make_tuple(std::move(results)));
  }

 private:
  void add_params(const WeightDTypes& dtypes) {
    Var p = make_var("p"), pages = make_var("pages");
    tokens_ = builder_.param("tokens", tensor_annotation({b_, n_}, DType::kI32));
    page_table_ = builder_.param("page_table", tensor_annotation({b_, p}, DType::kI32));
    lengths_ = builder_.param("lengths", tensor_annotation({b_}, DType::kI32));
    Dims pool = {pages, config_.page_size, config_.kv_heads, config_.head_dim};
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      for (const char* name : {"k_pool.", "v_pool."}) {
        pools_.push_back(
            builder_.param(name + std::to_string(layer), tensor_annotation(pool, DType::kF32)));
      }
    }
    for (const WeightSpec& spec : llama_weights(config_)) {
      Dims dims(spec.shape.begin(), spec.shape.end());
      weights_[spec.name] =
          builder_.param(spec.name, tensor_annotation(std::move(dims), dtypes.of(spec.name)));
    }
  }

  void origin(const std::string& path) { builder_.set_origin({path}); }

  Variable weight(const std::string& path) const { return weights_.at(path + ".weight"); }

  Variable op(const char* name, std::vector<Expr> args, AttrMap attrs = {}) {
    return builder_.emit_op(name, std::move(args), std::move(attrs));
  }

  Variable rms_norm(const std::string& path, const Variable& x) {
    origin(path);
    return op("rms_norm", {x, weight(path)}, {{"epsilon", config_.rms_norm_epsilon}});
  }

  Variable linear(const std::string& path, const Variable& x) {
    origin(path);
    Variable y = op("matmul", {x, weight(path)}, {{"transpose_b", true}});
    auto bias = weights_.find(path + ".bias");
    return bias == weights_.end() ? y : op("add", {y, bias->second});
  }

  // [b, n, heads * head_dim] of a projection as [b, n, heads, head_dim].
  Variable project_heads(const std::string& path, const Variable& x, int64_t heads) {
    return op("reshape", {linear(path, x), make_shape({b_, n_, heads, config_.head_dim})});
  }

  Variable append(Expr& pool, const Variable& fresh) {
    Variable updated =
        builder_.emit_op("kv_append", {pool, fresh, page_table_, lengths_}, {}, "", true);
    pool = updated;
    return updated;
  }

  Variable attention(int64_t layer, const Variable& x) {
    const std::string path = layer_path(layer) + ".self_attn";
    Variable q = project_heads(path + ".q_proj", x, config_.heads);
    Variable k = project_heads(path + ".k_proj", x, config_.kv_heads);
    Variable v = project_heads(path + ".v_proj", x, config_.kv_heads);
    origin(path);
    q = op("rope", {q, lengths_, inv_freq_});
    k = op("rope", {k, lengths_, inv_freq_});
    Variable keys = append(pools_[2 * static_cast<size_t>(layer)], k);
    Variable values = append(pools_[2 * static_cast<size_t>(layer) + 1], v);
    double scale = 1 / std::sqrt(static_cast<double>(config_.head_dim));
    Variable mixed =
        op("paged_attention", {q, keys, values, page_table_, lengths_}, {{"scale", scale}});
    mixed = op("reshape", {mixed, make_shape({b_, n_, config_.heads * config_.head_dim})});
    return linear(path + ".o_proj", mixed);
  }

  Variable feed_forward(int64_t layer, const Variable& x) {
    const std::string path = layer_path(layer) + ".mlp";
    Variable gate = linear(path + ".gate_proj", x);
    Variable up = linear(path + ".up_proj", x);
    origin(path + ".act_fn");
    gate = op("silu", {gate});
    origin(path);
    return linear(path + ".down_proj", op("multiply", {gate, up}));
  }

  Variable transformer_layer(int64_t layer, Variable x) {
    const std::string path = layer_path(layer);
    Variable mixed = attention(layer, rms_norm(path + ".input_layernorm", x));
    origin(path);
    x = op("add", {x, mixed});
    Variable fed = feed_forward(layer, rms_norm(path + ".post_attention_layernorm", x));
    origin(path);
    return op("add", {x, fed});
  }

  // Only the tokens whose logits are wanted pass the last norm and the head, which is a model's
  // largest matrix.
  Variable logits(Variable x) {
    if (logits_of_ == LogitsOf::kLastToken) {
      origin("model.norm");
      if (!n_.is_int(1)) {
        x = op("slice", {x, make_shape({n_ - 1}), make_shape({n_})},
               {{"axes", std::vector<int64_t>{1}}});
      }
      x = op("reshape", {x, make_shape({b_, config_.hidden})});
    }
    x = rms_norm("model.norm", x);
    origin("lm_head");
    return builder_.emit_op("matmul", {x, weights_.at(head_weight(config_))},
                            {{"transpose_b", true}}, "logits", true);
  }

  const LlamaConfig& config_;
  build::FunctionBuilder builder_;
  Var b_ = make_var("b");
  PrimExpr n_;
  LogitsOf logits_of_;
  Expr inv_freq_;
  Variable tokens_, page_table_, lengths_;
  std::vector<Expr> pools_;  // k, v of layer 0, of layer 1, ..., as they are now
  std::map<std::string, Variable> weights_;
};

FunctionRef build_sample(const LlamaConfig& config, const Module& module) {
  build::FunctionBuilder builder(module);
  Var b = make_var("b");
  Variable logits = builder.param("logits", tensor_annotation({b, config.vocabulary}, DType::kF32));
  builder.param("parameters", tensor_annotation({b, 2}, DType::kF32));
  Variable state = builder.param("state", tensor_annotation({2}, DType::kI64));
  builder.begin_dataflow();
  builder.set_origin({"sample"});
  Variable tokens = builder.emit_op("argmax", {logits}, {{"axis", int64_t{-1}}}, "sampled", true);
  return builder.finish(make_tuple({tokens, state}));
}

}  // namespace

std::vector<WeightSpec> llama_weights(const LlamaConfig& config) {
  const int64_t hidden = config.hidden, inner = config.intermediate;
  std::vector<WeightSpec> weights = {{"model.embed_tokens.weight", {config.vocabulary, hidden}}};
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string path = layer_path(layer);
    auto norm = [&](const char* name) { weights.push_back({path + name + ".weight", {hidden}}); };
    auto linear = [&](const char* name, int64_t outputs, int64_t inputs, bool bias) {
      weights.push_back({path + name + ".weight", {outputs, inputs}});
      if (bias) weights.push_back({path + name + ".bias", {outputs}});
    };
    norm(".input_layernorm");
    linear(".self_attn.q_proj", config.heads * config.head_dim, hidden, config.attention_bias);
    linear(".self_attn.k_proj", config.kv_heads * config.head_dim, hidden, config.attention_bias);
    linear(".self_attn.v_proj", config.kv_heads * config.head_dim, hidden, config.attention_bias);
    linear(".self_attn.o_proj", hidden, config.heads * config.head_dim, config.attention_bias);
    norm(".post_attention_layernorm");
    linear(".mlp.gate_proj", inner, hidden, config.mlp_bias);
    linear(".mlp.up_proj", inner, hidden, config.mlp_bias);
    linear(".mlp.down_proj", hidden, inner, config.mlp_bias);
  }
  weights.push_back({"model.norm.weight", {hidden}});
  if (!config.tied_embeddings) weights.push_back({"lm_head.weight", {config.vocabulary, hidden}});
  for (const WeightSpec& weight : weights) {
    if (!checked_byte_count(DType::kF64, weight.shape)) {
      throw_user("the model is too large: weight " + weight.name + " overflows", "",
                 "fewer than 2^63 bytes", shape_to_string(weight.shape));
    }
  }
  return weights;
}

Module build_llama(const LlamaConfig& config, const WeightDTypes& dtypes) {
  ModelInterface model;
  model.architecture = "llama";
  model.vocabulary = config.vocabulary;
  model.context = config.context;
  model.kv = {.layers = config.layers,
              .kv_heads = config.kv_heads,
              .head_dim = config.head_dim,
              .page_size = config.page_size,
              .dtype = DType::kF32};
  for (WeightSpec& spec : llama_weights(config)) model.weights.push_back(std::move(spec.name));

  Module module;
  module.attrs = model_interface_attrs(model);
  module.attrs["bound.n"] = config.context;
  module.attrs["bound.p"] = (config.context + config.page_size - 1) / config.page_size;
  auto build = [&](PrimExpr tokens, LogitsOf logits_of) {
    return LlamaFunction(config, dtypes, module, std::move(tokens), logits_of).build();
  };
  FunctionRef prefill = build(make_var("n"), LogitsOf::kLastToken);
  FunctionRef decode = build(1, LogitsOf::kLastToken);
  FunctionRef logits_all = build(make_var("n"), LogitsOf::kAllTokens);
  FunctionRef sample = build_sample(config, module);
  module.functions = {
      {"prefill", prefill}, {"decode", decode}, {"logits_all", logits_all}, {"sample", sample}};
  return module;
}

}  // namespace tapml::models
