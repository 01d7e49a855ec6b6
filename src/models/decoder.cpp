#include "models/decoder.h"

#include <cmath>
#include <span>

#include "abi/model_interface.h"
#include "base/rounding.h"
#include "ir/exceptions.h"
#include "models/draw.h"
#include "models/quantization.h"

namespace tapml::models {

using namespace relax;  // NOLINT: this file is about relax alone

std::string layer_path(int64_t layer) { return "model.layers." + std::to_string(layer); }

void add_linear(std::vector<WeightSpec>& weights, const std::string& path, int64_t outputs,
                int64_t inputs, bool bias, bool narrow) {
  weights.push_back({path + ".weight", {outputs, inputs}, {}, !narrow});
  if (bias) weights.push_back({path + ".bias", {outputs}, {}});
}

namespace {

constexpr const char* kPools[] = {"k_pool.", "v_pool."};  // of each layer

// The weight that maps hidden states to logits.
const char* head_weight(const DecoderConfig& config) {
  return config.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
}

}  // namespace

DecoderFunction::DecoderFunction(const DecoderConfig& config,
                                 const DecoderArchitecture& architecture, const ModelDTypes& dtypes,
                                 const Module& module, PrimExpr tokens, LogitsOf logits_of)
    : config_(config),
      architecture_(architecture),
      builder_(module),
      n_(std::move(tokens)),
      logits_of_(logits_of),
      activations_(dtypes.activations()),
      cache_(dtypes.cache()),
      accumulation_(dtypes.accumulation()) {
  std::vector<float> frequencies = rope_frequencies(config.rope, config.head_dim);
  inv_freq_ = make_constant(
      HostTensor::from(DType::kF32, {config.head_dim / 2}, std::span<const float>(frequencies)));
  add_params(dtypes);
}

FunctionRef DecoderFunction::build() {
  builder_.begin_dataflow();
  origin("model.embed_tokens");
  Variable x = op("take", {weight("model.embed_tokens"), tokens_},
                  {{"axis", int64_t{0}}, {"out_dtype", activations_}});
  for (int64_t layer = 0; layer < config_.layers; ++layer) x = transformer_layer(layer, x);
  std::vector<Expr> results = {logits(x)};
  results.insert(results.end(), pools_.begin(), pools_.end());
  return builder_.finish(make_tuple(std::move(results)));
}

void DecoderFunction::add_params(const ModelDTypes& dtypes) {
  Var p = make_size("p"), pages = make_size("pages");
  tokens_ = builder_.param("tokens", tensor_annotation({b_, n_}, DType::kI32));
  page_table_ = builder_.param("page_table", tensor_annotation({b_, p}, DType::kI32));
  lengths_ = builder_.param("lengths", tensor_annotation({b_}, DType::kI32));
  Dims pool = {pages, config_.page_size, config_.kv_heads, config_.head_dim};
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    for (const char* name : kPools) {
      pools_.push_back(
          builder_.param(name + std::to_string(layer), tensor_annotation(pool, cache_)));
    }
  }
  for (const WeightSpec& spec : decoder_weights(config_, architecture_)) add_weight(spec, dtypes);
}

void DecoderFunction::add_weight(const WeightSpec& spec, const ModelDTypes& dtypes) {
  auto add = [&](const std::string& name, const Shape& shape, DType dtype) {
    weights_[name] =
        builder_.param(name, tensor_annotation(Dims(shape.begin(), shape.end()), dtype));
  };
  if (!dtypes.quantization || !spec.linear) return add(spec.name, spec.shape, dtypes.of(spec.name));
  Shape packed = spec.shape, scales = spec.shape;
  packed.back() /= 2;
  scales.back() /= kQuantizationGroup;
  add(packed_name(spec.name), packed, DType::kU8);
  add(scales_name(spec.name), scales, dtypes.quantization->scales);
}

Variable DecoderFunction::op(const char* name, std::vector<Expr> args, AttrMap attrs) {
  return builder_.emit_op(name, std::move(args), std::move(attrs));
}

Variable DecoderFunction::field(const Variable& tuple, int64_t index) {
  return builder_.emit(make_get_item(tuple, static_cast<int>(index)));
}

