#!/usr/bin/env python3
"""Writes sound files and what the feature extractor of transformers makes of them.

Makes sounds/*.wav and *.flac, sounds/extractors.json (texts of preprocessor_config.json by name) and
sounds/features.safetensors ("<name>/<file>": f32 [bands, frames]).

Needs soundfile, transformers, torch, safetensors, numpy.
"""

import json
import pathlib

import numpy as np
import soundfile
import torch
from transformers import WhisperFeatureExtractor

import rng
from make_logits import save
from speech_configurations import EXTRACTOR

FOLDER = pathlib.Path(__file__).resolve().parent / "sounds"

# By name: the file's text.
EXTRACTORS = {
    "whisper": EXTRACTOR,
    "whisper_v3": EXTRACTOR | {"feature_size": 128, "dither": 0.0},
    # No class of published files: other frames of another length, and the defaults of the rest.
    "other": {"chunk_length": 2, "feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 20,
              "hop_length": 250, "n_fft": 510, "sampling_rate": 8000, "padding_value": 0.25},
}


def voice(seconds, rate, seed):
    """A tone that rises, with overtones, in bursts, and a little noise: f64 within +-1."""
    t = np.arange(int(seconds * rate)) / rate
    pitch = 2 * np.pi * (110 * t + 90 * t * t)
    tone = sum(np.sin(k * pitch + k) / k for k in (1, 2, 3, 5, 8, 13))
    bursts = np.clip(np.sin(2 * np.pi * 3 * t) + 0.3, 0, 1)
    return 0.3 * bursts * tone + 0.002 * rng.unit(seed, "noise", t.size)


def write(name, samples, rate, subtype):
    soundfile.write(FOLDER / name, samples, rate, subtype=subtype)


def make_files():
    write("mono16.wav", voice(0.9, 16000, 1), 16000, "PCM_16")
    write("stereo24.flac", np.stack([voice(0.5, 16000, 2), 0.5 * voice(0.5, 16000, 3)], 1), 16000, "PCM_24")
    write("float8k.wav", voice(1.5, 8000, 4).astype(np.float32), 8000, "FLOAT")
    write("unsigned8.wav", voice(0.2, 16000, 5), 16000, "PCM_U8")
    # A pure tone for the change of the rate.
    write("tone44k.wav", 0.5 * np.sin(2 * np.pi * 440 * np.arange(13230) / 44100), 44100, "PCM_16")


# By extractor, the files of its rate.
USES = {"whisper": ["mono16.wav", "unsigned8.wav"], "whisper_v3": ["stereo24.flac"], "other": ["float8k.wav"]}


def features(name, file):
    samples, rate = soundfile.read(FOLDER / file, dtype="float32", always_2d=True)
    extractor = WhisperFeatureExtractor(**{k: v for k, v in EXTRACTORS[name].items() if not k.endswith("_type")})
    made = extractor(samples.mean(1), sampling_rate=rate, return_tensors="pt")
    return made["input_features"][0].contiguous()


def main():
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    make_files()
    made = {f"{name}/{file}": features(name, file) for name, files in USES.items() for file in files}
    save(FOLDER / "features.safetensors", made, {})
    (FOLDER / "extractors.json").write_text(json.dumps(EXTRACTORS, indent=1) + "\n")
    for key, tensor in made.items():
        print(f"{key}: {list(tensor.shape)}, {tensor.min():.2f} to {tensor.max():.2f}")


if __name__ == "__main__":
    main()
