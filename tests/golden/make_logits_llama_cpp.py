#!/usr/bin/env python3
"""Writes the golden logits of architectures that transformers does not have: those of llama.cpp, in f32.

Makes logits/<name>/{config.json, golden.safetensors} as make_logits.py does, for the configurations in MODELS. The
weights, which rng.py makes under their published names, go through the rules of llama.cpp's converter into a GGUF
file. A forward pass in NumPy (f64), written after the published modeling code, must agree with its logits.

Usage: make_logits_llama_cpp.py --library FOLDER [name ...]     FOLDER: where libllama of node-llama-cpp lies
Needs numpy, safetensors, gguf.
"""

import argparse
import json
import math
import os
import pathlib
import tempfile

import gguf
import numpy as np
from safetensors.numpy import save_file

import llama_cpp
import rng

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = 24
WIDE = 0.35  # as in logits_configurations.py

SMALL = {"dtype": "float32", "hidden_size": 64, "intermediate_size": 96, "max_position_embeddings": 128,
         "num_attention_heads": 4, "num_hidden_layers": 3, "rms_norm_eps": 1e-5, "vocab_size": 203}


def small(model_type, class_name, **changes):
    fields = {**SMALL, "architectures": [class_name], "model_type": model_type, **changes}
    return {key: value for key, value in sorted(fields.items()) if value is not None}


ORION = small("orion", "OrionForCausalLM", num_key_value_heads=2, tie_word_embeddings=False)
INTERNLM2 = small("internlm2", "InternLM2ForCausalLM", bias=False, num_key_value_heads=2, rope_theta=1e6,
                  tie_word_embeddings=False)
MINICPM = small("minicpm", "MiniCPMForCausalLM", dim_model_base=48, num_key_value_heads=4, scale_depth=1.4,
                scale_emb=3, tie_word_embeddings=True)
QWEN = small("qwen", "QWenLMHeadModel", intermediate_size=192, kv_channels=16, layer_norm_epsilon=1e-6,
             rms_norm_eps=None, rotary_emb_base=10000, rotary_pct=1.0, seq_length=128, tie_word_embeddings=False)
# llama.cpp knows the 7B form by its 32 layers.
BAICHUAN = small("baichuan", "BaichuanForCausalLM", num_hidden_layers=32, rms_norm_eps=1e-6, tie_word_embeddings=False)
# And the 13B form, with linear biases in place of a rotation, by its 40.
BAICHUAN_BIASED = small("baichuan", "BaichuanForCausalLM", hidden_size=48, max_position_embeddings=None,
                        model_max_length=128, num_attention_heads=6, num_hidden_layers=40, rms_norm_eps=1e-6,
                        tie_word_embeddings=False)
INTERNLM = small("internlm", "InternLMForCausalLM", bias=True, rms_norm_eps=1e-6,
                 rotary={"base": 3000, "type": "dynamic"}, tie_word_embeddings=False)
CHATGLM = small("chatglm", "ChatGLMModel", add_bias_linear=False, add_qkv_bias=True,
                apply_residual_connection_post_layernorm=False, ffn_hidden_size=96, intermediate_size=None,
                kv_channels=16, layernorm_epsilon=1e-5, max_position_embeddings=None, multi_query_attention=True,
                multi_query_group_num=2, num_hidden_layers=None, num_layers=3, padded_vocab_size=203,
                post_layer_norm=True, rms_norm_eps=None, rmsnorm=True, seq_length=128, tie_word_embeddings=False,
                vocab_size=None)


def changed(base, **changes):
    return {key: value for key, value in sorted({**base, **changes}.items()) if value is not None}