Variable DecoderFunction::weight(const std::string& path) {
  const std::string name = path + ".weight";
  auto packed = weights_.find(packed_name(name));
  if (packed == weights_.end()) return weights_.at(name);
  return op("dequantize", {packed->second, weights_.at(scales_name(name))},
            {{"group", kQuantizationGroup}});
}

Variable DecoderFunction::narrowed(const Variable& x) {
  return activations_ == DType::kF32 ? x : op("cast", {x}, {{"dtype", activations_}});
}

void DecoderFunction::add_accumulation(AttrMap& attrs) const {
  if (accumulation_ != DType::kF32) attrs["accumulation"] = accumulation_;
}

Variable DecoderFunction::rms_norm(const std::string& path, const Variable& x) {
  origin(path);
  return op("rms_norm", {x, weight(path)}, {{"epsilon", config_.rms_norm_epsilon}});
}

Variable DecoderFunction::linear(const std::string& path, const Variable& x) {
  origin(path);
  AttrMap attrs = {{"transpose_b", true}};
  // The product of two dtypes is f32.
  if (activations_ != DType::kF32) attrs["out_dtype"] = activations_;
  add_accumulation(attrs);
  Variable y = op("matmul", {x, weight(path)}, std::move(attrs));
  auto bias = weights_.find(path + ".bias");
  return bias == weights_.end() ? y : narrowed(op("add", {y, bias->second}));
}

Variable DecoderFunction::gated(const std::string& path, const Variable& x) {
  Variable gate = linear(path + ".gate_proj", x);
  Variable up = linear(path + ".up_proj", x);
  origin(path + ".act_fn");
  gate = op("silu", {gate});
  origin(path);
  return linear(path + ".down_proj", op("multiply", {gate, up}));
}

// Reshapes a projection [b, n, heads * head_dim] to [b, n, heads, head_dim].
Variable DecoderFunction::project_heads(const std::string& path, const Variable& x, int64_t heads) {
  return op("reshape", {linear(path, x), make_shape({b_, n_, heads, config_.head_dim})});
}

Variable DecoderFunction::append(Expr& pool, const Variable& fresh) {
  Variable updated =
      builder_.emit_op("kv_append", {pool, fresh, page_table_, lengths_}, {}, "", true);
  pool = updated;
  return updated;
}

