"""Compiles a Llama with Apache TVM for the CPU and measures on request: prints "ready", then for every line
read one line with the seconds from the configuration's text to a built executable.

Usage: tvm_llama.py CONFIG
The model exports the same functions as ours: prefill (the last token's logits), decode, logits_all,
sample. Keys and values are in the frontend's own cache; weights are parameters. The time includes
building the graph, TVM's default CPU pipeline, and code generation.
"""

import json
import os
import sys
import time


def main():
    try:
        import tvm
        from tvm import relax, target, tirx
        from tvm.relax.frontend import nn
    except ImportError as error:
        print(f"absent: {error}", flush=True)
        return
    op = nn.op

    class Attention(nn.Module):
        def __init__(self, c):
            self.heads, self.kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
            self.dim = c["hidden_size"] // self.heads
            self.theta = c.get("rope_theta", 10000.0)
            self.q = nn.Linear(c["hidden_size"], self.heads * self.dim, bias=False)
            self.k = nn.Linear(c["hidden_size"], self.kv_heads * self.dim, bias=False)
            self.v = nn.Linear(c["hidden_size"], self.kv_heads * self.dim, bias=False)
            self.o = nn.Linear(self.heads * self.dim, c["hidden_size"], bias=False)
            self.k_cache = nn.KVCache(c["max_position_embeddings"], [self.kv_heads, self.dim])
            self.v_cache = nn.KVCache(c["max_position_embeddings"], [self.kv_heads, self.dim])

        def rotate(self, x, total):
            half = self.dim // 2

            def rotated(x, total):
                past = total - x.shape[1]

                def element(b, s, h, d):
                    position = tirx.Cast("float32", s + past)
                    angle = position * tirx.power(
                        tirx.const(self.theta, "float32"),
                        tirx.Cast("float32", d % half) * tirx.const(-1.0 / half, "float32"))
                    other = tirx.if_then_else(
                        d < half, -x[b, s, h, tirx.min(d + half, self.dim - 1)],
                        x[b, s, h, tirx.max(d - half, 0)])
                    value = tirx.cos(angle) * tirx.Cast("float32", x[b, s, h, d])
                    value += tirx.sin(angle) * tirx.Cast("float32", other)
                    return tirx.Cast(x.dtype, value)

                return tvm.te.compute(x.shape, element, name="rotated")

            return op.tensor_expr_op(rotated, "rotary", [x, total])

        def forward(self, x, mask, total):
            batch, length, _ = x.shape
            shape = lambda heads: (batch, length, heads, self.dim)
            q = self.rotate(op.reshape(self.q(x), shape(self.heads)), total)
            k = self.rotate(op.reshape(self.k(x), shape(self.kv_heads)), total)
            v = op.reshape(self.v(x), shape(self.kv_heads))
            self.k_cache.append(op.squeeze(k, axis=0))
            self.v_cache.append(op.squeeze(v, axis=0))
            k = op.reshape(self.k_cache.view(total), (batch, total, self.kv_heads, self.dim))
            v = op.reshape(self.v_cache.view(total), (batch, total, self.kv_heads, self.dim))
            if self.kv_heads != self.heads:
                k = op.repeat(k, self.heads // self.kv_heads, axis=2)
                v = op.repeat(v, self.heads // self.kv_heads, axis=2)
            q, k, v = (op.permute_dims(t, [0, 2, 1, 3]) for t in (q, k, v))
            scores = op.matmul(q, op.permute_dims(k, [0, 1, 3, 2])) / (self.dim**0.5)
            weights = op.softmax(op.astype(scores, "float32") + mask, axis=-1)
            x = op.matmul(op.astype(weights, v.dtype), v)
            x = op.reshape(op.permute_dims(x, [0, 2, 1, 3]), (batch, length, self.heads * self.dim))
            return self.o(x)

    class Mlp(nn.Module):
        def __init__(self, c):
            hidden, inner = c["hidden_size"], c["intermediate_size"]
            self.gate = nn.Linear(hidden, inner, bias=False)
            self.up = nn.Linear(hidden, inner, bias=False)
            self.down = nn.Linear(inner, hidden, bias=False)

        def forward(self, x):
            return self.down(op.silu(self.gate(x)) * self.up(x))

    class Layer(nn.Module):
        def __init__(self, c):
            self.attention, self.mlp = Attention(c), Mlp(c)
            self.before = nn.RMSNorm(c["hidden_size"], -1, c["rms_norm_eps"], bias=False)
            self.after = nn.RMSNorm(c["hidden_size"], -1, c["rms_norm_eps"], bias=False)

        def forward(self, x, mask, total):
            x = x + self.attention(self.before(x), mask, total)
            return x + self.mlp(self.after(x))

    class Llama(nn.Module):
        def __init__(self, c):
            self.embedding = nn.Embedding(c["vocab_size"], c["hidden_size"])
            self.layers = nn.ModuleList([Layer(c) for _ in range(c["num_hidden_layers"])])
            self.norm = nn.RMSNorm(c["hidden_size"], -1, c["rms_norm_eps"], bias=False)
            self.head = nn.Linear(c["hidden_size"], c["vocab_size"], bias=False)

        def hidden(self, tokens, total):
            length = tokens.shape[1]

            def causal():
                low = tirx.const(-3e38, "float32")
                return tvm.te.compute(
                    (1, 1, length, total),
                    lambda _b, _h, i, j: tirx.Select(
                        j > i + (total - length), low, tirx.const(0, "float32")), name="mask")

            mask = op.tensor_expr_op(causal, "causal_mask", [])
            x = self.embedding(tokens)
            for layer in self.layers:
                x = layer(x, mask, total)
            return self.norm(x)

        def last(self, x):
            take = lambda x: tvm.te.compute(
                (1, 1, x.shape[2]), lambda b, _, d: x[b, x.shape[1] - 1, d], name="last")
            return op.tensor_expr_op(take, "last", [x])

        def prefill(self, tokens: nn.Tensor, total: tirx.Var):
            return op.astype(self.head(self.last(self.hidden(tokens, total))), "float32")

        def decode(self, tokens: nn.Tensor, total: tirx.Var):
            return op.astype(self.head(self.hidden(tokens, total)), "float32")

        def logits_all(self, tokens: nn.Tensor, total: tirx.Var):
            return op.astype(self.head(self.hidden(tokens, total)), "float32")

        def sample(self, logits: nn.Tensor):
            return op.topk(logits, 1, axis=-1, ret_type="indices", dtype="int32")

    def compile_model():
        with open(sys.argv[1]) as file:
            config = json.load(file)
        model = Llama(config)
        model.to({"float16": "float16", "bfloat16": "bfloat16"}.get(
            config.get("torch_dtype", config.get("dtype")), "float32"))
        packed = {"param_mode": "packed", "effect_mode": "packed"}
        step = lambda length: {
            "tokens": nn.spec.Tensor([1, length], "int32"), "total": int, "$": packed}
        module, _ = model.export_tvm(spec={
            "prefill": step("n"),
            "decode": step(1),
            "logits_all": step("n"),
            "sample": {"logits": nn.spec.Tensor([1, config["vocab_size"]], "float32"),
                       "$": {"param_mode": "none", "effect_mode": "none"}},
        })
        cpu = target.Target("llvm")
        relax.build(module, cpu, relax_pipeline=relax.get_default_pipeline(cpu))

    def measure():
        start = time.perf_counter()
        compile_model()
        return time.perf_counter() - start

    # The compiler prints a warning for every embedding lookup.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        measure()
    except Exception as error:  # any TVM error
        print(f"absent: {str(error).strip().splitlines()[-1]}", flush=True)
        return
    print("ready", flush=True)
    for _ in sys.stdin:
        print(measure(), flush=True)


if __name__ == "__main__":
    main()
