#!/usr/bin/env python3
"""Writes golden folders of quantized safetensors: small random models, one for each form of each method.

Makes quantized/<name>/{config.json, model.safetensors, golden.safetensors}; the last has tokens, logits, and the
numbers that some of the quantized weights stand for, under their published names. The logits are those of
transformers in f32 with these numbers. quantized_methods.py says where they come from.

Usage: make_quantized.py [name ...]
       make_quantized.py --like FOLDER --into NEW name    a folder with the sizes and the tokenizer of another one
Needs torch, transformers, safetensors, numpy, compressed-tensors, bitsandbytes.
"""

import argparse
import json
import pathlib
import shutil
import tempfile

import numpy as np
import torch

import make_logits
import quantized_methods as methods
import rng

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = 24
WIDE = 0.35  # as in logits_configurations.py
KEPT = ("layers.0.self_attn.k_proj", "layers.1.mlp.down_proj", "h.0.attn.c_attn")  # whose numbers are stored

LLAMA = {"architectures": ["LlamaForCausalLM"], "dtype": "float16", "hidden_size": 64, "intermediate_size": 96,
         "max_position_embeddings": 128, "model_type": "llama", "num_attention_heads": 4, "num_hidden_layers": 2,
         "num_key_value_heads": 2, "tie_word_embeddings": False, "vocab_size": 64}
GPT2 = {"architectures": ["GPT2LMHeadModel"], "bos_token_id": 0, "dtype": "float16", "eos_token_id": 0,
        "model_type": "gpt2", "n_embd": 32, "n_head": 4,
        "n_layer": 2, "n_positions": 96, "vocab_size": 64}
