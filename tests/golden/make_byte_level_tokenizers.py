#!/usr/bin/env python3
"""Writes the golden files of byte-level BPE in older files, for the 1,000 strings of make_tokenizer.py.

  tokenizer/qwen2/vocab.json, merges.txt, tokenizer_config.json   trained here; the results are those of transformers'
                                                                  Qwen2Tokenizer
  tokenizer/tiktoken/tiktoken.model, tokenizer_config.json        the same vocabulary by ranks, without some of the tokens
                                                                  that others are made of; the results are those of the
                                                                  package tiktoken with the words of Llama 3
  tokenizer/<name>/strings.jsonl, decode.jsonl                    as make_tokenizer.py writes them

README.md names the fields.
Usage: make_byte_level_tokenizers.py     Needs tokenizers, transformers and tiktoken.
"""

import base64
import collections
import json
import pathlib

import tiktoken
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer

import make_tokenizer

HERE = pathlib.Path(__file__).resolve().parent
SPECIAL = ["<|endoftext|>", "<|begin_of_text|>", "<|end_of_text|>", "<mask>"]
WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")


def train(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(WORDS), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    trainer = trainers.BpeTrainer(vocab_size=1500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]


def config(tokenizer_class, first, **more):
    tokens = {str(first + i): {"content": token, "special": True, "normalized": False, "lstrip": False, "rstrip": False,
                               "single_word": False} for i, token in enumerate(SPECIAL)}
    return json.dumps({"added_tokens_decoder": tokens, "tokenizer_class": tokenizer_class, **more}, indent=1) + "\n"


class Published:
    """A tokenizer of transformers with the names of the package tokenizers."""

    Encoding = collections.namedtuple("Encoding", "ids")

    def __init__(self, folder):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def get_vocab_size(self):
        return len(self.tokenizer)

    def encode(self, text, add_special_tokens=True):
        return self.Encoding(self.tokenizer.encode(text, add_special_tokens=add_special_tokens))

    def decode(self, ids, skip_special_tokens=True):
        return self.tokenizer.decode(ids, skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=False)


class Ranks:
    """The same for the package tiktoken, with the beginning of a text that tokenizer_config.json asks for."""

    Encoding = collections.namedtuple("Encoding", "ids")

    def __init__(self, ranks, first):
        self.special = {token: first + i for i, token in enumerate(SPECIAL)}
        self.encoding = tiktoken.Encoding("test", pat_str=WORDS, mergeable_ranks=ranks, special_tokens=self.special)

    def get_vocab_size(self):
        return self.encoding.n_vocab

    def encode(self, text, add_special_tokens=True):
        first = [self.special["<|begin_of_text|>"]] if add_special_tokens else []
        return self.Encoding(first + self.encoding.encode(text, allowed_special="all"))

    def decode(self, ids, skip_special_tokens=True):
        special = set(self.special.values()) if skip_special_tokens else set()
        return self.encoding.decode([i for i in ids if i not in special])


def main():
    texts = make_tokenizer.strings()
    vocab, merges = train(texts)
    folder = HERE / "tokenizer/qwen2"
    folder.mkdir(parents=True, exist_ok=True)
    make_tokenizer.write_atomic(folder / "vocab.json", json.dumps(vocab, ensure_ascii=False) + "\n")
    make_tokenizer.write_atomic(folder / "merges.txt", "#version: 0.2\n" + "\n".join(merges) + "\n")
    make_tokenizer.write_atomic(folder / "tokenizer_config.json",
                                config("Qwen2Tokenizer", len(vocab), eos_token="<|endoftext|>"))
    tokenizer = Published(folder)
    make_tokenizer.write_strings(folder, tokenizer, texts)
    make_tokenizer.write_decode(folder, tokenizer)

    alphabet = {c: bytes([b]) for b, c in enumerate_bytes()}
    tokens = sorted((i, b"".join(alphabet[c] for c in token)) for token, i in vocab.items())
    kept = [token for i, token in tokens if len(token) == 1 or i % 7]
    ranks = {token: rank for rank, token in enumerate(kept)}
    folder = HERE / "tokenizer/tiktoken"
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items())
    make_tokenizer.write_atomic(folder / "tiktoken.model", lines)
    make_tokenizer.write_atomic(folder / "tokenizer_config.json",
                                config("PreTrainedTokenizerFast", len(ranks), bos_token="<|begin_of_text|>",
                                       add_bos_token=True))
    tokenizer = Ranks(ranks, len(ranks))
    make_tokenizer.write_strings(folder, tokenizer, texts)
    make_tokenizer.write_decode(folder, tokenizer)
    print(f"qwen2: {len(vocab)} tokens, tiktoken: {len(ranks)}, {len(texts)} strings")


def enumerate_bytes():
    """The byte alphabet: (byte, character)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    yield from ((byte, chr(byte)) for byte in printable)
    yield from ((byte, chr(256 + i)) for i, byte in enumerate(others))


if __name__ == "__main__":
    main()
