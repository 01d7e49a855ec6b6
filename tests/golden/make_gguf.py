#!/usr/bin/env python3
"""Writes the golden GGUF files: small random models, by the package gguf and the rules of llama.cpp's converter.

Makes gguf/blocks.safetensors, random blocks of each type and what the package makes of them, and
gguf/<name>/{model.gguf, golden.safetensors} for each model in gguf_configurations.py. The weights come from
rng.py under their published names, rounded to f16. The logits are PyTorch's with transformers in f32, or NumPy's by
make_logits_llama_cpp.py of what transformers lacks; with --library
those of llama.cpp, of the same weights in f32, must agree. README.md names the tensors.

It also makes gguf/scored.gguf, whose vocabulary SentencePiece made of this repository's documentation, with
gguf/scored.jsonl, strings and the ids that SentencePiece gives them.

Usage: make_gguf.py [--library FOLDER] [name ...]     FOLDER: where libllama of node-llama-cpp lies
("blocks", "scored", or a key of MODELS or QUANTIZED; all without a name)
Needs torch, transformers, safetensors, numpy, gguf, sentencepiece.
"""

import argparse
import json
import math
import os
import pathlib
import tempfile

import gguf
import numpy as np
import sentencepiece
import torch

import llama_cpp
import make_logits
import make_logits_llama_cpp
import rng
from gguf_configurations import IN_NUMPY, MODELS, QUANTIZED

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = 24
WIDE = 0.35  # as in logits_configurations.py


