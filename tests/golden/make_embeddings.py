#!/usr/bin/env python3
"""Writes the golden embeddings of encoders: PyTorch with transformers in f32, eager attention, one thread.

Makes embeddings/<name>/{config.json, golden.safetensors} for the random configurations below, whose weights come
from rng.py. Each text is computed alone, without padding; the same texts as a padded batch must agree. README.md
names the tensors.

Usage: make_embeddings.py [name ...]     (all without a name)
Needs torch, transformers, safetensors, numpy.
"""

import json
import pathlib
import sys

import numpy as np
import torch
from transformers import AutoConfig, AutoModel

import rng
from logits_configurations import WIDE, variant
from make_logits import save, write_atomic

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = (24, 9, 2)  # tokens of the texts
TOLERANCE = 1e-5

BERT = {
    "architectures": ["BertModel"], "hidden_act": "gelu", "hidden_size": 64, "intermediate_size": 96,
    "layer_norm_eps": 1e-3, "max_position_embeddings": 40, "model_type": "bert", "num_attention_heads": 4,
    "num_hidden_layers": 3, "position_embedding_type": "absolute", "torch_dtype": "float32", "type_vocab_size": 2,
    "vocab_size": 211,
}
# The older form: the bases of the rotations are fields of their own, every third layer is global.
MODERNBERT = {
    "architectures": ["ModernBertForMaskedLM"], "attention_bias": False, "global_attn_every_n_layers": 3,
    "global_rope_theta": 500.0, "hidden_activation": "gelu", "hidden_size": 64, "intermediate_size": 80,
    "local_attention": 6, "local_rope_theta": 20.0, "max_position_embeddings": 48, "mlp_bias": False,
    "model_type": "modernbert", "norm_bias": False, "norm_eps": 1e-3, "num_attention_heads": 4,
    "num_hidden_layers": 5, "pad_token_id": 0, "torch_dtype": "float32", "vocab_size": 223,
}

# The position of the first token is that of the padding token and one.
ROBERTA = {
    "architectures": ["RobertaForMaskedLM"], "hidden_act": "gelu", "hidden_size": 64, "intermediate_size": 96,
    "layer_norm_eps": 1e-3, "max_position_embeddings": 42, "model_type": "roberta", "num_attention_heads": 4,
    "num_hidden_layers": 3, "pad_token_id": 1, "torch_dtype": "float32", "type_vocab_size": 1, "vocab_size": 211,
}
MPNET = {
    "architectures": ["MPNetForMaskedLM"], "hidden_act": "gelu", "hidden_size": 64, "intermediate_size": 96,
    "layer_norm_eps": 1e-3, "max_position_embeddings": 42, "model_type": "mpnet", "num_attention_heads": 4,
    "num_hidden_layers": 3, "pad_token_id": 1, "relative_attention_num_buckets": 32, "torch_dtype": "float32",
    "vocab_size": 211,
}

