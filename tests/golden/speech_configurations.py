"""The random configurations of make_speech_logits.py."""

# Two vectors of an encoder for each 0.04 seconds: its length fits a spectrogram of one second.
WHISPER = {
    "activation_function": "gelu",
    "architectures": ["WhisperForConditionalGeneration"],
    "bos_token_id": 95,
    "d_model": 48,
    "decoder_attention_heads": 6,
    "decoder_ffn_dim": 80,
    "decoder_layers": 2,
    "decoder_start_token_id": 96,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 72,
    "encoder_layers": 3,
    "eos_token_id": 95,
    "is_encoder_decoder": True,
    "max_source_positions": 50,
    "max_target_positions": 64,
    "model_type": "whisper",
    "num_mel_bins": 80,
    "pad_token_id": 95,
    "scale_embedding": False,
    "torch_dtype": "float32",
    "vocab_size": 103,
}

# The larger spectrogram of large-v3, an odd number of vectors, a head of its own, and the field
# that the class ignores.
WHISPER_UNTIED = WHISPER | {
    "activation_function": "gelu_new",
    "d_model": 60,
    "decoder_attention_heads": 3,
    "decoder_layers": 3,
    "encoder_attention_heads": 5,
    "encoder_layers": 2,
    "max_source_positions": 13,
    "num_mel_bins": 128,
    "scale_embedding": True,
    "tie_word_embeddings": False,
}

# One layer and one head of everything.
WHISPER_ONE = WHISPER | {
    "activation_function": "relu",
    "d_model": 22,
    "decoder_attention_heads": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 1,
    "encoder_layers": 1,
    "max_source_positions": 1,
    "num_mel_bins": 7,
}

# Name: configuration, seed of the weights.
CONFIGURATIONS = {
    "whisper": (WHISPER, 4001),
    "whisper_untied": (WHISPER_UNTIED, 4002),
    "whisper_one": (WHISPER_ONE, 4003),
}

# How sound is prepared: the form of published folders.
EXTRACTOR = {
    "chunk_length": 1,
    "feature_extractor_type": "WhisperFeatureExtractor",
    "feature_size": 80,
    "hop_length": 160,
    "n_fft": 400,
    "n_samples": 16000,
    "nb_max_frames": 100,
    "padding_side": "right",
    "padding_value": 0.0,
    "processor_class": "WhisperProcessor",
    "return_attention_mask": False,
    "sampling_rate": 16000,
}

# What the text of a decoder begins with.
GENERATION = {
    "begin_suppress_tokens": [0, 95],
    "decoder_start_token_id": 96,
    "eos_token_id": 95,
    "forced_decoder_ids": [[1, None], [2, 99]],
    "is_multilingual": True,
    "lang_to_id": {"<|en|>": 97, "<|de|>": 98},
    "no_timestamps_token_id": 101,
    "task_to_id": {"transcribe": 99, "translate": 100},
}
SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|transcribe|>", "<|translate|>",
           "<|notimestamps|>"]