# Configuration, seed of the weights.
MODELS = {
    "orion": (ORION, 2101),
    "orion_linear": (changed(ORION, num_key_value_heads=None, rms_norm_eps=1e-3, rope_theta=700.0,
                             rope_scaling={"factor": 2.0, "type": "linear"}, tie_word_embeddings=True), 2102),
    "internlm2": (INTERNLM2, 2103),
    "internlm2_biased": (changed(INTERNLM2, bias=True, num_key_value_heads=4, rope_theta=500.0,
                                 rope_scaling={"factor": 3.0, "type": "linear"}), 2104),
    "minicpm": (MINICPM, 2105),
    "minicpm_biased": (changed(MINICPM, attention_bias=True, dim_model_base=40, num_key_value_heads=2, rope_theta=300.0,
                               scale_depth=0.9, scale_emb=1.5, tie_word_embeddings=False), 2106),
    "qwen": (QWEN, 2107),
    "qwen_partial": (changed(QWEN, layer_norm_epsilon=1e-3, rotary_emb_base=400, rotary_pct=0.5), 2108),
    "baichuan": (BAICHUAN, 2109),
    "baichuan_two_heads": (changed(BAICHUAN, intermediate_size=128, num_attention_heads=2, rms_norm_eps=1e-3), 2110),
    "baichuan_biased": (BAICHUAN_BIASED, 2117),
    "internlm": (INTERNLM, 2111),
    "internlm_unbiased": (changed(INTERNLM, bias=False, num_key_value_heads=2, rms_norm_eps=1e-3,
                                  rotary={"base": 300, "type": "origin"}), 2112),
    "chatglm": (CHATGLM, 2113),
    "chatglm_full": (changed(CHATGLM, add_qkv_bias=False, layernorm_epsilon=1e-3, multi_query_group_num=4,
                             num_layers=2, rope_ratio=3), 2114),
}


def alibi_slopes(heads):
    """What each token between costs the scores of a head (Press et al. 2022)."""
    low = 2 ** int(math.log2(heads))
    slopes = [2 ** (-8 * (i + 1) / low) for i in range(low)]
    return np.array(slopes + [2 ** (-8 * (i + 1) / (2 * low)) for i in range(0, 2 * (heads - low), 2)])


class Sizes:
    """The sizes of a configuration, whatever its names for them."""

    def __init__(self, config):
        def first(*names):
            return next(config[name] for name in names if name in config)
        self.type = config["model_type"]
        self.hidden, self.heads = config["hidden_size"], config["num_attention_heads"]
        self.layers = first("num_hidden_layers", "num_layers")
        self.vocabulary = first("vocab_size", "padded_vocab_size")
        self.inner = first("intermediate_size", "ffn_hidden_size")
        self.epsilon = first("rms_norm_eps", "layer_norm_epsilon", "layernorm_epsilon")
        self.head = self.hidden // self.heads
        self.groups = config.get("num_key_value_heads", self.heads)
        if config.get("multi_query_attention"):
            self.groups = config["multi_query_group_num"]
        self.theta = config.get("rope_theta", config.get("rotary_emb_base", 10000.0))
        if "rotary" in config:
            self.theta = config["rotary"]["base"]
        self.theta *= config.get("rope_ratio", 1)
        self.factor = config.get("rope_scaling", {}).get("factor", 1.0)
        self.rotated = int(self.head * config.get("rotary_pct", 0.5 if self.type == "chatglm" else 1.0))
        self.tied = config.get("tie_word_embeddings", False)
        self.slopes = alibi_slopes(self.heads) if "model_max_length" in config else None


