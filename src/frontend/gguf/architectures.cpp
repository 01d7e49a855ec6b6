#include "frontend/gguf/architectures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/strings.h"
#include "frontend/gguf/export_fields.h"
#include "frontend/gguf/rope_factors.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

using enum GgufChange;
using enum GgufFieldKind;

// Most decoders, as Hugging Face names their parts.
constexpr GgufName kDecoder[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
    {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
    {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
    {"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
    {"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"},
    {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    {"blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"},
};

// Llama's rotation turns halves of a head; llama.cpp's turns neighbors for these.
constexpr GgufName kPaired[] = {
    {"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj", kPairedQueries},
    {"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj", kPairedKeys},
    {"blk.{}.ffn_gate_inp", "model.layers.{}.block_sparse_moe.gate"},
    {"blk.{}.ffn_gate_exps", "model.layers.{}.block_sparse_moe.experts.w1"},
    {"blk.{}.ffn_down_exps", "model.layers.{}.block_sparse_moe.experts.w2"},
    {"blk.{}.ffn_up_exps", "model.layers.{}.block_sparse_moe.experts.w3"},
};

constexpr GgufName kExperts[] = {
    {"blk.{}.ffn_gate_inp", "model.layers.{}.mlp.gate"},
    {"blk.{}.ffn_gate_exps", "model.layers.{}.mlp.experts.gate_proj"},
    {"blk.{}.ffn_up_exps", "model.layers.{}.mlp.experts.up_proj"},
    {"blk.{}.ffn_down_exps", "model.layers.{}.mlp.experts.down_proj"},
    {"blk.{}.ffn_gate_inp_shexp", "model.layers.{}.mlp.shared_expert_gate", kRow},
    {"blk.{}.ffn_gate_shexp", "model.layers.{}.mlp.shared_expert.gate_proj"},
    {"blk.{}.ffn_up_shexp", "model.layers.{}.mlp.shared_expert.up_proj"},
    {"blk.{}.ffn_down_shexp", "model.layers.{}.mlp.shared_expert.down_proj"},
};

constexpr GgufName kGemma[] = {
    {"output_norm", "model.norm", kPlusOne},
    {"blk.{}.attn_norm", "model.layers.{}.input_layernorm", kPlusOne},
    {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm", kPlusOne},
};

constexpr GgufName kGemma2[] = {
    {"output_norm", "model.norm", kPlusOne},
    {"blk.{}.attn_norm", "model.layers.{}.input_layernorm", kPlusOne},
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm", kPlusOne},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm", kPlusOne},
    {"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm", kPlusOne},
    {"blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm", kPlusOne},
    {"blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm", kPlusOne},
};

constexpr GgufName kPhi2[] = {
    {"output_norm", "model.final_layernorm"},
    {"blk.{}.attn_output", "model.layers.{}.self_attn.dense"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.fc1"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.fc2"},
};

constexpr GgufName kPhi3[] = {
    {"blk.{}.attn_qkv", "model.layers.{}.self_attn.qkv_proj"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.gate_up_proj"},
};

constexpr GgufName kStarCoder2[] = {
    {"blk.{}.ffn_up", "model.layers.{}.mlp.c_fc"},
    {"blk.{}.ffn_down", "model.layers.{}.mlp.c_proj"},
};

constexpr GgufName kGpt2[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "transformer.h.{}.ln_1"},
    {"blk.{}.attn_qkv", "transformer.h.{}.attn.c_attn", kTransposed},
    {"blk.{}.attn_output", "transformer.h.{}.attn.c_proj", kTransposed},
    {"blk.{}.ffn_norm", "transformer.h.{}.ln_2"},
    {"blk.{}.ffn_up", "transformer.h.{}.mlp.c_fc", kTransposed},
    {"blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj", kTransposed},
};

constexpr GgufName kStarCoder[] = {
    {"blk.{}.attn_qkv", "transformer.h.{}.attn.c_attn"},
    {"blk.{}.attn_output", "transformer.h.{}.attn.c_proj"},
    {"blk.{}.ffn_up", "transformer.h.{}.mlp.c_fc"},
    {"blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj"},
};

constexpr GgufName kGptNeox[] = {
    {"token_embd", "gpt_neox.embed_in"},
    {"output_norm", "gpt_neox.final_layer_norm"},
    {"output", "embed_out"},
    {"blk.{}.attn_norm", "gpt_neox.layers.{}.input_layernorm"},
    {"blk.{}.attn_qkv", "gpt_neox.layers.{}.attention.query_key_value", kByPart},
    {"blk.{}.attn_output", "gpt_neox.layers.{}.attention.dense"},
    {"blk.{}.ffn_norm", "gpt_neox.layers.{}.post_attention_layernorm"},
    {"blk.{}.ffn_up", "gpt_neox.layers.{}.mlp.dense_h_to_4h"},
    {"blk.{}.ffn_down", "gpt_neox.layers.{}.mlp.dense_4h_to_h"},
};

constexpr GgufName kNormsAfter[] = {
    {"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"},
    {"blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm"},
};

constexpr GgufName kGlm4[] = {
    {"blk.{}.post_attention_norm", "model.layers.{}.post_self_attn_layernorm"},
    {"blk.{}.post_ffw_norm", "model.layers.{}.post_mlp_layernorm"},
    {"blk.{}.ffn_up", "model.layers.{}.mlp.gate_up_proj"},
};

constexpr GgufName kHunYuan[] = {
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.query_layernorm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.key_layernorm"},
};

constexpr GgufName kNemotron[] = {
    {"output_norm", "model.norm", kPlusOne},
    {"blk.{}.attn_norm", "model.layers.{}.input_layernorm", kPlusOne},
    {"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm", kPlusOne},
};

constexpr GgufName kQwen[] = {
    {"token_embd", "transformer.wte"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.{}.attn_norm", "transformer.h.{}.ln_1"},
    {"blk.{}.attn_qkv", "transformer.h.{}.attn.c_attn"},
    {"blk.{}.attn_output", "transformer.h.{}.attn.c_proj"},
    {"blk.{}.ffn_norm", "transformer.h.{}.ln_2"},
    {"blk.{}.ffn_up", "transformer.h.{}.mlp.w1"},
    {"blk.{}.ffn_gate", "transformer.h.{}.mlp.w2"},
    {"blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj"},
};

constexpr GgufName kChatGlm[] = {
    {"token_embd", "transformer.embedding.word_embeddings"},
    {"output_norm", "transformer.encoder.final_layernorm"},
    {"output", "transformer.output_layer"},
    {"blk.{}.attn_norm", "transformer.encoder.layers.{}.input_layernorm"},
    {"blk.{}.attn_qkv", "transformer.encoder.layers.{}.self_attention.query_key_value"},
    {"blk.{}.attn_output", "transformer.encoder.layers.{}.self_attention.dense"},
    {"blk.{}.ffn_norm", "transformer.encoder.layers.{}.post_attention_layernorm"},
    {"blk.{}.ffn_up", "transformer.encoder.layers.{}.mlp.dense_h_to_4h"},
    {"blk.{}.ffn_down", "transformer.encoder.layers.{}.mlp.dense_4h_to_h"},
};

constexpr GgufName kLfm2[] = {
    {"token_embd_norm", "model.embedding_norm"},
    {"output_norm", "model.embedding_norm"},
    {"blk.{}.attn_norm", "model.layers.{}.operator_norm"},
    {"blk.{}.attn_output", "model.layers.{}.self_attn.out_proj"},
    {"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_layernorm"},
    {"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_layernorm"},
    {"blk.{}.shortconv.in_proj", "model.layers.{}.conv.in_proj"},
    {"blk.{}.shortconv.conv", "model.layers.{}.conv.conv", kTaps},
    {"blk.{}.shortconv.out_proj", "model.layers.{}.conv.out_proj"},
    {"blk.{}.ffn_norm", "model.layers.{}.ffn_norm"},
    {"blk.{}.ffn_gate", "model.layers.{}.feed_forward.w1"},
    {"blk.{}.ffn_down", "model.layers.{}.feed_forward.w2"},
    {"blk.{}.ffn_up", "model.layers.{}.feed_forward.w3"},
};

constexpr GgufField kLayerNormEps[] = {{".attention.layer_norm_epsilon", "layer_norm_eps"}};
constexpr GgufField kNormEps[] = {{".attention.layer_norm_epsilon", "norm_eps"}};
constexpr GgufField kNormEpsilon[] = {{".attention.layer_norm_epsilon", "norm_epsilon"}};
constexpr GgufField kRmsNormEps[] = {{".attention.layer_norm_epsilon", "rms_norm_eps"}};
constexpr GgufField kCohere[] = {{".attention.layer_norm_epsilon", "layer_norm_eps"},
                                 {".logit_scale", "logit_scale", kNumber, 0.0625}};
constexpr GgufField kGpt[] = {{".attention.layer_norm_epsilon", "layer_norm_epsilon"},
                              {".embedding_length", "n_embd"},
                              {".block_count", "n_layer"},
                              {".attention.head_count", "n_head"},
                              {".context_length", "n_positions"},
                              {".feed_forward_length", "n_inner"}};
constexpr GgufField kNeox[] = {{".attention.layer_norm_epsilon", "layer_norm_eps"},
                               {".rope.freq_base", "rotary_emb_base"},
                               {".use_parallel_residual", "use_parallel_residual", kFlag, 1}};
constexpr GgufField kStableLm[] = {{".attention.layer_norm_epsilon", "layer_norm_eps"},
                                   {".use_parallel_residual", "use_parallel_residual", kFlag, 0}};
constexpr GgufField kExpertFields[] = {
    {".expert_count", "num_experts", kInteger},
    {".expert_used_count", "num_experts_per_tok", kInteger},
    {".expert_feed_forward_length", "moe_intermediate_size", kInteger},
    {".expert_shared_feed_forward_length", "shared_expert_intermediate_size", kInteger}};
constexpr GgufField kGemma2Fields[] = {
    {".attn_logit_softcapping", "attn_logit_softcapping", kNumber, 50},
    {".final_logit_softcapping", "final_logit_softcapping", kNumber, 30}};
constexpr GgufField kGemma3Fields[] = {
    {".final_logit_softcapping", "final_logit_softcapping", kNumber},
    {".rope.freq_base_swa", "rope_local_base_freq", kNumber}};
constexpr GgufField kOlmo[] = {{".attention.clamp_kqv", "clip_qkv", kNumber}};
constexpr GgufField kGranite[] = {{".embedding_scale", "embedding_multiplier", kNumber, 1},
                                  {".residual_scale", "residual_multiplier", kNumber, 1},
                                  {".attention.scale", "attention_multiplier", kNumber, 1},
                                  {".logit_scale", "logits_scaling", kNumber, 1}};
constexpr GgufField kQwenFields[] = {{".attention.layer_norm_rms_epsilon", "layer_norm_epsilon"},
                                     {".rope.freq_base", "rotary_emb_base"},
                                     {".context_length", "seq_length"}};

constexpr GgufField kChatGlmFields[] = {{".block_count", "num_layers"},
                                        {".feed_forward_length", "ffn_hidden_size"},
                                        {".attention.layer_norm_rms_epsilon", "layernorm_epsilon"},
                                        {".attention.head_count_kv", "multi_query_group_num"},
                                        {".context_length", "seq_length"}};
constexpr GgufField kLfm2Fields[] = {{".attention.layer_norm_rms_epsilon", "norm_eps"},
                                     {".shortconv.l_cache", "conv_L_cache", kInteger, 3}};

bool has_bias(const GgufFields& fields, const char* part) {
  return fields.tensor("blk.0." + std::string(part) + ".bias") != nullptr;
}

void set_class(Json& config, const char* class_name, const char* model_type) {
  config.set("architectures", Json::array({Json::string(class_name)}));
  config.set("model_type", Json::string(model_type));
}

void set_flag(Json& config, const char* field, bool value) {
  config.set(field, Json::boolean(value));
}

void set_biases(const GgufFields& fields, Json& config) {
  set_flag(config, "attention_bias", has_bias(fields, "attn_q"));
  set_flag(config, "mlp_bias", has_bias(fields, "ffn_up"));
}

// Fields that the architecture's published files have, and no window where the file names none.
void set_no_window(const GgufFields& fields, Json& config) {
  if (!fields.has(".attention.sliding_window")) config.set("sliding_window", Json::null());
}

// The window of the kind of files that always have it: all but the last layer of each `pattern`.
void set_window_layers(const GgufFields& fields, Json& config, int64_t pattern) {
  const auto given = fields.booleans(".attention.sliding_window_pattern");
  const int64_t layers = fields.required_integer(".block_count");
  if (!given.empty() && std::ssize(given) < layers) {
    fields.refuse(".attention.sliding_window_pattern", "has fewer items than layers",
                  std::to_string(layers), std::to_string(given.size()));
  }
  std::vector<Json> types;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const bool is_windowed =
        given.empty() ? (layer + 1) % pattern != 0 : given[static_cast<size_t>(layer)];
    types.push_back(Json::string(is_windowed ? "sliding_attention" : "full_attention"));
  }
  config.set("layer_types", Json::array(std::move(types)));
}

void finish_llama(const GgufFields& fields, Json& config) {
  set_biases(fields, config);
  add_llama3_scaling(fields, config);
  if (fields.integer(".expert_count").value_or(0) == 0) return;
  set_class(config, "MixtralForCausalLM", "mixtral");
  config.set("num_local_experts", Json::integer(fields.required_integer(".expert_count")));
  config.set("num_experts_per_tok", Json::integer(fields.required_integer(".expert_used_count")));
  set_no_window(fields, config);
}

void finish_biased(const GgufFields& fields, Json& config) {
  set_biases(fields, config);
  add_llama3_scaling(fields, config);
}

void finish_qwen3(const GgufFields& fields, Json& config) {
  set_flag(config, "attention_bias", has_bias(fields, "attn_q"));
}

// The published shares of Qwen 2's chosen experts do not sum to 1; those of Qwen 3's do.
void finish_qwen2moe(const GgufFields& fields, Json& config) {
  set_flag(config, "qkv_bias", has_bias(fields, "attn_q"));
  set_flag(config, "norm_topk_prob", false);
}

void finish_qwen3moe(const GgufFields& fields, Json& config) {
  finish_qwen3(fields, config);
  set_flag(config, "norm_topk_prob", true);
}

void finish_olmoe(const GgufFields& fields, Json& config) {
  set_flag(config, "attention_bias", has_bias(fields, "attn_q"));
  set_flag(config, "norm_topk_prob", false);
}

void finish_gemma(const GgufFields&, Json& config) {
  config.set("hidden_act", Json::string("gelu_pytorch_tanh"));
}

// The scale of scores is not in the file: the largest models, known by their layers, have one of
// their own.
void set_score_scalar(const GgufFields& fields, Json& config, int64_t layers_of_largest) {
  const int64_t heads = fields.required_integer(".attention.head_count");
  const int64_t width = fields.required_integer(".embedding_length");
  const bool is_largest = fields.required_integer(".block_count") == layers_of_largest;
  const int64_t own = heads > 0 ? width / heads : 1;
  config.set(
      "query_pre_attn_scalar",
      Json::integer(is_largest ? own : fields.integer(".attention.key_length").value_or(own)));
}

void finish_gemma2(const GgufFields& fields, Json& config) { set_score_scalar(fields, config, 46); }

void finish_gemma3(const GgufFields& fields, Json& config) {
  set_score_scalar(fields, config, 62);
  set_window_layers(fields, config, 6);
}

void finish_phi3(const GgufFields& fields, Json& config) {
  add_longrope_scaling(fields, config);
  set_no_window(fields, config);
}

void finish_starcoder2(const GgufFields& fields, Json& config) {
  set_flag(config, "use_bias", has_bias(fields, "attn_output"));
  set_no_window(fields, config);
}

void finish_stablelm(const GgufFields& fields, Json& config) {
  set_flag(config, "use_qkv_bias", has_bias(fields, "attn_q"));
  set_flag(config, "qk_layernorm", fields.tensor("blk.0.attn_q_norm.weight") != nullptr);
}

void finish_gptneox(const GgufFields& fields, Json& config) {
  set_flag(config, "attention_bias", has_bias(fields, "attn_qkv"));
}

void finish_starcoder(const GgufFields& fields, Json& config) {
  const auto groups = fields.integer(".attention.head_count_kv").value_or(1);
  set_flag(config, "multi_query", groups == 1);
}

void finish_cohere(const GgufFields& fields, Json& config) {
  set_flag(config, "attention_bias", has_bias(fields, "attn_q"));
  set_flag(config, "use_qk_norm", fields.tensor("blk.0.attn_q_norm.weight") != nullptr);
}

void finish_cohere2(const GgufFields& fields, Json& config) {
  set_flag(config, "attention_bias", has_bias(fields, "attn_q"));
  set_window_layers(fields, config, 4);
}

// OLMo 3 is OLMo 2 with a window.
void finish_olmo2(const GgufFields& fields, Json& config) {
  set_flag(config, "attention_bias", has_bias(fields, "attn_q"));
  if (!fields.has(".attention.sliding_window")) return;
  set_class(config, "Olmo3ForCausalLM", "olmo3");
  set_window_layers(fields, config, 4);
}

void finish_exaone4(const GgufFields& fields, Json& config) {
  add_llama3_scaling(fields, config);
  if (fields.integer(".attention.sliding_window").value_or(0) > 0) {
    set_window_layers(fields, config, 4);
    return;
  }
  config.set("sliding_window", Json::null());
}

void finish_seed_oss(const GgufFields& fields, Json& config) {
  set_biases(fields, config);
  set_flag(config, "attention_out_bias", has_bias(fields, "attn_output"));
}

void finish_ernie4_5(const GgufFields& fields, Json& config) {
  set_flag(config, "use_bias", has_bias(fields, "attn_q"));
}

void finish_attention_bias(const GgufFields& fields, Json& config) {
  set_flag(config, "attention_bias", has_bias(fields, "attn_q"));
}

// The file has the factors that follow from the published fields.
void finish_minicpm(const GgufFields& fields, Json& config) {
  finish_attention_bias(fields, config);
  const auto layers = static_cast<double>(fields.required_integer(".block_count"));
  const auto width = static_cast<double>(fields.required_integer(".embedding_length"));
  if (const auto scale = fields.number(".embedding_scale")) {
    config.set("scale_emb", Json::number(*scale));
  }
  if (const auto scale = fields.number(".residual_scale")) {
    config.set("scale_depth", Json::number(*scale * std::sqrt(layers)));
  }
  if (const auto scale = fields.number(".logit_scale"); scale && *scale > 0) {
    config.set("dim_model_base", Json::number(width / *scale));
  }
}

void finish_chatglm(const GgufFields& fields, Json& config) {
  constexpr double kBase = 10000;
  set_flag(config, "add_qkv_bias", has_bias(fields, "attn_qkv"));
  set_flag(config, "multi_query_attention", true);
  config.set("padded_vocab_size", *config.find("vocab_size"));
  config.set("partial_rotary_factor", Json::null());  // half of a head turns
  config.set("rope_theta", Json::null());
  const double base = fields.number(".rope.freq_base").value_or(kBase);
  if (base != kBase) config.set("rope_ratio", Json::number(base / kBase));
  const int64_t heads = fields.required_integer(".attention.head_count");
  config.set("kv_channels",
             Json::integer(heads > 0 ? fields.required_integer(".embedding_length") / heads : 0));
}

// Layers without keys are convolutions.
void finish_lfm2(const GgufFields& fields, Json& config) {
  std::vector<int64_t> keys = fields.integers(".attention.head_count_kv");
  const int64_t layers = fields.required_integer(".block_count");
  if (std::ssize(keys) != layers) {
    fields.refuse(".attention.head_count_kv", "does not have an item for each layer",
                  std::to_string(layers), std::to_string(keys.size()));
  }
  std::vector<Json> types;
  for (const int64_t count : keys)
    types.push_back(Json::string(count > 0 ? "full_attention" : "conv"));
  config.set("layer_types", Json::array(std::move(types)));
  config.set("num_key_value_heads", Json::integer(*std::ranges::max_element(keys)));
  set_flag(config, "block_auto_adjust_ff_dim", false);
}

// "intermediate_size" counts the rows of two matrices.
void finish_qwen(const GgufFields& fields, Json& config) {
  const int64_t heads = fields.required_integer(".attention.head_count");
  config.set("kv_channels",
             Json::integer(heads > 0 ? fields.required_integer(".embedding_length") / heads : 0));
}

}  // namespace

std::span<const GgufArchitecture> gguf_architectures() {
  static constexpr GgufArchitecture kTable[] = {
      {"llama",
       "LlamaForCausalLM",
       "llama",
       kPaired,
       kDecoder,
       {},
       finish_llama,
       false,
       write_llama},
      {"qwen2", "Qwen2ForCausalLM", "qwen2", {}, kDecoder},
      {"qwen3", "Qwen3ForCausalLM", "qwen3", {}, kDecoder, {}, finish_qwen3},
      {"qwen2moe", "Qwen2MoeForCausalLM", "qwen2_moe", kExperts, kDecoder, kExpertFields,
       finish_qwen2moe},
      {"qwen3moe", "Qwen3MoeForCausalLM", "qwen3_moe", kExperts, kDecoder, kExpertFields,
       finish_qwen3moe},
      {"gemma", "GemmaForCausalLM", "gemma", kGemma, kDecoder, {}, finish_gemma},
      {"gemma2", "Gemma2ForCausalLM", "gemma2", kGemma2, kDecoder, kGemma2Fields, finish_gemma2},
      {"gemma3", "Gemma3ForCausalLM", "gemma3_text", kGemma2, kDecoder, kGemma3Fields,
       finish_gemma3},
      {"phi2", "PhiForCausalLM", "phi", kPhi2, kDecoder, kLayerNormEps},
      {"phi3", "Phi3ForCausalLM", "phi3", kPhi3, kDecoder, {}, finish_phi3},
      {"starcoder2", "Starcoder2ForCausalLM", "starcoder2", kStarCoder2, kDecoder, kNormEpsilon,
       finish_starcoder2},
      {"stablelm", "StableLmForCausalLM", "stablelm", {}, kDecoder, kStableLm, finish_stablelm},
      {"gpt2", "GPT2LMHeadModel", "gpt2", {}, kGpt2, kGpt},
      {"starcoder", "GPTBigCodeForCausalLM", "gpt_bigcode", kStarCoder, kGpt2, kGpt,
       finish_starcoder},
      {"gptneox", "GPTNeoXForCausalLM", "gpt_neox", {}, kGptNeox, kNeox, finish_gptneox},
      {"command-r", "CohereForCausalLM", "cohere", {}, kDecoder, kCohere, finish_cohere},
      {"cohere2", "Cohere2ForCausalLM", "cohere2", {}, kDecoder, kCohere, finish_cohere2},
      {"olmo", "OlmoForCausalLM", "olmo", kPaired, kDecoder, kOlmo, finish_attention_bias, false,
       write_olmo},
      {"olmo2",
       "Olmo2ForCausalLM",
       "olmo2",
       kNormsAfter,
       kDecoder,
       {},
       finish_olmo2,
       false,
       write_window_layers},
      {"olmoe", "OlmoeForCausalLM", "olmoe", kExperts, kDecoder, kExpertFields, finish_olmoe},
      {"granite", "GraniteForCausalLM", "granite", kPaired, kDecoder, kGranite, finish_biased},
      {"exaone4",
       "Exaone4ForCausalLM",
       "exaone4",
       kNormsAfter,
       kDecoder,
       {},
       finish_exaone4,
       false,
       write_window_layers},
      {"smollm3", "SmolLM3ForCausalLM", "smollm3", kPaired, kDecoder, {}, finish_biased},
      {"seed_oss", "SeedOssForCausalLM", "seed_oss", kNormsAfter, kDecoder, {}, finish_seed_oss},
      {"arcee", "ArceeForCausalLM", "arcee", kPaired, kDecoder, {}, finish_biased},
      {"ernie4_5", "Ernie4_5ForCausalLM", "ernie4_5", {}, kDecoder, {}, finish_ernie4_5},
      {"glm4", "Glm4ForCausalLM", "glm4", kGlm4, kDecoder, {}, finish_attention_bias},
      {"hunyuan-dense",
       "HunYuanDenseV1ForCausalLM",
       "hunyuan_v1_dense",
       kHunYuan,
       kDecoder,
       {},
       finish_attention_bias},
      {"nemotron", "NemotronForCausalLM", "nemotron", kNemotron, kDecoder, kNormEps, finish_biased},
      {"orion", "OrionForCausalLM", "orion", {}, kDecoder, kRmsNormEps},
      {"qwen", "QWenLMHeadModel", "qwen", {}, kQwen, kQwenFields, finish_qwen},
      {"minicpm",
       "MiniCPMForCausalLM",
       "minicpm",
       kPaired,
       kDecoder,
       {},
       finish_minicpm,
       false,
       write_minicpm},
      {"chatglm", "ChatGLMModel", "chatglm", {}, kChatGlm, kChatGlmFields, finish_chatglm},
      {"lfm2", "Lfm2ForCausalLM", "lfm2", kLfm2, kDecoder, kLfm2Fields, finish_lfm2, true,
       write_lfm2},
  };
  return kTable;
}

const GgufArchitecture& find_gguf_architecture(const GgufFields& fields) {
  std::vector<std::string_view> known;
  for (const GgufArchitecture& one : gguf_architectures()) {
    if (one.name == fields.architecture()) return one;
    known.push_back(one.name);
  }
  std::ranges::sort(known);
  fields.refuse("general.architecture", "is not supported in GGUF files", join_choices(known),
                in_quotes(fields.architecture()),
                "the model's safetensors files may be supported: tapml models lists what is");
}

const GgufName* find_gguf_name(const GgufArchitecture& architecture, std::string_view pattern) {
  for (const std::span<const GgufName> names : {architecture.names, architecture.base}) {
    const auto found = std::ranges::find(names, pattern, &GgufName::stored);
    if (found != names.end()) return &*found;
  }
  return nullptr;
}

const GgufName* find_published_name(const GgufArchitecture& architecture,
                                    std::string_view pattern) {
  for (const std::span<const GgufName> names : {architecture.names, architecture.base}) {
    const auto found = std::ranges::find(names, pattern, &GgufName::published);
    if (found != names.end()) return &*found;
  }
  return nullptr;
}

const GgufArchitecture* find_gguf_architecture_of(std::string_view model_type) {
  // Those whose files have another architecture's name, which `finish` tells apart, or which are
  // another architecture under a name of their own.
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"mixtral", "llama"}, {"mistral", "llama"}, {"olmo3", "olmo2"}};
  const auto other =
      std::ranges::find(kOthers, model_type, &std::pair<std::string_view, std::string_view>::first);
  if (other != std::end(kOthers)) model_type = other->second;
  for (const GgufArchitecture& one : gguf_architectures()) {
    if (one.model_type == model_type) return &one;
  }
  return nullptr;
}

}  // namespace tapml::frontend
