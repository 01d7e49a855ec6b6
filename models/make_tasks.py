#!/usr/bin/env python3
"""Makes cloze.jsonl, the tasks of `tapml eval` for the demo model, from text that training did not see.

The text is the held-out chapters of train_demo.py (about one in fifty, chosen by their hash), which neither the
model nor its tokenizer was trained on; its packages are downloaded the same way. A task hides the last word of a
sentence: as exact_match it is to be written, as multiple_choice to be told from three other words that end
sentences in the same text. A few paragraphs measure perplexity. No task is chosen by what a model makes of it.

Usage: make_tasks.py [--work out/train] [--out models/cloze.jsonl]
"""

import argparse
import hashlib
import json
import pathlib
import re

import train_demo

EXACT, CHOICE, PERPLEXITY = 176, 40, 12  # tasks of each kind


def order(text):
    """A place that depends on the text alone."""
    return hashlib.sha256(text.encode()).hexdigest()


def clozes(chapters):
    """(prompt, word) for the sentences of each chapter, with what stands before it as context."""
    found = {}
    for chapter in chapters:
        for paragraph in chapter.split("\n"):
            for match in re.finditer(r" (\w{3,})(?=[.!?](?:\s|”|$))", paragraph):
                prompt = paragraph[: match.start()]
                # A whole sentence at least, and no more than a few.
                starts = [0] + [m.end() for m in re.finditer(r"[.!?]”? ", prompt)]
                begin = next((s for s in starts if len(prompt) - s <= 240), None)
                if begin is None or len(prompt) - begin < 60:
                    continue
                found.setdefault(prompt[begin:], match[1])
    return sorted(found.items(), key=lambda item: order(item[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("out/train"))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("models/cloze.jsonl"))
    args = parser.parse_args()

    _, chapters = train_demo.load_text(args.work)
    items = clozes(chapters)
    words = sorted({word for _, word in items}, key=order)
    tasks = []
    for i, (prompt, word) in enumerate(items[:EXACT]):
        tasks.append({"id": f"cloze-{i + 1:03}", "kind": "exact_match", "prompt": prompt, "answer": f" {word}"})
    for i, (prompt, word) in enumerate(items[EXACT : EXACT + CHOICE]):
        # The three that follow the word in the order of hashes are as good as any.
        at = words.index(word)
        choices = [word] + [words[(at + step) % len(words)] for step in (1, 2, 3)]
        choices.sort(key=lambda choice: order(prompt + choice))
        tasks.append({"id": f"choice-{i + 1:03}", "kind": "multiple_choice", "prompt": prompt,
                      "choices": [f" {choice}" for choice in choices], "answer": choices.index(word)})
    paragraphs = sorted((p for c in chapters for p in c.split("\n") if 300 <= len(p) <= 700), key=order)
    for i, text in enumerate(paragraphs[:PERPLEXITY]):
        tasks.append({"id": f"text-{i + 1:02}", "kind": "perplexity", "text": text})
    assert len(tasks) == EXACT + CHOICE + PERPLEXITY, len(tasks)
    args.out.write_text("".join(json.dumps(task, ensure_ascii=False) + "\n" for task in tasks))
    print(f"{len(tasks)} tasks of {len(chapters)} held-out chapters: {args.out}")


if __name__ == "__main__":
    main()
