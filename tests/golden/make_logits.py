#!/usr/bin/env python3
"""Writes the golden logits: PyTorch with transformers in f32, eager attention, one thread.

Makes logits/<name>/{config.json, golden.safetensors} for random configurations, whose weights come
from rng.py, and logits/demo/golden.safetensors for the model in models/demo, and rng.json, known
values of the generator. README.md names the tensors.

Usage: make_logits.py [name ...]     (all without a name; "demo", or a key of RANDOM)
Needs torch, transformers, safetensors, tokenizers, numpy.
"""

import json
import os
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM

import rng

HERE = pathlib.Path(__file__).resolve().parent
DEMO = HERE.parent.parent / "models/demo"

# The older form of the configuration: rope_theta and rope_scaling apart, torch_dtype, no head_dim.
# Wavelengths of its rotations fall into all three bands of the llama3 rule.
LLAMA3_GQA = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 96,
    "initializer_range": 0.02,
    "intermediate_size": 172,
    "max_position_embeddings": 256,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 6,
    "num_hidden_layers": 3,
    "num_key_value_heads": 2,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 64,
        "rope_type": "llama3",
    },
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "transformers_version": "4.43.0",
    "use_cache": True,
    "vocab_size": 331,
}

# The form of transformers 5: rope_parameters, dtype.
MQA_TIED = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "dtype": "float16",
    "eos_token_id": 2,
    "head_dim": 16,
    "hidden_act": "silu",
    "hidden_size": 80,
    "initializer_range": 0.02,
    "intermediate_size": 220,
    "max_position_embeddings": 128,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 5,
    "num_hidden_layers": 2,
    "num_key_value_heads": 1,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-06,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
    "tie_word_embeddings": True,
    "transformers_version": "5.0.0",
    "use_cache": True,
    "vocab_size": 409,
}

def variant(base, **changes):
    """The configuration `base` with other fields; None takes a field away."""
    fields = {**base, **changes}
    return {key: value for key, value in sorted(fields.items()) if value is not None}


# A bias on every projection, in the older form.
BIASED = variant(
    LLAMA3_GQA, attention_bias=True, mlp_bias=True, hidden_size=64, intermediate_size=120,
    max_position_embeddings=96, num_attention_heads=4, num_hidden_layers=2, rope_scaling=None,
    rope_theta=10000.0, torch_dtype="bfloat16", vocab_size=257)

# Heads whose width is not hidden_size / heads, which here is odd; as many K heads as Q heads
# because no field says otherwise.
WIDE_HEADS = variant(
    MQA_TIED, dtype="float32", head_dim=24, hidden_size=75, intermediate_size=132,
    num_attention_heads=5, num_key_value_heads=None, tie_word_embeddings=False, vocab_size=211)

# One layer, heads narrower than hidden_size / heads, a bias on the attention only, linear scaling.
ONE_LAYER = variant(
    MQA_TIED, attention_bias=True, head_dim=8, hidden_size=72, num_attention_heads=6,
    num_hidden_layers=1, num_key_value_heads=3,
    rope_parameters={"factor": 4.0, "rope_theta": 10000.0, "rope_type": "linear"}, vocab_size=300)

# Experts in every layer but the second, whose shares are not made to sum to 1, as in Qwen1.5-MoE.
QWEN2_MOE = {
    "architectures": ["Qwen2MoeForCausalLM"],
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "decoder_sparse_step": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 64,
    "initializer_range": 0.02,
    "intermediate_size": 112,
    "max_position_embeddings": 96,
    "max_window_layers": 3,
    "mlp_only_layers": [1],
    "model_type": "qwen2_moe",
    "moe_intermediate_size": 44,
    "norm_topk_prob": False,
    "num_attention_heads": 4,
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 3,
    "num_key_value_heads": 2,
    "output_router_logits": False,
    "rms_norm_eps": 1e-06,
    "rope_theta": 1000000.0,
    "router_aux_loss_coef": 0.001,
    "shared_expert_intermediate_size": 72,
    "sliding_window": 32768,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "transformers_version": "4.43.0",
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 251,
}

# Experts in every second layer, shares that sum to 1, no biases, the form of transformers 5.
QWEN2_MOE_NORMED = variant(
    QWEN2_MOE, decoder_sparse_step=2, dtype="bfloat16", mlp_only_layers=[], norm_topk_prob=True,
    num_experts=5, num_experts_per_tok=3, num_hidden_layers=2, qkv_bias=False,
    rope_parameters={"rope_theta": 10000.0, "rope_type": "default"}, rope_theta=None,
    tie_word_embeddings=True, torch_dtype=None, transformers_version="5.0.0", vocab_size=199)

