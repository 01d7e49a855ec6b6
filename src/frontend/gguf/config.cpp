#include "frontend/gguf/config.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "base/strings.h"

namespace tapml::frontend {

namespace {

constexpr GgufField kCommonFields[] = {
    {".embedding_length", "hidden_size"},
    {".block_count", "num_hidden_layers"},
    {".feed_forward_length", "intermediate_size"},
    {".attention.head_count", "num_attention_heads"},
    {".attention.head_count_kv", "num_key_value_heads"},
    {".attention.key_length", "head_dim"},
    {".context_length", "max_position_embeddings"},
    {".attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {".rope.freq_base", "rope_theta"},
    {".attention.sliding_window", "sliding_window"},
};

// Single values keep their kind; arrays must have the same value for all layers.
Json json_of(const GgufFields& fields, std::string_view key) {
  const GgufValue* value = fields.file().find(fields.key(key));
  if (std::holds_alternative<bool>(*value)) return Json::boolean(*fields.boolean(key));
  if (std::holds_alternative<double>(*value)) return Json::number(*fields.number(key));
  if (std::holds_alternative<std::string_view>(*value)) return Json::string(*fields.text(key));
  return Json::integer(*fields.integer(key));
}

bool differs_by_layer(const GgufFields& fields, std::string_view key) {
  const GgufValue* value = fields.file().find(fields.key(key));
  const auto* all = value ? std::get_if<std::vector<int64_t>>(value) : nullptr;
  return all && std::ranges::adjacent_find(*all, std::not_equal_to()) != all->end();
}

void add_fields(std::span<const GgufField> rules, const GgufFields& fields, bool varies,
                Json& config) {
  for (const GgufField& rule : rules) {
    if (varies && differs_by_layer(fields, rule.key)) continue;
    if (fields.has(rule.key)) config.set(std::string(rule.published), json_of(fields, rule.key));
  }
}

int64_t vocabulary_of(const GgufFields& fields) {
  if (const GgufTensor* embedding = fields.tensor("token_embd.weight")) {
    if (embedding->shape.size() == 2) return embedding->shape[0];
  }
  return fields.required_integer(".vocab_size");
}

void add_rope_scaling(const GgufFields& fields, Json& config) {
  const std::string type = fields.text(".rope.scaling.type").value_or("none");
  if (type == "none") return;
  if (type == "longrope") return;  // its factors are tensors, which an architecture may have
  if (type != "linear" && type != "yarn") {
    fields.refuse(".rope.scaling.type", "is not supported", "none, linear, yarn or longrope",
                  in_quotes(type));
  }
  Json scaling = Json::object({{"rope_type", Json::string(type)}});
  scaling.set("factor", Json::number(fields.number(".rope.scaling.factor").value_or(1)));
  for (const auto& [published, key] :
       {std::pair{"beta_fast", ".rope.scaling.yarn_beta_fast"},
        std::pair{"beta_slow", ".rope.scaling.yarn_beta_slow"},
        std::pair{"attention_factor", ".rope.scaling.attn_factor"}}) {
    if (type != "yarn") break;
    if (const auto value = fields.number(key)) scaling.set(published, Json::number(*value));
  }
  if (const auto original = fields.integer(".rope.scaling.original_context_length")) {
    scaling.set("original_max_position_embeddings", Json::integer(*original));
  }
  config.set("rope_scaling", std::move(scaling));
}

// The part of a head that turns, as a factor that gives the whole number again.
void add_partial_rotary(const GgufFields& fields, Json& config) {
  const auto rotated = fields.integer(".rope.dimension_count");
  const int64_t heads = fields.required_integer(".attention.head_count");
  const int64_t own = heads > 0 ? fields.required_integer(".embedding_length") / heads : 0;
  const int64_t width = fields.integer(".attention.key_length").value_or(own);
  if (!rotated || *rotated < 1 || width < 1 || *rotated > width) return;
  double factor = static_cast<double>(*rotated) / static_cast<double>(width);
  if (static_cast<int64_t>(factor * static_cast<double>(width)) < *rotated) {
    factor = std::nextafter(factor, 1.0);
  }
  config.set("partial_rotary_factor", Json::number(factor));
}

// llama.cpp's names of the roles of tokens.
constexpr std::pair<const char*, const char*> kRoles[] = {
    {"bos_token_id", "tokenizer.ggml.bos_token_id"},
    {"eos_token_id", "tokenizer.ggml.eos_token_id"}};

// Texts of tokens that end a turn in published chat templates.
constexpr std::string_view kEndTexts[] = {
    "<|eot_id|>",         "<|im_end|>",    "<|end|>",
    "<end_of_turn>",      "<|endoftext|>", "<|end_of_text|>",
    "<|end_of_turn|>",    "<EOT>",         "_<EOT>",
    "<|return|>",         "<|call|>",      "<｜end▁of▁sentence｜>",
    "<end_of_utterance>", "<turn|>"};

}  // namespace

std::string gguf_config(const GgufArchitecture& architecture, const GgufFields& fields) {
  Json config = Json::object();
  config.set("architectures", Json::array({Json::string(std::string(architecture.class_name))}));
  config.set("model_type", Json::string(std::string(architecture.model_type)));
  for (const char* key :
       {".embedding_length", ".block_count", ".attention.head_count", ".context_length"}) {
    fields.required_integer(key);
  }
  add_fields(kCommonFields, fields, architecture.varies, config);
  config.set("vocab_size", Json::integer(vocabulary_of(fields)));
  config.set("tie_word_embeddings", Json::boolean(fields.tensor("output.weight") == nullptr));
  for (const auto& [published, key] : kRoles) {
    if (const auto id = fields.integer(key)) config.set(published, Json::integer(*id));
  }
  add_rope_scaling(fields, config);
  add_partial_rotary(fields, config);
  add_fields(architecture.fields, fields, architecture.varies, config);
  if (architecture.finish) architecture.finish(fields, config);
  return config.dump(1);
}

std::string gguf_key_of(const GgufArchitecture& architecture, const GgufFields& fields,
                        std::string_view published) {
  for (const std::span<const GgufField> rules :
       {architecture.fields, std::span<const GgufField>(kCommonFields)}) {
    const auto rule = std::ranges::find(rules, published, &GgufField::published);
    if (rule != rules.end()) return fields.key(rule->key);
  }
  return {};
}

std::vector<int32_t> gguf_end_tokens(const GgufFields& fields) {
  std::vector<int32_t> tokens;
  const auto add = [&](int64_t id) {
    const auto token = static_cast<int32_t>(id);
    if (std::ranges::find(tokens, token) == tokens.end()) tokens.push_back(token);
  };
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    const auto id = fields.integer(key);
    if (!id) continue;
    if (*id < 0 || *id > std::numeric_limits<int32_t>::max()) {
      fields.refuse(key, "is not the id of a token", "an integer from 0 to 2^31 - 1",
                    std::to_string(*id));
    }
    add(*id);
  }
  constexpr int64_t kControl = 3;
  const std::vector<std::string_view> texts = fields.texts("tokenizer.ggml.tokens");
  const std::vector<int64_t> types = fields.integers("tokenizer.ggml.token_type");
  for (size_t i = 0; i < std::min(texts.size(), types.size()); ++i) {
    if (types[i] != kControl) continue;
    if (std::ranges::find(kEndTexts, texts[i]) != std::end(kEndTexts)) {
      add(static_cast<int64_t>(i));
    }
  }
  return tokens;
}

}  // namespace tapml::frontend
