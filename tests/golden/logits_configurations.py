"""The random configurations of make_logits.py: OTHERS and RANDOM."""

# The older form of the configuration: rope_theta and rope_scaling apart, torch_dtype, no head_dim.
# Wavelengths of its rotations fall into all three bands of the llama3 rule.
LLAMA3_GQA = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 96,
    "initializer_range": 0.02,
    "intermediate_size": 172,
    "max_position_embeddings": 256,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 6,
    "num_hidden_layers": 3,
    "num_key_value_heads": 2,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 64,
        "rope_type": "llama3",
    },
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "transformers_version": "4.43.0",
    "use_cache": True,
    "vocab_size": 331,
}

# The form of transformers 5: rope_parameters, dtype.
MQA_TIED = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "dtype": "float16",
    "eos_token_id": 2,
    "head_dim": 16,
    "hidden_act": "silu",
    "hidden_size": 80,
    "initializer_range": 0.02,
    "intermediate_size": 220,
    "max_position_embeddings": 128,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 5,
    "num_hidden_layers": 2,
    "num_key_value_heads": 1,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-06,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
    "tie_word_embeddings": True,
    "transformers_version": "5.0.0",
    "use_cache": True,
    "vocab_size": 409,
}

def variant(base, **changes):
    """The configuration `base` with other fields; None takes a field away."""
    fields = {**base, **changes}
    return {key: value for key, value in sorted(fields.items()) if value is not None}


# A bias on every projection, in the older form.
BIASED = variant(
    LLAMA3_GQA, attention_bias=True, mlp_bias=True, hidden_size=64, intermediate_size=120,
    max_position_embeddings=96, num_attention_heads=4, num_hidden_layers=2, rope_scaling=None,
    rope_theta=10000.0, torch_dtype="bfloat16", vocab_size=257)

# Heads whose width is not hidden_size / heads, which here is odd; as many K heads as Q heads
# because no field says otherwise.
WIDE_HEADS = variant(
    MQA_TIED, dtype="float32", head_dim=24, hidden_size=75, intermediate_size=132,
    num_attention_heads=5, num_key_value_heads=None, tie_word_embeddings=False, vocab_size=211)

# One layer, heads narrower than hidden_size / heads, a bias on the attention only, linear scaling.
ONE_LAYER = variant(
    MQA_TIED, attention_bias=True, head_dim=8, hidden_size=72, num_attention_heads=6,
    num_hidden_layers=1, num_key_value_heads=3,
    rope_parameters={"factor": 4.0, "rope_theta": 10000.0, "rope_type": "linear"}, vocab_size=300)

# Experts in every layer but the second, whose shares are not made to sum to 1, as in Qwen1.5-MoE.
QWEN2_MOE = {
    "architectures": ["Qwen2MoeForCausalLM"],
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "decoder_sparse_step": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 64,
    "initializer_range": 0.02,
    "intermediate_size": 112,
    "max_position_embeddings": 96,
    "max_window_layers": 3,
    "mlp_only_layers": [1],
    "model_type": "qwen2_moe",
    "moe_intermediate_size": 44,
    "norm_topk_prob": False,
    "num_attention_heads": 4,
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 3,
    "num_key_value_heads": 2,
    "output_router_logits": False,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0,
    "router_aux_loss_coef": 0.001,
    "shared_expert_intermediate_size": 72,
    "sliding_window": 32768,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "transformers_version": "4.43.0",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 251,
}

# Experts in every second layer, shares that sum to 1, no biases, the form of transformers 5.
QWEN2_MOE_NORMED = variant(
    QWEN2_MOE, decoder_sparse_step=2, dtype="bfloat16", mlp_only_layers=[], norm_topk_prob=True,
    num_experts=5, num_experts_per_tok=3, num_hidden_layers=2, qkv_bias=False,
    rope_parameters={"rope_theta": 10000.0, "rope_type": "default"}, rope_theta=None,
    tie_word_embeddings=True, torch_dtype=None, transformers_version="5.0.0", vocab_size=199)

# Heads of their own width, no shared expert, layer_types against use_sliding_window, rope_theta twice.
QWEN2_MOE_PLAIN = variant(
    QWEN2_MOE, head_dim=24, layer_types=["full_attention"] * 2, mlp_only_layers=[], num_hidden_layers=2,
    rope_scaling={"factor": 2.0, "rope_theta": 20000.0, "rope_type": "linear"},
    shared_expert_intermediate_size=0, sliding_window=8, use_sliding_window=True, vocab_size=157)

# What the architectures below have in common.
SMALL = {
    "dtype": "float32", "hidden_size": 64, "intermediate_size": 96, "max_position_embeddings": 128,
    "num_attention_heads": 4, "num_hidden_layers": 3, "num_key_value_heads": 2, "vocab_size": 203}


def small(model_type, class_name, **changes):
    return variant(SMALL, architectures=[class_name], model_type=model_type, **changes)


MISTRAL = small("mistral", "MistralForCausalLM", head_dim=24, sliding_window=7, tie_word_embeddings=False)
MIXTRAL = small("mixtral", "MixtralForCausalLM", num_experts_per_tok=2, num_local_experts=5, sliding_window=None,
                tie_word_embeddings=False)
QWEN2 = small("qwen2", "Qwen2ForCausalLM", tie_word_embeddings=True)
QWEN3 = small("qwen3", "Qwen3ForCausalLM", head_dim=24, attention_bias=True, tie_word_embeddings=False)
QWEN3_MOE = small("qwen3_moe", "Qwen3MoeForCausalLM", head_dim=24, moe_intermediate_size=32, num_experts=6,
                  num_experts_per_tok=3, mlp_only_layers=[0], norm_topk_prob=True, tie_word_embeddings=False)
YARN = {"beta_fast": 4.0, "beta_slow": 0.5, "factor": 4.0, "original_max_position_embeddings": 32, "rope_theta": 500.0,
        "rope_type": "yarn"}
LATENT = {"num_key_value_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 24, "qk_rope_head_dim": 8, "qk_nope_head_dim": 12,
          "v_head_dim": 24}
DEEPSEEK_V3 = small("deepseek_v3", "DeepseekV3ForCausalLM", **LATENT, first_k_dense_replace=1, moe_intermediate_size=32,
                    n_group=4, n_routed_experts=8, n_shared_experts=1, norm_topk_prob=True, num_experts_per_tok=3,
                    rope_interleave=True, rope_parameters={**YARN, "mscale": 1.0, "mscale_all_dim": 0.7},
                    routed_scaling_factor=1.7, tie_word_embeddings=False, topk_group=2)
DEEPSEEK_V2 = small("deepseek_v2", "DeepseekV2ForCausalLM", **LATENT, first_k_dense_replace=1, moe_intermediate_size=32,
                    n_group=4, n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=3,
                    routed_scaling_factor=1.4, topk_group=2, topk_method="group_limited_greedy")
