#!/usr/bin/env python3
"""Writes the golden GGUF files: small random models, by the package gguf and the rules of llama.cpp's converter.

Makes gguf/blocks.safetensors, random blocks of each type and what the package makes of them, and
gguf/<name>/{model.gguf, golden.safetensors} for each model in gguf_configurations.py. The weights come from
rng.py under their published names, rounded to f16. The logits are PyTorch's with transformers in f32; with --library
those of llama.cpp, of the same weights in f32, must agree. README.md names the tensors.

Usage: make_gguf.py [--library FOLDER] [name ...]     FOLDER: where libllama of node-llama-cpp lies
("blocks", or a key of MODELS; all without a name)
Needs torch, transformers, safetensors, numpy, gguf.
"""

import argparse
import json
import os
import pathlib
import tempfile

import gguf
import numpy as np
import torch

import llama_cpp
import make_logits
import rng
from gguf_configurations import MODELS

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = 24
WIDE = 0.35  # as in logits_configurations.py


def paired(x, heads):
    """Rows of `heads` heads with the halves that turn together next to each other."""
    return x.reshape(heads, 2, -1, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def changed(arch, config, name, x):
    """A published weight as the converter stores it."""
    heads = config["num_attention_heads"]
    groups = config.get("num_key_value_heads", heads)
    if arch == "llama":
        if ".q_proj." in name:
            return paired(x, heads)
        if ".k_proj." in name:
            return paired(x, groups)
    return x


def tensors_of(arch, config, weights):
    ids = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(ids[arch], config["num_hidden_layers"])
    tensors = {}
    for name, x in weights.items():
        stored = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert stored, name
        tensors[stored] = changed(arch, config, name, x)
    return tensors


def add_metadata(writer, arch, config):
    heads = config["num_attention_heads"]
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config.get("num_key_value_heads", heads))
    head = config.get("head_dim", config["hidden_size"] // heads)
    if "head_dim" in config:
        writer.add_key_length(head)
        writer.add_value_length(head)
    writer.add_layer_norm_rms_eps(config.get("rms_norm_eps", 1e-6))
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(config.get("rope_theta", 10000.0))
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])


def stored_f16(name, tensor):
    return tensor.ndim > 1


def write_gguf(path, arch, config, weights, whole):
    """`whole`: in f32, as llama.cpp computes the same as PyTorch with."""
    writer = gguf.GGUFWriter(path, arch)
    add_metadata(writer, arch, config)
    writer.add_tokenizer_model("no_vocab")
    for name, tensor in tensors_of(arch, config, weights).items():
        dtype = np.float16 if not whole and stored_f16(name, tensor) else np.float32
        writer.add_tensor(name, np.ascontiguousarray(tensor, dtype))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make(name, library):
    config, arch, seed = MODELS[name]
    folder = HERE / "gguf" / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "config.json").write_text(json.dumps(config))
        weights = {n: t.half().float() for n, t in make_logits.published_weights(scratch, seed, WIDE).items()}
        model = make_logits.reference(scratch, weights)
        tokens = (rng.words(seed, "tokens", TOKENS) % np.uint32(config["vocab_size"])).astype(np.int32)
        logits = make_logits.logits_of(model, tokens.tolist())
        arrays = {n: t.numpy() for n, t in weights.items()}
        note = ""
        if library:
            write_gguf(scratch / "model.gguf", arch, config, arrays, True)
            other = library.logits(scratch / "model.gguf", tokens, config["vocab_size"])
            off = np.abs(other - logits.numpy()).max() / max(1, np.abs(other).max())
            note = f", llama.cpp differs by {off:.1e} of the largest"
            assert off <= 5e-5, (name, off)
        part = folder / "model.gguf.part"
        write_gguf(part, arch, config, arrays, False)
        os.replace(part, folder / "model.gguf")
    make_logits.save(folder / "golden.safetensors", {"tokens": torch.from_numpy(tokens), "logits": logits},
                     {"seed": str(seed)})
    print(f"{name}: {(folder / 'model.gguf').stat().st_size} bytes, deviation of logits {logits.std():.2f}{note}")


# Where each type has its scales in f16; scales of other dtypes may have any bits.
SCALES = {"Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,), "Q2_K": (80, 82), "Q3_K": (108,),
          "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,), "IQ4_NL": (0,), "MXFP4": (), "F16": (0,), "BF16": (), "F32": ()}


def random_blocks(name, count):
    """Blocks u8 [count, bytes] with finite scales of both signs, small ones and 0 among them."""
    _, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    blocks = (rng.words(3000, name, count * size) >> np.uint32(24)).astype(np.uint8).reshape(count, size)
    for i, at in enumerate(SCALES[name]):
        scales = (rng.unit(3000, f"{name}.{i}", count) * 0.1).astype(np.float16)
        scales[0] = 0
        if count > 1:
            scales[1] = 6e-8  # the smallest
        blocks[:, at:at + 2] = scales.view(np.uint8).reshape(count, 2)
    if name == "MXFP4":
        blocks[:, 0] = np.resize([0, 1, 2, 3, 120, 127, 130, 200, 240], count)
    if name in ("BF16", "F32"):
        blocks[:, -1] = 0x3F  # the exponent of numbers around 1
    return blocks


def make_blocks():
    tensors = {}
    for name in SCALES:
        elements, _ = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
        count = 4 if elements == 256 else 9 if elements == 32 else 32
        blocks = random_blocks(name, count)
        with np.errstate(all="raise", under="ignore"):
            values = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name])
        tensors[name + ".blocks"] = torch.from_numpy(blocks)
        tensors[name + ".values"] = torch.from_numpy(np.array(values, np.float32).reshape(-1))
    (HERE / "gguf").mkdir(exist_ok=True)
    make_logits.save(HERE / "gguf/blocks.safetensors", tensors, {"by": "gguf"})
    print(f"blocks: {len(SCALES)} types")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rng.check()
    library = llama_cpp.LlamaCpp(options.library) if options.library else None
    for name in options.names or ["blocks", *MODELS]:
        if name == "blocks":
            make_blocks()
        else:
            make(name, library)


if __name__ == "__main__":
    main()
