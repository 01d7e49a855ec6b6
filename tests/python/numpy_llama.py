"""A Llama in NumPy only, with PyTorch's modules and hooks, in the dtype of its weights."""
import json
import shutil
import struct
import types

import numpy as np

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 8, "num_hidden_layers": 2, "vocab_size": 2048, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "attention_bias": False, "mlp_bias": False,
    "tie_word_embeddings": False, "torch_dtype": "float32", "bos_token_id": 2046,
    "eos_token_id": 2047,
}


def make_weights(seed=1):
    random = np.random.default_rng(seed)

    def normal(*shape):
        return (random.standard_normal(shape) * 0.2).astype(np.float32)

    weights = {"model.embed_tokens.weight": normal(2048, 32), "lm_head.weight": normal(2048, 32),
               "model.norm.weight": 1 + normal(32)}
    for layer in range(CONFIG["num_hidden_layers"]):
        path = f"model.layers.{layer}"
        for name, shape in {"self_attn.q_proj": (32, 32), "self_attn.k_proj": (16, 32),
                            "self_attn.v_proj": (16, 32), "self_attn.o_proj": (32, 32),
                            "mlp.gate_proj": (48, 32), "mlp.up_proj": (48, 32),
                            "mlp.down_proj": (32, 48)}.items():
            weights[f"{path}.{name}.weight"] = normal(*shape)
        for name in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{path}.{name}.weight"] = 1 + normal(32)
    return weights


def write_folder(folder, weights, tokenizer, **changes):
    """A model folder as transformers writes it; `changes` apply to its configuration."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**CONFIG, **changes}))
    shutil.copy(tokenizer, folder / "tokenizer.json")
    header, at = {}, 0
    for name, array in weights.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape),
                        "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in weights.values():
            file.write(array.tobytes())
    return folder


class Module:
    """The hooks of torch.nn.Module."""

    def __init__(self):
        self._before, self._after = [], []

    def __call__(self, *args, **kwargs):
        for hook in self._before:
            hook(self, args, kwargs)
        result = self.forward(*args, **kwargs)
        for hook in self._after:
            hook(self, args, kwargs, result)
        return result

    @staticmethod
    def _add(hooks, hook):
        hooks.append(hook)
        return types.SimpleNamespace(remove=lambda: hooks.remove(hook))

    def register_forward_pre_hook(self, hook, with_kwargs):
        assert with_kwargs
        return self._add(self._before, hook)

    def register_forward_hook(self, hook, with_kwargs):
        assert with_kwargs
        return self._add(self._after, hook)

    def named_modules(self, path=""):
        yield path, self
        for name, one in vars(self).items():
            parts = enumerate(one) if isinstance(one, list) else [("", one)]
            for number, part in parts:
                if isinstance(part, Module):
                    yield from part.named_modules(
                        ".".join(str(x) for x in (path, name, number) if x != ""))


class Linear(Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        return x @ self.weight.T


class Embedding(Linear):
    def forward(self, tokens):
        return self.weight[tokens]


class Norm(Linear):
    def __init__(self, weight, eps=1e-5):
        super().__init__(weight)
        self.eps = weight.dtype.type(eps)

    def forward(self, x):
        mean = (x * x).mean(-1, keepdims=True, dtype=x.dtype)
        return x / np.sqrt(mean + self.eps) * self.weight


class Rotation(Module):
    """Cosines and sines; the frequencies are f32 as PyTorch computes them."""

    def __init__(self, config):
        super().__init__()
        d = config["head_dim"]
        exponents = np.arange(0, d, 2).astype(np.float32) / np.float32(d)
        powers = config["rope_theta"] ** exponents.astype(np.float64)
        self.inv_freq = np.float32(1) / powers.astype(np.float32)

    def forward(self, x):
        angles = np.arange(x.shape[-2]).astype(x.dtype)[:, None] * self.inv_freq.astype(x.dtype)
        angles = np.concatenate([angles, angles], -1)[None].view(type(x))
        return np.cos(angles), np.sin(angles)


class Silu(Module):
    def forward(self, x):
        return x / (1 + np.exp(-x))


class Attention(Module):
    def __init__(self, weight, head_dim):
        super().__init__()
        self.head_dim = head_dim
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            Linear(weight(f"{name}_proj")) for name in "qkvo")

    def forward(self, hidden_states, angles):
        b, n, _ = hidden_states.shape
        d = self.head_dim
        q, k, v = (one(hidden_states).reshape(b, n, -1, d).transpose(0, 2, 1, 3)
                   for one in (self.q_proj, self.k_proj, self.v_proj))
        cos, sin = angles

        def turned(x):
            return x * cos + np.concatenate([-x[..., d // 2:], x[..., :d // 2]], -1) * sin

        q, k = turned(q), turned(k)
        groups = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, groups, 1), np.repeat(v, groups, 1)
        scores = q @ k.transpose(0, 1, 3, 2) / q.dtype.type(np.sqrt(d))
        scores = np.where(np.tri(n, dtype=bool), scores, q.dtype.type(-np.inf))
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        mixed = (p @ v).transpose(0, 2, 1, 3).reshape(b, n, -1)
        return self.o_proj(mixed.view(type(hidden_states))), None


class Mlp(Module):
    def __init__(self, weight):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = (
            Linear(weight(f"{name}_proj")) for name in ("gate", "up", "down"))
        self.act_fn = Silu()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class Layer(Module):
    def __init__(self, weight, config):
        super().__init__()
        self.self_attn = Attention(lambda name: weight("self_attn." + name), config["head_dim"])
        self.mlp = Mlp(lambda name: weight("mlp." + name))
        eps = config["rms_norm_eps"]
        self.input_layernorm = Norm(weight("input_layernorm"), eps)
        self.post_attention_layernorm = Norm(weight("post_attention_layernorm"), eps)

    def forward(self, x, angles):
        x = x + self.self_attn(hidden_states=self.input_layernorm(x), angles=angles)[0]
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(Module):
    def __init__(self, weight, config):
        super().__init__()
        self.embed_tokens = Embedding(weight("embed_tokens"))
        self.rotary_emb = Rotation(config)
        self.layers = [Layer(lambda name, at=f"layers.{i}.": weight(at + name), config)
                       for i in range(config["num_hidden_layers"])]
        self.norm = Norm(weight("norm"), config["rms_norm_eps"])

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        angles = self.rotary_emb(x)
        for layer in self.layers:
            x = layer(x, angles=angles)
        return {"last_hidden_state": self.norm(x)}


class Llama(Module):
    def __init__(self, weights, config=CONFIG):
        super().__init__()
        self.model = Decoder(lambda name: weights[f"model.{name}.weight"], config)
        self.lm_head = Linear(weights["lm_head.weight"])

    def forward(self, tokens):
        return {"logits": self.lm_head(self.model(tokens)["last_hidden_state"])}