GLM4_MOE = small("glm4_moe", "Glm4MoeForCausalLM", first_k_dense_replace=1, head_dim=24, moe_intermediate_size=32,
                 n_group=1, n_routed_experts=6, n_shared_experts=1, norm_topk_prob=True, num_experts_per_tok=2,
                 partial_rotary_factor=0.5, routed_scaling_factor=1.5, tie_word_embeddings=False, topk_group=1,
                 use_qk_norm=False)
GLM4_MOE_LITE = small("glm4_moe_lite", "Glm4MoeLiteForCausalLM", **LATENT, moe_intermediate_size=32, n_group=1,
                      n_routed_experts=6, n_shared_experts=1, norm_topk_prob=True, num_experts_per_tok=2,
                      routed_scaling_factor=1.6, tie_word_embeddings=False, topk_group=1)
GRANITE_MOE = {"attention_multiplier": 0.3, "embedding_multiplier": 3.0, "intermediate_size": 32, "logits_scaling": 0.6,
               "num_experts_per_tok": 2, "num_local_experts": 5, "residual_multiplier": 0.7, "tie_word_embeddings": False}
GPT_OSS = small("gpt_oss", "GptOssForCausalLM", head_dim=16, intermediate_size=28, num_experts_per_tok=2,
                num_local_experts=5, sliding_window=7, swiglu_alpha=1.2, swiglu_limit=0.8, tie_word_embeddings=False)
DOTS1 = small("dots1", "Dots1ForCausalLM", first_k_dense_replace=1, max_window_layers=2, moe_intermediate_size=32,
              n_group=1, n_routed_experts=6, n_shared_experts=1, norm_topk_prob=True, num_experts_per_tok=2,
              routed_scaling_factor=1.5, sliding_window=8, tie_word_embeddings=False, topk_group=1)
ERNIE4_5_MOE = small("ernie4_5_moe", "Ernie4_5_MoeForCausalLM", moe_intermediate_size=32, moe_k=2, moe_layer_end_index=2,
                     moe_layer_interval=1, moe_layer_start_index=1, moe_num_experts=6, moe_num_shared_experts=2,
                     num_hidden_layers=4, tie_word_embeddings=False, use_bias=False)
LLAMA4 = small("llama4_text", "Llama4ForCausalLM", attention_chunk_size=7, attn_scale=0.8, attn_temperature_tuning=True,
               floor_scale=5, head_dim=16, interleave_moe_layer_step=2, intermediate_size_mlp=128,
               no_rope_layer_interval=3, num_experts_per_tok=1, num_hidden_layers=4, num_local_experts=4,
               tie_word_embeddings=False, use_qk_norm=True)
MINICPM3 = small("minicpm3", "MiniCPM3ForCausalLM", **LATENT, dim_model_base=48, scale_depth=1.9, scale_emb=3,
                 tie_word_embeddings=False)
GEMMA2 = small("gemma2", "Gemma2ForCausalLM", head_dim=24, query_pre_attn_scalar=40, sliding_window=6,
               attn_logit_softcapping=2.0, final_logit_softcapping=3.0, hidden_activation="gelu_pytorch_tanh")
STABLELM = small("stablelm", "StableLmForCausalLM", partial_rotary_factor=0.5, use_qkv_bias=True,
                 tie_word_embeddings=False)
GPT2 = {"architectures": ["GPT2LMHeadModel"], "dtype": "float32", "model_type": "gpt2", "n_embd": 64, "n_head": 4,
        "n_layer": 3, "n_positions": 96, "vocab_size": 203}
BLOOM = {"architectures": ["BloomForCausalLM"], "dtype": "float32", "hidden_size": 96, "model_type": "bloom", "n_head": 6,
         "n_layer": 3, "seq_length": 96, "vocab_size": 203}
MPT = {"architectures": ["MptForCausalLM"], "attn_config": {"clip_qkv": 1.5, "softmax_scale": 0.4}, "d_model": 64,
       "dtype": "float32", "max_seq_len": 96, "model_type": "mpt", "n_heads": 4, "n_layers": 3, "vocab_size": 203}
GPT_NEOX = small("gpt_neox", "GPTNeoXForCausalLM", num_key_value_heads=None, rotary_pct=0.25, rotary_emb_base=5000,
                 tie_word_embeddings=False)
GRANITE = small("granite", "GraniteForCausalLM", embedding_multiplier=3.0, residual_multiplier=0.4,
                attention_multiplier=0.125, logits_scaling=0.5, tie_word_embeddings=True)
SMOLLM3 = small("smollm3", "SmolLM3ForCausalLM", num_hidden_layers=5, no_rope_layer_interval=2,
                bos_token_id=1, eos_token_id=2, pad_token_id=0)

# Half as many heads of keys as of values. The seeds are some for which PyTorch's own rounding, which the norms of these
# small models amplify, stays far below what logits may differ by.
DELTA_NET = {"head_dim": 24, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 16, "linear_num_key_heads": 2,
             "linear_num_value_heads": 4, "linear_value_head_dim": 24}
QWEN3_NEXT = small("qwen3_next", "Qwen3NextForCausalLM", full_attention_interval=3, mlp_only_layers=[1],
                   moe_intermediate_size=32, norm_topk_prob=True, num_experts=6, num_experts_per_tok=3,
                   shared_expert_intermediate_size=64, tie_word_embeddings=False, **DELTA_NET)
QWEN3_5 = small("qwen3_5_text", "Qwen3_5ForCausalLM", full_attention_interval=2, tie_word_embeddings=False, **DELTA_NET)
QWEN3_5_MOE = small("qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", full_attention_interval=3, intermediate_size=None,
                    moe_intermediate_size=32, num_experts=6, num_experts_per_tok=3,
                    shared_expert_intermediate_size=64, tie_word_embeddings=False, **DELTA_NET)

OLMO_HYBRID = small("olmo_hybrid", "OlmoHybridForCausalLM", linear_num_key_heads=2, linear_num_value_heads=4,
                    linear_key_head_dim=16, linear_value_head_dim=24, num_key_value_heads=2, pad_token_id=0,
                    rope_parameters={"rope_theta": None, "rope_type": "default"}, tie_word_embeddings=False)

LFM2_MOE = small("lfm2_moe", "Lfm2MoeForCausalLM", layer_types=["conv", "full_attention", "conv"],
                 moe_intermediate_size=32, num_dense_layers=1, num_experts=6, num_experts_per_tok=3)
MAMBA2 = {"architectures": ["Mamba2ForCausalLM"], "dtype": "float32", "head_dim": 16, "hidden_size": 64,
          "model_type": "mamba2", "n_groups": 2, "num_heads": 8, "num_hidden_layers": 3, "state_size": 16,
          "tie_word_embeddings": False, "vocab_size": 203}