# Configuration, seed of the weights.
CONFIGURATIONS = {
    "bert": (BERT, 3001),
    "bert_one_type": (variant(BERT, architectures=["BertForMaskedLM"], dtype="float16", hidden_act="gelu_new",
                              hidden_size=48, intermediate_size=64, is_decoder=False, layer_norm_eps=0.05,
                              num_attention_heads=2, num_hidden_layers=2, position_embedding_type=None,
                              torch_dtype=None, type_vocab_size=1), 3002),
    "modernbert": (MODERNBERT, 3003),
    "modernbert_biased": (variant(MODERNBERT, architectures=["ModernBertModel"], attention_bias=True, dtype="float32",
                                  global_attn_every_n_layers=None, global_rope_theta=None, hidden_activation="silu",
                                  layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                                  local_attention=9, local_rope_theta=None, mlp_bias=True, norm_bias=True,
                                  num_attention_heads=2, num_hidden_layers=3,
                                  rope_parameters={"full_attention": {"rope_theta": 300.0, "rope_type": "default"},
                                                   "sliding_attention": {"rope_theta": 15.0, "rope_type": "default"}},
                                  torch_dtype=None), 3004),
    "roberta": (ROBERTA, 3005),
    "roberta_padded": (variant(ROBERTA, architectures=["RobertaModel"], dtype="bfloat16", hidden_act="gelu_new",
                               hidden_size=48, intermediate_size=64, is_decoder=False, layer_norm_eps=0.05,
                               num_attention_heads=2, num_hidden_layers=1, pad_token_id=7, torch_dtype=None,
                               type_vocab_size=3), 3006),
    "xlm_roberta": (variant(ROBERTA, architectures=["XLMRobertaModel"], hidden_act="silu", intermediate_size=80,
                            model_type="xlm-roberta", num_attention_heads=8, num_hidden_layers=2,
                            position_embedding_type="absolute", type_vocab_size=2), 3007),
    "camembert": (variant(ROBERTA, architectures=["CamembertModel"], model_type="camembert", num_hidden_layers=2,
                          pad_token_id=0), 3008),
    "mpnet": (MPNET, 3009),
    "mpnet_buckets": (variant(MPNET, architectures=["MPNetModel"], dtype="float16", hidden_act="gelu_new",
                              hidden_size=48, intermediate_size=64, layer_norm_eps=0.05, num_attention_heads=2,
                              num_hidden_layers=1, relative_attention_num_buckets=40, torch_dtype=None), 3010),
    "mpnet_long": (variant(MPNET, architectures=["MPNetModel"], hidden_act="silu", hidden_size=32,
                           intermediate_size=32, max_position_embeddings=102, num_hidden_layers=1), 3011),
}
# Tokens of the texts, where they differ: distances of all buckets.
LENGTHS = {"mpnet_long": (97, 40, 3)}
# Families in which the padding token has no place in a text.
PADDED = ("roberta", "xlm-roberta", "camembert", "mpnet")

# Paths of the base model in the files of the model with a head.
PREFIXES = {"bert": "bert.", "modernbert": "model.", "roberta": "roberta.", "xlm-roberta": "roberta.",
            "camembert": "roberta.", "mpnet": "mpnet."}


def reference(folder, seed):
    """The f32 model of folder/config.json with the weights of the seed, rounded to their storage dtype."""
    config = AutoConfig.from_pretrained(folder)
    dtype = config.dtype
    config.dtype = torch.float32
    config._attn_implementation = "eager"
    model = AutoModel.from_config(config).to(torch.float32).eval()
    prefix = PREFIXES[config.model_type]
    state = {name: torch.from_numpy(rng.weight(seed, prefix + name, tuple(tensor.shape), WIDE)).to(dtype).float()
             for name, tensor in model.state_dict().items() if not name.startswith("pooler.")}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and all(name.startswith("pooler.") for name in missing), (missing, unexpected)
    return model


@torch.no_grad()
def make(name):
    config, seed = CONFIGURATIONS[name]
    folder = HERE / "embeddings" / name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "config.json", json.dumps(config, indent=2) + "\n")
    model = reference(folder, seed)
    counts = LENGTHS.get(name, COUNTS)
    longest = max(counts)
    tokens = rng.words(seed, "tokens", len(counts) * longest) % np.uint32(config["vocab_size"])
    if config["model_type"] in PADDED:
        tokens[tokens == config["pad_token_id"]] = config["pad_token_id"] + 1
    tokens = torch.from_numpy(tokens.astype(np.int32)).reshape(len(counts), longest)
    states = [model(tokens[i:i + 1, :count].long()).last_hidden_state[0] for i, count in enumerate(counts)]
    mask = torch.tensor([[at < count for at in range(longest)] for count in counts]).long()
    batch = model(tokens.long(), attention_mask=mask).last_hidden_state
    for i, count in enumerate(counts):
        assert (batch[i, :count] - states[i]).abs().max() <= TOLERANCE, name
    mean = torch.stack([state.mean(0) for state in states])
    save(folder / "golden.safetensors", {
        "seed": torch.tensor([seed], dtype=torch.int32),
        "scale": torch.tensor([WIDE], dtype=torch.float32),
        "tokens": tokens,
        "counts": torch.tensor(counts, dtype=torch.int32),
        "mean": mean,
        "first_token": torch.stack([state[0] for state in states]),
    }, {"seed": str(seed)})
    between = (mean[0] - mean[1]).abs().max()
    print(f"{name}: {list(mean.shape)}, deviation {mean.std():.2f}, between two texts {between:.2f}")


def main():
    torch.set_num_threads(1)
    rng.check()
    for name in sys.argv[1:] or CONFIGURATIONS:
        make(name)


if __name__ == "__main__":
    main()