def paired(x, heads):
    """Rows of `heads` heads with the halves that turn together next to each other."""
    return x.reshape(heads, 2, -1, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def by_part(x, heads):
    """Rows of queries, keys and values of all heads, from those of each head."""
    return x.reshape(heads, 3, -1, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape)


PAIRED = ("llama", "granite", "arcee", "smollm3", "olmo", "minicpm")
GELU = ("gemma", "gemma2", "gemma3", "phi2", "starcoder2", "gpt2", "starcoder", "gptneox")
PLUS_ONE = ("gemma", "gemma2", "gemma3", "nemotron")


def changed(arch, config, name, x):
    """A published weight as the converter stores it."""
    heads = config.get("num_attention_heads", config.get("n_head"))
    groups = config.get("num_key_value_heads", heads)
    if arch in PAIRED and ".q_proj." in name:
        return paired(x, heads)
    if arch in PAIRED and ".k_proj." in name:
        return paired(x, groups)
    if arch in PLUS_ONE and name.endswith("norm.weight"):
        return x + 1
    if arch == "gpt2" and x.ndim == 2 and ".h." in name:
        return x.T
    if arch == "lfm2" and ".conv.conv." in name:
        return x[:, 0]
    if arch == "gptneox" and ".query_key_value." in name:
        return by_part(x, heads)
    return x


def stacked(weights):
    """The tensors of a layer's experts as one."""
    result, experts = {}, {}
    for name, x in weights.items():
        path, mark, rest = name.partition(".experts.")
        if not mark:
            result[name] = x
            continue
        number, _, part = rest.partition(".")
        experts.setdefault(f"{path}.experts.{part}", {})[int(number)] = x
    for name, parts in experts.items():
        layer = name.split(".")[2]
        for published in ("w1", "w2", "w3"):
            if name.endswith(f".{published}.weight"):
                name = f"layers.{layer}.feed_forward.experts.{published}.weight"
        result[name] = np.stack([parts[i] for i in range(len(parts))])
    return result


def tensors_of(arch, config, weights):
    ids = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    layers = config.get("num_hidden_layers", config.get("n_layer", config.get("num_layers")))
    names = gguf.get_tensor_name_map(ids[arch], layers)
    tensors = {}
    for name, x in stacked(weights).items():
        known = name.removeprefix("transformer.") if arch == "chatglm" else name
        stored = names.get_name(known, try_suffixes=(".weight", ".bias"))
        assert stored, name
        tensors[stored] = changed(arch, config, name, x)
    return tensors


def llama3_factors(config, head):
    scaling = config["rope_scaling"]
    wavelengths = 2 * np.pi * config["rope_theta"] ** (np.arange(0, head, 2) / head)
    low = scaling["original_max_position_embeddings"] / scaling["low_freq_factor"]
    high = scaling["original_max_position_embeddings"] / scaling["high_freq_factor"]
    smooth = (scaling["original_max_position_embeddings"] / wavelengths - scaling["low_freq_factor"]) / (
        scaling["high_freq_factor"] - scaling["low_freq_factor"])
    between = 1 / ((1 - smooth) / scaling["factor"] + smooth)
    return np.where(wavelengths < high, 1, np.where(wavelengths > low, scaling["factor"], between)).astype(np.float32)


def add_metadata(writer, arch, config):
    def first(*keys, default=None):
        return next((config[key] for key in keys if config.get(key) is not None), default)
    heads, hidden = first("num_attention_heads", "n_head"), first("hidden_size", "n_embd")
    head = first("head_dim", default=hidden // heads)
    kind = config["model_type"]
    groups = 1 if arch == "starcoder" else first("multi_query_group_num", "num_key_value_heads", default=heads)
    if arch == "lfm2":
        groups = [groups if kind == "full_attention" else 0 for kind in config["layer_types"]]
        writer.add_shortconv_l_cache(3)
    writer.add_context_length(first("max_position_embeddings", "n_positions"))
    writer.add_vocab_size(config["vocab_size"])
    writer.add_embedding_length(hidden)
    writer.add_block_count(first("num_hidden_layers", "n_layer", "num_layers"))
    writer.add_feed_forward_length(first("intermediate_size", "n_inner", "ffn_hidden_size", default=4 * hidden))
    writer.add_head_count(heads)
    writer.add_head_count_kv(groups)
    if "head_dim" in config:
        writer.add_key_length(head)
        writer.add_value_length(head)
    norms = {"gpt2": 1e-5, "gpt_bigcode": 1e-5, "phi": 1e-5, "starcoder2": 1e-5, "stablelm": 1e-5, "gpt_neox": 1e-5,
             "cohere": 1e-5, "cohere2": 1e-5, "olmo": 1e-5, "nemotron": 1e-5, "orion": config.get("rms_norm_eps")}
    if kind in norms:
        writer.add_layer_norm_eps(norms[kind])
    else:
        others = {"lfm2": 1e-5, "mixtral": 1e-5, "phi3": 1e-5, "olmo2": 1e-5, "olmo3": 1e-5, "olmoe": 1e-5,
                  "exaone4": 1e-5, "arcee": 1e-5, "ernie4_5": 1e-5, "hunyuan_v1_dense": 1e-5, "glm4": 1.5625e-7}
        writer.add_layer_norm_rms_eps(
            first("rms_norm_eps", "layer_norm_epsilon", "layernorm_epsilon", default=others.get(kind, 1e-6)))
    if kind not in ("gpt2", "gpt_bigcode"):
        parts = {"chatglm": 0.5, "phi": 0.5, "glm4": 0.5, "nemotron": 0.5, "gpt_neox": config.get("rotary_pct")}
        writer.add_rope_dimension_count(int(head * first("partial_rotary_factor", default=parts.get(kind, 1))))
        bases = {"lfm2": 1000000.0, "cohere": 500000.0, "ernie4_5": 500000.0, "olmo3": 500000.0, "smollm3": 2000000.0,
                 "mixtral": 1000000.0}
        writer.add_rope_freq_base(first("rope_theta", default=bases.get(kind, 10000.0)))
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])
    if scaling.get("rope_type") == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_factors(config, head))
    if scaling.get("type") == "longrope":
        writer.add_rope_scaling_orig_ctx_len(config["original_max_position_embeddings"])
        factor = config["max_position_embeddings"] / config["original_max_position_embeddings"]
        writer.add_rope_scaling_attn_factors(
            math.sqrt(1 + math.log(factor) / math.log(config["original_max_position_embeddings"])))
        for part in ("long", "short"):
            writer.add_tensor(f"rope_factors_{part}.weight", np.array(scaling[part + "_factor"], np.float32))
    if config.get("sliding_window"):
        writer.add_sliding_window(config["sliding_window"])
    if kind == "olmo3":
        writer.add_sliding_window_pattern([True, True, True, False])
    if arch in ("llama", "qwen2moe", "qwen3moe", "olmoe") and first("num_experts", "num_local_experts"):
        writer.add_expert_count(first("num_experts", "num_local_experts"))
        writer.add_expert_used_count(config["num_experts_per_tok"])
    if "moe_intermediate_size" in config:
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if "shared_expert_intermediate_size" in config:
        writer.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])
    if "attn_logit_softcapping" in config:
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
    if "final_logit_softcapping" in config:
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if kind in ("stablelm", "gpt_neox"):
        writer.add_parallel_residual(kind == "gpt_neox")
    if "logit_scale" in config:
        writer.add_logit_scale(config["logit_scale"])
    if "clip_qkv" in config:
        writer.add_clamp_kqv(config["clip_qkv"])
    if kind == "minicpm":
        writer.add_embedding_scale(config["scale_emb"])
        writer.add_residual_scale(config["scale_depth"] / math.sqrt(config["num_hidden_layers"]))
        writer.add_logit_scale(hidden / config["dim_model_base"])
    if kind == "granite":
        writer.add_embedding_scale(config["embedding_multiplier"])
        writer.add_residual_scale(config["residual_multiplier"])
        writer.add_attention_scale(config["attention_multiplier"])
        writer.add_logit_scale(config["logits_scaling"])


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
    config, arch = MODELS[name]
    seed = 3000 + list(MODELS).index(name)
    folder = HERE / "gguf" / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "config.json").write_text(json.dumps(config))
        tokens = (rng.words(seed, "tokens", TOKENS) % np.uint32(config["vocab_size"])).astype(np.int32)
        if name in IN_NUMPY:
            shapes = make_logits_llama_cpp.published_shapes(config)
            weights = {n: torch.from_numpy(rng.weight(seed, n, shape, WIDE)) for n, shape in shapes.items()}
        else:
            weights = make_logits.published_weights(scratch, seed, WIDE)
        weights = {n: t.half().float() for n, t in weights.items()}
        if name in IN_NUMPY:
            arrays = {n: t.numpy() for n, t in weights.items()}
            logits = torch.from_numpy(make_logits_llama_cpp.forward(config, arrays, tokens)[0].astype(np.float32))
        else:
            logits = make_logits.logits_of(make_logits.reference(scratch, weights), tokens.tolist())
        arrays = {n: t.numpy() for n, t in weights.items()}
        note = ""
        if library:
            write_gguf(scratch / "model.gguf", arch, config, arrays, True)
            other = library.logits(scratch / "model.gguf", tokens, config["vocab_size"])
            off = np.abs(other - logits.numpy()).max() / max(1, np.abs(other).max())
            note = f", llama.cpp differs by {off:.1e} of the largest"
            # Its GELU is a table of f16. It chooses long factors by the longest text that it allows for.
            assert off <= (2e-3 if arch in GELU else 5e-5) or name == "phi3_longrope", (name, off)
        part = folder / "model.gguf.part"
        write_gguf(part, arch, config, arrays, False)
        os.replace(part, folder / "model.gguf")
    make_logits.save(folder / "golden.safetensors", {"tokens": torch.from_numpy(tokens), "logits": logits},
                     {"seed": str(seed)})
    print(f"{name}: {(folder / 'model.gguf').stat().st_size} bytes, deviation of logits {logits.std():.2f}{note}")


