#!/usr/bin/env python3
"""Writes the golden files of the tokenizers: what the `tokenizers` package makes of 1,000 strings.

  tokenizer/demo/strings.jsonl    for models/demo/tokenizer.json
  tokenizer/gpt2/tokenizer.json   a tokenizer of another kind, trained here: ByteLevel with its own regular
                                  expression and a prefix space, no post-processor, merges in the older
                                  form ("a b"), added tokens with lstrip, rstrip and single_word
  tokenizer/gpt2/strings.jsonl    the same strings with it
  tokenizer/unicode/tokenizer.json  one that normalizes to NFKC and lower case, and replaces by regular
                                  expressions before and after, trained here
  tokenizer/unicode/strings.jsonl the same strings with it
  tokenizer/wordpiece/tokenizer.json  one as BERT's: BertNormalizer, BertPreTokenizer, WordPiece, a template; its
                                  vocabulary is made here
  tokenizer/wordpiece/strings.jsonl the same strings with it
  tokenizer/normalizers.jsonl     the same strings in each normalization form and in lower case
  tokenizer/<name>/decode.jsonl   sequences of token ids, most of them no valid UTF-8, and their text

README.md names the fields. Everything follows from the seed below.
Usage: make_tokenizer.py     Needs tokenizers.
"""

import collections
import json
import os
import pathlib
import random

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

HERE = pathlib.Path(__file__).resolve().parent
DEMO = HERE.parent.parent / "models/demo/tokenizer.json"
SEED = 20240229
COUNT = 1000

WORDS = {
    "latin": "the of and to King said house because Yahweh naïve café Straße ŒUVRE ﬁne İstanbul ıslak "
             "Ångström façade résumé jalapeño Øresund łódź Příliš žluťoučký kůň über ß ẞ ǅ Việt Nam tiếng",
    "greek": "ἐν ἀρχῇ ἦν ὁ λόγος καὶ θεός Ελληνικά γλώσσα ΣΊΣΥΦΟΣ σίσυφος ΐ ϐ ϑ",
    "cyrillic": "Привет мир съешь ещё этих мягких французских булок Київ їжак Ђорђе қазақ ѣ",
    "hebrew": "בְּרֵאשִׁית בָּרָא אֱלֹהִים שלום עולם ירושלים",
    "arabic": "السلام عليكم بِسْمِ اللَّهِ الرَّحْمَٰنِ كتاب ٱلْحَمْدُ فارسی می‌خواهم ﷺ ١٢٣ ۴۵۶",
    "devanagari": "नमस्ते दुनिया हिन्दी क्षत्रिय ज्ञान संस्कृतम् १२३ क्‍ष",
    "bengali": "বাংলা ভাষা আমার সোনার ১২৩",
    "tamil": "தமிழ் மொழி வணக்கம் ௧௨௩",
    "thai": "สวัสดีชาวโลก ภาษาไทย น้ำ ๑๒๓ เก้าอี้",
    "georgian": "საქართველო გამარჯობა ᲡᲐᲥᲐᲠᲗᲕᲔᲚᲝ",
    "armenian": "Հայաստան բարեւ և",
    "ethiopic": "ሰላም ዓለም ፩፪፫",
    "tibetan": "བོད་སྐད་ བཀྲ་ཤིས་",
    "khmer": "ភាសាខ្មែរ កម្ពុជា",
    "chinese": "你好世界 中文 漢字 繁體 一二三 、。「」 𠀀 𪚥 〇",
    "japanese": "こんにちは カタカナ ひらがな 日本語 ｶﾀｶﾅ が ガ ー 々 〜",
    "hangul": "안녕하세요 세계 한국어 ㄱㄴㄷ 각 힣",
    "math": "∀x∈ℝ ∑ᵢ₌₁ⁿ √2 ≤ ∞ 𝔸𝕓𝒸 ½ ² Ⅷ ①②",
    "gothic": "𐌲𐌿𐍄 𐍆𐌰𐌳𐌰𐍂",
    "emoji": "😀 👍🏽 👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 ❤️ ☃ 🧑🏿‍🚀 1️⃣ ©️ 🫠",
    "marks": "é à̖́ ñ Z̸͑a̷l̶g̵o̴ क़ ạ̈ ‌ ‍ x͏y ⃝",
    "code": "int main(void) {\n\treturn 0;\n} x+=1; a[i]->b::c<T> // comment /* */ \"str\\n\" '\\'' "
            "#include <a.h> def f(x): λ=>x !== === && || ?? ... 0xFF 1e-5 C:\\dir ~/.config https://a.b/c?d=e&f",
    "numbers": "0 1 12 123 1234 12345 123456 1,234.56 -7 +3 3.14159 1e10 007 2024-02-29 12:34:56 10% $5 ٣ Ⅳ ½ 𝟙𝟚𝟛",
    "contractions": "I'm you're he's she'd we'll they've don't IT'S I'M WE'LL You'Ve can't 'tis o'clock "
                    "'s 't 're 've 'm 'll 'd 'S ''s it’s don’t x'dx ſ'ſ",
    "special": "<|begin_of_text|> <|end_of_text|> <|endoftext|> <mask> <|begin_of_text <|end_of_text|>x "
               "a<|end_of_text|>b <|<|end_of_text|>|> <MASK> <sep> word words Word",
}
GAPS = [" ", " ", " ", " ", " ", "", "", "  ", "   ", "     ", "\n", "\n\n", "\r\n", "\t", " \n", "\n ", " \t ",
        "\u00a0", "\u3000", "\u2009", "\u2028", "\u0085", "\u200b", "\ufeff", "\v", "\f", "-", "—", ", ", ". ", "’"]
