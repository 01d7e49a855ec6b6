#!/usr/bin/env python3
"""Writes the golden logits: PyTorch with transformers in f32, eager attention, one thread.

Makes logits/<name>/{config.json, golden.safetensors} for random configurations, whose weights come
from rng.py, and logits/demo/golden.safetensors for the model in models/demo, and rng.json, known
values of the generator. README.md names the tensors.

Usage: make_logits.py [name ...]     (all without a name; "demo", or a key of RANDOM or OTHERS in logits_configurations.py)
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
from logits_configurations import OTHERS, RANDOM, WIDE

HERE = pathlib.Path(__file__).resolve().parent
DEMO = HERE.parent.parent / "models/demo"

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
    state = fused_experts(renamed({k: v.float() for k, v in weights.items()}))
    head = next(name for name in model.state_dict() if name in HEADS)
    state = {head if name in HEADS else name: tensor for name, tensor in state.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected, unexpected
    if getattr(config, "shared_expert_intermediate_size", None) == 0:
        # transformers has it all the same, without a row; what its gate says is times nothing.
        missing = [name for name in missing if "shared_expert" not in name]
    shared = shared_names(model)
    missing = [name for name in missing if name not in shared]
    assert missing == ([head] if config.tie_word_embeddings else []), missing
    model.tie_weights()
    return model


def fused_experts(weights):
    """Experts as transformers keeps them in memory, which files have one by one."""
    fused, experts = {}, {}
    for name, tensor in weights.items():
        path, mark, rest = name.partition(".experts.")
        if not mark or "." not in rest:
            fused[name] = tensor
            continue
        expert, projection, _ = rest.split(".")
        experts.setdefault(path + ".experts.", {})[int(expert), projection] = tensor
    for path, parts in experts.items():
        count = 1 + max(expert for expert, _ in parts)
        if (0, "gate_proj") in parts:
            fused[path + "gate_up_proj"] = torch.stack(
                [torch.cat([parts[e, "gate_proj"], parts[e, "up_proj"]]) for e in range(count)])
        else:
            fused[path + "up_proj"] = torch.stack([parts[e, "up_proj"] for e in range(count)])
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


# GPT-NeoX's is "embed_out" in files, and in memory in some versions of transformers.
HEADS = ("lm_head.weight", "embed_out.weight")


# Architectures whose files have the experts of a layer in one tensor.
STACKED = ("gpt_oss", "llama4_text", "granitemoe", "granitemoehybrid", "granitemoeshared", "gemma4_text")

# Granite's names of them in memory and in files.
GRANITE = {".block_sparse_moe.experts.gate_up_proj": ".block_sparse_moe.input_linear.weight",
           ".block_sparse_moe.experts.down_proj": ".block_sparse_moe.output_linear.weight",
           ".block_sparse_moe.router.weight": ".block_sparse_moe.router.layer.weight"}


def stacked_name(name):
    for memory, file in GRANITE.items():
        name = name.replace(memory, file)
    return name


def shared_names(model):
    """Other names of tensors of Zamba 2's transformer layers, each of which serves several places."""
    names = {}
    for name, tensor in model.state_dict().items():
        if ".shared_transformer." in name:
            names.setdefault(tensor.data_ptr(), []).append(name)
    return {name for same in names.values() for name in same[1:]}


