#!/usr/bin/env python3
"""Writes the golden files of the tokenizer of RWKV's World models: what the package rwkv makes of the
1,000 strings of make_tokenizer.py.

  tokenizer/rwkv/rwkv_vocab_v20230424.txt  a vocabulary in the published form, made here: every byte, and
                                           runs of 2 to 12 bytes of the strings, which may cut characters
  tokenizer/rwkv/added_tokens.json         the token of id 0, as in folders of transformers
  tokenizer/rwkv/special_tokens_map.json   its names
  tokenizer/rwkv/strings.jsonl, decode.jsonl  as make_tokenizer.py writes them

README.md names the fields. Everything follows from the seed below.
Usage: make_rwkv_tokenizer.py [--published]     Needs rwkv and tokenizers.
  --published  uses the vocabulary that the package rwkv contains (65,529 tokens) instead
"""

import argparse
import collections
import importlib.resources
import json
import pathlib
import random

from rwkv.rwkv_tokenizer import TRIE_TOKENIZER

import make_tokenizer

HERE = pathlib.Path(__file__).resolve().parent
NAME = "rwkv_vocab_v20230424.txt"
SEED = 20230424
MOST_BYTES = 12
RUNS = 1500


def literal(token):
    try:
        return repr(token.decode("utf-8"))
    except UnicodeDecodeError:
        return repr(token)


def make_vocabulary(texts):
    """Half of the runs are the most frequent ones, half are drawn."""
    counts = collections.Counter()
    for text in texts:
        data = text.encode("utf-8")
        for size in range(2, MOST_BYTES + 1):
            counts.update(data[at:at + size] for at in range(len(data) - size + 1))
    order = sorted(counts, key=lambda run: (-counts[run] * len(run), run))
    runs = order[: RUNS // 2]
    runs += random.Random(SEED).sample(order[RUNS // 2:], RUNS - len(runs))
    tokens = [bytes([value]) for value in range(256)] + sorted(runs, key=lambda run: (len(run), run))
    return "".join(f"{at} {literal(token)} {len(token)}\n" for at, token in enumerate(tokens, 1))


class Reference:
    """The package's tokenizer with the names of the package tokenizers."""

    Encoding = collections.namedtuple("Encoding", "ids")

    def __init__(self, path):
        self.trie = TRIE_TOKENIZER(str(path))

    def get_vocab_size(self):
        return max(self.trie.idx2token) + 1

    def encode(self, text, add_special_tokens=True):
        return self.Encoding(self.trie.encode(text))

    def decode(self, ids, skip_special_tokens=True):
        """The package gives up on a text that is not UTF-8; here its ill-formed parts are marked."""
        end = b"" if skip_special_tokens else b"<s>"
        return b"".join(self.trie.idx2token[i] if i else end for i in ids).decode("utf-8", errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--published", action="store_true")
    published = parser.parse_args().published
    texts = make_tokenizer.strings()
    folder = HERE / "tokenizer/rwkv"
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = (importlib.resources.files("rwkv") / NAME).read_text("utf-8") if published else make_vocabulary(texts)
    make_tokenizer.write_atomic(folder / NAME, vocabulary)
    make_tokenizer.write_atomic(folder / "added_tokens.json", json.dumps({"<s>": 0}) + "\n")
    names = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<s>")
    make_tokenizer.write_atomic(folder / "special_tokens_map.json", json.dumps(names) + "\n")
    tokenizer = Reference(folder / NAME)
    make_tokenizer.write_strings(folder, tokenizer, texts)
    make_tokenizer.write_decode(folder, tokenizer)
    print(f"rwkv: {tokenizer.get_vocab_size()} tokens, {len(texts)} strings")


if __name__ == "__main__":
    main()