# Where each type has its scales in f16; scales of other dtypes may have any bits.
SCALES = {"Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,), "Q2_K": (80, 82), "Q3_K": (108,),
          "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,), "IQ4_NL": (0,), "MXFP4": (), "F16": (0,), "BF16": (),
          "F32": ()}


# Scales that give elements of a deviation of about 0.2, and minimums that give a mean of about 0.
SIZES = {"Q4_0": (0.04,), "Q4_1": (0.04, -0.3), "Q5_0": (0.02,), "Q5_1": (0.02, -0.31), "Q8_0": (0.0027,),
         "Q2_K": (0.024, 0.036), "Q3_K": (0.005,), "Q4_K": (0.0014, 0.0105), "Q5_K": (0.0007, 0.01085),
         "Q6_K": (0.00015,), "IQ4_NL": (0.003,), "MXFP4": ()}


def sized_blocks(seed, name, kind, shape):
    """Blocks u8 [..., bytes] of random elements f32 `shape`, which are those of weights."""
    elements, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    count = int(np.prod(shape)) // elements
    blocks = (rng.words(seed, name, count * size) >> np.uint32(24)).astype(np.uint8).reshape(count, size)
    for i, (at, scale) in enumerate(zip(SCALES[kind], SIZES[kind])):
        varied = scale * (1 + 0.2 * rng.unit(seed, f"{name}.{i}", count))
        blocks[:, at:at + 2] = varied.astype(np.float16).view(np.uint8).reshape(count, 2)
    if kind == "MXFP4":
        blocks[:, 0] = 122 + blocks[:, 0] % 3
    return blocks.reshape(*shape[:-1], -1)


