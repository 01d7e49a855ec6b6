"""The random configurations of make_image_logits.py."""

LLAMA = {
    "hidden_act": "silu",
    "hidden_size": 48,
    "intermediate_size": 80,
    "max_position_embeddings": 256,
    "model_type": "llama",
    "num_attention_heads": 6,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-05,
    "vocab_size": 97,
}

CLIP = {
    "hidden_act": "quick_gelu",
    "hidden_size": 40,
    "image_size": 21,
    "intermediate_size": 56,
    "layer_norm_eps": 1e-05,
    "model_type": "clip_vision_model",
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "patch_size": 7,
}

# A side that is no multiple of the patches.
SIGLIP = {
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_size": 36,
    "image_size": 20,
    "intermediate_size": 44,
    "layer_norm_eps": 1e-06,
    "model_type": "siglip_vision_model",
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "patch_size": 6,
}

# The form of published folders.
LLAVA = {
    "architectures": ["LlavaForConditionalGeneration"],
    "image_token_index": 96,
    "model_type": "llava",
    "projector_hidden_act": "gelu",
    "text_config": LLAMA,
    "torch_dtype": "float32",
    "vision_config": CLIP,
    "vision_feature_layer": -2,
    "vision_feature_select_strategy": "default",
}

# The class's embedding among those of the image, hidden states of an early layer counted from the front, two images.
LLAVA_FULL = LLAVA | {
    "image_token_index": 5,
    "multimodal_projector_bias": False,
    "projector_hidden_act": "relu",
    "vision_feature_layer": 1,
    "vision_feature_select_strategy": "full",
}

# Another encoder, whose last hidden states are taken before its norm.
LLAVA_SIGLIP = LLAVA | {
    "image_token_index": 90,
    "text_config": LLAMA | {"attention_bias": True, "num_key_value_heads": 6, "tie_word_embeddings": True},
    "tie_word_embeddings": True,
    "vision_config": SIGLIP,
    "vision_feature_layer": -1,
    "vision_feature_select_strategy": "full",
}

# Four vectors of nine patches each.
SMOLVLM = {
    "architectures": ["SmolVLMForConditionalGeneration"],
    "image_token_id": 93,
    "model_type": "smolvlm",
    "scale_factor": 3,
    "text_config": LLAMA | {"tie_word_embeddings": False},
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "vision_config": SIGLIP | {"image_size": 24, "model_type": "smolvlm_vision", "patch_size": 4},
}

IDEFICS3 = SMOLVLM | {
    "architectures": ["Idefics3ForConditionalGeneration"],
    "image_token_id": 12,
    "model_type": "idefics3",
    "scale_factor": 2,
    "vision_config": SIGLIP | {"hidden_act": "gelu", "image_size": 24, "model_type": "idefics3_vision",
                               "num_hidden_layers": 1},
}

# A window shorter than an image, in two of three layers; nine means of four patches each.
GEMMA3 = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "image_token_index": 91,
    "mm_tokens_per_image": 9,
    "model_type": "gemma3",
    "text_config": {
        "head_dim": 16,
        "hidden_size": 48,
        "intermediate_size": 80,
        "max_position_embeddings": 256,
        "model_type": "gemma3_text",
        "num_attention_heads": 4,
        "num_hidden_layers": 3,
        "num_key_value_heads": 2,
        "query_pre_attn_scalar": 12,
        "rope_local_base_freq": 50.0,
        "rope_scaling": {"factor": 2.0, "rope_type": "linear"},
        "rope_theta": 2000.0,
        "sliding_window": 7,
        "sliding_window_pattern": 3,
        "vocab_size": 97,
    },
    "torch_dtype": "float32",
    "vision_config": SIGLIP | {"image_size": 26, "patch_size": 4, "vision_use_head": False},
}

# One layer without a window, two images, a head of its own.
GEMMA3_FULL = GEMMA3 | {
    "image_token_index": 7,
    "mm_tokens_per_image": 4,
    "text_config": GEMMA3["text_config"] | {"layer_types": ["full_attention"], "num_hidden_layers": 1,
                                            "num_key_value_heads": 1, "tie_word_embeddings": False},
    "tie_word_embeddings": False,
    "vision_config": SIGLIP | {"hidden_act": "gelu", "image_size": 24, "layer_norm_eps": 0.001, "patch_size": 4},
}

