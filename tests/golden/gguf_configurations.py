"""The small models of make_gguf.py: published configurations, and the architecture of GGUF files that each becomes."""

SMALL = {"dtype": "float32", "hidden_size": 32, "intermediate_size": 64, "max_position_embeddings": 128,
         "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 67}


def small(model_type, class_name, **changes):
    fields = {**SMALL, "architectures": [class_name], "model_type": model_type, **changes}
    return {key: value for key, value in sorted(fields.items()) if value is not None}


LLAMA3 = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 64,
          "rope_type": "llama3"}
LONGROPE = {"long_factor": [1.0 + 0.5 * i for i in range(4)], "short_factor": [1.0 + 0.2 * i for i in range(4)],
            "type": "longrope"}
GPT2 = {"architectures": ["GPT2LMHeadModel"], "dtype": "float32", "model_type": "gpt2", "n_embd": 32, "n_head": 4,
        "n_layer": 2, "n_positions": 96, "vocab_size": 67}
MOE = {"moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2}

# Configuration, the name of the architecture in GGUF files.
MODELS = {
    "llama": (small("llama", "LlamaForCausalLM", tie_word_embeddings=False, rms_norm_eps=1e-5), "llama"),
    "llama_biased": (small("llama", "LlamaForCausalLM", attention_bias=True, head_dim=16, rope_theta=500.0,
                           rope_scaling={"factor": 2.0, "rope_type": "linear"}, tie_word_embeddings=True), "llama"),
    "qwen2": (small("qwen2", "Qwen2ForCausalLM", tie_word_embeddings=True), "qwen2"),
    "qwen3": (small("qwen3", "Qwen3ForCausalLM", head_dim=16, tie_word_embeddings=False), "qwen3"),
    "llama3": (small("llama", "LlamaForCausalLM", head_dim=16, rope_theta=500000.0, rope_scaling=LLAMA3,
                     tie_word_embeddings=False, rms_norm_eps=1e-5), "llama"),
    "mixtral": (small("mixtral", "MixtralForCausalLM", num_experts_per_tok=2, num_local_experts=3,
                      tie_word_embeddings=False), "llama"),
    "qwen2_moe": (small("qwen2_moe", "Qwen2MoeForCausalLM", **MOE, norm_topk_prob=False,
                        shared_expert_intermediate_size=64, tie_word_embeddings=False), "qwen2moe"),
    "qwen3_moe": (small("qwen3_moe", "Qwen3MoeForCausalLM", **MOE, head_dim=16, norm_topk_prob=True,
                        tie_word_embeddings=False), "qwen3moe"),
    "gemma": (small("gemma", "GemmaForCausalLM", head_dim=16, hidden_act="gelu_pytorch_tanh"), "gemma"),
    "gemma2": (small("gemma2", "Gemma2ForCausalLM", head_dim=16, query_pre_attn_scalar=16, sliding_window=6,
                     attn_logit_softcapping=2.0, final_logit_softcapping=3.0), "gemma2"),
    "gemma3": (small("gemma3_text", "Gemma3ForCausalLM", head_dim=16, num_hidden_layers=6, query_pre_attn_scalar=16,
                     sliding_window=6, rope_theta=1000000.0,
                     rope_scaling={"factor": 8.0, "rope_type": "linear"}), "gemma3"),
    "phi": (small("phi", "PhiForCausalLM", tie_word_embeddings=False), "phi2"),
    "phi3": (small("phi3", "Phi3ForCausalLM", eos_token_id=2, pad_token_id=1, tie_word_embeddings=False), "phi3"),
    "phi3_longrope": (small("phi3", "Phi3ForCausalLM", eos_token_id=2, original_max_position_embeddings=48,
                            pad_token_id=1, rope_scaling=LONGROPE, tie_word_embeddings=False), "phi3"),
    "starcoder2": (small("starcoder2", "Starcoder2ForCausalLM", sliding_window=None), "starcoder2"),
    "stablelm": (small("stablelm", "StableLmForCausalLM", partial_rotary_factor=0.5, use_qkv_bias=True,
                       tie_word_embeddings=False), "stablelm"),
    "gpt2": (GPT2, "gpt2"),
    "gpt_bigcode": ({**GPT2, "architectures": ["GPTBigCodeForCausalLM"], "model_type": "gpt_bigcode"}, "starcoder"),
    "gpt_neox": (small("gpt_neox", "GPTNeoXForCausalLM", num_key_value_heads=None, rotary_pct=0.5,
                       tie_word_embeddings=False), "gptneox"),
    "cohere": (small("cohere", "CohereForCausalLM", logit_scale=1.5), "command-r"),
    "cohere2": (small("cohere2", "Cohere2ForCausalLM", logit_scale=1.5, num_hidden_layers=4, sliding_window=6),
                "cohere2"),
    "olmo": (small("olmo", "OlmoForCausalLM", clip_qkv=1.2, eos_token_id=2, pad_token_id=1,
                   tie_word_embeddings=False), "olmo"),
    "olmo2": (small("olmo2", "Olmo2ForCausalLM", tie_word_embeddings=False), "olmo2"),
    "olmo3": (small("olmo3", "Olmo3ForCausalLM", num_hidden_layers=4, sliding_window=6, tie_word_embeddings=False),
              "olmo2"),
    "olmoe": (small("olmoe", "OlmoeForCausalLM", intermediate_size=32, num_experts=4, num_experts_per_tok=2,
                    num_key_value_heads=4, norm_topk_prob=False, tie_word_embeddings=False), "olmoe"),
    "granite": (small("granite", "GraniteForCausalLM", embedding_multiplier=3.0, residual_multiplier=0.4,
                      attention_multiplier=0.125, logits_scaling=0.5, tie_word_embeddings=True), "granite"),
    # llama.cpp has the window in models of 64 layers alone.
    "exaone4": ({**small("exaone4", "Exaone4ForCausalLM", layer_types=["full_attention"] * 2,
                         tie_word_embeddings=False), "sliding_window": None},
                "exaone4"),
    "smollm3": (small("smollm3", "SmolLM3ForCausalLM", bos_token_id=1, eos_token_id=2, num_hidden_layers=4,
                      no_rope_layer_interval=4, pad_token_id=0), "smollm3"),
    "seed_oss": (small("seed_oss", "SeedOssForCausalLM", head_dim=16, tie_word_embeddings=False), "seed_oss"),
    "arcee": (small("arcee", "ArceeForCausalLM", tie_word_embeddings=False), "arcee"),
    "ernie4_5": (small("ernie4_5", "Ernie4_5ForCausalLM", head_dim=16), "ernie4_5"),
    "glm4": (small("glm4", "Glm4ForCausalLM", eos_token_id=[1, 2], head_dim=16, pad_token_id=0,
                   tie_word_embeddings=False), "glm4"),
    "hunyuan_v1_dense": (small("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", head_dim=16), "hunyuan-dense"),
    "nemotron": (small("nemotron", "NemotronForCausalLM", tie_word_embeddings=False), "nemotron"),
    "orion": (small("orion", "OrionForCausalLM", rms_norm_eps=1e-5, tie_word_embeddings=False), "orion"),
    "qwen": (small("qwen", "QWenLMHeadModel", intermediate_size=128, kv_channels=8, layer_norm_epsilon=1e-6,
                   num_key_value_heads=None, rotary_emb_base=10000, seq_length=128, tie_word_embeddings=False), "qwen"),
    "minicpm": (small("minicpm", "MiniCPMForCausalLM", dim_model_base=24, rms_norm_eps=1e-5, scale_depth=1.4,
                      scale_emb=3, tie_word_embeddings=True), "minicpm"),
    "chatglm": (small("chatglm", "ChatGLMModel", add_bias_linear=False, add_qkv_bias=True,
                      apply_residual_connection_post_layernorm=False, ffn_hidden_size=64, intermediate_size=None,
                      kv_channels=8, layernorm_epsilon=1e-5, multi_query_attention=True, multi_query_group_num=2,
                      num_hidden_layers=None, num_layers=2, padded_vocab_size=67, post_layer_norm=True, rmsnorm=True,
                      seq_length=128, tie_word_embeddings=False), "chatglm"),
    "lfm2": (small("lfm2", "Lfm2ForCausalLM", block_auto_adjust_ff_dim=False,
                   layer_types=["conv", "full_attention", "conv"], num_hidden_layers=3), "lfm2"),
}

# Models whose matrices are random blocks: configuration, the type of each tensor.
QUANTIZED = {
    "llama_blocks": (small("llama", "LlamaForCausalLM", hidden_size=64, tie_word_embeddings=False, rms_norm_eps=1e-5),
                     {"attn_q": "Q4_0", "attn_k": "Q4_1", "attn_v": "Q5_0", "attn_output": "Q5_1", "ffn_gate": "Q8_0",
                      "ffn_up": "IQ4_NL", "ffn_down": "MXFP4", "token_embd": "Q8_0", "output": "Q4_0"}),
    "llama_k_quants": (small("llama", "LlamaForCausalLM", hidden_size=256, intermediate_size=256, num_hidden_layers=1,
                             tie_word_embeddings=True, rms_norm_eps=1e-5),
                       {"attn_q": "Q4_K", "attn_k": "Q5_K", "attn_v": "Q6_K", "attn_output": "Q3_K", "ffn_gate": "Q2_K",
                        "ffn_up": "Q4_K", "ffn_down": "Q6_K", "token_embd": "Q6_K"}),
    "qwen3_moe_blocks": (small("qwen3_moe", "Qwen3MoeForCausalLM", **MOE, head_dim=16, norm_topk_prob=True,
                               tie_word_embeddings=False),
                         {"attn_q": "Q8_0", "attn_k": "Q8_0", "attn_v": "Q8_0", "attn_output": "Q4_0",
                          "ffn_gate_exps": "MXFP4", "ffn_up_exps": "Q4_1", "ffn_down_exps": "Q5_0",
                          "token_embd": "F16", "output": "Q8_0"}),
}

# Those of which transformers has no class.
IN_NUMPY = ("orion", "qwen", "minicpm", "chatglm")
