#!/usr/bin/env python3
"""Writes the golden logits of models of speech: PyTorch with transformers in f32, eager attention.

Makes speech/<name>/{config.json, preprocessor_config.json, generation_config.json, tokenizer.json,
golden.safetensors} for random configurations. README.md names the tensors. Reads sounds/
(make_sounds.py).

Usage: make_speech_logits.py [name ...]     (all without a name)
Needs torch, transformers, tokenizers, safetensors, soundfile, numpy.
"""

import json
import pathlib
import sys

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE
from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, WhisperForConditionalGeneration

import rng
from make_logits import save, write_atomic
from make_sounds import features as features_of_sound
from speech_configurations import CONFIGURATIONS, EXTRACTOR, GENERATION, SPECIAL

HERE = pathlib.Path(__file__).resolve().parent

SCALE = 0.4
SOUND = "mono16.wav"
PREFIX = ["<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"]
PROMPT = "He,said:"


def reference(folder, seed):
    config = AutoConfig.from_pretrained(folder)
    config.dtype = torch.float32
    config._attn_implementation = "eager"
    model = WhisperForConditionalGeneration(config).to(torch.float32).eval()
    head = ["proj_out.weight"] if config.tie_word_embeddings else []
    state = {name: torch.from_numpy(rng.weight(seed, name, tuple(tensor.shape), SCALE))
             for name, tensor in model.state_dict().items() if name not in head}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert missing == head and not unexpected, (missing, unexpected)
    model.tie_weights()
    return model


def tokenizer_of():
    """A token for each printable character but one, and those of Whisper, with its template."""
    vocabulary = {chr(ord("!") + i): i for i in range(95)} | {text: 95 + i for i, text in enumerate(SPECIAL)}
    tokenizer = Tokenizer(BPE(vocabulary, []))
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in SPECIAL])
    tokenizer.post_processor = TemplateProcessing(
        single="<|startoftranscript|> <|notimestamps|> $A <|endoftext|>",
        pair="<|startoftranscript|> <|notimestamps|> $A $B <|endoftext|>",
        special_tokens=[(text, vocabulary[text]) for text in SPECIAL])
    return tokenizer


def least_deviation_of_scores(model, features, tokens):
    """Of the scores of the last row (the logarithms of attention's weights), the least over all layers."""
    out = model(input_features=features, decoder_input_ids=tokens, use_cache=False, output_attentions=True)
    rows = [a[0, :, -1] for kind in (out.encoder_attentions, out.decoder_attentions, out.cross_attentions)
            for a in kind]
    return min(float(row[row > 0].log().std()) for row in rows if row.shape[-1] > 1)


@torch.no_grad()
def make(name):
    config, seed = CONFIGURATIONS[name]
    folder = HERE / "speech" / name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "config.json", json.dumps(config, indent=2) + "\n")
    model = reference(folder, seed)
    bands, frames = config["num_mel_bins"], 2 * config["max_source_positions"]
    features = torch.from_numpy(rng.unit(seed, "features", bands * frames).reshape(1, bands, frames))
    tokens = (rng.words(seed, "tokens", 24) % np.uint32(config["vocab_size"])).astype(np.int32)
    ids = torch.from_numpy(tokens)[None].long()
    logits = model(input_features=features, decoder_input_ids=ids, use_cache=False).logits[0]
    other = model(input_features=features * 0.5, decoder_input_ids=ids, use_cache=False).logits[0]
    scores = least_deviation_of_scores(model, features, ids)
    effect = float((logits - other).abs().max())
    assert scores >= 0.6 and logits.std() >= 1 and effect > 0.1, (name, scores, float(logits.std()), effect)
    tensors = {
        "seed": torch.tensor([seed], dtype=torch.int32),
        "scale": torch.tensor([SCALE], dtype=torch.float32),
        "tokens": torch.from_numpy(tokens),
        "features": features[0],
        "logits": logits,
    }
    metadata = {"seed": str(seed)}
    if frames == EXTRACTOR["nb_max_frames"] and bands == EXTRACTOR["feature_size"]:
        write_atomic(folder / "preprocessor_config.json", json.dumps(EXTRACTOR, indent=2) + "\n")
        write_atomic(folder / "generation_config.json", json.dumps(GENERATION, indent=2) + "\n")
        tokenizer = tokenizer_of()
        write_atomic(folder / "tokenizer.json", tokenizer.to_str(pretty=True) + "\n")
        ids = [tokenizer.token_to_id(text) for text in PREFIX]
        ids += tokenizer.encode(PROMPT, add_special_tokens=False).ids
        sound = features_of_sound("whisper", SOUND)[None]
        run = model(input_features=sound, decoder_input_ids=torch.tensor([ids]), use_cache=False).logits[0]
        tensors |= {"run_tokens": torch.tensor(ids, dtype=torch.int32), "run_logits": run}
        metadata |= {"prompt": PROMPT, "sound": SOUND}
    save(folder / "golden.safetensors", tensors, metadata)
    print(f"{name}: {list(logits.shape)}, deviation of logits {logits.std():.2f}, of scores {scores:.2f}, "
          f"effect of the features {effect:.2f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for one in sys.argv[1:] or CONFIGURATIONS:
        make(one)
