#!/usr/bin/env python3
"""Trains the demo model: a small Llama with grouped-query attention and its byte-level BPE tokenizer.

Everything comes from public-domain text that Debian 12 packages:
  sword-text-web      the World English Bible (dedicated to the public domain by its translators)
  r-cran-janeaustenr  Jane Austen's six novels (1811 to 1818; copyright long expired)

Usage:
  train_demo.py --minutes 65          train (continues from the checkpoint in --work, if any), then export
  train_demo.py --export              export the newest checkpoint to --out
  train_demo.py --evaluate            held-out bits per byte and greedy samples of the model in --out
  train_demo.py --prompts             write prompts.txt to --out: beginnings of the held-out chapters

The tokenizer is trained only where --out has none, so that its golden files stay valid.
Needs torch, tokenizers, safetensors, numpy; `apt-get download` and `dpkg-deb` for the text.
"""

import argparse
import gzip
import hashlib
import html
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import time
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

PACKAGES = ("sword-text-web", "r-cran-janeaustenr")
BOS, EOS = "<|begin_of_text|>", "<|end_of_text|>"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 2046,
    "eos_token_id": 2047,
    "head_dim": 32,
    "hidden_act": "silu",
    "hidden_size": 192,
    "initializer_range": 0.02,
    "intermediate_size": 512,
    "max_position_embeddings": 512,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 6,
    "num_hidden_layers": 6,
    "num_key_value_heads": 2,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": None,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_cache": True,
    "vocab_size": 2048,
}
PROMPTS = (
    "David went",
    "Jesus said to his disciples,",
    "Emma was",
    "“I am very glad",
)

# ---------------------------------------------------------------------------------------------- text


def fetch_packages(work):
    """Downloads and unpacks the Debian packages under work/text; does nothing the second time."""
    folder = work / "text"
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        target = folder / package
        if target.is_dir():
            continue
        subprocess.run(["apt-get", "download", package], cwd=folder, check=True)
        archive = sorted(folder.glob(f"{package}_*.deb"))[-1]
        subprocess.run(["dpkg-deb", "-x", archive, f"{target}.part"], check=True)
        os.rename(f"{target}.part", target)
    return folder


def tidy(text):
    """One paragraph: entities resolved, white space folded, no space before closing punctuation."""
    text = re.sub(r"\s+", " ", html.unescape(text)).strip()
    return re.sub(r" ([,.;:!?”’)])", r"\1", text)


def web_chapters(folder):
    """The World English Bible by chapter; the package stores OSIS XML in zlib blocks."""
    base = folder / "sword-text-web/usr/share/sword/modules/texts/ztext/engWEB2015eb"
    chapters = []
    for part in ("ot", "nt"):
        index = (base / f"{part}.bzs").read_bytes()
        data = (base / f"{part}.bzz").read_bytes()
        blocks = []
        for at in range(0, len(index), 12):
            offset, size, _ = struct.unpack_from("<III", index, at)
            blocks.append(zlib.decompress(data[offset : offset + size]))
        xml = b"".join(blocks).decode("utf-8")
        xml = re.sub(r"<(note|title|speaker)\b[^>]*(?<!/)>.*?</\1>", " ", xml, flags=re.S)
        xml = re.sub(
            r'<div sID="(\w+)" type="(?:introduction|front|glossary)"/>.*?<div eID="\1"[^>]*/>',
            " ", xml, flags=re.S)
        for piece in re.split(r'<chapter [^>]*\bsID="[^>]*/>', xml)[1:]:
            piece = re.split(r'<chapter [^>]*\beID="|<div [^>]*type="glossary"', piece)[0]
            piece = re.sub(r'<(?:div [^>]*type="x-p"|lg|lb)[^>]*>', "\n", piece)
            piece = re.sub(r"</?(?:w|q|seg|name)\b[^>]*>", "", piece)
            piece = re.sub(r"<[^>]*>", " ", piece)
            lines = [tidy(line) for line in piece.split("\n")]
            text = "\n".join(line for line in lines if line)
            if len(text) > 200:
                chapters.append(text)
    return chapters


def r_strings(blob):
    """The character vector in an R serialization (XDR): type 16, whose elements are type 9."""
    head = b"\x00\x00\x00\x10"
    at = blob.find(head, 14)
    count = struct.unpack_from(">I", blob, at + 4)[0]
    at += 8
    out = []
    for _ in range(count):
        flags, size = struct.unpack_from(">Ii", blob, at)
        assert flags & 0xFF == 9, "not a string"
        at += 8
        out.append(blob[at : at + max(size, 0)].decode("utf-8"))
        at += max(size, 0)
    return out


