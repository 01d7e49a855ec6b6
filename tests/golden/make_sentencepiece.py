#!/usr/bin/env python3
"""Writes the golden files of tokenizers of SentencePiece's kind, trained here on the public text of
models/train_demo.py: tokenizer/<name>/{tokenizer.json, strings.jsonl, decode.jsonl} for

  llama2     the form of Llama 2: normalizers Prepend and Replace, no pre-tokenizer, byte fallback,
             fused unknown tokens, a Sequence of decoders, merges as "a b", a template that puts BOS first
  metaspace  the Metaspace pre-tokenizer (first, split) and decoder, regular expressions and Strip as
             normalizers, no byte fallback, fused unknown tokens, ignore_merges, merges as pairs, added
             tokens with every flag that are looked for in the normalized text
  partial    byte fallback with bytes missing, unknown tokens one by one, Metaspace (never, no split)
             behind a Split, decoders Metaspace, Strip at the end of tokens, ByteFallback, Fuse
             and Strip at the beginning

README.md names the fields. Everything follows from the text and the seed below.
Usage: make_sentencepiece.py [--work DIR]     Needs tokenizers, and what train_demo.py needs for its text.
"""

import argparse
import collections
import json
import pathlib
import random
import sys

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Regex

import make_tokenizer

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SEED = 20230718
MARK = "▁"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]

FIXED = [
    "<s>", "</s>", "<unk>", "<s> a", "<s>a</s>", "a<s>b", "a <s> b", " <s>", "<s> ", "<s>  </s>", "</s><s>",
    MARK, MARK + "a", " " + MARK, "a" + MARK + "b", "a " + MARK + " b", MARK * 5, " " * 200, "a" + " " * 40 + "b",
    "<0x41>", "<0x0A>", "<0xE4><0xBD>", "<0x41", "\n" * 30, "\t" * 30, " \n \t ", "\u2003a\u2003", "a\u00a0",
    "你好" * 30, "😀" * 30, "a你b😀c", "\u0000\u0001", "\ufffd", "Word", "a word b", "aword", "words", "(word)",
    "<mask>", " <mask> ", "a  <mask>  b", "<sep>", "a <sep>   b", "<sep><mask>", "x<mask>y", "wo rd", "w o r d",
    "I saw a word there ", " the LORD said ", "  two  spaces  each  ", "trailing   ", "\u200b\u2060",
]


def public_text(work):
    sys.path.insert(0, str(ROOT / "models"))
    import train_demo
    chapters = train_demo.load_text(work)[0]
    return [line for chapter in chapters[:240] for line in chapter.split("\n")]


def strings():
    """1,000 distinct strings: FIXED, then those of make_tokenizer in an order of this file's own."""
    texts = list(dict.fromkeys(FIXED))
    others = [text for text in make_tokenizer.strings() if text not in set(texts)]
    random.Random(SEED).shuffle(others)
    return texts + others[: make_tokenizer.COUNT - len(texts)]


def train(lines, size, alphabet, special):
    """A BPE model whose words begin with the mark; `special` takes the first ids."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    # The trainer breaks ties between characters in no fixed order, so they are chosen here.
    counts = collections.Counter(MARK + (MARK + "\n").join(lines).replace(" ", MARK))
    characters = sorted(counts, key=lambda c: (-counts[c], c))[:alphabet]
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, min_frequency=2, initial_alphabet=characters,
                                  limit_alphabet=alphabet, special_tokens=special)
    tokenizer.train_from_iterator(lines, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
    return model["vocab"], merges


def llama2(lines):
    vocab, merges = train(lines, 1400, 120, ["<unk>", "<s>", "</s>", *BYTES])
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in ("<unk>", "<s>", "</s>")])
    data = json.loads(tokenizer.to_str())
    data["model"]["merges"] = [m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]]
    return data


def metaspace(lines):
    vocab, merges = train(lines, 1000, 300, ["<unk>"])
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, ignore_merges=True))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace(Regex(r"[\r\n]+"), "\n"), normalizers.Replace(Regex(" {5,}"), "    "),
        normalizers.Replace("“", '"'), normalizers.Strip(left=False, right=True)])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first", split=True)
    tokenizer.add_special_tokens([
        AddedToken("<s>", normalized=False, special=True), AddedToken("</s>", normalized=True, special=True),
        AddedToken("<mask>", lstrip=True, normalized=True, special=True),
        AddedToken("<sep>", rstrip=True, normalized=False, special=True)])
    tokenizer.add_tokens([AddedToken("word", single_word=True, normalized=True),
                          AddedToken("wo rd", lstrip=True, rstrip=True, normalized=True),
                          AddedToken("the “LORD", normalized=True)])
    return json.loads(tokenizer.to_str())


def partial(lines):
    # No bytes from 0xA0 to 0xBF: what continues most characters is missing.
    known = [token for byte, token in enumerate(BYTES) if not 0xA0 <= byte < 0xC0]
    vocab, merges = train(lines, 900, 70, ["<unk>", *known])
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=False, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace("…", "...")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\d|[.,;:!?]"), behavior="isolated"),
        pre_tokenizers.Metaspace(prepend_scheme="never", split=False)])
    tokenizer.decoder = decoders.Sequence([
        decoders.Metaspace(prepend_scheme="never", split=False), decoders.Strip(" ", 0, 1),
        decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 2, 0)])
    tokenizer.add_tokens([AddedToken("word", normalized=True), AddedToken("<mask>", lstrip=True, rstrip=True)])
    return json.loads(tokenizer.to_str())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/golden")
    args = parser.parse_args()
    lines = public_text(args.work)
    # Beside the public text a little of every script, so that alphabets hold more than Latin letters.
    lines += [text for text in make_tokenizer.WORDS.values() for _ in range(3)]
    texts = strings()
    assert len(texts) == make_tokenizer.COUNT
    for make in (llama2, metaspace, partial):
        folder = HERE / "tokenizer" / make.__name__
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "tokenizer.json"
        make_tokenizer.write_atomic(path, json.dumps(make(lines), indent=1) + "\n")
        tokenizer = Tokenizer.from_file(str(path))
        make_tokenizer.write_strings(folder, tokenizer, texts)
        make_tokenizer.write_decode(folder, tokenizer)
        print(f"{make.__name__}: {tokenizer.get_vocab_size()} tokens, {len(texts)} strings")


if __name__ == "__main__":
    main()