GRANITE4 = small("granitemoehybrid", "GraniteMoeHybridForCausalLM", attention_multiplier=0.3,
                 embedding_multiplier=3.0, intermediate_size=None, layer_types=["mamba", "attention", "mamba"],
                 logits_scaling=0.5, mamba_d_head=16, mamba_d_state=16, mamba_n_heads=8, num_local_experts=0,
                 position_embedding_type="nope", residual_multiplier=0.4, shared_intermediate_size=96,
                 tie_word_embeddings=True)
FALCON_H1 = small("falcon_h1", "FalconH1ForCausalLM", attention_in_multiplier=1.3, attention_out_multiplier=0.7,
                  embedding_multiplier=2.0, key_multiplier=0.6, lm_head_multiplier=1.5, mamba_d_head=16,
                  mamba_d_ssm=96, mamba_d_state=16, mamba_n_heads=6, mlp_multipliers=[0.8, 0.6],
                  ssm_in_multiplier=1.2, ssm_multipliers=[0.9, 1.4, 0.7, 1.3, 0.6], ssm_out_multiplier=0.5,
                  tie_word_embeddings=False)
NEMOTRON_H = small("nemotron_h", "NemotronHForCausalLM", head_dim=24, hybrid_override_pattern="M-*M-",
                   mamba_head_dim=16, mamba_num_heads=8, n_groups=2, num_hidden_layers=5, ssm_state_size=16)

# Weights of these are larger, so that scores and logits differ by more than 1: a switch that a model
# ignores shows.
WIDE = 0.35

