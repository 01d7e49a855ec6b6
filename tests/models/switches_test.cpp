// Every field of a golden configuration that changes a model changes its logits, by much more than
// they may differ from the published implementation's: a field that an architecture ignores, or
// whose effect the weights hide, is found here.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/interpreted_text.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

// Fields that say sizes, which weights follow, names and tokens; rescale_every, whose factors
// cancel; attn_mode and fuse_norm, which choose published kernels.
const std::set<std::string> kNoSwitches = {"architectures",
                                           "a_low_rank_dim",
                                           "decay_low_rank_dim",
                                           "gate_low_rank_dim",
                                           "v_low_rank_dim",
                                           "value_dim",
                                           "attn_mode",
                                           "fuse_norm",
                                           "attention_hidden_size",
                                           "block_ff_dim",
                                           "bos_token_id",
                                           "dtype",
                                           "eos_token_id",
                                           "head_dim",
                                           "head_size",
                                           "hidden_size",
                                           "model_type",
                                           "pad_token_id",
                                           "intermediate_size",
                                           "d_model",
                                           "max_seq_len",
                                           "model_max_length",
                                           "n_embd",
                                           "n_embed",
                                           "n_heads",
                                           "n_layers",
                                           "n_head",
                                           "n_inner",
                                           "n_layer",
                                           "n_positions",
                                           "linear_key_head_dim",
                                           "linear_num_key_heads",
                                           "linear_num_value_heads",
                                           "linear_value_head_dim",
                                           "max_position_embeddings",
                                           "vocab_size",
                                           "num_attention_heads",
                                           "num_hidden_layers",
                                           "num_experts",
                                           "num_key_value_heads",
                                           "global_head_dim",
                                           "num_global_key_value_heads",
                                           "per_layer_config",
                                           "hidden_size_per_layer_input",
                                           "vocab_size_per_layer_input",
                                           "laurel_rank",
                                           "altup_num_inputs",
                                           "moe_intermediate_size",
                                           "num_local_experts",
                                           "intermediate_size_mlp",
                                           "moe_num_experts",
                                           "moe_num_shared_experts",
                                           "n_routed_experts",
                                           "n_shared_experts",
                                           "q_lora_rank",
                                           "kv_lora_rank",
                                           "qk_rope_head_dim",
                                           "qk_nope_head_dim",
                                           "v_head_dim",
                                           "conv_kernel",
                                           "expand",
                                           "mamba_d_conv",
                                           "mamba_d_head",
                                           "mamba_d_ssm",
                                           "mamba_d_state",
                                           "mamba_expand",
                                           "mamba_head_dim",
                                           "mamba_n_groups",
                                           "mamba_n_heads",
                                           "mamba_num_heads",
                                           "moe_shared_expert_intermediate_size",
                                           "n_groups",
                                           "num_heads",
                                           "shared_intermediate_size",
                                           "ssm_state_size",
                                           "state_size",
                                           "adapter_rank",
                                           "mamba_ngroups",
                                           "n_mamba_heads",
                                           "ffn_hidden_size",
                                           "kv_channels",
                                           "multi_query_group_num",
                                           "num_layers",
                                           "padded_vocab_size",
                                           "seq_length",
                                           "shared_expert_intermediate_size",
                                           "rescale_every"};

// Fields whose other value an architecture refuses.
const std::set<std::string> kRefused = {"add_bias_linear",
                                        "apply_residual_connection_post_layernorm",
                                        "attn",
                                        "multi_query_attention",
                                        "post_layer_norm",
                                        "rmsnorm",
                                        "use_bidirectional_attention"};

Json list(const std::vector<Json>& items) { return Json::array(items); }

