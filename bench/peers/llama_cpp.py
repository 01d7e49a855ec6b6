"""Runs a GGUF file in llama.cpp on the CPU and measures on request: prints "ready", then for every line read one line
with seconds.

Usage: llama_cpp.py MODULES MODEL.gguf (decode|prefill) TOKENS THREADS
MODULES: the folder node_modules with the package node-llama-cpp, whose library is used by its C interface.
decode: seconds per token over TOKENS tokens after a prompt of four, whatever the tokens are; prefill: seconds until
the logits of the last token of a prompt of TOKENS tokens. Settings are llama.cpp's defaults: its own copies of weights
in the order that its kernels like, and a cache in f16.
"""

import pathlib
import platform
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/golden"))


class Context:
    """A model with a text; `lib` is LlamaCpp.lib."""

    def __init__(self, lib, path, size, threads):
        self.lib = lib
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        model = lib.llama_model_load_from_file(path.encode(), params)
        if not model:
            raise SystemExit(f"llama.cpp does not load {path}")
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_threads, params.n_threads_batch = size, threads, threads
        self.context = lib.llama_init_from_model(model, params)
        self.batch = lib.llama_batch_init(size, 0, 1)
        self.length = 0

    def clear(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), False)
        self.length = 0

    def read(self, tokens):
        """Appends tokens; the logits of the last are there when it returns."""
        batch = self.batch
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, self.length + i, 1
            batch.seq_id[i][0], batch.logits[i] = 0, int(i + 1 == len(tokens))
        if self.lib.llama_decode(self.context, batch) != 0:
            raise SystemExit("llama.cpp does not run the model")
        self.lib.llama_get_logits_ith(self.context, len(tokens) - 1)
        self.length += len(tokens)


def main():
    modules, path, mode, count, threads = sys.argv[1:]
    count = int(count)
    try:
        import ctypes

        from llama_cpp import LlamaCpp
        machine = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}[platform.machine()]
        lib = LlamaCpp(pathlib.Path(modules) / "@node-llama-cpp" / machine / "bins" / machine).lib
    except (ImportError, KeyError, OSError, SystemExit) as error:
        print(f"absent: {error}", flush=True)
        return
    lib.llama_get_memory.restype, lib.llama_get_memory.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    lib.llama_memory_clear.restype, lib.llama_memory_clear.argtypes = None, [ctypes.c_void_p, ctypes.c_bool]
    context = Context(lib, path, 1024, int(threads))

    def decode():
        context.clear()
        context.read([1, 2, 3, 4])
        start = time.perf_counter()
        for step in range(count):
            context.read([step % 100 + 5])
        return (time.perf_counter() - start) / count

    def prefill():
        context.clear()
        start = time.perf_counter()
        context.read([token % 1000 + 1 for token in range(count)])
        return time.perf_counter() - start

    measure = decode if mode == "decode" else prefill
    measure()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(measure(), flush=True)


if __name__ == "__main__":
    main()