def unpaired(x, heads):
    return x.reshape(heads, -1, 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def make_quantized(name, library):
    config, kinds = QUANTIZED[name]
    seed = 3500 + list(QUANTIZED).index(name)
    arch = "llama" if config["model_type"] == "llama" else "qwen3moe"
    folder = HERE / "gguf" / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "config.json").write_text(json.dumps(config))
        weights = {n: t.half().float().numpy() for n, t in make_logits.published_weights(scratch, seed, WIDE).items()}
        stored, published, types = tensors_of(arch, config, weights), {}, {}
        for n, x in list(stored.items()):
            kind = kinds.get(n.split(".")[-2])
            if kind is None or kind == "F16":
                continue
            types[n] = gguf.GGMLQuantizationType[kind]
            blocks = sized_blocks(seed, n, kind, x.shape)
            published[n] = gguf.quants.dequantize(blocks, types[n])
            stored[n] = blocks
        ids = {architecture: number for number, architecture in gguf.MODEL_ARCH_NAMES.items()}
        names = gguf.get_tensor_name_map(ids[arch], config["num_hidden_layers"])
        for n in weights:
            path, mark, rest = n.partition(".experts.")
            number, _, part = rest.partition(".")
            own = names.get_name(f"{path}.experts.{part}" if mark else n, try_suffixes=(".weight", ".bias"))
            x = published.get(own)
            if x is None:
                continue
            if mark:
                x = x[int(number)]
            if arch == "llama" and ".q_proj." in n:
                x = unpaired(x, config["num_attention_heads"])
            if arch == "llama" and ".k_proj." in n:
                x = unpaired(x, config["num_key_value_heads"])
            weights[n] = x
        weights = {n: torch.from_numpy(np.ascontiguousarray(x)) for n, x in weights.items()}
        model = make_logits.reference(scratch, weights)
    tokens = (rng.words(seed, "tokens", TOKENS) % np.uint32(config["vocab_size"])).astype(np.int32)
    logits = make_logits.logits_of(model, tokens.tolist())
    part = folder / "model.gguf.part"
    writer = gguf.GGUFWriter(part, arch)
    add_metadata(writer, arch, config)
    writer.add_tokenizer_model("no_vocab")
    for n, x in stored.items():
        if n in types:
            writer.add_tensor(n, x, raw_dtype=types[n])
        else:
            writer.add_tensor(n, np.ascontiguousarray(x, np.float16 if stored_f16(n, x) else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.replace(part, folder / "model.gguf")
    note = ""
    if library:
        other = library.logits(folder / "model.gguf", tokens, config["vocab_size"])
        # It quantizes activations too, by which a token may have other experts.
        off = np.median(np.abs(other - logits.numpy())) / max(1, np.abs(other).max())
        note = f", llama.cpp differs by {off:.1e} of the largest in the median"
        assert off <= 0.02, (name, off)
    make_logits.save(folder / "golden.safetensors", {"tokens": torch.from_numpy(tokens), "logits": logits},
                     {"seed": str(seed)})
    print(f"{name}: {(folder / 'model.gguf').stat().st_size} bytes, deviation of logits {logits.std():.2f}{note}")


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


STRINGS = ("", " ", "  two  spaces ", "a", "Hello world", "\n\nnew\tlines\r\n",
           "naïve café, 東京 🙂🏽",
           "1234567890", "▁marked▁", "x" * 40, "e\u0301 combined", "\u00a0\u3000wide", "Ünïcödé")


def make_scored():
    texts = [path.read_text() for path in sorted((HERE.parent.parent / "docs").glob("*.md"))]
    with tempfile.TemporaryDirectory() as scratch:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter("\n".join(texts[:8]).splitlines()), model_prefix=scratch + "/m", vocab_size=600,
            model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
            character_coverage=0.999, user_defined_symbols=["<|mark|>"], minloglevel=2)
        model = sentencepiece.SentencePieceProcessor(model_file=scratch + "/m.model")
    kinds = [(model.is_unknown, 2), (model.is_control, 3), (model.is_unused, 5), (model.is_byte, 6)]
    types = [next((kind for test, kind in kinds if test(i)), 1) for i in range(model.vocab_size())]
    types[model.piece_to_id("<|mark|>")] = 4
    writer = gguf.GGUFWriter(HERE / "gguf/scored.gguf", "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list([model.id_to_piece(i) for i in range(model.vocab_size())])
    writer.add_token_scores([model.get_score(i) for i in range(model.vocab_size())])
    writer.add_token_types(types)
    writer.add_bos_token_id(model.bos_id())
    writer.add_eos_token_id(model.eos_id())
    writer.add_unk_token_id(model.unk_id())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    lines = [line for text in texts[8:] for line in text.splitlines() if line]
    strings = [*STRINGS, *lines[::max(1, len(lines) // 200)]]
    with open(HERE / "gguf/scored.jsonl", "w") as file:
        for text in strings:
            ids = model.encode(text)
            file.write(json.dumps({"text": text, "ids": ids, "decoded": model.decode(ids)}) + "\n")
    print(f"scored: {model.vocab_size()} tokens, {len(strings)} strings")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rng.check()
    library = llama_cpp.LlamaCpp(options.library) if options.library else None
    for name in options.names or ["blocks", "scored", *MODELS, *QUANTIZED]:
        if name == "blocks":
            make_blocks()
        elif name == "scored":
            make_scored()
        elif name in QUANTIZED:
            make_quantized(name, library)
        else:
            make(name, library)


if __name__ == "__main__":
    main()
