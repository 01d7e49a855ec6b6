#include "frontend/gguf/export_fields.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "ir/exceptions.h"
#include "models/table.h"

namespace tapml::frontend {

namespace {

constexpr std::string_view kLayerNormEpsilon = ".attention.layer_norm_epsilon";
constexpr std::string_view kRmsNormEpsilon = ".attention.layer_norm_rms_epsilon";

bool has_key(const GgufArchitecture& architecture, std::string_view key) {
  return std::ranges::find(architecture.fields, key, &GgufField::key) != architecture.fields.end();
}

bool has_positions(const GgufArchitecture& architecture) {
  return find_gguf_name(architecture, "position_embd") != nullptr;
}

// Of the pools of keys, by layer.
std::vector<const StateTensor*> pools_of(const PublishedDecoder& model) {
  std::vector<const StateTensor*> pools;
  for (const StateTensor& one : model.state) {
    if (one.name.starts_with("k_pool.") && one.shape.size() == 2) pools.push_back(&one);
  }
  return pools;
}

void write_sizes(const PublishedDecoder& model, GgufFieldWriter& to) {
  const models::DecoderConfig& fields = model.fields;
  to.integer(".context_length", model.config.model.context);
  to.integer(".vocab_size", model.config.model.vocabulary);
  to.integer(".embedding_length", fields.hidden);
  to.integer(".block_count", model.config.model.layers);
  to.integer(".feed_forward_length", fields.intermediate);
  to.integer(".attention.head_count", fields.heads);
  if (fields.head_dim * fields.heads == fields.hidden && !model.reader().has("head_dim")) return;
  to.integer(".attention.key_length", fields.head_dim);
  to.integer(".attention.value_length", fields.head_dim);
}

void write_window(const PublishedDecoder& model, GgufFieldWriter& to) {
  int64_t window = 0;
  for (const StateTensor& one : model.state) window = std::max(window, one.window);
  if (window == 0) return;
  // The field, where it is given, is the number that the state's rows follow from.
  const Json* field = model.reader().find("sliding_window");
  to.integer(".attention.sliding_window",
             field && field->is_integer() ? field->as_integer() : window);
}

// The rotation that ChatGLM's class has without a field: of half of each head.
models::RopeConfig rope_of(const PublishedDecoder& model) {
  models::RopeConfig rope = model.fields.rope;
  if (model.config.architecture == "chatglm") {
    rope.rotated = model.fields.head_dim / 2;
    rope.theta *= unwrap(model.reader().float_or("rope_ratio", 1));
  }
  if (rope.rotated == 0) rope.rotated = model.fields.head_dim;
  return rope;
}

void write_rope(const PublishedDecoder& model, GgufFieldWriter& to) {
  const models::RopeConfig rope = rope_of(model);
  to.integer(".rope.dimension_count", rope.rotated);
  to.number(".rope.freq_base", rope.theta);
  using Scaling = models::RopeConfig::Scaling;
  switch (rope.scaling) {
    case Scaling::kNone:
    case Scaling::kLlama3:  // a tensor of factors
      return;
    case Scaling::kLinear:
      to.text(".rope.scaling.type", "linear");
      to.number(".rope.scaling.factor", rope.factor);
      return;
    case Scaling::kYarn:
      to.text(".rope.scaling.type", "yarn");
      to.number(".rope.scaling.factor", rope.factor);
      to.integer(".rope.scaling.original_context_length", rope.original_context);
      if (rope.beta_fast != 32) to.number(".rope.scaling.yarn_beta_fast", rope.beta_fast);
      if (rope.beta_slow != 1) to.number(".rope.scaling.yarn_beta_slow", rope.beta_slow);
      return;
    case Scaling::kLongRope:
      to.integer(".rope.scaling.original_context_length", rope.original_context);
      to.number(".rope.scaling.attn_factor", rope.scale);
      return;
    case Scaling::kProportional:
      break;
  }
  throw_user(model.source + ": \"rope_scaling\" has no form in GGUF files", model.source,
             "none, linear, llama3, yarn or longrope", "proportional");
}

void write_field(const GgufField& rule, const PublishedDecoder& model, GgufFieldWriter& to) {
  const JsonObjectReader json = model.reader();
  const std::string key(rule.published);
  const bool is_given = json.json().find(rule.published) != nullptr;
  if (is_given ? !json.has(key) : !rule.fallback.has_value()) return;  // null, or no default
  const double fallback = rule.fallback.value_or(0);
  switch (rule.kind) {
    case GgufFieldKind::kInteger:
      to.integer(rule.key,
                 is_given ? unwrap(json.required_int(key)) : static_cast<int64_t>(fallback));
      return;
    case GgufFieldKind::kNumber:
      to.number(rule.key, is_given ? unwrap(json.required_float(key)) : fallback);
      return;
    case GgufFieldKind::kFlag:
      to.flag(rule.key, is_given ? unwrap(json.required_bool(key)) : fallback != 0);
      return;
    case GgufFieldKind::kShared:
      return;
  }
}

}  // namespace

PublishedDecoder read_published_decoder(std::string_view text, const std::string& source) {
  PublishedDecoder model{.source = source,
                         .json = unwrap(parse_json(text, source, {.infinities = true})),
                         .config = parse_config(text, source),
                         .fields = {},
                         .state = {}};
  const std::string& name = model.config.architecture;
  if (model.config.encoder) {
    throw_user(source + ": " + name + " is an encoder", source, "a decoder", "an encoder",
               "GGUF files of encoders are not written");
  }
  const models::Architecture& architecture = models::find_architecture(name);
  // Around a language model, of which alone the file is.
  if (const Json* inner = model.json.find("text_config"); inner && inner->is_object()) {
    model.json = Json(*inner);
    model.config.model.images.reset();
  }
  models::ConfigNotes notes;
  architecture.read(model.reader(), notes);
  const Module module = model.config.module({});
  model.state = unwrap(model_interface_of(module.all_attrs())).state;
  if (!notes.fields || pools_of(model).empty()) {
    throw_user(source + ": " + name + " is not exported to GGUF files", source,
               "a decoder with keys and values of each token", name);
  }
  model.fields = *notes.fields;
  return model;
}

void write_gguf_fields(const GgufArchitecture& architecture, const PublishedDecoder& model,
                       GgufMetadata& metadata) {
  GgufFieldWriter to(architecture.name, metadata);
  write_sizes(model, to);
  if (!architecture.varies) {
    to.integer(".attention.head_count_kv", pools_of(model).front()->shape.front());
  }
  // OLMo's has no field, so that it is up to `write`.
  if (has_key(architecture, kLayerNormEpsilon)) {
    to.number(kLayerNormEpsilon, model.fields.norm_epsilon);
  } else if (architecture.write != write_olmo) {
    to.number(kRmsNormEpsilon, model.fields.norm_epsilon);
  }
  if (!has_positions(architecture)) write_rope(model, to);
  write_window(model, to);
  for (const GgufField& rule : architecture.fields) write_field(rule, model, to);
  if (architecture.write) architecture.write(model, to);
}

void write_llama(const PublishedDecoder& model, GgufFieldWriter& to) {
  if (model.config.architecture != "mixtral") return;
  const JsonObjectReader json = model.reader();
  to.integer(".expert_count", unwrap(json.int_or("num_local_experts", 8)));
  to.integer(".expert_used_count", unwrap(json.int_or("num_experts_per_tok", 2)));
}

void write_olmo(const PublishedDecoder&, GgufFieldWriter& to) {
  to.number(kLayerNormEpsilon, 1e-5);  // the class's, which no field changes
}

void write_window_layers(const PublishedDecoder& model, GgufFieldWriter& to) {
  std::vector<bool> windowed;
  for (const StateTensor* pool : pools_of(model)) windowed.push_back(pool->window > 0);
  if (std::ranges::find(windowed, true) == windowed.end()) return;
  to.array(".attention.sliding_window_pattern", std::move(windowed));
}

void write_minicpm(const PublishedDecoder& model, GgufFieldWriter& to) {
  const JsonObjectReader json = model.reader();
  const auto layers = static_cast<double>(model.config.model.layers);
  const auto width = static_cast<double>(model.fields.hidden);
  to.number(".embedding_scale", unwrap(json.float_or("scale_emb", 1)));
  to.number(".residual_scale", unwrap(json.float_or("scale_depth", 1)) / std::sqrt(layers));
  to.number(".logit_scale", width / unwrap(json.float_or("dim_model_base", 1)));
}

void write_lfm2(const PublishedDecoder& model, GgufFieldWriter& to) {
  std::vector<int64_t> heads(static_cast<size_t>(model.config.model.layers));
  for (const StateTensor* pool : pools_of(model)) {
    heads.at(std::stoul(pool->name.substr(pool->name.find('.') + 1))) = pool->shape.front();
  }
  to.array(".attention.head_count_kv", std::move(heads));
}

}  // namespace tapml::frontend