# Configuration, seed of the weights, number of tokens, scale of matrices.
OTHERS = {
    "cohere": (small("cohere", "CohereForCausalLM", logit_scale=1.5), 2001),
    "cohere_biased": (small("cohere", "CohereForCausalLM", attention_bias=True, hidden_act="gelu", logit_scale=2.0,
                            num_key_value_heads=4, tie_word_embeddings=False), 2002),
    "gemma": (small("gemma", "GemmaForCausalLM", head_dim=24, hidden_act="gelu_pytorch_tanh"), 2003),
    "gemma_plain": (small("gemma", "GemmaForCausalLM", head_dim=16, hidden_act="gelu", num_key_value_heads=1,
                          rope_theta=3000.0, tie_word_embeddings=False), 2004),
    "gemma2": (GEMMA2, 2005),
    "gemma2_uncapped": (variant(GEMMA2, layer_types=["full_attention", "sliding_attention", "sliding_attention"],
                                sliding_window=11, attn_logit_softcapping=None) | {
                                    "attn_logit_softcapping": None, "final_logit_softcapping": None}, 2006),
    "gemma3": (small("gemma3_text", "Gemma3ForCausalLM", head_dim=24, query_pre_attn_scalar=16, sliding_window=6,
                     sliding_window_pattern=2, rope_theta=2000.0, rope_local_base_freq=50.0,
                     rope_scaling={"factor": 2.0, "rope_type": "linear"}), 2041),
    "gemma3_nested": (small("gemma3_text", "Gemma3ForCausalLM", head_dim=16, num_key_value_heads=1,
                            final_logit_softcapping=3.0, sliding_window=9,
                            layer_types=["full_attention", "sliding_attention", "full_attention"],
                            rope_parameters={
                                "full_attention": {"factor": 4.0, "rope_theta": 3000.0, "rope_type": "linear"},
                                "sliding_attention": {"rope_theta": 100.0, "rope_type": "default"}},
                            tie_word_embeddings=False), 2042),
    "cohere2": (small("cohere2", "Cohere2ForCausalLM", logit_scale=1.5, sliding_window=6,
                      sliding_window_pattern=3), 2043),
    "cohere2_types": (small("cohere2", "Cohere2ForCausalLM", attention_bias=True, logit_scale=2.0,
                            layer_types=["full_attention", "sliding_attention", "full_attention"],
                            sliding_window=9, tie_word_embeddings=False), 2044),
    "ernie4_5": (small("ernie4_5", "Ernie4_5ForCausalLM", head_dim=24), 2045),
    "ernie4_5_biased": (small("ernie4_5", "Ernie4_5ForCausalLM", head_dim=16, num_key_value_heads=4, rope_theta=700.0,
                              tie_word_embeddings=False, use_bias=True), 2046),
    "exaone4": (small("exaone4", "Exaone4ForCausalLM", head_dim=16, num_hidden_layers=4, sliding_window=7,
                      sliding_window_pattern=2, tie_word_embeddings=False), 2047),
    "exaone4_full": (small("exaone4", "Exaone4ForCausalLM", head_dim=24, layer_types=["full_attention"] * 3,
                           tie_word_embeddings=True) | {"sliding_window": None}, 2048),
    "glm4": (small("glm4", "Glm4ForCausalLM", eos_token_id=[1, 2], head_dim=24, pad_token_id=0,
                   tie_word_embeddings=False), 2049),
    "glm4_unbiased": (small("glm4", "Glm4ForCausalLM", attention_bias=False, eos_token_id=[1, 2], head_dim=16,
                            pad_token_id=0, partial_rotary_factor=0.25, tie_word_embeddings=True), 2050),
    "hunyuan_v1_dense": (small("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", head_dim=24,
                               tie_word_embeddings=False), 2051),
    "hunyuan_v1_dense_biased": (small("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", attention_bias=True,
                                      head_dim=16, num_key_value_heads=4, tie_word_embeddings=True), 2052),
    "nemotron": (small("nemotron", "NemotronForCausalLM", tie_word_embeddings=False), 2053),
    "nemotron_biased": (small("nemotron", "NemotronForCausalLM", attention_bias=True, head_dim=24, hidden_act="silu",
                              mlp_bias=True, partial_rotary_factor=0.25, tie_word_embeddings=True), 2054),
    "olmo3": (small("olmo3", "Olmo3ForCausalLM", layer_types=[
        "sliding_attention", "full_attention", "sliding_attention"], rope_theta=1000.0, rope_scaling={
            "factor": 4.0, "original_max_position_embeddings": 32, "rope_type": "yarn"}, sliding_window=6,
                    tie_word_embeddings=False), 2055),
    "olmo3_nested": (small("olmo3", "Olmo3ForCausalLM", attention_bias=True, num_hidden_layers=4,
                           rope_parameters={
                               "full_attention": {"factor": 2.0, "rope_theta": 800.0, "rope_type": "linear"},
                               "sliding_attention": {"rope_theta": 90.0, "rope_type": "default"}},
                           sliding_window=8, tie_word_embeddings=True), 2056),
    "seed_oss": (small("seed_oss", "SeedOssForCausalLM", head_dim=24, tie_word_embeddings=False), 2057),
    "seed_oss_biased": (small("seed_oss", "SeedOssForCausalLM", attention_bias=False, attention_out_bias=True,
                              head_dim=16, mlp_bias=True, tie_word_embeddings=True), 2058),
    "arcee": (small("arcee", "ArceeForCausalLM", tie_word_embeddings=False), 2059),
    "arcee_biased": (small("arcee", "ArceeForCausalLM", attention_bias=True, head_dim=24, hidden_act="gelu",
                           mlp_bias=True, num_key_value_heads=1, tie_word_embeddings=True), 2060),
    "helium": (small("helium", "HeliumForCausalLM", head_dim=16, tie_word_embeddings=False), 2061),
    "helium_biased": (small("helium", "HeliumForCausalLM", attention_bias=True, head_dim=16, mlp_bias=True,
                            num_key_value_heads=4, rope_theta=500.0, tie_word_embeddings=True), 2062),
    "ministral": (small("ministral", "MinistralForCausalLM", head_dim=24, layer_types=[
        "sliding_attention", "full_attention", "sliding_attention"], sliding_window=7,
                        tie_word_embeddings=False), 2063),
    "ministral_window": (small("ministral", "MinistralForCausalLM", head_dim=16, num_key_value_heads=1,
                               sliding_window=10, tie_word_embeddings=True), 2064),
    "olmoe": (small("olmoe", "OlmoeForCausalLM", norm_topk_prob=True, num_experts=6, num_experts_per_tok=3,
                    tie_word_embeddings=False), 2065),
    "olmoe_clipped": (small("olmoe", "OlmoeForCausalLM", attention_bias=True, clip_qkv=1.6, norm_topk_prob=False,
                            num_experts=5, num_experts_per_tok=2, num_key_value_heads=4,
                            tie_word_embeddings=True), 2066),
    "lfm2": (small("lfm2", "Lfm2ForCausalLM", block_multiple_of=48, layer_types=["conv", "full_attention", "conv"]), 2101),
    "lfm2_biased": (small("lfm2", "Lfm2ForCausalLM", block_ff_dim=90, block_ffn_dim_multiplier=1.3, block_multiple_of=32,
                          conv_L_cache=5, conv_bias=True, full_attn_idxs=[0, 2], num_hidden_layers=4,
                          num_key_value_heads=4, rope_theta=500.0, tie_embedding=False), 2102),
    "lfm2_unadjusted": (small("lfm2", "Lfm2ForCausalLM", block_auto_adjust_ff_dim=False, conv_L_cache=2, head_dim=24,
                              layer_types=["conv", "conv", "full_attention"], norm_eps=1e-3, num_key_value_heads=1,
                              tie_word_embeddings=False), 2103),
    "lfm2_moe": (LFM2_MOE, 2113),
    "lfm2_moe_unnormed": (variant(
        LFM2_MOE, conv_L_cache=4, conv_bias=True, layer_types=["full_attention", "conv", "conv"], norm_topk_prob=False,
        num_dense_layers=0, num_experts=5, num_experts_per_tok=2, routed_scaling_factor=2.5, tie_embedding=False,
        use_expert_bias=False), 2114),
    "qwen3_next": (QWEN3_NEXT, 2204),
    "qwen3_next_types": (variant(
        QWEN3_NEXT, attention_bias=True, decoder_sparse_step=2, full_attention_interval=None, hidden_act="gelu",
        layer_types=["full_attention", "linear_attention", "linear_attention"], linear_conv_kernel_dim=3,
        linear_key_head_dim=12, linear_num_value_heads=2, linear_value_head_dim=16, mlp_only_layers=[],
        norm_topk_prob=False, num_key_value_heads=1, partial_rotary_factor=0.75, tie_word_embeddings=True), 2105),
    "qwen3_next_dense": (variant(
        QWEN3_NEXT, linear_key_head_dim=8, linear_num_key_heads=1, linear_num_value_heads=3, linear_value_head_dim=32,
        mlp_only_layers=None, moe_intermediate_size=None, norm_topk_prob=None, num_experts=0, num_experts_per_tok=None,
        rope_parameters={"factor": 2.0, "partial_rotary_factor": 0.5, "rope_theta": 500.0, "rope_type": "linear"},
        rms_norm_eps=1e-3, shared_expert_intermediate_size=None), 2106),
    "qwen3_5_text": (QWEN3_5, 2107),
    "qwen3_5_text_types": (variant(
        QWEN3_5, attention_bias=True, full_attention_interval=None, hidden_act="gelu_pytorch_tanh",
        layer_types=["linear_attention", "full_attention", "linear_attention"], linear_conv_kernel_dim=2,
        linear_num_key_heads=4, linear_value_head_dim=16, rope_parameters={
            "mrope_interleaved": True, "mrope_section": [4, 1, 1], "partial_rotary_factor": 0.5, "rope_theta": 700.0,
            "rope_type": "default"}, tie_word_embeddings=True), 2108),
    "qwen3_5_moe_text": (QWEN3_5_MOE, 2309),
    "qwen3_5_moe_text_biased": (variant(
        QWEN3_5_MOE, attention_bias=True, full_attention_interval=2, linear_conv_kernel_dim=5, num_experts=5,
        num_experts_per_tok=1, num_hidden_layers=2, shared_expert_intermediate_size=32, tie_word_embeddings=True), 2110),
    "olmo_hybrid": (OLMO_HYBRID, 2111),
    "olmo_hybrid_types": (variant(
        OLMO_HYBRID, attention_bias=True, hidden_act="gelu", linear_allow_neg_eigval=False, linear_conv_kernel_dim=2,
        linear_key_head_dim=None, linear_num_key_heads=None, linear_num_value_heads=None, linear_value_head_dim=None,
        layer_types=["full_attention", "linear_attention", "linear_attention"], num_key_value_heads=None,
        rope_parameters=None, rope_theta=500.0, tie_word_embeddings=True), 2112),
    "gpt2": (GPT2, 2007),
    "gpt2_odd": (variant(GPT2, activation_function="relu", n_head=2, n_inner=100, n_layer=2, scale_attn_by_inverse_layer_idx=True,
                         tie_word_embeddings=False), 2008),
    "gpt_bigcode": (variant(GPT2, architectures=["GPTBigCodeForCausalLM"], model_type="gpt_bigcode"), 2035),
    "gpt_bigcode_heads": (variant(GPT2, activation_function="gelu", architectures=["GPTBigCodeForCausalLM"],
                                  model_type="gpt_bigcode", multi_query=False, tie_word_embeddings=False), 2036),
    "gptj": (variant(GPT2, architectures=["GPTJForCausalLM"], model_type="gptj", rotary_dim=8,
                     tie_word_embeddings=False), 2037),
    "gptj_tied": (variant(GPT2, activation_function="silu", architectures=["GPTJForCausalLM"], model_type="gptj",
                          n_inner=100, rotary_dim=4, tie_word_embeddings=True), 2038),
    "bloom": (BLOOM, 2401),
    "bloom_post_norm": (variant(BLOOM, apply_residual_connection_post_layernorm=True, layer_norm_epsilon=1e-3, n_head=2,
                                n_layer=2, tie_word_embeddings=False), 2402),
    "bloom_older": ({**{k: v for k, v in BLOOM.items() if k not in ("hidden_size", "n_layer")}, "n_embed": 60,
                     "n_head": 3, "num_hidden_layers": 1}, 2403),
    "mpt": (MPT, 2404),
    "mpt_heads": (variant(MPT, attn_config={"alibi": True}, d_model=72, layer_norm_epsilon=1e-3, n_heads=3, n_layers=2,
                          tie_word_embeddings=False), 2405),
    "mpt_plain": ({**{k: v for k, v in MPT.items() if k != "attn_config"}, "n_heads": 1, "n_layers": 1}, 2406),
    "gpt_neox": (GPT_NEOX, 2009),
    "gpt_neox_serial": (variant(GPT_NEOX, attention_bias=False, hidden_act="gelu_new", rotary_pct=0.5,
                                use_parallel_residual=False), 2010),
    "granite": (GRANITE, 2011),
    "granite_biased": (variant(GRANITE, attention_bias=True, mlp_bias=True, attention_multiplier=0.5,
                               logits_scaling=0.25, tie_word_embeddings=False), 2012),
    "mistral": (MISTRAL, 2013),
    "mistral_full": (variant(MISTRAL, head_dim=None, num_key_value_heads=4) | {"sliding_window": None}, 2014),
    "mixtral": (MIXTRAL, 2015),
    "mixtral_window": (variant(MIXTRAL, num_experts_per_tok=1, num_local_experts=3, sliding_window=9), 2016),
    "olmo2": (small("olmo2", "Olmo2ForCausalLM", tie_word_embeddings=False), 2017),
    "olmo2_biased": (small("olmo2", "Olmo2ForCausalLM", attention_bias=True, num_key_value_heads=4,
                           rms_norm_eps=1e-3, tie_word_embeddings=True), 2018),
    "phi": (small("phi", "PhiForCausalLM", tie_word_embeddings=False), 2019),
    "phi_grouped": (small("phi", "PhiForCausalLM", hidden_act="gelu", num_key_value_heads=1,
                          partial_rotary_factor=0.75), 2020),
    "phi3": (small("phi3", "Phi3ForCausalLM", eos_token_id=2, pad_token_id=1, tie_word_embeddings=False), 2021),
    "phi3_window": (small("phi3", "Phi3ForCausalLM", eos_token_id=2, pad_token_id=1, partial_rotary_factor=0.75,
                          sliding_window=8, tie_word_embeddings=True), 2022),
    "phi3_longrope": (small("phi3", "Phi3ForCausalLM", eos_token_id=2, original_max_position_embeddings=48, pad_token_id=1,
                            rope_scaling={
                                "long_factor": [1.0 + i for i in range(8)],
                                "short_factor": [1.0 + 0.2 * i for i in range(8)], "type": "longrope"},
                            tie_word_embeddings=False), 2067),
    "phi3_longrope_long": (small("phi3", "Phi3ForCausalLM", eos_token_id=2, original_max_position_embeddings=10,
                                 pad_token_id=1, rope_scaling={
                                     "long_factor": [1.0 + 0.5 * i for i in range(8)],
                                     "short_factor": [1.0 + 2 * i for i in range(8)], "type": "longrope"},
                                 tie_word_embeddings=False), 2267),
    "phi3_longrope_partial": (small("phi3", "Phi3ForCausalLM", eos_token_id=2,
                                    pad_token_id=1, rope_parameters={
                                        "attention_factor": 1.3, "long_factor": [2.0, 3.0, 5.0, 7.0, 9.0, 11.0],
                                        "partial_rotary_factor": 0.75, "rope_theta": 700.0, "rope_type": "longrope",
                                        "short_factor": [1.0, 1.1, 1.4, 1.9, 2.5, 4.0]},
                                    tie_word_embeddings=True), 2068),
    "qwen2": (QWEN2, 2023),
    "qwen2_yarn": (variant(QWEN2, rope_theta=1000.0, rope_scaling={
        "factor": 4.0, "original_max_position_embeddings": 32, "rope_type": "yarn"}), 2039),
    "qwen3_yarn": (variant(QWEN3, rope_parameters={
        "attention_factor": 1.3, "beta_fast": 4.0, "beta_slow": 0.5, "factor": 2.0,
        "original_max_position_embeddings": 64, "rope_theta": 500.0, "rope_type": "yarn", "truncate": False}), 2040),
    "qwen2_window": (variant(QWEN2, max_window_layers=1, sliding_window=10, tie_word_embeddings=False,
                             use_sliding_window=True), 2024),
    "qwen3": (QWEN3, 2025),
    "qwen3_window": (variant(QWEN3, attention_bias=False, sliding_window=8, tie_word_embeddings=True,
                             layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                             use_sliding_window=True), 2026),
    "deepseek_v2": (DEEPSEEK_V2, 2100),
    # As V2 Lite: queries of x itself, no groups.
    "deepseek_v2_greedy": ({**variant(DEEPSEEK_V2, attention_bias=True, first_k_dense_replace=0, n_group=None,
                                      topk_group=None, topk_method="greedy",
                                      rope_scaling={**YARN, "mscale": 0.7, "mscale_all_dim": 0.7}),
                            "q_lora_rank": None}, 2101),
    "deepseek_v2_tied": (variant(DEEPSEEK_V2, num_hidden_layers=2, tie_word_embeddings=True), 2102),
    "deepseek_v3": (DEEPSEEK_V3, 2103),
    "deepseek_v3_ungrouped": (variant(DEEPSEEK_V3, attention_bias=True, n_group=1, norm_topk_prob=False,
                                      rope_interleave=False, rope_parameters=None, topk_group=1), 2104),
    "deepseek_v3_direct": ({**variant(DEEPSEEK_V3, first_k_dense_replace=0, n_group=2, num_hidden_layers=1,
                                      tie_word_embeddings=True, topk_group=1), "q_lora_rank": None}, 2105),
    "glm4_moe": (GLM4_MOE, 2106),
    "glm4_moe_normed": (variant(GLM4_MOE, attention_bias=True, first_k_dense_replace=2, n_group=3, n_routed_experts=12, topk_group=2,
                                use_qk_norm=True), 2107),
    "glm4_moe_one_layer": (variant(GLM4_MOE, first_k_dense_replace=0, norm_topk_prob=False, num_hidden_layers=1,
                                   num_key_value_heads=1, tie_word_embeddings=True), 2108),
    "gpt_oss": (GPT_OSS, 2109),
    "gpt_oss_types": (variant(GPT_OSS, attention_bias=False, num_key_value_heads=4, rope_parameters=YARN,
                              layer_types=["full_attention", "sliding_attention", "full_attention"],
                              tie_word_embeddings=True), 2110),
    "gpt_oss_one_expert": (variant(GPT_OSS, num_experts_per_tok=1, num_hidden_layers=2, num_key_value_heads=1,
                                   rope_theta=2000.0, rope_scaling={"factor": 2.0, "rope_type": "linear"}), 2111),
    "dots1": (DOTS1, 2115),
    "dots1_grouped": (variant(DOTS1, attention_bias=True, first_k_dense_replace=0, n_group=3, n_routed_experts=12, norm_topk_prob=False,
                              num_hidden_layers=2, num_key_value_heads=4, sliding_window=None, tie_word_embeddings=True,
                              max_window_layers=None, n_shared_experts=2, topk_group=2), 2116),
    "dots1_types": (variant(DOTS1, layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                            max_window_layers=None, num_key_value_heads=1, rope_theta=500.0), 2117),
    "ernie4_5_moe": (ERNIE4_5_MOE, 2118),
    "ernie4_5_moe_biased": (variant(ERNIE4_5_MOE, moe_layer_interval=2, moe_layer_start_index=2, moe_layer_end_index=None,
                                    moe_num_shared_experts=0, num_key_value_heads=4, use_bias=True), 2119),
    "ernie4_5_moe_tied": (variant(ERNIE4_5_MOE, moe_k=1, moe_layer_start_index=0, moe_layer_end_index=0,
                                  num_hidden_layers=2, num_key_value_heads=1, tie_word_embeddings=True), 2120),
    "llama4": (LLAMA4, 2121),
    "llama4_lists": (variant(LLAMA4, attention_bias=True, interleave_moe_layer_step=None, moe_layers=[0, 3],
                             no_rope_layer_interval=None, no_rope_layers=[1, 0, 1, 0], num_experts_per_tok=2,
                             num_key_value_heads=4, tie_word_embeddings=True, use_qk_norm=False), 2122),
    "llama4_types": (variant(LLAMA4, interleave_moe_layer_step=1, no_rope_layer_interval=2, num_hidden_layers=2, rope_scaling={
                                 "factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                                 "original_max_position_embeddings": 64, "rope_type": "llama3"},
                             layer_types=["full_attention", "chunked_attention"]), 2123),
    "minicpm3": (MINICPM3, 2112),
    "minicpm3_direct": ({**variant(MINICPM3, attention_bias=True, num_hidden_layers=2, tie_word_embeddings=True),
                         "q_lora_rank": None}, 2113),
    "minicpm3_yarn": (variant(MINICPM3, rope_parameters={**YARN, "mscale_all_dim": 0.9}, v_head_dim=None), 2114),
    "qwen3_moe": (QWEN3_MOE, 2027),
    "qwen3_moe_step": (variant(QWEN3_MOE, attention_bias=True, decoder_sparse_step=2, mlp_only_layers=[],
                               norm_topk_prob=False), 2028),
    "smollm3": (SMOLLM3, 2029),
    "smollm3_window": (variant(SMOLLM3, attention_bias=True, mlp_bias=True, no_rope_layers=[1, 0, 1, 1, 0],
                               no_rope_layer_interval=None,
                               sliding_window=9, tie_word_embeddings=False, use_sliding_window=True), 2030),
    "stablelm": (STABLELM, 2031),
    "stablelm_parallel": (variant(STABLELM, partial_rotary_factor=0.25, use_parallel_residual=True,
                                  use_qkv_bias=False), 2032),
    "starcoder2": (small("starcoder2", "Starcoder2ForCausalLM"), 2033),
    "starcoder2_window": (small("starcoder2", "Starcoder2ForCausalLM", hidden_act="gelu", num_key_value_heads=1,
                                sliding_window=10, tie_word_embeddings=False, use_bias=False), 2034),
    "mamba2": (MAMBA2, 2201),
    "mamba2_limited": (variant(MAMBA2, conv_kernel=3, head_dim=24, hidden_act="gelu", hidden_size=48, n_groups=1,
                               num_heads=4, state_size=12, tie_word_embeddings=True, time_step_limit=[0.4, 1.2],
                               use_bias=True, use_conv_bias=False), 2202),
    "mamba2_narrow": (variant(MAMBA2, conv_kernel=2, expand=1, layer_norm_epsilon=1e-3, n_groups=4, num_heads=4,
                              state_size=7), 2203),
    "granitemoehybrid": (GRANITE4, 2204),
    "granitemoehybrid_rope": (variant(GRANITE4, attention_bias=True, hidden_act="gelu", layer_types=[
        "full_attention", "linear_attention", "linear_attention", "full_attention"], mamba_conv_bias=False,
                                      mamba_d_conv=3, mamba_d_head="auto", mamba_n_groups=2, mamba_n_heads=4,
                                      mamba_proj_bias=True, num_hidden_layers=4, num_key_value_heads=4,
                                      position_embedding_type="rope", rope_theta=700.0, tie_word_embeddings=False,
                                      time_step_limit=[0.4, 1.2]), 2205),
    "granitemoehybrid_attention": (variant(GRANITE4, layer_types=["attention"] * 2, mamba_d_head=None,
                                           mamba_d_state=None, mamba_n_heads=None, num_hidden_layers=2,
                                           position_embedding_type="rope", rms_norm_eps=1e-3), 2206),
    "granitemoehybrid_experts": (variant(GRANITE4, intermediate_size=40, num_experts_per_tok=2,
                                         num_local_experts=5), 2212),
    "falcon_h1": (FALCON_H1, 2207),
    "falcon_h1_norm": (variant(FALCON_H1, attention_bias=True, mamba_n_groups=2, mamba_rms_norm=True, mlp_bias=True,
                               projectors_bias=True, tie_word_embeddings=True, time_step_limit=[0.4, 1.2]), 2208),
    "falcon_h1_gate": (variant(FALCON_H1, hidden_act="gelu", mamba_conv_bias=False, mamba_d_conv=3, mamba_d_head="auto",
                               mamba_expand=1, mamba_n_groups=4, mamba_n_heads=4, mamba_norm_before_gate=False,
                               mamba_proj_bias=True, mamba_rms_norm=True, num_hidden_layers=2,
                               num_key_value_heads=4, rope_theta=700.0, ssm_multipliers=None) | {
                                   "mamba_d_ssm": None}, 2209),
    "nemotron_h": (NEMOTRON_H, 2210),
    "nemotron_h_biased": (variant(NEMOTRON_H, conv_kernel=3, head_dim=16, hybrid_override_pattern=None,
                                  layers_block_type=["full_attention", "linear_attention", "mlp", "linear_attention"],
                                  layer_norm_epsilon=1e-3, mamba_hidden_act="gelu", mlp_bias=True,
                                  mlp_hidden_act="silu", n_groups=1, num_hidden_layers=None, num_key_value_heads=1,
                                  time_step_min=0.5, use_bias=True, use_conv_bias=False), 2211),
    "bamba": (small("bamba", "BambaForCausalLM", attn_layer_indices=[1], mamba_d_head=16, mamba_d_state=16,
                    mamba_n_heads=8, tie_word_embeddings=False), 2214),
    "bamba_biased": (small("bamba", "BambaForCausalLM", attention_bias=True, attn_layer_indices=[0, 3], hidden_act="gelu",
                           mamba_conv_bias=False, mamba_d_conv=2, mamba_d_state=12, mamba_n_groups=2, mamba_n_heads=4,
                           mamba_proj_bias=True, mlp_bias=True, num_hidden_layers=4, num_key_value_heads=1,
                           rope_parameters={"partial_rotary_factor": 0.25, "rope_theta": 700.0, "rope_type": "default"},
                           tie_word_embeddings=True, time_step_limit=[0.4, 1.2]), 2215),
    "zamba2": (small("zamba2", "Zamba2ForCausalLM", adapter_rank=12, hidden_size=32, layers_block_type=[
        "mamba", "hybrid", "mamba", "hybrid", "hybrid"], mamba_d_state=16, n_mamba_heads=8, num_hidden_layers=5,
                     num_key_value_heads=4, num_mem_blocks=2, use_mem_rope=True, use_shared_attention_adapter=True), 2216),
    "zamba2_biased": (small("zamba2", "Zamba2ForCausalLM", adapter_rank=8, add_bias_linear=True, hidden_act="silu", hidden_size=32,
                            layers_block_type=["linear_attention", "hybrid", "hybrid"], mamba_d_conv=3, mamba_d_state=12,
                            mamba_ngroups=2, n_mamba_heads=4, time_step_min=0.5), 2217),
    "nemotron_h_experts": (variant(NEMOTRON_H, hybrid_override_pattern="ME*E", moe_intermediate_size=24,
                                   moe_shared_expert_intermediate_size=40, n_group=2, n_routed_experts=6,
                                   norm_topk_prob=False, num_experts_per_tok=2, num_hidden_layers=4,
                                   routed_scaling_factor=1.5, topk_group=1), 2213),
    "ministral3": (small("ministral3", "Ministral3ForCausalLM", head_dim=16, rope_parameters={
        "beta_fast": 4.0, "beta_slow": 1.0, "factor": 4.0, "llama_4_scaling_beta": 0.7, "mscale": 1.0,
        "mscale_all_dim": 0.5, "original_max_position_embeddings": 6, "rope_theta": 300.0, "rope_type": "yarn"},
                         tie_word_embeddings=False), 2301),
    "ministral3_window": (small("ministral3", "Ministral3ForCausalLM", head_dim=24, num_key_value_heads=1,
                                rope_scaling={
                                    "llama_4_scaling_beta": 0.4, "original_max_position_embeddings": 10,
                                    "rope_theta": 900.0, "rope_type": "default"},
                                sliding_window=7, tie_word_embeddings=True), 2302),
    "ministral3_defaults": (small("ministral3", "Ministral3ForCausalLM", head_dim=16, hidden_act="gelu",
                                  num_key_value_heads=4, rms_norm_eps=1e-3, tie_word_embeddings=False), 2303),
    "apertus": (small("apertus", "ApertusForCausalLM", head_dim=32, tie_word_embeddings=False), 2304),
    "apertus_biased": (small("apertus", "ApertusForCausalLM", attention_bias=True, head_dim=24,
                             num_key_value_heads=4, rope_scaling={
                                 "factor": 4.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                                 "original_max_position_embeddings": 16, "rope_type": "llama3"},
                             rope_theta=500.0, tie_word_embeddings=True), 2305),
    "apertus_relu2": (small("apertus", "ApertusForCausalLM", hidden_act="relu2", rope_parameters={
        "factor": 2.0, "rope_theta": 800.0, "rope_type": "linear"}, tie_word_embeddings=False), 2306),
    "gemma4": (small("gemma4_text", "Gemma4ForCausalLM", final_logit_softcapping=3.0, global_head_dim=24, head_dim=16,
                     hidden_size_per_layer_input=10, layer_types=[
                         "sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
                         "full_attention"], num_hidden_layers=5, num_kv_shared_layers=2, rope_parameters={
                             "full_attention": {
                                 "partial_rotary_factor": 0.5, "rope_theta": 200.0, "rope_type": "proportional"},
                             "sliding_attention": {"rope_theta": 50.0, "rope_type": "default"}},
                     sliding_window=6, use_double_wide_mlp=True, vocab_size_per_layer_input=211), 2307),
    "gemma4_keys": (small("gemma4_text", "Gemma4ForCausalLM", attention_bias=True, attention_k_eq_v=True,
                          global_head_dim=32, head_dim=24, hidden_activation="silu", hidden_size_per_layer_input=0,
                          num_global_key_value_heads=1, num_hidden_layers=6, sliding_window=9, tie_word_embeddings=False), 2308),
    "gemma4_by_layer": (small("gemma4_text", "Gemma4ForCausalLM", head_dim=24, hidden_size_per_layer_input=7,
                              per_layer_config={"2": {"head_dim": 16, "num_key_value_heads": 4}}, rope_parameters={
                                      "full_attention": {
                                          "factor": 2.0, "partial_rotary_factor": 0.7, "rope_theta": 90.0,
                                          "rope_type": "proportional"},
                                      "sliding_attention": {
                                          "factor": 3.0, "rope_theta": 60.0, "rope_type": "linear"}},
                              sliding_window=7, use_bidirectional_attention="vision",
                              vocab_size_per_layer_input=203), 2309),
    "gemma4_experts": (small("gemma4_text", "Gemma4ForCausalLM", attention_k_eq_v=True, enable_moe_block=True,
                             global_head_dim=24, head_dim=16, hidden_size_per_layer_input=0, layer_types=[
                                 "full_attention", "sliding_attention", "full_attention"],
                             moe_intermediate_size=32, num_experts=5, sliding_window=8,
                             top_k_experts=2), 2312),
    "gemma3n": (small("gemma3n_text", "Gemma3nForCausalLM", activation_sparsity_pattern=[0.6, 0.0, 0.3, 0.0],
                      final_logit_softcapping=3.0, head_dim=16, hidden_size_per_layer_input=10,
                      intermediate_size=[96, 64, 80, 96], laurel_rank=6, layer_types=[
                          "sliding_attention", "full_attention", "sliding_attention", "full_attention"],
                      num_hidden_layers=4, num_kv_shared_layers=2, rope_local_base_freq=50.0, rope_theta=400.0,
                      sliding_window=6, vocab_size_per_layer_input=150), 2310),
    "gemma3n_streams": (small("gemma3n_text", "Gemma3nForCausalLM", altup_active_idx=1, altup_correct_scale=False,
                              altup_num_inputs=3, attention_bias=True, final_logit_softcapping=20.0, head_dim=24,
                              hidden_activation="silu", hidden_size_per_layer_input=8, laurel_rank=5, layer_types=[
                                  "full_attention", "sliding_attention", "sliding_attention", "full_attention",
                                  "sliding_attention"],
                              num_hidden_layers=5, num_key_value_heads=4, num_kv_shared_layers=0, rope_parameters={
                                  "full_attention": {"factor": 2.0, "rope_theta": 900.0, "rope_type": "linear"},
                                  "sliding_attention": {"rope_theta": 70.0, "rope_type": "default"}},
                              sliding_window=9, tie_word_embeddings=False, vocab_size_per_layer_input=203), 2311),
    "minimax_m2": (small("minimax_m2", "MiniMaxM2ForCausalLM", num_experts_per_tok=3, num_local_experts=6, rotary_dim=8,
                         tie_word_embeddings=False), 2322),
    "minimax_m2_whole": (small("minimax_m2", "MiniMaxM2ForCausalLM", head_dim=24, num_experts_per_tok=1, num_hidden_layers=1,
                               num_key_value_heads=1, num_local_experts=5, rope_theta=200.0), 2323),
    "minimax_m2_yarn": (small("minimax_m2", "MiniMaxM2ForCausalLM", num_experts_per_tok=2, num_local_experts=4,
                              partial_rotary_factor=0.5, rope_parameters=YARN, tie_word_embeddings=True), 2324),
    "granitemoe": (small("granitemoe", "GraniteMoeForCausalLM", **GRANITE_MOE), 2325),
    "granitemoe_biased": (small("granitemoe", "GraniteMoeForCausalLM", **{
        **GRANITE_MOE, "attention_bias": True, "hidden_act": "gelu", "num_experts_per_tok": 1, "num_hidden_layers": 1,
        "num_key_value_heads": 1, "tie_word_embeddings": True}), 2326),
    "granitemoeshared": (small("granitemoeshared", "GraniteMoeSharedForCausalLM", **GRANITE_MOE,
                               shared_intermediate_size=96), 2327),
    "granitemoeshared_none": (small("granitemoeshared", "GraniteMoeSharedForCausalLM", **{
        **GRANITE_MOE, "num_local_experts": 3, "rope_theta": 300.0, "tie_word_embeddings": True}), 2328),
    "glm": (small("glm", "GlmForCausalLM", attention_bias=True, eos_token_id=[1, 2], head_dim=24, pad_token_id=0, tie_word_embeddings=False), 2329),
    "glm_unbiased": (small("glm", "GlmForCausalLM", attention_bias=False, eos_token_id=[1, 2], head_dim=32, pad_token_id=0, num_key_value_heads=1,
                           partial_rotary_factor=0.25, rope_theta=300.0, tie_word_embeddings=True), 2330),
    "glm4_moe_lite": (GLM4_MOE_LITE, 2331),
    "glm4_moe_lite_dense": ({**variant(
        GLM4_MOE_LITE, attention_bias=True, mlp_layer_types=["dense", "dense", "sparse"], n_group=3, n_routed_experts=12,
        norm_topk_prob=False, rope_interleave=False, rope_parameters=YARN, tie_word_embeddings=True, topk_group=2),
        "q_lora_rank": None}, 2332),
    "olmo": (small("olmo", "OlmoForCausalLM", clip_qkv=1.3, tie_word_embeddings=False), 2333),
    "olmo_biased": (small("olmo", "OlmoForCausalLM", attention_bias=True, head_dim=24, hidden_act="gelu",
                          num_key_value_heads=1, rope_scaling={"factor": 3.0, "rope_type": "linear"},
                          tie_word_embeddings=True), 2334),
    "nanochat": (small("nanochat", "NanoChatForCausalLM", final_logit_softcapping=3.0, rope_theta=100.0), 2321),
    "nanochat_biased": (small("nanochat", "NanoChatForCausalLM", attention_bias=True, hidden_act="gelu",
                              num_key_value_heads=1, rms_norm_eps=1e-3, tie_word_embeddings=True) | {
                                  "final_logit_softcapping": None}, 2322),
    "vaultgemma": (small("vaultgemma", "VaultGemmaForCausalLM", head_dim=24, query_pre_attn_scalar=40,
                         sliding_window=6, attn_logit_softcapping=2.0, final_logit_softcapping=3.0), 2323),
    "vaultgemma_types": (small("vaultgemma", "VaultGemmaForCausalLM", attention_bias=True, head_dim=16, layer_types=[
        "full_attention", "sliding_attention", "sliding_attention"], num_key_value_heads=1, query_pre_attn_scalar=20,
                               sliding_window=9, tie_word_embeddings=False) | {
                                   "attn_logit_softcapping": None, "final_logit_softcapping": None}, 2324),
    "cwm": (small("cwm", "CwmForCausalLM", head_dim=24, num_hidden_layers=5, sliding_window=6), 2325),
    "cwm_types": (small("cwm", "CwmForCausalLM", head_dim=16, hidden_act="gelu", layer_types=[
        "sliding_attention", "full_attention", "sliding_attention"], num_key_value_heads=4, rope_scaling={
            "factor": 4.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 16,
            "rope_theta": 300.0, "rope_type": "llama3"}, sliding_window=9, tie_word_embeddings=True), 2326),
    "jais2": (small("jais2", "Jais2ForCausalLM"), 2327),
    "jais2_unbiased": (small("jais2", "Jais2ForCausalLM", attention_bias=False, head_dim=24, hidden_act="silu",
                             layer_norm_eps=1e-3, mlp_bias=False, num_key_value_heads=4, rope_theta=200.0,
                             tie_word_embeddings=True), 2328),
    "youtu": (small("youtu", "YoutuForCausalLM", kv_lora_rank=24, num_key_value_heads=4, q_lora_rank=20,
                    qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12), 2329),
    "youtu_biased": (small("youtu", "YoutuForCausalLM", attention_bias=True, kv_lora_rank=16, num_key_value_heads=4,
                           qk_nope_head_dim=12, qk_rope_head_dim=10, rope_interleave=False, rope_theta=300.0,
                           tie_word_embeddings=False, v_head_dim=16) | {"q_lora_rank": None}, 2330),
}

# Configuration, seed of the weights, number of tokens.
RANDOM = {
    "llama3_gqa": (LLAMA3_GQA, 1001, 48),
    "mqa_tied": (MQA_TIED, 1002, 24),
    "biased": (BIASED, 1003, 40),
    "wide_heads": (WIDE_HEADS, 1004, 37),
    "one_layer": (ONE_LAYER, 1005, 30),
    "qwen2_moe": (QWEN2_MOE, 1006, 36),
    "qwen2_moe_normed": (QWEN2_MOE_NORMED, 1007, 28),
    "qwen2_moe_plain": (QWEN2_MOE_PLAIN, 1008, 32),
}