# Published names of a layer's tensors: the path of the layer, norms, attention, feed-forward part. The last three are
# the gate, up and down projections, or the matrix of both and the down projection.
LLAMA = ("model.layers.{}.", ("input_layernorm", "post_attention_layernorm"),
         ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
         ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"))
NAMES = {
    "orion": LLAMA, "minicpm": LLAMA, "internlm": LLAMA,
    "internlm2": ("model.layers.{}.", ("attention_norm", "ffn_norm"), ("attention.wqkv", "attention.wo"),
                  ("feed_forward.w1", "feed_forward.w3", "feed_forward.w2")),
    "qwen": ("transformer.h.{}.", ("ln_1", "ln_2"), ("attn.c_attn", "attn.c_proj"),
             ("mlp.w2", "mlp.w1", "mlp.c_proj")),
    "baichuan": (*LLAMA[:2], ("self_attn.W_pack", "self_attn.o_proj"), LLAMA[3]),
    "chatglm": ("transformer.encoder.layers.{}.", ("input_layernorm", "post_attention_layernorm"),
                ("self_attention.query_key_value", "self_attention.dense"),
                ("mlp.dense_h_to_4h", "mlp.dense_4h_to_h")),
}
ENDS = {  # embedding, last norm, head
    "internlm2": ("model.tok_embeddings", "model.norm", "output"),
    "qwen": ("transformer.wte", "transformer.ln_f", "lm_head"),
    "chatglm": ("transformer.embedding.word_embeddings", "transformer.encoder.final_layernorm",
                "transformer.output_layer"),
}
LLAMA_ENDS = ("model.embed_tokens", "model.norm", "lm_head")


def biased(config):
    """Which of a layer's attention projections have a bias: those to q, k, v, and the last one."""
    return {"orion": (False, False), "baichuan": (False, False), "qwen": (True, False),
            "chatglm": (config.get("add_qkv_bias", False), False),
            "minicpm": (config.get("attention_bias", False),) * 2,
            "internlm": (config.get("bias", True),) * 2,
            "internlm2": (config.get("bias", False),) * 2}[config["model_type"]]


def published_shapes(config):
    s = Sizes(config)
    path, norms, attention, feed = NAMES[s.type]
    embedding, last, head = ENDS.get(s.type, LLAMA_ENDS)
    inner = s.inner // 2 if s.type == "qwen" else s.inner
    queries, keys = s.heads * s.head, s.groups * s.head
    widths = {3: (queries + 2 * keys,), 5: (queries, keys, keys)}[len(attention) + 1]
    shapes = {embedding + ".weight": (s.vocabulary, s.hidden), last + ".weight": (s.hidden,)}
    if not s.tied:
        shapes[head + ".weight"] = (s.vocabulary, s.hidden)
    for i in range(s.layers):
        p = path.format(i)
        for name in norms:
            shapes[f"{p}{name}.weight"] = (s.hidden,)
        for name, width in zip(attention, widths):
            shapes[f"{p}{name}.weight"] = (width, s.hidden)
            if biased(config)[0]:
                shapes[f"{p}{name}.bias"] = (width,)
        shapes[f"{p}{attention[-1]}.weight"] = (s.hidden, queries)
        if biased(config)[1]:
            shapes[f"{p}{attention[-1]}.bias"] = (s.hidden,)
        for name in feed[:-1]:
            shapes[f"{p}{name}.weight"] = (inner if len(feed) == 3 else 2 * inner, s.hidden)
        shapes[f"{p}{feed[-1]}.weight"] = (s.hidden, inner)
    if s.type == "orion":
        shapes |= {name.removesuffix("weight") + "bias": shape for name, shape in shapes.items() if len(shape) == 1}
    return shapes


# The forward pass.

def rotated_halves(x, angles):
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], -1)


def rotated_neighbors(x, angles):
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)],
                    -1).reshape(x.shape)


def silu(x):
    return x / (1 + np.exp(-x))


