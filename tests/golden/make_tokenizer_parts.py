#!/usr/bin/env python3
"""Writes tokenizer/parts.jsonl: what parts of tokenizers make of texts, one case a line.

  pre_tokenizer  `words` of each of `texts`, by the `tokenizers` package
  normalizer     `texts` and what becomes of them, by the same
  regex          the parts of `text` that `pattern` matches, by its Oniguruma
  every          the parts of all characters in order that `pattern` matches: their number, and the SHA-256 of their
                 byte offsets ("begin end\\n" each)
  folder         `ids` of `text` with the tokenizer of a folder of `files`, and their text, by transformers

README.md names the fields. Usage: make_tokenizer_parts.py     Needs tokenizers and transformers.
"""

import hashlib
import itertools
import json
import os
import pathlib
import tempfile

import transformers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import make_tokenizer

HERE = pathlib.Path(__file__).resolve().parent
TEXTS = make_tokenizer.FIXED[:40] + [
    "Hey man,  what's up?\t x-y_z", "どこで生れ。Yes カタカナ一ー aーb", "Apples are りんご 林檎 x", "  a b ", "a1,b ١٢ ½",
    "a\u200cb\u200d c", "$5+3=<8> …¿¡„“ ׀ ٪ ۔ \u061d \u2e52 \U00010ead", "\U00010d4a\U000105c0 \U00031350\U00010d40x",
    "é e\u0301 ÀÉ İΣσ \u1e94a a\u0301\u07fd \ua7f2 \U00010781 \u32ff ㋿ \U0001f16c ﬁ", "中文abc漢字 \U00020000\U0002b820\U0002b91f",
    "a\u0000b\u0007c\u00add\ufffde\u0085f\u00a0g", "\u0300x\u0897y\U0001e94a\u1dfb", "\u1c89\ua7cb\U00010d50 ABC",
]
PRE_TOKENIZERS = [
    pre_tokenizers.Whitespace(), pre_tokenizers.WhitespaceSplit(), pre_tokenizers.UnicodeScripts(),
    pre_tokenizers.BertPreTokenizer(), pre_tokenizers.CharDelimiterSplit("a"), pre_tokenizers.Punctuation(),
    pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Digits(individual_digits=False),
    pre_tokenizers.Sequence([pre_tokenizers.UnicodeScripts(), pre_tokenizers.Whitespace()]),
    pre_tokenizers.Split(Regex(r"[\p{L}&&[^\p{Han}]]{1,3}+|\p{N}"), behavior="isolated"),
]
NORMALIZERS = [
    normalizers.BertNormalizer(), normalizers.BertNormalizer(lowercase=False),
    normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=True),
    normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=True, strip_accents=True, lowercase=False),
    normalizers.StripAccents(), normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(),
    normalizers.Lowercase(), normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
]
PATTERNS = [
    (r"a{1,3}+", "aaaaaaab"), (r"a{1,3}+a", "aaaaaaab"), (r"a{2}+", "aaaaab"), (r"(ab){1,2}+", "abababx"),
    (r"\x{6c}", "ll{6c}l"), (r"\u006c", "allb"), (r"\v", "a\x0bb\n"), (r"[\v]", "a\x0bb\n"), (r"\Qa\E", "QaE a"),
    (r"[a-z&&[^b]]", "abcB"), (r"[^a-z&&[^b]]", "abcB1"), (r"[a[bc]]", "abcd"), (r"[[a-c][x-z]]+", "abxyd"),
    (r"[\W]", "a-b"), (r"[^\W]", "a-b"), (r"[^\W\d]", "a-1b"), (r"[\p{L}&&\p{Lu}]", "aBcD"),
    (r"[\p{L}&&[^A-Z]]+", "aBcDe"), (r"[[:graph:]]+", "ab c"), (r"[[:print:]]+", "ab c\nd"),
    (r"[[:^alpha:]]+", "ab1 c"), (r"[\x{61}-\x{63}]", "abcd"), (r"[a-]", "a-b"), (r"[]a]", "a]b"),
    (r"[a&&]", "ab"), (r"[&&a]", "ab"), (r"[a-c&&b-d&&c]", "abcd"), (r"\p{Alnum}+", "ab1 c"), (r"[\p{^L}]", "a1"),
    (r"[\P{L}]", "a1"), (r"[\d]", "a1٣"), (r"[^\d]", "a1٣"), (r"\p{Hani}", "a中"), (r"(?i)[k]", "k\u212aK"),
    (r"[\p{Han}&&[^一]]", "一二"), (r"\p{L}{1,3}+", "abcdefg hi"), (r"\p{L}+", "\U00010d4a\U000105c0 \U00031350x"),
    (r"[^\s\p{L}\p{N}]+", "\U00010d4a\U00010d40 !\U0001fae9"), (r"\w+", "\u0897\U00010d4a-\u203f"),
    (r"\d+", "\U00010d40\U00011f50"), (r"\O", "O\n"), (r"\e", "\x1b"), (r"\cA", "\x01"), (r"[\101-\103]", "ABCD"),
    (r"é{1,2}+", "éééé"), (r"[[^a][^b]]", "ab"), (r"[^[:alpha:][:space:]]", "a 1"), (r"\h+", "xafg"), (r"[\H]", "xg"),
    (r"a{,2}*b", "aaaab b"), (r"a+{2}", "aaaa a"), (r"a{1,2}{2}", "aaaaa"), (r"(?:a{1,2}b){2}+", "abaabab"), (r"a{1,2}?", "aaa"),
    (r"a**b", "aab"), (r"a+?{2}", "aaaa"), (r"[a-c-[x]]", "abc-x"), (r"(?=a)a{1}+", "aab"),
]
# What published tokenizers split by, of several families.
PUBLISHED = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[一-龥぀-ゟ゠-ヿ]+|[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"\w+|[^\w\s]+", r" ?[^(\s|[.,!?…。，、।۔،])]+", r"\p{N}{1,3}+|\p{L}++",
]
# But surrogates, and planes without a character or for private use.
EVERY = [c for c in range(1, 0xF1000) if not 0xD800 <= c <= 0xDFFF and not 0x34000 <= c < 0xE0000]