# Heads of their own width, no shared expert, layer_types against use_sliding_window, rope_theta twice.
QWEN2_MOE_PLAIN = variant(
    QWEN2_MOE, head_dim=24, layer_types=["full_attention"] * 2, mlp_only_layers=[], num_hidden_layers=2,
    rope_scaling={"factor": 2.0, "rope_theta": 20000.0, "rope_type": "linear"},
    shared_expert_intermediate_size=0, sliding_window=8, use_sliding_window=True, vocab_size=157)

# Configuration, seed of the weights, number of tokens.
RANDOM = {
    "llama3_gqa": (LLAMA3_GQA, 1001, 48),
    "mqa_tied": (MQA_TIED, 1002, 24),
    "biased": (BIASED, 1003, 40),
    "wide_heads": (WIDE_HEADS, 1004, 37),
    "one_layer": (ONE_LAYER, 1005, 30),
    "qwen2_moe": (QWEN2_MOE, 1006, 36),
    "qwen2_moe_normed": (QWEN2_MOE_NORMED, 1007, 28),
    "qwen2_moe_plain": (QWEN2_MOE_PLAIN, 1008, 32),
}

# What the demo model continues; the first one is `prompt`, the next `prompt.1`, ...
PROMPTS = (
    "David went",
    "Jesus said to his disciples,",
    "Emma was",
    "“I am very glad",
)
TEXT = "He said to them, “Go out into the city, and find a man who has a house.” They went out."
GREEDY = 200


def write_atomic(path, data):
    part = path.with_name(path.name + ".part")
    part.write_bytes(data if isinstance(data, bytes) else data.encode())
    os.replace(part, path)


def save(path, tensors, metadata):
    part = path.with_name(path.name + ".part")
    save_file({k: v.contiguous() for k, v in tensors.items()}, str(part), metadata=metadata)
    part.chmod(0o644)
    os.replace(part, path)


def reference(folder, weights):
    """The f32 model of folder/config.json with exactly these weights (widened from their storage)."""
    config = AutoConfig.from_pretrained(folder)
    config.dtype = torch.float32
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).to(torch.float32).eval()
    state = fused_experts({k: v.float() for k, v in weights.items()})
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected, unexpected
    if getattr(config, "shared_expert_intermediate_size", None) == 0:
        # transformers has it all the same, without a row; what its gate says is times nothing.
        missing = [name for name in missing if "shared_expert" not in name]
    assert missing == (["lm_head.weight"] if config.tie_word_embeddings else []), missing
    model.tie_weights()
    return model


def fused_experts(weights):
    """Experts as transformers keeps them in memory, which files have one by one."""
    fused, experts = {}, {}
    for name, tensor in weights.items():
        path, mark, rest = name.partition(".experts.")
        if not mark:
            fused[name] = tensor
            continue
        expert, projection, _ = rest.split(".")
        experts.setdefault(path + ".experts.", {})[int(expert), projection] = tensor
    for path, parts in experts.items():
        count = 1 + max(expert for expert, _ in parts)
        fused[path + "gate_up_proj"] = torch.stack(
            [torch.cat([parts[e, "gate_proj"], parts[e, "up_proj"]]) for e in range(count)])
        fused[path + "down_proj"] = torch.stack([parts[e, "down_proj"] for e in range(count)])
    return fused


@torch.no_grad()
def logits_of(model, tokens):
    """Logits [P, vocab] of the tokens, without a cache."""
    return model(torch.tensor([tokens]), use_cache=False).logits[0]


def gated(path, inner, hidden):
    return {path + "gate_proj.weight": (inner, hidden), path + "up_proj.weight": (inner, hidden),
            path + "down_proj.weight": (hidden, inner)}