def forward(config, weights, tokens):
    """Logits [tokens, vocabulary] in f64, and the least deviation of the last token's scores over the layers."""
    s = Sizes(config)
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    path, norms, attention, feed = NAMES[s.type]
    embedding, last, head = ENDS.get(s.type, LLAMA_ENDS)

    def linear(name, x):
        return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)

    def norm(name, x):
        if s.type == "orion":
            x = x - x.mean(-1, keepdims=True)
        return (x / np.sqrt((x * x).mean(-1, keepdims=True) + s.epsilon) * w[name + ".weight"]
                + w.get(name + ".bias", 0))

    def heads(x, count):
        return x.reshape(len(tokens), count, -1)

    def queries_keys_values(p, x):
        if len(attention) == 4:
            return [heads(linear(p + name, x), count)
                    for name, count in zip(attention, (s.heads, s.groups, s.groups))]
        qkv = linear(p + attention[0], x)
        if s.type == "internlm2":  # group by group: its queries, its key, its value
            groups = qkv.reshape(len(tokens), s.groups, s.heads // s.groups + 2, s.head)
            return groups[:, :, :-2].reshape(len(tokens), s.heads, s.head), groups[:, :, -2], groups[:, :, -1]
        parts = np.split(qkv, [s.heads * s.head, (s.heads + s.groups) * s.head], -1)
        return [heads(part, count) for part, count in zip(parts, (s.heads, s.groups, s.groups))]

    frequencies = s.theta ** (-np.arange(0, s.rotated, 2) / s.rotated) / s.factor
    angles = np.arange(len(tokens))[:, None, None] * frequencies
    rotate = rotated_neighbors if s.type == "chatglm" else rotated_halves

    def positioned(x):
        if s.slopes is not None:
            return x
        return np.concatenate([rotate(x[..., :s.rotated], angles), x[..., s.rotated:]], -1)

    def attend(p, x):
        q, k, v = queries_keys_values(p, x)
        q, k = positioned(q), positioned(k)
        k, v = (np.repeat(part, s.heads // s.groups, 1) for part in (k, v))
        scores = np.einsum("ihd,jhd->hij", q, k) / math.sqrt(s.head)
        deviations.append(scores[:, -1].std(-1).min())
        if s.slopes is not None:
            distance = np.arange(len(tokens))[:, None] - np.arange(len(tokens))
            scores = scores - s.slopes[:, None, None] * distance
        scores = np.where(np.tri(len(tokens), dtype=bool), scores, -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        return linear(p + attention[-1], np.einsum("hij,jhd->ihd", shares, v).reshape(len(tokens), -1))

    def feed_forward(p, x):
        if len(feed) == 3:
            gate, up = linear(p + feed[0], x), linear(p + feed[1], x)
        else:
            gate, up = np.split(linear(p + feed[0], x), 2, -1)
        return linear(p + feed[-1], silu(gate) * up)

    deviations = []
    x = w[embedding + ".weight"][tokens] * config.get("scale_emb", 1)
    added = config["scale_depth"] / math.sqrt(s.layers) if "scale_depth" in config else 1
    for i in range(s.layers):
        p = path.format(i)
        x = x + added * attend(p, norm(p + norms[0], x))
        x = x + added * feed_forward(p, norm(p + norms[1], x))
    x = norm(last, x)
    if "dim_model_base" in config:
        x = x / (s.hidden / config["dim_model_base"])
    matrix = w[(embedding if s.tied else head) + ".weight"]
    if s.type == "baichuan":
        matrix = matrix / np.maximum(np.sqrt((matrix * matrix).sum(-1, keepdims=True)), 1e-12)
    return x @ matrix.T, float(min(deviations))


# The GGUF file, by the rules of llama.cpp's converter.

def interleaved(x, count):
    """Rows of `count` heads, of which llama.cpp's "normal" rotation turns neighbors instead of halves."""
    return x.reshape(count, 2, -1, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


# llama.cpp's InternLM 2 has no bias after the attention, and InternLM 1 none of its own: both are its Llama, then.
def gguf_architecture(config):
    is_llama = config["model_type"] == "internlm" or (config["model_type"] == "internlm2" and config["bias"])
    return "llama" if is_llama else config["model_type"]


def gguf_tensors(config, weights):
    s = Sizes(config)
    path, norms, attention, feed = NAMES[s.type]
    embedding, last, head = ENDS.get(s.type, LLAMA_ENDS)
    tensors = {}

    def put(name, published, change=lambda x: x):
        for end in ("weight", "bias"):
            if f"{published}.{end}" in weights:
                tensors[f"{name}.{end}"] = change(weights[f"{published}.{end}"])

    put("token_embd", embedding)
    put("output_norm", last)
    if s.type == "baichuan":  # Baichuan 2's README: divide each row by its length, then convert as Baichuan 1
        put("output", head, lambda x: x / np.linalg.norm(x.astype(np.float64), axis=-1, keepdims=True))
    elif not (s.tied and s.type == "minicpm"):
        put("output", embedding if s.tied else head)
    same = lambda x: x  # noqa: E731
    pairs = s.type in ("internlm", "internlm2", "minicpm", "baichuan")
    q_rows, k_rows = ((lambda x: interleaved(x, s.heads)), (lambda x: interleaved(x, s.groups))) if pairs else (same, same)
    for i in range(s.layers):
        p, block = path.format(i), f"blk.{i}."
        put(block + "attn_norm", p + norms[0])
        put(block + "ffn_norm", p + norms[1])
        put(block + "attn_output", p + attention[-1])
        if len(attention) == 4:
            put(block + "attn_q", p + attention[0], q_rows)
            put(block + "attn_k", p + attention[1], k_rows)
            put(block + "attn_v", p + attention[2])
        elif s.type == "internlm2":
            def rows(at):
                def of(x):
                    groups = x.reshape(s.groups, s.heads // s.groups + 2, s.head, *x.shape[1:])
                    return groups[:, at].reshape(-1, *x.shape[1:])
                return of
            queries = rows(slice(0, s.heads // s.groups))
            put(block + "attn_q", p + attention[0], lambda x: q_rows(queries(x)))
            put(block + "attn_k", p + attention[0], lambda x: k_rows(rows(-2)(x)))
            put(block + "attn_v", p + attention[0], rows(-1))
        elif s.type == "baichuan":
            put(block + "attn_q", p + attention[0], lambda x: q_rows(np.split(x, 3)[0]))
            put(block + "attn_k", p + attention[0], lambda x: k_rows(np.split(x, 3)[1]))
            put(block + "attn_v", p + attention[0], lambda x: np.split(x, 3)[2])
        else:
            put(block + "attn_qkv", p + attention[0])
        if len(feed) == 3:
            put(block + "ffn_gate", p + feed[0])
        put(block + "ffn_up", p + feed[-2])
        put(block + "ffn_down", p + feed[-1])
    return tensors


def write_gguf(path, config, weights):
    s = Sizes(config)
    writer = gguf.GGUFWriter(path, gguf_architecture(config))
    writer.add_context_length(128)
    writer.add_vocab_size(s.vocabulary)
    writer.add_embedding_length(s.hidden)
    writer.add_block_count(s.layers)
    writer.add_feed_forward_length(s.inner)
    writer.add_head_count(s.heads)
    writer.add_head_count_kv(s.groups)
    (writer.add_layer_norm_eps if s.type == "orion" else writer.add_layer_norm_rms_eps)(s.epsilon)
    writer.add_rope_dimension_count(s.rotated)
    writer.add_rope_freq_base(s.theta)
    if s.factor != 1:
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(s.factor)
    if s.type == "minicpm":
        writer.add_embedding_scale(config["scale_emb"])
        writer.add_residual_scale(config["scale_depth"] / math.sqrt(s.layers))
        writer.add_logit_scale(s.hidden / config["dim_model_base"])
    writer.add_tokenizer_model("no_vocab")
    for name, tensor in gguf_tensors(config, weights).items():
        writer.add_tensor(name, np.ascontiguousarray(tensor, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make(name, library):
    config, seed = MODELS[name]
    folder = HERE / "logits" / name
    folder.mkdir(parents=True, exist_ok=True)
    weights = {n: rng.weight(seed, n, shape, WIDE) for n, shape in published_shapes(config).items()}
    vocabulary = Sizes(config).vocabulary
    tokens = (rng.words(seed, "tokens", TOKENS) % np.uint32(vocabulary)).astype(np.int32)
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "model.gguf"
        write_gguf(path, config, weights)
        logits = library.logits(path, tokens, vocabulary)
    expected, scores = forward(config, weights, tokens)
    off, largest = np.abs(logits - expected).max(), np.abs(expected).max()
    print(f"{name}: {list(logits.shape)}, deviation of logits {logits.std():.2f}, of scores {scores:.2f}, largest "
          f"{largest:.2f}, llama.cpp and NumPy differ by {off / max(1, largest):.1e} of it")
    assert off <= 2e-5 * max(1, largest), name
    assert scores >= 0.6 and logits.std() >= 0.9, name
    part = folder / "config.json.part"
    part.write_text(json.dumps(config, indent=2) + "\n")
    os.replace(part, folder / "config.json")
    part = folder / "golden.safetensors.part"
    save_file({"seed": np.array([seed], np.int32), "scale": np.array([WIDE], np.float32), "tokens": tokens,
               "logits": logits}, str(part), metadata={"by": f"llama.cpp {llama_cpp.VERSION}"})
    part.chmod(0o644)
    os.replace(part, folder / "golden.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", required=True, type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    rng.check()
    library = llama_cpp.LlamaCpp(options.library)
    for name in options.names or MODELS:
        make(name, library)


if __name__ == "__main__":
    main()