def spans(pattern, text):
    """What Split isolates and that is gone where it removes."""
    isolated = pre_tokenizers.Split(Regex(pattern), behavior="isolated").pre_tokenize_str(text)
    kept = {span for _, span in pre_tokenizers.Split(Regex(pattern), behavior="removed").pre_tokenize_str(text)}
    return [span for _, span in isolated if span not in kept]


def matches(pattern, text):
    return [text[begin:end] for begin, end in spans(pattern, text)]


def every(pattern):
    text = "".join(map(chr, EVERY))
    offsets = list(itertools.accumulate((len(c.encode()) for c in text), initial=0))
    found = spans(pattern, text)
    lines = "".join(f"{offsets[begin]} {offsets[end]}\n" for begin, end in found)
    return {"pattern": pattern, "count": len(found), "sha256": hashlib.sha256(lines.encode()).hexdigest()}


def token(content="<x>", **flags):
    return {"content": content, "lstrip": False, "rstrip": False, "single_word": False, "normalized": False,
            "special": False, **flags}


def base_tokenizer(added=(), post=None, decoder=True):
    """Bytes in the byte alphabet, in its order, then <s> and </s>."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {c: i for i, c in enumerate(alphabet)} | {"<s>": 256, "</s>": 257}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if decoder:
        tokenizer.decoder = decoders.ByteLevel()
    if added:
        tokenizer.add_tokens(list(added))
    if post:
        tokenizer.post_processor = post
    return json.loads(tokenizer.to_str())


def folders():
    """Files of a folder, by name; the text to encode."""
    fast = {"tokenizer_class": "PreTrainedTokenizerFast"}
    plain = AddedToken("<x>", normalized=False)
    bos = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 256)])
    roberta = processors.RobertaProcessing(("</s>", 257), ("<s>", 256))
    bert = processors.BertProcessing(("</s>", 257), ("<s>", 256))
    text = "a<x> b"
    yield {"tokenizer.json": base_tokenizer()}, text
    yield {"tokenizer.json": base_tokenizer(),
           "tokenizer_config.json": fast | {"added_tokens_decoder": {"258": token()}}}, text
    yield {"tokenizer.json": base_tokenizer(),
           "tokenizer_config.json": fast | {"added_tokens_decoder": {"258": token(rstrip=True)}}}, text
    yield {"tokenizer.json": base_tokenizer(),
           "tokenizer_config.json": fast | {"added_tokens_decoder": {
               "260": token("<z>"), "258": token(), "259": token("<y>", special=True)}}}, "<y><z>" + text
    yield {"tokenizer.json": base_tokenizer([plain]),
           "tokenizer_config.json": fast | {"added_tokens_decoder": {"258": token(rstrip=True)}}}, text
    yield {"tokenizer.json": base_tokenizer([AddedToken("<x>", normalized=False, rstrip=True)]),
           "tokenizer_config.json": fast | {"added_tokens_decoder": {"258": token()}}}, text
    yield {"tokenizer.json": base_tokenizer(), "added_tokens.json": {"<x>": 258}}, text
    yield {"tokenizer.json": base_tokenizer(), "tokenizer_config.json": fast, "added_tokens.json": {"<x>": 258}}, text
    yield {"tokenizer.json": base_tokenizer(), "added_tokens.json": {"<x>": 258},
           "tokenizer_config.json": fast | {"added_tokens_decoder": {"258": token("<y>")}}}, text + "<y>"
    yield {"tokenizer.json": base_tokenizer(),
           "tokenizer_config.json": fast | {"additional_special_tokens": ["<x>"]}}, text
    yield {"tokenizer.json": base_tokenizer(), "tokenizer_config.json": fast | {"pad_token": "<x>"}}, text
    yield {"tokenizer.json": base_tokenizer(), "tokenizer_config.json": fast | {"bos_token": "<s>"}}, "<s>a"
    yield {"tokenizer.json": base_tokenizer(), "tokenizer_config.json": fast,
           "special_tokens_map.json": {"bos_token": token("<s>", special=True)}}, "<s>a"
    for wanted in (True, False):
        yield {"tokenizer.json": base_tokenizer(post=bos),
               "tokenizer_config.json": fast | {"bos_token": "<s>", "add_bos_token": wanted}}, "ab"
    yield {"tokenizer.json": base_tokenizer(post=roberta), "tokenizer_config.json": fast}, text
    yield {"tokenizer.json": base_tokenizer(post=bert), "tokenizer_config.json": fast}, text
    yield {"tokenizer.json": base_tokenizer(decoder=False), "tokenizer_config.json": fast}, "ab <s>"


def main():
    transformers.logging.set_verbosity_error()
    cases = []
    for part in PRE_TOKENIZERS:
        words = [[word for word, _ in part.pre_tokenize_str(text)] for text in TEXTS]
        wrapped = Tokenizer(models.BPE())
        wrapped.pre_tokenizer = part
        cases.append({"kind": "pre_tokenizer", "part": json.loads(wrapped.to_str())["pre_tokenizer"], "texts": TEXTS,
                      "words": words})
    for part in NORMALIZERS:
        wrapped = Tokenizer(models.BPE())
        wrapped.normalizer = part
        cases.append({"kind": "normalizer", "part": json.loads(wrapped.to_str())["normalizer"], "texts": TEXTS,
                      "normalized": [part.normalize_str(text) for text in TEXTS]})
    for pattern, text in PATTERNS:
        cases.append({"kind": "regex", "pattern": pattern, "text": text, "matches": matches(pattern, text)})
    cases += [{"kind": "every"} | every(pattern) for pattern in PUBLISHED]
    for files, text in folders():
        with tempfile.TemporaryDirectory() as folder:
            for name, value in files.items():
                pathlib.Path(folder, name).write_text(json.dumps(value), encoding="utf-8")
            # Without the configuration of a model, the tokenizer's class is that of the package's base.
            tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
        ids = tokenizer(text)["input_ids"]
        cases.append({"kind": "folder", "files": files, "text": text, "ids": ids, "decoded": tokenizer.decode(ids)})
    path = HERE / "tokenizer/parts.jsonl"
    make_tokenizer.write_atomic(path, "".join(json.dumps(c, separators=(",", ":")) + "\n" for c in cases))
    print(f"{path.relative_to(HERE)}: {len(cases)} cases, {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
