#!/usr/bin/env python3
"""Writes the golden files of SentencePiece models: what the package sentencepiece makes of the 1,000 strings of
make_tokenizer.py.

  tokenizer/spm_bpe/tokenizer.model      pairs, byte fallback, no normalization, spaces as they are, user-defined pieces
  tokenizer/spm_unigram/tokenizer.model  unigrams, nmt_nfkc, extra spaces removed, no byte fallback, user-defined pieces
  tokenizer/unigram/tokenizer.json       the second one as a tokenizer.json: Precompiled, Metaspace, Unigram; with the
                                         results of the package tokenizers
  tokenizer/<name>/strings.jsonl, decode.jsonl  as make_tokenizer.py writes them

The package does not look for control pieces in texts, but tokenizers of transformers do: each part between them is given
to the package. Texts with special tokens (decoded_all) are those of a chain of decoders of the package tokenizers.
README.md names the fields. The models are trained here, on the strings.
Usage: make_spm_tokenizer.py     Needs sentencepiece and tokenizers.
"""

import collections
import io
import pathlib
import random
import re

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import make_tokenizer

HERE = pathlib.Path(__file__).resolve().parent
MODELS = {
    "spm_bpe": dict(model_type="bpe", vocab_size=1400, byte_fallback=True, normalization_rule_name="identity",
                    remove_extra_whitespaces=False, user_defined_symbols=["<mask>", "word", "    "]),
    "spm_unigram": dict(model_type="unigram", vocab_size=1300, user_defined_symbols=["<sep>", "ﬁ", "don't"]),
}


def train(options, texts):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, character_coverage=0.98, num_threads=1,
        hard_vocab_limit=False, minloglevel=2, **options)
    return model.getvalue()


class Reference:
    """The package's tokenizer with the names of the package tokenizers."""

    Encoding = collections.namedtuple("Encoding", "ids")

    def __init__(self, path):
        self.model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        ids = range(self.model.get_piece_size())
        self.special = {self.model.id_to_piece(i): i for i in ids if self.model.is_control(i) or self.model.is_unknown(i)}
        self.parts = re.compile("(" + "|".join(map(re.escape, self.special)) + ")")
        extra = self.model.encode(" a ") == self.model.encode("a")
        self.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                          decoders.Strip(" ", 1000 if extra else 1, 0)])

    def get_vocab_size(self):
        return self.model.get_piece_size()

    def encode(self, text, add_special_tokens=True):
        ids = [self.model.bos_id()] if add_special_tokens else []
        for part in self.parts.split(text):
            if part in self.special:
                ids.append(self.special[part])
            elif part:
                ids += self.model.encode(part)
        return self.Encoding(ids)

    def decode(self, ids, skip_special_tokens=True):
        pieces = [self.model.id_to_piece(i) for i in ids]
        if not skip_special_tokens:
            return self.decoder.decode(pieces)
        return self.model.decode([i for i, piece in zip(ids, pieces) if piece not in self.special])


class Decodable(Reference):
    """For sequences of ids at random: bytes that are no text have another form in the package."""

    def decode(self, ids, skip_special_tokens=True):
        pieces = [self.model.id_to_piece(i) for i in ids]
        return self.decoder.decode([p for p in pieces if not skip_special_tokens or p not in self.special])


def unigram_file(path):
    """The model as a tokenizer.json, in the form of converted ones."""
    model = sentencepiece_model_pb2.ModelProto.FromString(path.read_bytes())
    vocab = [(piece.piece, piece.score) for piece in model.pieces]
    tokenizer = Tokenizer(models.Unigram(vocab, model.trainer_spec.unk_id))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<s>", "</s>", AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    return tokenizer


def main():
    texts = make_tokenizer.strings()
    for name, options in MODELS.items():
        folder = HERE / "tokenizer" / name
        folder.mkdir(parents=True, exist_ok=True)
        shuffled = [text for text in texts if "\0" not in text]
        random.Random(1).shuffle(shuffled)
        (folder / "tokenizer.model").write_bytes(train(options, shuffled))
        make_tokenizer.write_strings(folder, Reference(folder / "tokenizer.model"), texts)
        make_tokenizer.write_decode(folder, Decodable(folder / "tokenizer.model"))
        if name == "spm_unigram":
            converted = HERE / "tokenizer/unigram"
            converted.mkdir(parents=True, exist_ok=True)
            tokenizer = unigram_file(folder / "tokenizer.model")
            make_tokenizer.write_atomic(converted / "tokenizer.json", tokenizer.to_str() + "\n")
            make_tokenizer.write_strings(converted, tokenizer, texts)
            make_tokenizer.write_decode(converted, tokenizer)
        print(f"{name}: {Reference(folder / 'tokenizer.model').get_vocab_size()} tokens, {len(texts)} strings")


if __name__ == "__main__":
    main()