Variable DecoderFunction::attention(int64_t layer, const Variable& x) {
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

Variable DecoderFunction::transformer_layer(int64_t layer, Variable x) {
  const std::string path = layer_path(layer);
  Variable mixed = attention(layer, rms_norm(path + ".input_layernorm", x));
  origin(path);
  x = op("add", {x, mixed});
  Variable fed =
      architecture_.feed_forward(*this, layer, rms_norm(path + ".post_attention_layernorm", x));
  origin(path);
  return op("add", {x, fed});
}

// Only tokens whose logits are needed go through the last norm and the head, the model's largest
// matrix.
Variable DecoderFunction::logits(Variable x) {
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
  AttrMap attrs = {{"transpose_b", true}};
  if (activations_ != DType::kF32) attrs["out_dtype"] = DType::kF32;
  return builder_.emit_op("matmul", {x, weights_.at(head_weight(config_))}, std::move(attrs),
                          "logits", true);
}

namespace {

std::vector<ModelFunction> decoder_functions() {
  std::vector<ModelFunction> functions;
  for (const char* name : {"prefill", "decode", "logits_all"}) {
    functions.push_back({.name = name,
                         .inputs = {Role::kTokens, Role::kPageTable, Role::kLengths},
                         .outputs = {Role::kLogits},
                         .state = {StateKind::kPaged},
                         .weights = true});
  }
  for (const char* name : {"sample", "draw"}) {
    functions.push_back({.name = name,
                         .inputs = {Role::kLogits, Role::kParameters, Role::kGenerator},
                         .outputs = {Role::kTokens, Role::kGenerator}});
  }
  return functions;
}

FunctionRef build_sample(const DecoderConfig& config, const Module& module) {
  build::FunctionBuilder builder(module);
  Var b = make_size("b");
  Variable logits = builder.param("logits", tensor_annotation({b, config.vocabulary}, DType::kF32));
  builder.param("parameters", tensor_annotation({b, 2}, DType::kF32));
  Variable state = builder.param("state", tensor_annotation({2}, DType::kI64));
  builder.begin_dataflow();
  builder.set_origin({"sample"});
  Variable tokens = builder.emit_op("argmax", {logits}, {{"axis", int64_t{-1}}}, "sampled", true);
  return builder.finish(make_tuple({tokens, state}));
}

}  // namespace

std::vector<WeightSpec> decoder_weights(const DecoderConfig& config,
                                        const DecoderArchitecture& architecture) {
  const int64_t hidden = config.hidden;
  std::vector<WeightSpec> weights = {
      {"model.embed_tokens.weight", {config.vocabulary, hidden}, {}}};
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string path = layer_path(layer), attention = path + ".self_attn";
    const int64_t queries = config.heads * config.head_dim,
                  keys = config.kv_heads * config.head_dim;
    weights.push_back({path + ".input_layernorm.weight", {hidden}, {}});
    add_linear(weights, attention + ".q_proj", queries, hidden, config.qkv_bias);
    add_linear(weights, attention + ".k_proj", keys, hidden, config.qkv_bias);
    add_linear(weights, attention + ".v_proj", keys, hidden, config.qkv_bias);
    add_linear(weights, attention + ".o_proj", hidden, queries, config.output_bias);
    weights.push_back({path + ".post_attention_layernorm.weight", {hidden}, {}});
    architecture.feed_forward_weights(layer, weights);
  }
  weights.push_back({"model.norm.weight", {hidden}, {}});
  if (!config.tied_embeddings) {
    weights.push_back({"lm_head.weight", {config.vocabulary, hidden}, {}});
  }
  for (const WeightSpec& weight : weights) {
    if (!checked_byte_count(DType::kF64, weight.shape)) {
      throw_user("the model is too large: weight " + weight.name + " overflows", "",
                 "fewer than 2^63 bytes", shape_to_string(weight.shape));
    }
  }
  return weights;
}

Module build_decoder(const DecoderConfig& config, const DecoderArchitecture& architecture,
                     const ModelDTypes& dtypes) {
  ModelInterface model;
  model.architecture = architecture.name;
  model.vocabulary = config.vocabulary;
  model.context = config.context;
  model.page_size = config.page_size;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    for (const char* name : kPools) {
      model.state.push_back({.name = name + std::to_string(layer),
                             .dtype = dtypes.cache(),
                             .shape = {config.kv_heads, config.head_dim}});
    }
  }
  model.functions = decoder_functions();
  const std::vector<WeightSpec> weights = decoder_weights(config, architecture);
  if (dtypes.quantization) check_quantizable(weights);
  for (const WeightSpec& spec : weights) {
    if (dtypes.quantization && spec.linear) {
      model.weights.push_back(packed_name(spec.name));
      model.weights.push_back(scales_name(spec.name));
    } else {
      model.weights.push_back(spec.name);
    }
  }

  Module module;
  module.set_attrs(model_interface_attrs(model));
  module.facts.bounds["n"] = config.context;
  module.facts.bounds["p"] = ceil_div(config.context, config.page_size);
  auto build = [&](PrimExpr tokens, DecoderFunction::LogitsOf logits_of) {
    return DecoderFunction(config, architecture, dtypes, module, std::move(tokens), logits_of)
        .build();
  };
  FunctionRef prefill = build(make_size("n"), DecoderFunction::LogitsOf::kLastToken);
  FunctionRef decode = build(1, DecoderFunction::LogitsOf::kLastToken);
  FunctionRef logits_all = build(make_size("n"), DecoderFunction::LogitsOf::kAllTokens);
  FunctionRef sample = build_sample(config, module);
  module.functions = {
      {"prefill", prefill}, {"decode", decode}, {"logits_all", logits_all}, {"sample", sample}};
  add_draw(module, config.vocabulary);
  return module;
}

}  // namespace tapml::models
