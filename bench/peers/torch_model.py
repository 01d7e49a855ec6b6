"""Runs a language model in eager PyTorch with transformers and measures on request: prints "ready", then for every
line read one line with seconds.

Usage: torch_model.py CONFIG_OR_FOLDER (decode|prefill) TOKENS
decode: seconds per token over TOKENS greedy tokens after a prompt of four; prefill: seconds until the
logits of the last token of a prompt of TOKENS tokens.
"""

import pathlib
import sys
import time


def main():
    try:
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM
    except ImportError as error:
        print(f"absent: {error}", flush=True)
        return
    path, mode, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if path.is_dir():
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    else:
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(path)).to(torch.float32)
    model.eval()
    prompt = torch.arange(1, 5 if mode == "decode" else count + 1)[None] % model.config.vocab_size

    @torch.no_grad()
    def decode():
        out = model(prompt, use_cache=True)
        token, cache = out.logits[:, -1:].argmax(-1), out.past_key_values
        start = time.perf_counter()
        for _ in range(count):
            out = model(token, past_key_values=cache, use_cache=True)
            token, cache = out.logits[:, -1:].argmax(-1), out.past_key_values
        return (time.perf_counter() - start) / count

    @torch.no_grad()
    def prefill():
        start = time.perf_counter()
        model(prompt, use_cache=True, logits_to_keep=1).logits.sum().item()
        return time.perf_counter() - start

    measure = decode if mode == "decode" else prefill
    measure()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(measure(), flush=True)


if __name__ == "__main__":
    main()