# Nine vectors of four patches each, positions in two directions, hidden states of two layers more.
QWEN3_VL = {
    "architectures": ["Qwen3VLForConditionalGeneration"],
    "image_token_id": 95,
    "model_type": "qwen3_vl",
    "text_config": {
        "head_dim": 16,
        "hidden_act": "silu",
        "hidden_size": 48,
        "intermediate_size": 80,
        "max_position_embeddings": 256,
        "model_type": "qwen3_vl_text",
        "num_attention_heads": 4,
        "num_hidden_layers": 3,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-06,
        "rope_scaling": {"mrope_interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default"},
        "rope_theta": 20.0,
        "vocab_size": 97,
    },
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "vision_config": {
        "deepstack_visual_indexes": [0, 2],
        "depth": 3,
        "hidden_act": "gelu_pytorch_tanh",
        "hidden_size": 32,
        "in_channels": 3,
        "intermediate_size": 44,
        "model_type": "qwen3_vl",
        "num_heads": 2,
        "num_position_embeddings": 36,
        "out_hidden_size": 48,
        "patch_size": 4,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    },
}

# The last hidden states alone, two images, more sections than pairs, in the form of transformers 5.
QWEN3_VL_PLAIN = QWEN3_VL | {
    "image_token_id": 3,
    "text_config": {key: value for key, value in QWEN3_VL["text_config"].items() if not key.startswith("rope_")} | {
        "attention_bias": True, "num_hidden_layers": 1, "num_key_value_heads": 1,
        "rope_parameters": {"mrope_section": [2, 4, 2], "rope_theta": 9.0, "rope_type": "default"}},
    "tie_word_embeddings": True,
    "vision_config": QWEN3_VL["vision_config"] | {
        "deepstack_visual_indexes": [], "depth": 1, "hidden_act": "gelu", "model_type": "qwen3_vl_vision",
        "spatial_merge_size": 3, "temporal_patch_size": 3},
}

CLIP_PROCESSOR = {"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 21, "width": 21},
                  "size": {"shortest_edge": 21}}
SMOLVLM_PROCESSOR = {"image_processor_type": "SmolVLMImageProcessor", "do_image_splitting": True,
                     "max_image_size": {"longest_edge": 24}, "size": {"longest_edge": 48}}

GEMMA3_PROCESSOR = {"image_processor_type": "Gemma3ImageProcessor", "do_pan_and_scan": None,
                    "size": {"height": 24, "width": 24}}

QWEN_PROCESSOR = {"image_processor_type": "Qwen2VLImageProcessorFast", "image_mean": [0.5, 0.5, 0.5],
                  "image_std": [0.5, 0.5, 0.5], "merge_size": 2, "patch_size": 4, "temporal_patch_size": 2,
                  "size": {"longest_edge": 65536, "shortest_edge": 64}}

# The files preprocessor_config.json.
PROCESSORS = {
    "llava": CLIP_PROCESSOR,
    "llava_full": CLIP_PROCESSOR | {"resample": 2},
    "llava_siglip": {"image_processor_type": "SiglipImageProcessor", "size": {"height": 20, "width": 20}},
    "smolvlm": SMOLVLM_PROCESSOR,
    "gemma3": GEMMA3_PROCESSOR | {"size": {"height": 26, "width": 26}},
    "gemma3_full": GEMMA3_PROCESSOR | {"resample": 3},
    "qwen3_vl": QWEN_PROCESSOR,
    "qwen3_vl_plain": {"image_processor_type": "Qwen2VLImageProcessor", "merge_size": 3, "patch_size": 4,
                       "temporal_patch_size": 3, "size": {"longest_edge": 65536, "shortest_edge": 64}},
    "idefics3": SMOLVLM_PROCESSOR | {"image_processor_type": "Idefics3ImageProcessor", "do_image_splitting": False},
}

# name -> (config, seed, images in the text)
CONFIGURATIONS = {
    "llava": (LLAVA, 3001, 1),
    "llava_full": (LLAVA_FULL, 3002, 2),
    "llava_siglip": (LLAVA_SIGLIP, 3003, 1),
    "smolvlm": (SMOLVLM, 3004, 2),
    "idefics3": (IDEFICS3, 3005, 1),
    "gemma3": (GEMMA3, 3006, 1),
    "gemma3_full": (GEMMA3_FULL, 3007, 2),
    "qwen3_vl": (QWEN3_VL, 3008, 1),
    "qwen3_vl_plain": (QWEN3_VL_PLAIN, 3009, 2),
}
