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

CLIP_PROCESSOR = {"image_processor_type": "CLIPImageProcessor", "crop_size": {"height": 21, "width": 21},
                  "size": {"shortest_edge": 21}}
SMOLVLM_PROCESSOR = {"image_processor_type": "SmolVLMImageProcessor", "do_image_splitting": True,
                     "max_image_size": {"longest_edge": 24}, "size": {"longest_edge": 48}}

# The files preprocessor_config.json.
PROCESSORS = {
    "llava": CLIP_PROCESSOR,
    "llava_full": CLIP_PROCESSOR | {"resample": 2},
    "llava_siglip": {"image_processor_type": "SiglipImageProcessor", "size": {"height": 20, "width": 20}},
    "smolvlm": SMOLVLM_PROCESSOR,
    "idefics3": SMOLVLM_PROCESSOR | {"image_processor_type": "Idefics3ImageProcessor", "do_image_splitting": False},
}

# name -> (config, seed, images in the text)
CONFIGURATIONS = {
    "llava": (LLAVA, 3001, 1),
    "llava_full": (LLAVA_FULL, 3002, 2),
    "llava_siglip": (LLAVA_SIGLIP, 3003, 1),
    "smolvlm": (SMOLVLM, 3004, 2),
    "idefics3": (IDEFICS3, 3005, 1),
}