def austen_chapters(folder):
    """Austen's novels by chapter, with the typographic quotes and dashes that the other text has."""
    base = folder / "r-cran-janeaustenr/usr/lib/R/site-library/janeaustenr/data"
    index = gzip.decompress((base / "Rdata.rdx").read_bytes())
    data = (base / "Rdata.rdb").read_bytes()
    chapters = []
    # An entry is an integer vector (type 13) of two: where its compressed block begins, and its size.
    for match in re.finditer(rb"\x00\x00\x00\x0d\x00\x00\x00\x02(.{8})", index, flags=re.S):
        offset, size = struct.unpack(">II", match[1])
        lines = r_strings(zlib.decompress(data[offset + 4 : offset + size]))
        heading = re.compile(r"^\s*(chapter|volume)\b", re.I)
        for chapter in "\n".join("\f" if heading.match(line) else line for line in lines).split("\f")[1:]:
            paragraphs = []
            for paragraph in re.split(r"\n\s*\n", chapter):
                text = paragraph.replace("_", "").replace("--", "—").replace("`", "'")
                text = re.sub(r'(^|[\s(—\[\'])"', r"\1“", text).replace('"', "”")
                text = re.sub(r"(^|[\s(—“])'", r"\1‘", text).replace("'", "’")
                text = tidy(text)
                if re.search(r"[a-z]", text):
                    paragraphs.append(text)
            text = "\n".join(paragraphs)
            if len(text) > 1000:
                chapters.append(text)
    return chapters


def held_out(chapter):
    """About one chapter in fifty, chosen by its hash and so stable under any reordering."""
    return hashlib.sha256(chapter.encode()).digest()[0] < 5


def load_text(work):
    """Returns (training chapters, held-out chapters), the former in a fixed shuffled order."""
    folder = fetch_packages(work)
    chapters = web_chapters(folder) + austen_chapters(folder)
    train = [c for c in chapters if not held_out(c)]
    test = [c for c in chapters if held_out(c)]
    order = np.random.default_rng(7).permutation(len(train))
    return [train[i] for i in order], test


# ----------------------------------------------------------------------------------------- tokenizer