def random_weights(config, seed):
    """Every tensor of the configuration under its Hugging Face name, rounded to the storage dtype."""
    dtype = getattr(torch, config.get("dtype") or config["torch_dtype"])
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"]
    groups = config.get("num_key_value_heads", heads)
    head = config.get("head_dim", hidden // heads)
    if config["model_type"] == "qwen2_moe":
        biased = {"q_proj", "k_proj", "v_proj"} if config.get("qkv_bias", True) else set()
    else:
        biased = {"q_proj", "k_proj", "v_proj", "o_proj"} if config["attention_bias"] else set()
        biased |= {"gate_proj", "up_proj", "down_proj"} if config["mlp_bias"] else set()
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for i in range(config["num_hidden_layers"]):
        p = f"model.layers.{i}."
        shapes |= {
            p + "input_layernorm.weight": (hidden,),
            p + "self_attn.q_proj.weight": (heads * head, hidden),
            p + "self_attn.k_proj.weight": (groups * head, hidden),
            p + "self_attn.v_proj.weight": (groups * head, hidden),
            p + "self_attn.o_proj.weight": (hidden, heads * head),
            p + "post_attention_layernorm.weight": (hidden,),
        }
        if (config.get("num_experts") and (i + 1) % config["decoder_sparse_step"] == 0
                and i not in config["mlp_only_layers"]):
            shapes[p + "mlp.gate.weight"] = (config["num_experts"], hidden)
            for e in range(config["num_experts"]):
                shapes |= gated(f"{p}mlp.experts.{e}.", config["moe_intermediate_size"], hidden)
            if config["shared_expert_intermediate_size"] > 0:
                shapes |= gated(p + "mlp.shared_expert.", config["shared_expert_intermediate_size"], hidden)
                shapes[p + "mlp.shared_expert_gate.weight"] = (1, hidden)
        else:
            shapes |= gated(p + "mlp.", inner, hidden)
    for name in list(shapes):
        if name.split(".")[-2] in biased:
            shapes[name.removesuffix("weight") + "bias"] = shapes[name][:1]
    shapes["model.norm.weight"] = (hidden,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    return {n: torch.from_numpy(rng.weight(seed, n, s)).to(dtype) for n, s in shapes.items()}


def make_random(name):
    config, seed, count = RANDOM[name]
    folder = HERE / "logits" / name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "config.json", json.dumps(config, indent=2) + "\n")
    model = reference(folder, random_weights(config, seed))
    tokens = (rng.words(seed, "tokens", count) % np.uint32(config["vocab_size"])).astype(np.int32)
    logits = logits_of(model, tokens.tolist())
    save(folder / "golden.safetensors", {
        "seed": torch.tensor([seed], dtype=torch.int32),
        "tokens": torch.from_numpy(tokens),
        "logits": logits,
    }, {"seed": str(seed)})
    print(f"{name}: {list(logits.shape)}, max |logit| {logits.abs().max():.4f}")


def make_demo():
    folder = HERE / "logits/demo"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.from_file(str(DEMO / "tokenizer.json"))
    model = reference(DEMO, load_file(str(DEMO / "model.safetensors")))
    tokens = tokenizer.encode(TEXT).ids
    tensors = {"tokens": torch.tensor(tokens, dtype=torch.int32), "logits": logits_of(model, tokens)}
    metadata = {"text": TEXT}
    for at, prompt in enumerate(PROMPTS):
        suffix = f".{at}" if at else ""
        ids = tokenizer.encode(prompt).ids
        size = len(ids)
        margins = []
        while len(ids) < size + GREEDY:
            top = logits_of(model, ids)[-1].topk(2)
            ids.append(int(top.indices[0]))
            margins.append(float(top.values[0] - top.values[1]))
        tensors["prompt" + suffix] = torch.tensor(ids[:size], dtype=torch.int32)
        tensors["greedy" + suffix] = torch.tensor(ids[size:], dtype=torch.int32)
        tensors["margins" + suffix] = torch.tensor(margins, dtype=torch.float32)
        metadata["prompt" + suffix] = prompt
        print(f"demo: least margin {min(margins):.5f}\n  {tokenizer.decode(ids)!r}")
    save(folder / "golden.safetensors", tensors, metadata)
    logits = tensors["logits"]
    print(f"demo: {list(logits.shape)}, max |logit| {logits.abs().max():.4f}")


def make_rng():
    cases = []
    for seed, name in ((0, "x"), (1001, "model.embed_tokens.weight"), (1002, "model.norm.weight")):
        cases.append({"seed": seed, "name": name, "key": list(rng.key_of(seed, name)),
                      "words": rng.words(seed, name, 10).tolist(),
                      "unit": [float(v) for v in rng.unit(seed, name, 10)]})
    write_atomic(HERE / "rng.json", json.dumps(cases, indent=1) + "\n")


def main():
    torch.set_num_threads(1)
    rng.check()
    make_rng()
    for name in sys.argv[1:] or [*RANDOM, "demo"]:
        if name == "demo":
            make_demo()
        else:
            make_random(name)


if __name__ == "__main__":
    main()