EDGES = ["", "", "", "", "", " ", "  ", "\n", " \n \n", "\t\t", "\r", "\u00a0"]

FIXED = [
    "", " ", "  ", "   ", "\n", "\n\n", "\r\n", "\r", "\t", " \n", "\n ", " \n ", "\u0000", "a\u0000b",
    "".join(map(chr, range(32))), "\u007f\u0080\u009f\u00ad", "\ud7ff\ue000\uf8ff\ufffd\uffff\U0010ffff",
    "<|begin_of_text|>", "<|end_of_text|>", "<|begin_of_text|><|begin_of_text|>", " <|end_of_text|> ",
    "x <mask>", "x   <mask>   y", "<mask><mask>", "  <sep>  \n x", "word", "a word, words; sword word",
    "word_ word1 éword wordé -word-", "<|endoftext|>word<mask>word<sep>",
    "a" * 300, " " * 130, "\n" * 70, "ab" * 150, "é" * 100, "👍" * 40, "0123456789" * 12, "!?" * 60,
    "In the beginning, God created the heavens and the earth.",
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, "
    "must be in want of a wife.",
    "  leading and trailing  ", "tabs\t\tand\nnew\r\nlines", "x\u0301\u0302\u0303", "'", "''", "'''s",
    "1234567890", "12 345 6789", "a1b22c333d4444", "\u0130\u0131\u017f\u212a", "K'ſ k'S k'ſ",
]


def join(rng, parts):
    text = rng.choice(EDGES)
    for at, part in enumerate(parts):
        text += (rng.choice(GAPS) if at else "") + part
    return text + rng.choice(EDGES)


def strings():
    """COUNT distinct strings: the fixed ones, then one script, mixed scripts, raw code points."""
    rng = random.Random(SEED)
    words = {name: text.split(" ") for name, text in WORDS.items()}
    names = sorted(words)
    every = [w for name in names for w in words[name]]
    blocks = [(0x20, 0x7F), (0x20, 0x7F), (0xA0, 0x250), (0x250, 0x530), (0x590, 0x700), (0x900, 0xE00),
              (0xE00, 0x1100), (0x1E00, 0x2000), (0x2000, 0x2C00), (0x3000, 0x3400), (0x4E00, 0xA000),
              (0xA000, 0xD7A4), (0xE000, 0x10000), (0x10000, 0x10FFFF), (0, 0x20)]
    out = dict.fromkeys(FIXED)
    while len(out) < COUNT:
        kind = rng.random()
        if kind < 0.5:
            name = names[len(out) % len(names)]
            text = join(rng, [rng.choice(words[name]) for _ in range(rng.randint(1, 7))])
        elif kind < 0.85:
            text = join(rng, [rng.choice(every) for _ in range(rng.randint(1, 8))])
        else:
            points = []
            for _ in range(rng.randint(1, 12)):
                low, high = rng.choice(blocks)
                points.append(chr(rng.randrange(low, high)))
            text = "".join(points)
        out[text] = None
    return list(out)


def train_gpt2(texts):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000, show_progress=False, min_frequency=2, special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True),
                                  AddedToken("<sep>", rstrip=True, special=True)])
    tokenizer.add_tokens([AddedToken("word", single_word=True, normalized=False)])
    data = json.loads(tokenizer.to_str())
    data["model"]["merges"] = [m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]]
    return json.dumps(data, indent=1) + "\n"


