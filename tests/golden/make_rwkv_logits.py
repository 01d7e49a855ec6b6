#!/usr/bin/env python3
"""Writes the golden logits of RWKV 5, 6 and 7, which transformers does not have: the package `rwkv` in f32.

Makes logits/<name>/{config.json, golden.safetensors} as make_logits.py does. The weights come from
rng.py under the names of Hugging Face's folders (RWKV 7: of flash-linear-attention's); the package gets them
under its own, and needs a process of its own for RWKV 7.

Usage: make_rwkv_logits.py [name ...]     (all without a name)
Needs torch, safetensors, numpy and rwkv (pip install rwkv).
"""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["RWKV_JIT_ON"] = "0"
os.environ["RWKV_CUDA_ON"] = "0"
IS_7 = os.environ.get("RWKV_V7_ON") == "1"

import numpy as np
import torch
from rwkv.model import RWKV
from safetensors.torch import save_file

import rng

HERE = pathlib.Path(__file__).resolve().parent
SCALE = 0.35

COMMON = {"bos_token_id": 0, "dtype": "float32", "eos_token_id": 0, "hidden_size": 64, "num_hidden_layers": 3,
          "tie_word_embeddings": False, "vocab_size": 203}


def config(version, **changes):
    fields = {**COMMON, "architectures": [f"Rwkv{version}ForCausalLM"], "model_type": f"rwkv{version}", **changes}
    return {key: value for key, value in sorted(fields.items())}


# Configuration, seed of the weights.
MODELS = {
    # The fields of the published folders.
    "rwkv5": (config(5, attention_hidden_size=64, head_size=16, head_size_divisor=8, intermediate_size=None,
                     layer_norm_epsilon=1e-5, num_attention_heads=64, rescale_every=6), 2067),
    # The older form, in which a head's size has the name of their number.
    "rwkv5_tied": (config(5, intermediate_size=96, num_attention_heads=32, num_hidden_layers=2, rescale_every=0,
                          tie_word_embeddings=True), 2068),
    "rwkv6": (config(6, attention_hidden_size=64, head_size=16, head_size_divisor=8, intermediate_size=None,
                     layer_norm_epsilon=1e-5, num_attention_heads=64, rescale_every=6), 2069),
    "rwkv6_tied": (config(6, head_size=64, intermediate_size=160, num_hidden_layers=2, tie_word_embeddings=True),
                   2070),
    # The fields of the published folders, with ranks of their own.
    "rwkv7": ({**COMMON, "a_low_rank_dim": 24, "architectures": ["RWKV7ForCausalLM"], "attn": None,
               "attn_mode": "chunk", "decay_low_rank_dim": 40, "fuse_norm": False, "gate_low_rank_dim": 32,
               "head_dim": 64, "hidden_size": 128, "intermediate_size": 224,
               "max_position_embeddings": 2048, "model_type": "rwkv7", "norm_bias": True,
               "norm_eps": 1e-5, "norm_first": True, "num_heads": 2, "v_low_rank_dim": 8,
               "value_dim": [128, 128, 128]}, 2071),
    # Ranks and widths that follow from the hidden size.
    "rwkv7_plain": ({**COMMON, "architectures": ["RWKV7ForCausalLM"], "head_dim": 64, "hidden_size": 128,
                     "model_type": "rwkv7", "num_hidden_layers": 2}, 2072),
}

# Hugging Face's names and the package's.
RENAMED = {"rwkv.embeddings.": "emb.", "rwkv.ln_out.": "ln_out.", "rwkv.": "", ".pre_ln.": ".ln0.", ".attention.": ".att.",
           ".feed_forward.": ".ffn.", ".time_mix_key": ".time_mix_k", ".time_mix_value": ".time_mix_v",
           ".time_mix_receptance": ".time_mix_r", ".time_mix_gate": ".time_mix_g"}


