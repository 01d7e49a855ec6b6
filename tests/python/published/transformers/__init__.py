"""The part of transformers that tapml's import check uses: a Llama in NumPy, read from a folder."""
import json
import os
import struct

import numpy as np
import torch

from numpy_llama import Llama

__version__ = "5.toy"


def read_weights(path, dtype):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    assert {one["dtype"] for one in header.values()} == {"F32"}
    return {name: np.frombuffer(data[slice(*one["data_offsets"])], np.float32)
            .reshape(one["shape"]).astype(dtype).view(torch.Tensor)
            for name, one in header.items()}


class Result:
    def __init__(self, logits):
        self.logits = logits


class LlamaForCausalLM(Llama):
    def eval(self):
        return self

    def double(self):
        return self

    def named_parameters(self):
        return self.weights.items()

    def forward(self, tokens, use_cache):
        return Result(super().forward(tokens)["logits"])


class AutoModelForCausalLM:
    @staticmethod
    def from_pretrained(folder, attn_implementation, output_loading_info, dtype):
        assert attn_implementation == "eager" and output_loading_info
        with open(os.path.join(folder, "config.json")) as file:
            config = json.load(file)
        if config["model_type"] != "llama":
            raise ValueError(f"\x1b[31mno class for {config['model_type']}\x1b[0m")
        weights = read_weights(os.path.join(folder, "model.safetensors"), dtype)
        missing = set() if "lm_head.weight" in weights else {"lm_head.weight"}
        if missing:
            weights["lm_head.weight"] = weights["model.embed_tokens.weight"] + 1
        model = LlamaForCausalLM(weights, config)
        model.weights = weights
        rotation = model.model.rotary_emb
        rotation.inv_freq = rotation.inv_freq.view(torch.Tensor)
        return model, {"missing_keys": missing}