// Another value of a field; nullopt if the field has none that changes the model.
std::optional<Json> other_value(const std::string& field, const Json& value) {
  if (value.is_bool()) return Json::boolean(!value.as_bool());
  if (field == "mamba_hidden_act" || field == "mlp_hidden_act" || field == "hidden_act" ||
      field == "hidden_activation" || field == "activation_function") {
    return Json::string(value.as_string() == "silu" ? "gelu" : "silu");
  }
  if (field == "layer_types") {
    // Attention and the other kind of layer that the list has; in older names, if it has these.
    std::string full = "full_attention", other = "sliding_attention";
    for (const Json& item : value.items()) {
      if (item.as_string() == "attention")
        full = "attention";
      else if (item.as_string() != full)
        other = item.as_string();
    }
    if (full == "attention") other = "mamba";
    std::vector<Json> items;
    for (const Json& item : value.items()) {
      items.push_back(Json::string(item.as_string() == full ? other : full));
    }
    return list(items);
  }
  if (field == "mlp_layer_types") {
    return list(std::vector<Json>(value.items().size(), Json::string("sparse")));
  }
  if (field == "layers_block_type") {
    std::vector<Json> items(value.items().rbegin(), value.items().rend());
    return list(items);
  }
  if (field == "hybrid_override_pattern") {
    const std::string& pattern = value.as_string();
    return Json::string({pattern.rbegin(), pattern.rend()});
  }
  if (field == "position_embedding_type") {
    return Json::string(value.as_string() == "rope" ? "nope" : "rope");
  }
  if (field == "time_step_limit") return list({Json::integer(0), Json::integer(100)});
  if (field == "ssm_multipliers" || field == "mlp_multipliers") {
    std::vector<Json> items;
    for (const Json& item : value.items()) items.push_back(Json::number(item.as_double() * 1.5));
    return list(items);
  }
  if (field == "attn_config") return Json::object({{"softmax_scale", Json::number(0.9)}});
  if (field == "attn_layer_indices") return list({Json::integer(2)});
  if (field == "no_rope_layers") {
    std::vector<Json> items;
    for (const Json& item : value.items()) items.push_back(Json::integer(1 - item.as_integer()));
    return list(items);
  }
  if (field == "moe_layers") return list({Json::integer(1)});
  if (field == "full_attn_idxs") return list({Json::integer(1)});
  if (field == "mlp_only_layers") {
    return value.items().empty() ? list({Json::integer(1)}) : list({});
  }
  if (field == "num_experts_per_tok" || field == "no_rope_layer_interval" ||
      field == "decoder_sparse_step" || field == "interleave_moe_layer_step" || field == "moe_k" ||
      field == "moe_layer_interval" || field == "attention_chunk_size" ||
      field == "max_window_layers" || field == "sliding_window_pattern" ||
      field == "conv_L_cache" || field == "full_attention_interval" ||
      field == "linear_conv_kernel_dim" || field == "num_mem_blocks" ||
      field == "altup_active_idx" || field == "top_k_experts") {
    return Json::integer(value.as_integer() == 1 ? 2 : value.as_integer() - 1);
  }
  if (field == "moe_layer_start_index" || field == "moe_layer_end_index") {
    return Json::integer(value.as_integer() == 1 ? 0 : 1);
  }
  if (field == "n_group") {
    return Json::integer(value.as_integer() % 2 == 0 ? value.as_integer() / 2
                                                     : value.as_integer() * 2);
  }
  if (field == "topk_group") return Json::integer(value.as_integer() + 1);
  if (field == "first_k_dense_replace" || field == "num_dense_layers") {
    return Json::integer(value.as_integer() <= 1 ? 2 : value.as_integer() - 1);
  }
  if (field == "topk_method") {
    return Json::string(value.as_string() == "greedy" ? "group_limited_greedy" : "greedy");
  }
  if (field == "block_multiple_of") return Json::integer(40);
  if (field == "num_kv_shared_layers") {
    return Json::integer(value.as_integer() == 0 ? 1 : value.as_integer() - 1);
  }
  if (field == "activation_sparsity_pattern") {
    return list(std::vector<Json>(value.items().size(), Json::number(0.2)));
  }
  if (field == "use_bidirectional_attention") return Json::string("all");
  if (field == "sliding_window") {
    return Json::integer(value.is_null() ? 5 : value.as_integer() + 4);
  }
  if (value.is_null()) return Json::number(2.0);
  if (field == "rope_scaling" || field == "rope_parameters" || field == "rotary") {
    return Json::null();
  }
  if (field == "original_max_position_embeddings") return Json::integer(value.as_integer() + 8);
  if (field == "rotary_dim") return Json::integer(value.as_integer() + 4);
  if (field == "partial_rotary_factor" || field == "rotary_pct") {
    return Json::number(value.as_double() == 0.5 ? 1.0 : 0.5);
  }
  if (field == "rms_norm_eps" || field == "norm_eps" || field == "layernorm_epsilon") {
    return Json::number(value.as_double() * 100);
  }
  if (field == "layer_norm_epsilon") return Json::number(std::min(value.as_double() * 1e4, 1.0));
  if (field == "head_size_divisor") return Json::number(value.as_double() * 8);
  return Json::number(value.as_double() * 1.5);
}

HostTensor logits_of(const std::string& config, const testing::GoldenModel& golden) {
  testing::GoldenModel other;
  other.reference = golden.reference;
  other.model.config = frontend::parse_config(config, "config.json");
  other.model.module =
      models::build_decoder(other.model.config.model, {.fallback = other.model.config.dtype});
  testing::add_random_weights(other);
  InterpretedText text(other, 3);
  return text.call("logits_all", golden.reference.at("tokens").values<int32_t>());
}

class Switches : public ::testing::TestWithParam<std::string> {};

TEST_P(Switches, EachChangesTheLogits) {
  const testing::GoldenModel golden = testing::golden_model(GetParam());
  const std::string path = testing::golden_path("logits/" + GetParam() + "/config.json");
  const Json config = unwrap(parse_json(unwrap(read_text_file(path)), path));
  const HostTensor& expected = golden.reference.at("logits");
  for (const auto& [field, value] : config.members()) {
    if (kNoSwitches.contains(field)) continue;
    // Without a window its layers are like all others.
    const Json* window = config.find("sliding_window");
    if (field == "layer_types" && window && window->is_null()) continue;
    // One group of experts has no groups to choose from.
    const Json* groups = config.find("n_group");
    const bool grouped = groups && groups->as_integer() > 1;
    if (!grouped && (field == "topk_group" || field == "topk_method")) continue;
    const auto other = other_value(field, value);
    ASSERT_TRUE(other) << field;
    std::vector<std::pair<std::string, Json>> members;
    for (const auto& [key, old] : config.members()) {
      members.emplace_back(key, key == field ? *other : old);
    }
    const std::string text = Json::object(members).dump();
    // Which have some of these switches.
    const bool knows = GetParam().starts_with("zamba2") || GetParam().starts_with("bloom");
    if (kRefused.contains(field) && !knows) {
      testing::expect_user_error([&] { logits_of(text, golden); }, {field});
      continue;
    }
    const HostTensor logits = logits_of(text, golden);
    EXPECT_GE(testing::largest_difference(logits, expected),
              10 * testing::logit_tolerance(expected))
        << field << ": " << value.dump() << " and " << other->dump();
  }
}

INSTANTIATE_TEST_SUITE_P(OtherModels, Switches, ::testing::ValuesIn(testing::other_golden_models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tapml