# Those of flash-linear-attention and the package's. Matrices of low rank are transposed.
RENAMED_7 = {"model.embeddings.": "emb.", "model.norm.": "ln_out.", "lm_head.": "head.", "model.layers.": "blocks.",
             ".pre_norm.": ".ln0.", ".attn_norm.": ".ln1.", ".ffn_norm.": ".ln2.", ".attn.": ".att.",
             ".g_norm.": ".ln_x.",
             ".r_proj.": ".receptance.", ".k_proj.": ".key.", ".v_proj.": ".value.", ".o_proj.": ".output.",
             "_lora.lora.0.weight": "1", "_lora.lora.2.weight": "2", "_lora.lora.2.bias": "0"}


def shapes_of_7(config):
    """Names and shapes in a folder of flash-linear-attention."""
    hidden, vocabulary = config["hidden_size"], config["vocab_size"]
    inner = config.get("intermediate_size") or 4 * hidden
    ranks = {"w": config.get("decay_low_rank_dim", 32), "a": config.get("a_low_rank_dim", 32),
             "v": config.get("v_low_rank_dim", 32), "g": config.get("gate_low_rank_dim", 64)}
    shapes = {"model.embeddings.weight": (vocabulary, hidden)}

    def norm(path):
        shapes.update({path + ".weight": (hidden,), path + ".bias": (hidden,)})
    for layer in range(config["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        if layer == 0:
            norm(p + "pre_norm")
        norm(p + "attn_norm")
        norm(p + "ffn_norm")
        norm(p + "attn.g_norm")
        shapes |= {f"{p}attn.x_{name}": (1, 1, hidden) for name in "rwkvag"}
        shapes |= {p + "attn.k_k": (hidden,), p + "attn.k_a": (hidden,),
                   p + "attn.r_k": (hidden // config["head_dim"], config["head_dim"])}
        shapes |= {f"{p}attn.{name}_proj.weight": (hidden, hidden) for name in "rkvo"}
        for name, rank in ranks.items():
            if name == "v" and layer == 0:
                continue
            path = f"{p}attn.{name}_lora.lora."
            shapes |= {path + "0.weight": (rank, hidden), path + "2.weight": (hidden, rank)}
            if name != "g":
                shapes[path + "2.bias"] = (hidden,)
        shapes |= {p + "ffn.x_k": (hidden,), p + "ffn.key.weight": (inner, hidden),
                   p + "ffn.value.weight": (hidden, inner)}
    norm("model.norm")
    shapes["lm_head.weight"] = (vocabulary, hidden)
    return shapes


def shapes_of(config):
    """Names and shapes in a folder of Hugging Face's RWKV organization."""
    hidden, vocabulary = config["hidden_size"], config["vocab_size"]
    size = config.get("head_size", config.get("num_attention_heads"))
    heads = hidden // size
    inner = config.get("intermediate_size") or int((hidden * 3.5) // 32 * 32)
    finch = config["model_type"] == "rwkv6"
    shapes = {"rwkv.embeddings.weight": (vocabulary, hidden)}

    def norm(path):
        shapes.update({path + ".weight": (hidden,), path + ".bias": (hidden,)})
    for layer in range(config["num_hidden_layers"]):
        p = f"rwkv.blocks.{layer}."
        if layer == 0:
            norm(p + "pre_ln")
        norm(p + "ln1")
        norm(p + "ln2")
        norm(p + "attention.ln_x")
        for name in ("key", "value", "receptance", "gate", "output"):
            shapes[f"{p}attention.{name}.weight"] = (hidden, hidden)
        shapes[p + "attention.time_faaaa"] = (heads, size)
        shapes |= {p + "feed_forward.key.weight": (inner, hidden), p + "feed_forward.value.weight": (hidden, inner),
                   p + "feed_forward.receptance.weight": (hidden, hidden)}
        wide = {"attention": ("maa_x", "maa_w", "maa_k", "maa_v", "maa_r", "maa_g", "decay"),
                "feed_forward": ("maa_k", "maa_r")}
        if not finch:
            wide = {"attention": ("mix_key", "mix_value", "mix_receptance", "mix_gate"),
                    "feed_forward": ("mix_key", "mix_receptance")}
            shapes[p + "attention.time_decay"] = (heads, size)
        else:
            shapes |= {p + "attention.time_maa_w1": (hidden, 5 * 32), p + "attention.time_maa_w2": (5, 32, hidden),
                       p + "attention.time_decay_w1": (hidden, 64), p + "attention.time_decay_w2": (64, hidden)}
        for part, names in wide.items():
            shapes |= {f"{p}{part}.time_{name}": (1, 1, hidden) for name in names}
    norm("rwkv.ln_out")
    if not config["tie_word_embeddings"]:
        shapes["head.weight"] = (vocabulary, hidden)
    return shapes


def of_package(weights):
    def new(name):
        for old, other in (RENAMED_7 if IS_7 else RENAMED).items():
            name = name.replace(old, other)
        return name
    named = {new(name): (tensor.t() if ".lora." in name and tensor.dim() > 1 else tensor).clone()
             for name, tensor in weights.items()}
    named.setdefault("head.weight", named["emb.weight"].clone())
    if IS_7:  # read, and ignored
        named |= {f"blocks.0.att.v{part}": torch.zeros(1) for part in range(3)}
    return named


def load(weights):
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = os.path.join(folder, "model.pth")
        torch.save(of_package(weights), path)
        # For RWKV 7 the package appends the name's end.
        return RWKV(path.removesuffix(".pth") if IS_7 else path, "cpu fp32")


def in_pieces(model, tokens, sizes):
    """Logits [tokens, vocabulary] of calls of these sizes, one after another."""
    rows, state = [], None
    for size in sizes:
        with torch.no_grad():
            logits, state = model.forward(tokens[:size], state, full_output=True)
        rows.append(logits.reshape(size, -1))
        tokens = tokens[size:]
    assert not tokens
    return torch.cat(rows)


def make(name):
    fields, seed = MODELS[name]
    folder = HERE / "logits" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(fields, indent=2, sort_keys=True) + "\n")
    shapes = (shapes_of_7 if IS_7 else shapes_of)(fields)
    weights = {n: torch.from_numpy(rng.weight(seed, n, s, SCALE)) for n, s in shapes.items()}
    model = load(weights)
    tokens = (rng.words(seed, "tokens", 24) % np.uint32(fields["vocab_size"])).astype(np.int32)
    logits = in_pieces(model, tokens.tolist(), [24])
    pieces = in_pieces(model, tokens.tolist(), [7, 9, 3, 1, 1, 1, 1, 1])
    assert (logits - pieces).abs().max() <= 1e-5 * logits.abs().max(), name
    alone = in_pieces(model, tokens[-1:].tolist(), [1])
    # The text before a token counts, by more than 1.
    assert (alone[0] - logits[-1]).abs().max() > 1 and logits.std() >= 1, (name, float(logits.std()))
    part = folder / "golden.safetensors.part"
    save_file({"seed": torch.tensor([seed], dtype=torch.int32), "scale": torch.tensor([SCALE], dtype=torch.float32),
               "tokens": torch.from_numpy(tokens), "logits": logits.contiguous()}, str(part), metadata={"seed": str(seed)})
    part.chmod(0o644)
    os.replace(part, folder / "golden.safetensors")
    print(f"{name}: {list(logits.shape)}, deviation of logits {logits.std():.2f}")


def main():
    torch.set_num_threads(1)
    rng.check()
    names = sys.argv[1:] or list(MODELS)
    for name in names:
        if name.startswith("rwkv7") == IS_7:
            make(name)
    if not IS_7 and any(name.startswith("rwkv7") for name in names):
        subprocess.run([sys.executable, *sys.argv], check=True, env={**os.environ, "RWKV_V7_ON": "1"})


if __name__ == "__main__":
    main()