QWEN3_MOE = {**LLAMA, "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "head_dim": 16,
             "moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True}
GPT_OSS = {**LLAMA, "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "head_dim": 16,
           "intermediate_size": 64, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16,
           "layer_types": ["sliding_attention", "full_attention"]}


def gptq(bits, group, **fields):
    return {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": False, "sym": True, **fields}


def compressed(form, weights, **fields):
    return {"quant_method": "compressed-tensors", "format": form, "quantization_status": "compressed",
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": None}},
            "ignore": ["lm_head"], **fields}


GROUP4 = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32}
GROUP4_ASYMMETRIC = {**GROUP4, "symmetric": False}
CHANNEL8 = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel"}
FLOAT8 = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": "channel"}
FLOAT8_BLOCK = {**FLOAT8, "strategy": "block", "block_structure": [32, 32]}
NVFP4 = {"num_bits": 4, "type": "float", "symmetric": True, "strategy": "tensor_group", "group_size": 16}
MXFP4 = {"num_bits": 4, "type": "float", "symmetric": True, "strategy": "group", "group_size": 32,
         "scale_dtype": "torch.uint8"}


def by_block(outputs, inputs, rows=32, columns=48):
    return -(-outputs // rows), -(-inputs // columns)


# Configuration, quantization_config, method, layers that are not quantized.
MODELS = {
    "gptq4": (LLAMA, gptq(4, 32), methods.gptq(4, 32, True), ("lm_head",)),
    "gptq4_act_order": (LLAMA, gptq(4, 32, desc_act=True, sym=False, lm_head=True),
                        methods.gptq(4, 32, False, act_order=True), ("v_proj",)),
    "gptq4_short": (LLAMA, gptq(4, 64, checkpoint_format="gptq_v2"), methods.gptq(4, 64, False, v2=True), ("lm_head",)),
    "gptq3": (LLAMA, gptq(3, 32, checkpoint_format="gptq_v2", sym=False),
              methods.gptq(3, 32, False, v2=True), ("lm_head",)),
    "gptq2": (LLAMA, gptq(2, 16), methods.gptq(2, 16, True), ("lm_head",)),
    "gptq8": (LLAMA, gptq(8, -1, checkpoint_format="gptq"), methods.gptq(8, -1, True), ("lm_head",)),
    "gptq8_zeros": (LLAMA, gptq(8, 32, sym=False), methods.gptq(8, 32, False), ("lm_head",)),
    "gptq_gpt2": (GPT2, gptq(4, 32), methods.gptq(4, 32, True), ("wte", "wpe", "lm_head")),
    "gptq_moe": (QWEN3_MOE, gptq(4, 32), methods.gptq(4, 32, True), ("lm_head", "mlp.gate")),
    "gptq_moe_act_order": (QWEN3_MOE, gptq(4, 32, desc_act=True), methods.gptq(4, 32, True, act_order=True),
                           ("lm_head", "mlp.gate")),
    "awq": (LLAMA, {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True},
            methods.awq(32), ("lm_head",)),
    "fp8_blocks": (LLAMA, {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
                           "weight_block_size": [32, 48]}, methods.fp8(by_block, ".weight_scale_inv", block=[32, 48]),
                   ("lm_head",)),
    "fp8_blocks_moe": (QWEN3_MOE, {"quant_method": "fp8", "weight_block_size": [32, 48], "scale_fmt": "ue8m0"},
                       methods.fp8(by_block, ".weight_scale_inv", block=[32, 48], power_of_two=True),
                       ("lm_head", "mlp.gate")),
    "fp8_tensor": (LLAMA, {"quant_method": "fp8", "activation_scheme": "static"},
                   methods.fp8(lambda *_: (), ".weight_scale"), ("lm_head",)),
    "fp8_rows": (LLAMA, {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0,
                         "modules_to_not_convert": ["lm_head", "v_proj"]},
                 methods.fp8(lambda outputs, _: (outputs, 1), ".weight_scale"), ("lm_head", "v_proj")),
    "fp8_e5m2": (LLAMA, {"quant_method": "fp8"},
                 methods.fp8(lambda *_: (1,), ".weight_scale_inv", dtype=torch.float8_e5m2), ("lm_head",)),
    "ct_int4": (LLAMA, compressed("pack-quantized", GROUP4), methods.compressed("pack-quantized", GROUP4, 0.04),
                ("lm_head",)),
    "ct_int4_zeros": (LLAMA, compressed("pack-quantized", GROUP4_ASYMMETRIC),
                      methods.compressed("pack-quantized", GROUP4_ASYMMETRIC, 0.04), ("lm_head",)),
    "ct_int8": (LLAMA, compressed("int-quantized", CHANNEL8), methods.compressed("int-quantized", CHANNEL8, 0.003),
                ("lm_head",)),
    "ct_float8": (LLAMA, compressed("float-quantized", FLOAT8),
                  methods.compressed("float-quantized", FLOAT8, 0.001), ("lm_head",)),
    "ct_float8_blocks": (LLAMA, compressed("float-quantized", FLOAT8_BLOCK),
                         methods.compressed("float-quantized", FLOAT8_BLOCK, 0.001, torch.float32), ("lm_head",)),
    "ct_nvfp4": (LLAMA, compressed("nvfp4-pack-quantized", NVFP4),
                 methods.compressed("nvfp4-pack-quantized", NVFP4, 0.06, torch.float32), ("lm_head",)),
    "ct_mxfp4": (LLAMA, compressed("mxfp4-pack-quantized", MXFP4),
                 methods.compressed("mxfp4-pack-quantized", MXFP4, 0.06, torch.float32), ("lm_head",)),
    "mxfp4": (GPT_OSS, {"quant_method": "mxfp4", "modules_to_not_convert": ["self_attn", "router", "embed_tokens"]},
              methods.mxfp4, ()),
    "modelopt_nvfp4": (LLAMA, {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]},
                       methods.nvfp4, ("lm_head",)),
    "bnb_nf4": (LLAMA, {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4",
                        "bnb_4bit_use_double_quant": True}, methods.bitsandbytes_four("nf4", True), ("lm_head",)),
    "bnb_fp4": (LLAMA, {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "fp4"},
                methods.bitsandbytes_four("fp4", False), ("lm_head",)),
    "bnb_int8": (LLAMA, {"quant_method": "bitsandbytes", "load_in_8bit": True}, methods.bitsandbytes_eight,
                 ("lm_head",)),
}


def is_quantized(name, tensor, config, excluded):
    if config["model_type"] == "gpt_oss":
        return name.endswith("_proj") and ".experts." in name
    if not name.endswith(".weight") or tensor.ndim != 2 or "embed_tokens" in name:
        return False
    return not any(part in name for part in excluded)


def make(name, like=None, folder=None):
    config, quantization, method, excluded = MODELS[name]
    seed = 5000 + list(MODELS).index(name)
    folder = folder or HERE / "quantized" / name
    folder.mkdir(parents=True, exist_ok=True)
    if like:
        config = json.loads((like / "config.json").read_text())
        for file in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
            if (like / file).exists():
                shutil.copy(like / file, folder)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "config.json").write_text(json.dumps(config))
        numbers = {n: t.half().float() for n, t in make_logits.published_weights(scratch, seed, WIDE).items()}
        stored, golden = {}, {}
        for n, tensor in numbers.items():
            if not is_quantized(n, tensor, config, excluded):
                stored[n] = tensor.half()
                continue
            shape = tuple(tensor.shape)
            is_conv = config["model_type"] == "gpt2"  # [inputs, outputs]
            tensors, values = method(seed, n, shape[::-1] if is_conv else shape)
            numbers[n] = values.T.contiguous() if is_conv else values.contiguous()
            path = n.removesuffix(".weight")
            stored.update({path + suffix: t for suffix, t in tensors.items()})
            if any(kept in n for kept in KEPT):
                golden[n] = numbers[n]
        tokens = (rng.words(seed, "tokens", TOKENS) % np.uint32(config["vocab_size"])).astype(np.int32)
        logits = make_logits.logits_of(make_logits.reference(scratch, numbers), tokens.tolist())
    golden |= {"tokens": torch.from_numpy(tokens), "logits": logits}
    make_logits.save(folder / "golden.safetensors", golden, {"seed": str(seed)})
    make_logits.save(folder / "model.safetensors", stored, {"format": "pt"})
    text = json.dumps({**config, "quantization_config": quantization}, indent=2, sort_keys=True)
    (folder / "config.json").write_text(text + "\n")
    size = (folder / "model.safetensors").stat().st_size
    print(f"{name}: {size} bytes, deviation of logits {logits.std():.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--like", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path)
    arguments = parser.parse_args()
    for wanted in arguments.names or MODELS:
        make(wanted, arguments.like, arguments.into)
