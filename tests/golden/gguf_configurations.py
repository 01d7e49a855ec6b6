"""The small models of make_gguf.py: published configurations, and what llama.cpp's converter makes of each."""

SMALL = {"dtype": "float32", "hidden_size": 32, "intermediate_size": 64, "max_position_embeddings": 128,
         "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 67}


def small(model_type, class_name, **changes):
    fields = {**SMALL, "architectures": [class_name], "model_type": model_type, **changes}
    return {key: value for key, value in sorted(fields.items()) if value is not None}


# Configuration, the name of the architecture in GGUF files, seed of the weights.
MODELS = {
    "llama": (small("llama", "LlamaForCausalLM", tie_word_embeddings=False, rms_norm_eps=1e-5), "llama", 3001),
    "llama_biased": (small("llama", "LlamaForCausalLM", attention_bias=True, head_dim=16, rope_theta=500.0,
                           rope_scaling={"factor": 2.0, "rope_type": "linear"}, tie_word_embeddings=True),
                     "llama", 3002),
    "qwen2": (small("qwen2", "Qwen2ForCausalLM", tie_word_embeddings=True), "qwen2", 3003),
    "qwen3": (small("qwen3", "Qwen3ForCausalLM", head_dim=16, tie_word_embeddings=False), "qwen3", 3004),
}