def train_unicode(texts):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace(Regex(r"\s+"), " "),
        normalizers.Strip(left=True, right=True)])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace(Regex("▁+"), " "), decoders.Fuse(), decoders.Replace(Regex(r"^ | (?=[.,;:!?])"), ""),
        decoders.Replace("--", "$1")])
    lines = [tokenizer.normalizer.normalize_str(text) for text in texts]
    counts = collections.Counter("".join(lines).replace(" ", "▁"))
    # The trainer breaks ties between characters in no fixed order, so they are chosen here.
    alphabet = sorted(counts, key=lambda c: (-counts[c], c))[:500]
    trainer = trainers.BpeTrainer(
        vocab_size=900, show_progress=False, min_frequency=2, special_tokens=["<unk>", "<s>"],
        initial_alphabet=alphabet, limit_alphabet=500)
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.add_tokens([AddedToken("Word", normalized=True), AddedToken("İx", normalized=False)])
    return json.dumps(json.loads(tokenizer.to_str()), indent=1) + "\n"


def make_wordpiece(texts):
    """The vocabulary: frequent characters, inside of words too; whole words; ends of words."""
    normalizer, splitter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words = collections.Counter(word for text in texts
                                for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    characters, ends = collections.Counter(), collections.Counter()
    for word, count in words.items():
        characters.update({c: count for c in word})
        ends.update({word[at:]: count for at in range(1, len(word)) if len(word) - at <= 3})

    def frequent(counts, most):
        return sorted(counts, key=lambda text: (-counts[text], text))[:most]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = frequent(characters, 450)
    pieces = [*special, *known, *("##" + c for c in known[:350]), *frequent(words, 250),
              *("##" + end for end in frequent(ends, 150))]
    vocab = {piece: id for id, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, vocab[name]) for name in ("[CLS]", "[SEP]")])
    return json.dumps(json.loads(tokenizer.to_str()), indent=1) + "\n"


def write_normalizers(path, texts):
    """Of each text the forms that differ from it."""
    lines = []
    for text in texts:
        forms = {name: getattr(normalizers, name)().normalize_str(text)
                 for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase")}
        changed = {name: form for name, form in forms.items() if form != text}
        lines.append(json.dumps({"text": text, **changed}, separators=(",", ":")))
    write_atomic(path, "\n".join(lines) + "\n")


def write_atomic(path, data):
    part = path.with_name(path.name + ".part")
    part.write_text(data, encoding="utf-8")
    os.replace(part, path)


def write_strings(folder, tokenizer, texts):
    lines = []
    for text in texts:
        ids = tokenizer.encode(text).ids
        lines.append(json.dumps({
            "text": text,
            "ids": ids,
            "ids_no_special": tokenizer.encode(text, add_special_tokens=False).ids,
            "decoded": tokenizer.decode(ids),
            "decoded_all": tokenizer.decode(ids, skip_special_tokens=False),
        }, separators=(",", ":")))
    write_atomic(folder / "strings.jsonl", "\n".join(lines) + "\n")


def write_decode(folder, tokenizer):
    rng = random.Random(SEED + 1)
    size = tokenizer.get_vocab_size()
    lines = []
    for _ in range(200):
        high = rng.choice([260, size])
        ids = [rng.randrange(high) for _ in range(rng.randint(1, 12))]
        lines.append(json.dumps({
            "ids": ids,
            "decoded": tokenizer.decode(ids),
            "decoded_all": tokenizer.decode(ids, skip_special_tokens=False),
        }, separators=(",", ":")))
    write_atomic(folder / "decode.jsonl", "\n".join(lines) + "\n")


def main():
    texts = strings()
    assert len(texts) == COUNT
    train = {"gpt2": train_gpt2, "unicode": train_unicode, "wordpiece": make_wordpiece}
    for name in ("demo", *train):
        folder = HERE / "tokenizer" / name
        folder.mkdir(parents=True, exist_ok=True)
        path = DEMO
        if name in train:
            path = folder / "tokenizer.json"
            write_atomic(path, train[name](texts))
        tokenizer = Tokenizer.from_file(str(path))
        write_strings(folder, tokenizer, texts)
        write_decode(folder, tokenizer)
        print(f"{name}: {tokenizer.get_vocab_size()} tokens, {len(texts)} strings")
    write_normalizers(HERE / "tokenizer/normalizers.jsonl", texts)


if __name__ == "__main__":
    main()