def published_shapes(model):
    """Names and shapes of a model's tensors in published files; transformers keeps experts fused in memory."""
    mixtral = model.config.model_type in ("mixtral", "minimax_m2")
    shapes = {}
    shared = shared_names(model)
    for name, tensor in model.state_dict().items():
        if name in shared:
            continue
        if model.config.model_type == "ernie4_5_moe":
            name = name.replace("gate.moe_statics", "moe_statics")
        if name in HEADS:
            if model.config.tie_word_embeddings:
                continue
            name = "embed_out.weight" if model.config.model_type == "gpt_neox" else name
        if model.config.model_type == "olmo_hybrid":
            shapes |= olmo_hybrid_shapes(model.config, name, tensor)
            continue
        path, mark, projection = name.partition(".experts.")
        if model.config.model_type in STACKED:
            path, mark = stacked_name(name), ""
        if mixtral:
            path = path.replace(".mlp", ".block_sparse_moe")
        if not mark:
            shapes[path] = tuple(tensor.shape)
            continue
        numbered = mixtral or model.config.model_type == "lfm2_moe"
        names = {"gate_up_proj": ("w1", "w3") if numbered else ("gate_proj", "up_proj"),
                 "up_proj": ("up_proj",), "down_proj": ("w2",) if numbered else ("down_proj",)}[projection]
        for expert in range(tensor.shape[0]):
            for part in names:
                shapes[f"{path}.experts.{expert}.{part}.weight"] = (tensor.shape[1] // len(names), tensor.shape[2])
    return shapes


# Norms of OLMo Hybrid's layers with delta nets: in memory, in files.
OLMO_HYBRID_NORMS = {"input_layernorm": "attention_layer_norm", "post_attention_layernorm": "feedforward_layer_norm"}


def olmo_hybrid_shapes(config, name, tensor):
    """Of one tensor in memory: files have its convolutions of q, k and v apart."""
    parts = name.split(".")
    if len(parts) < 4 or config.layer_types[int(parts[2])] != "linear_attention":
        return {name: tuple(tensor.shape)}
    if parts[-2] == "conv1d":
        keys = config.linear_num_key_heads * config.linear_key_head_dim
        widths = {"q": keys, "k": keys, "v": tensor.shape[0] - 2 * keys}
        return {name.replace("conv1d", c + "_conv1d"): (width, *tensor.shape[1:]) for c, width in widths.items()}
    parts[3] = OLMO_HYBRID_NORMS.get(parts[3], parts[3])
    return {".".join(parts): tuple(tensor.shape)}


def published_weights(folder, seed, scale):
    config = AutoConfig.from_pretrained(folder)
    shapes = published_shapes(AutoModelForCausalLM.from_config(config))
    return {n: torch.from_numpy(rng.weight(seed, n, s, scale)) for n, s in shapes.items()}


def renamed(weights):
    """Names that files have, as transformers 5 has them in memory."""
    names = {".block_sparse_moe": ".mlp", ".w1.": ".gate_proj.", ".w3.": ".up_proj.", ".w2.": ".down_proj."}

    def new(name):
        for memory, file in GRANITE.items():
            if name.endswith(file):
                return name.replace(file, memory)
        if ".block_sparse_moe" in name or ".feed_forward.experts." in name or "_layer_norm." in name:
            for old, other in names.items():
                name = name.replace(old, other)
        return name.replace("mlp.moe_statics", "mlp.gate.moe_statics")
    for name in [name for name in weights if ".q_conv1d." in name]:
        parts = [weights.pop(name.replace(".q_conv1d.", f".{c}_conv1d.")) for c in "qkv"]
        weights[name.replace(".q_conv1d.", ".conv1d.")] = torch.cat(parts)
    names |= {f".{files}.": f".{memory}." for memory, files in OLMO_HYBRID_NORMS.items()}
    return {new(name): tensor for name, tensor in weights.items()}


@torch.no_grad()
def least_deviation_of_scores(model, tokens):
    """Of attention's scores of the last token (the logarithms of its weights), the least over the layers."""
    if not hasattr(model.config, "num_attention_heads"):
        return float("inf")
    model.config._attn_implementation = "eager"
    attentions = model(torch.tensor([tokens]), use_cache=False, output_attentions=True).attentions
    rows = [a[0, :, -1] for a in attentions]
    return min(float(row[row > 0].log().std()) for row in rows)


def make_other(name):
    config, seed = OTHERS[name]
    folder = HERE / "logits" / name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "config.json", json.dumps(config, indent=2) + "\n")
    model = reference(folder, published_weights(folder, seed, WIDE))
    tokens = (rng.words(seed, "tokens", 24) % np.uint32(config["vocab_size"])).astype(np.int32)
    logits = logits_of(model, tokens.tolist())
    scores = least_deviation_of_scores(model, tokens.tolist())
    # Norms of q and k bound the scores, and so does a scale that falls with the layers.
    least = 0.4 if config.get("scale_attn_by_inverse_layer_idx") else 0.6
    assert scores >= least and logits.std() >= 1, (name, scores, float(logits.std()))
    save(folder / "golden.safetensors", {
        "seed": torch.tensor([seed], dtype=torch.int32),
        "scale": torch.tensor([WIDE], dtype=torch.float32),
        "tokens": torch.from_numpy(tokens),
        "logits": logits,
    }, {"seed": str(seed)})
    print(f"{name}: {list(logits.shape)}, deviation of logits {logits.std():.2f}, of scores {scores:.2f}")


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
    for name in sys.argv[1:] or [*RANDOM, *OTHERS, "demo"]:
        if name == "demo":
            make_demo()
        elif name in OTHERS:
            make_other(name)
        else:
            make_random(name)


if __name__ == "__main__":
    main()