def train_tokenizer(texts):
    """A byte-level BPE tokenizer of 2,048 tokens in the form that Llama 3 has."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    split = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
             r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(split), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel(add_prefix_space=True, trim_offsets=True, use_regex=True)
    trainer = trainers.BpeTrainer(
        vocab_size=CONFIG["vocab_size"] - 2, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([BOS, EOS])
    assert tokenizer.token_to_id(BOS) == CONFIG["bos_token_id"]
    assert tokenizer.token_to_id(EOS) == CONFIG["eos_token_id"]
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(add_prefix_space=True, trim_offsets=False, use_regex=True),
        processors.TemplateProcessing(
            single=f"{BOS} $A", pair=f"{BOS} $A {BOS}:1 $B:1",
            special_tokens=[(BOS, CONFIG["bos_token_id"])]),
    ])
    return tokenizer


def load_tokenizer(out, texts):
    path = out / "tokenizer.json"
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        train_tokenizer(texts).save(f"{path}.part")
        os.replace(f"{path}.part", path)
    return Tokenizer.from_file(str(path))


def encode(tokenizer, texts):
    """One stream of i32: BOS, chapter, EOS, BOS, chapter, ..."""
    stream = []
    for item in tokenizer.encode_batch(texts):
        stream += item.ids + [CONFIG["eos_token_id"]]
    return torch.tensor(np.array(stream, dtype=np.int64))


# --------------------------------------------------------------------------------------------- model


def rope_table(length):
    half = CONFIG["head_dim"] // 2
    frequency = CONFIG["rope_theta"] ** (-torch.arange(half, dtype=torch.float32) / half)
    angle = torch.arange(length, dtype=torch.float32)[:, None] * frequency[None, :]
    return torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)


def parameter_shapes():
    """Name and shape of every tensor, as Hugging Face names them."""
    c = CONFIG
    hidden, inner, head = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    heads, groups = c["num_attention_heads"], c["num_key_value_heads"]
    shapes = {"model.embed_tokens.weight": (c["vocab_size"], hidden)}
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        shapes |= {
            p + "input_layernorm.weight": (hidden,),
            p + "self_attn.q_proj.weight": (heads * head, hidden),
            p + "self_attn.k_proj.weight": (groups * head, hidden),
            p + "self_attn.v_proj.weight": (groups * head, hidden),
            p + "self_attn.o_proj.weight": (hidden, heads * head),
            p + "post_attention_layernorm.weight": (hidden,),
            p + "mlp.gate_proj.weight": (inner, hidden),
            p + "mlp.up_proj.weight": (inner, hidden),
            p + "mlp.down_proj.weight": (hidden, inner),
        }
    shapes |= {"model.norm.weight": (hidden,), "lm_head.weight": (c["vocab_size"], hidden)}
    return shapes


def initial_weights():
    generator = torch.Generator().manual_seed(1)
    weights = {}
    depth = math.sqrt(2 * CONFIG["num_hidden_layers"])
    for name, shape in parameter_shapes().items():
        if len(shape) == 1:
            weights[name] = torch.ones(shape)
        else:
            std = 0.04 / depth if name.endswith(("o_proj.weight", "down_proj.weight")) else 0.04
            weights[name] = torch.randn(shape, generator=generator) * std
    return weights


def forward(w, tokens, dropout=0.0):
    """Logits [B, T, vocab] of tokens [B, T], in the dtype of the weights."""
    c = CONFIG
    batch, length = tokens.shape
    heads, groups, head = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
    x = F.embedding(tokens, w["model.embed_tokens.weight"])
    cos, sin = (t.to(x.dtype)[None, None] for t in rope_table(length))
    mask = torch.full((length, length), -math.inf).triu(1).to(x.dtype)[None]

    def norm(value, name):
        scale = torch.rsqrt(value.float().square().mean(-1, keepdim=True) + c["rms_norm_eps"])
        return value * scale.to(value.dtype) * w[name]

    def rope(value):
        left, right = value.chunk(2, -1)
        return value * cos + torch.cat([-right, left], -1) * sin

    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        h = norm(x, p + "input_layernorm.weight")
        q, k, v = (
            F.linear(h, w[f"{p}self_attn.{n}_proj.weight"]).view(batch, length, count, head).transpose(1, 2)
            for n, count in (("q", heads), ("k", groups), ("v", groups)))
        k = rope(k).repeat_interleave(heads // groups, 1)
        v = v.repeat_interleave(heads // groups, 1)
        # By hand: the fused attention of PyTorch takes nearly twice as long here, forward and backward.
        score = torch.baddbmm(mask, rope(q).reshape(batch * heads, length, head),
                              k.reshape(batch * heads, length, head).transpose(1, 2), alpha=head**-0.5)
        a = torch.bmm(F.softmax(score, -1), v.reshape(batch * heads, length, head))
        a = a.view(batch, heads, length, head).transpose(1, 2).reshape(batch, length, heads * head)
        x = x + F.dropout(F.linear(a, w[p + "self_attn.o_proj.weight"]), dropout)
        h = norm(x, p + "post_attention_layernorm.weight")
        g = F.silu(F.linear(h, w[p + "mlp.gate_proj.weight"])) * F.linear(h, w[p + "mlp.up_proj.weight"])
        x = x + F.dropout(F.linear(g, w[p + "mlp.down_proj.weight"]), dropout)
    return F.linear(norm(x, "model.norm.weight"), w["lm_head.weight"])


# ------------------------------------------------------------------------------------------ training


@torch.no_grad()
def cross_entropy(logits, target):
    """Mean loss in nats, and its derivative by the logits, with two passes fewer than autograd takes."""
    rows = torch.arange(target.numel())
    value = logits.detach().flatten(0, 1).float()
    top = value.logsumexp(-1, keepdim=True)
    loss = (top[:, 0] - value[rows, target.flatten()]).mean()
    slope = value.sub_(top).exp_()
    slope[rows, target.flatten()] -= 1.0
    return loss, slope.div_(target.numel()).to(logits.dtype).view_as(logits)


@torch.no_grad()
def bits_per_byte(weights, tokenizer, texts, limit=None):
    """Loss over whole chapters (context carried by windows of half overlap), per byte of UTF-8 text."""
    context = CONFIG["max_position_embeddings"]
    total, size = 0.0, 0
    for text in texts[:limit]:
        ids = torch.tensor(tokenizer.encode(text).ids)
        size += len(text.encode())
        scored = 1
        start = 0
        while scored < len(ids):
            window = ids[start : start + context]
            logits = forward(weights, window[None, :-1])[0].float()
            loss = F.cross_entropy(logits, window[1:], reduction="none")
            total += loss[scored - start - 1 :].sum().item()
            scored = start + len(window)
            start += context // 2
    return total / math.log(2) / size


@torch.no_grad()
def greedy(weights, tokenizer, prompt, count):
    """The prompt with count greedy tokens, in f32 as the reference implementation computes them."""
    ids = tokenizer.encode(prompt).ids
    for _ in range(count):
        logits = forward(weights, torch.tensor([ids]))[0, -1].float()
        ids.append(int(logits.argmax()))
        if ids[-1] == CONFIG["eos_token_id"]:
            break
    return tokenizer.decode(ids)


def save_checkpoint(path, state):
    torch.save(state, f"{path}.part")
    os.replace(f"{path}.part", path)


def train(args):
    torch.set_num_threads(1)
    args.work.mkdir(parents=True, exist_ok=True)
    train_text, test_text = load_text(args.work)
    tokenizer = load_tokenizer(args.out, train_text)
    stream = encode(tokenizer, train_text)
    size = sum(len(t.encode()) for t in train_text)
    print(f"text: {len(train_text)} chapters, {size} bytes, {len(stream)} tokens; "
          f"held out: {len(test_text)} chapters", flush=True)

    full = CONFIG["max_position_embeddings"]
    master = {k: v.requires_grad_() for k, v in initial_weights().items()}
    count = sum(v.numel() for v in master.values())
    decay = [v for v in master.values() if v.dim() > 1]
    plain = [v for v in master.values() if v.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}],
        lr=args.rate, betas=(0.9, 0.95), foreach=True)
    checkpoint = args.work / "checkpoint.pt"
    step, spent, tokens = 0, 0.0, 0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        for name, value in state["weights"].items():
            master[name].data.copy_(value)
        optimizer.load_state_dict(state["optimizer"])
        step, spent, tokens = state["step"], state["spent"], state["tokens"]
        print(f"continues at step {step}, {spent / 60:.1f} min", flush=True)
    print(f"{count} parameters", flush=True)

    budget = args.minutes * 60.0
    start = time.monotonic() - spent
    shown = saved = spent
    smooth = None
    work = {k: v.detach().to(torch.bfloat16).requires_grad_() for k, v in master.items()}
    names = list(work)

    def snapshot(now):
        state = {"weights": {k: v.detach() for k, v in master.items()}, "step": step,
                 "optimizer": optimizer.state_dict(), "spent": now, "tokens": tokens}
        save_checkpoint(checkpoint, state)
        held = bits_per_byte(work, tokenizer, test_text, 12)
        print(f"checkpoint at {now / 60:.1f} min: held-out {held:.4f} bits per byte (12 chapters)",
              flush=True)
        print("  " + greedy(work, tokenizer, PROMPTS[0], 60).replace("\n", " / "), flush=True)

    while (now := time.monotonic() - start) < budget:
        # The schedule follows the clock, so that the budget is what ends it whatever else runs here.
        rate = args.rate * min(1.0, (step + 1) / 100) * (
            0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, now / budget))))
        for group in optimizer.param_groups:
            group["lr"] = rate
        generator = np.random.default_rng([11, step])
        # Short windows are cheaper; the last part of the training has the full context.
        context = full // 2 if now < 0.7 * budget else full
        batch = args.batch * full // context
        offsets = generator.integers(0, len(stream) - context, batch)
        window = torch.stack([stream[o : o + context] for o in offsets])
        # Every window opens with BOS: it is what the model sees first when it is run.
        inputs = torch.cat([torch.full((batch, 1), CONFIG["bos_token_id"]), window[:, :-1]], 1)
        logits = forward(work, inputs, args.dropout)
        loss, slope = cross_entropy(logits, window)
        gradients = torch.autograd.grad(logits, [work[n] for n in names], slope)
        for name, gradient in zip(names, gradients):
            master[name].grad = gradient.float()
        torch.nn.utils.clip_grad_norm_(list(master.values()), 1.0)
        optimizer.step()
        with torch.no_grad():
            for name in names:
                work[name].copy_(master[name])
        step += 1
        tokens += window.numel()
        smooth = loss.item() if smooth is None else 0.95 * smooth + 0.05 * loss.item()
        now = time.monotonic() - start
        if now - shown > 15:
            shown = now
            print(f"{now / 60:5.1f} min  step {step}  loss {smooth:.3f}  lr {rate:.2e}  "
                  f"{tokens / now:.0f} tokens/s", flush=True)
        if now - saved > args.save_every * 60:
            snapshot(now)
            saved = now = time.monotonic() - start
    snapshot(time.monotonic() - start)
    export(args)


# -------------------------------------------------------------------------------------------- export


def write_atomic(path, data):
    part = path.with_name(path.name + ".part")
    part.write_bytes(data if isinstance(data, bytes) else data.encode())
    os.replace(part, path)


def export(args):
    state = torch.load(args.work / "checkpoint.pt")
    args.out.mkdir(parents=True, exist_ok=True)
    part = args.out / "model.safetensors.part"
    save_file({k: v.to(torch.bfloat16).contiguous() for k, v in state["weights"].items()},
              str(part), metadata={"format": "pt"})
    part.chmod(0o644)
    os.replace(part, args.out / "model.safetensors")
    write_atomic(args.out / "config.json", json.dumps(CONFIG, indent=2) + "\n")
    write_atomic(args.out / "generation_config.json", json.dumps({
        "bos_token_id": CONFIG["bos_token_id"], "do_sample": False,
        "eos_token_id": CONFIG["eos_token_id"]}, indent=2) + "\n")
    write_atomic(args.out / "tokenizer_config.json", json.dumps({
        "bos_token": BOS, "clean_up_tokenization_spaces": False, "eos_token": EOS,
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": CONFIG["max_position_embeddings"],
        "tokenizer_class": "PreTrainedTokenizerFast"}, indent=2) + "\n")
    print(f"exported step {state['step']} ({state['tokens']} tokens, {state['spent'] / 60:.1f} min) "
          f"to {args.out}", flush=True)


def evaluate(args):
    torch.set_num_threads(1)
    _, test_text = load_text(args.work)
    tokenizer = Tokenizer.from_file(str(args.out / "tokenizer.json"))
    weights = {k: v.float() for k, v in load_file(str(args.out / "model.safetensors")).items()}
    size = sum(len(t.encode()) for t in test_text)
    print(f"held-out: {bits_per_byte(weights, tokenizer, test_text):.4f} bits per byte "
          f"over {len(test_text)} chapters, {size} bytes")
    for prompt in PROMPTS:
        print("---\n" + greedy(weights, tokenizer, prompt, 100))


def held_out_prompts(args):
    """The first words of every held-out chapter, one a line: 4 to 25 of them, or more where training text has those."""
    train_text, test_text = load_text(args.work)
    seen = "\n".join(train_text)
    lines = []
    for i, chapter in enumerate(test_text):
        words = chapter.split("\n")[0].split()
        for count in range(4 + 3 * (i % 8), len(words) + 1):
            prompt = " ".join(words[:count])
            if prompt not in seen:
                lines.append(prompt + "\n")
                break
    write_atomic(args.out / "prompts.txt", "".join(lines))
    print(f"{len(lines)} prompts of {len(test_text)} held-out chapters")


def keep_memory():
    """Starts the program again with a malloc that keeps freed memory: page faults cost a third of the time."""
    wanted = {"MALLOC_MMAP_THRESHOLD_": "8000000000", "MALLOC_TRIM_THRESHOLD_": "16000000000",
              "MALLOC_TOP_PAD_": "200000000", "OMP_NUM_THREADS": "1"}
    if any(os.environ.get(k) != v for k, v in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | wanted)


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=65, help="training time in all, over restarts")
    parser.add_argument("--work", type=pathlib.Path, default=here.parent / "out/train",
                        help="folder of the text and the checkpoint")
    parser.add_argument("--out", type=pathlib.Path, default=here / "demo", help="folder of the model")
    parser.add_argument("--batch", type=int, default=8, help="windows of 512 tokens in a step")
    parser.add_argument("--rate", type=float, default=2.5e-3, help="peak learning rate")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--save-every", type=float, default=4, help="minutes between checkpoints")
    parser.add_argument("--export", action="store_true", help="only export the newest checkpoint")
    parser.add_argument("--evaluate", action="store_true", help="only evaluate the model in --out")
    parser.add_argument("--prompts", action="store_true", help="only write the held-out prompts")
    args = parser.parse_args()
    args.work = args.work.resolve()
    args.out = args.out.resolve()
    if args.export:
        export(args)
    elif args.evaluate:
        evaluate(args)
    elif args.prompts:
        held_out_prompts(args)
    else:
        keep_memory()
        train(args)


if __name__ == "__main__":
    sys.exit(main())
