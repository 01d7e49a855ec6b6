#!/usr/bin/env python3
"""Compares two folders of golden files: what is stored and what the scripts write now.

Token ids, texts, tokenizers and generators must be equal. Logits may differ by 1e-5 of the largest one
(another CPU rounds sums differently), greedy tokens from where the two most likely were that close on,
floats of operators by 1e-6 relative. Logits that make_logits_llama_cpp.py wrote are left out: NEW has none.
Usage: compare.py STORED NEW     Exit code 1 where they differ.
"""

import pathlib
import sys

import torch
from safetensors import safe_open
from safetensors.torch import load_file

LOGITS = 1e-5


def close(stored, new, tolerance):
    return stored.shape == new.shape and bool(((stored - new).abs() <= tolerance).all())


def compare_logits(stored, new):
    problems = []
    if stored.keys() != new.keys():
        return [f"tensors {sorted(stored)} and {sorted(new)}"]
    tolerance = LOGITS * max(1.0, float(stored["logits"].abs().max()))
    for name in stored:
        old, now = stored[name], new[name]
        if name in ("logits", "run_logits"):
            if not close(old, now, tolerance):
                problems.append(f"{name} differ by more than {tolerance:.1e}")
        elif name.startswith("greedy"):
            parts = (old != now).nonzero()
            margin = stored[name.replace("greedy", "margins")]
            if len(parts) and float(margin[int(parts[0])]) > 2 * tolerance:
                problems.append(f"{name} differs from token {int(parts[0])} on, which is no tie")
        elif name.startswith("margins"):
            same = int((stored[name.replace("margins", "greedy")] == new[name.replace("margins", "greedy")])
                       .long().cumprod(0).sum())
            if not close(old[:same], now[:same], 2 * tolerance):
                problems.append(f"{name} differ")
        elif not torch.equal(old, now):
            problems.append(f"{name} differs")
    return problems


def compare_tensors(stored, new):
    if stored.keys() != new.keys():
        return ["the names of the tensors differ"]
    return [f"{name} differs" for name in stored
            if stored[name].dtype != new[name].dtype or stored[name].shape != new[name].shape
            or not torch.allclose(stored[name].double(), new[name].double(), rtol=1e-6, atol=1e-12,
                                  equal_nan=True)]


def compare_file(path, stored, new):
    if path.suffix == ".safetensors":
        compare = compare_logits if path.parts[0] in ("logits", "images") else compare_tensors
        return compare(load_file(stored / path), load_file(new / path))
    return [] if (stored / path).read_bytes() == (new / path).read_bytes() else ["the text differs"]


def files_of(folder):
    kinds = (".json", ".jsonl", ".safetensors")
    return {path.relative_to(folder) for path in folder.rglob("*") if path.suffix in kinds}


def of_llama_cpp(path, stored):
    """Whether the file belongs to logits by llama.cpp."""
    golden = stored / path.parent / "golden.safetensors"
    if path.parts[0] != "logits" or not golden.exists():
        return False
    with safe_open(str(golden), "pt") as file:
        return "by" in (file.metadata() or {})


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    stored, new = (pathlib.Path(argument) for argument in sys.argv[1:])
    files, problems = files_of(stored) | files_of(new), 0
    left_out = {path for path in files if of_llama_cpp(path, stored)}
    files -= left_out
    for path in sorted(files):
        if not (stored / path).exists() or not (new / path).exists():
            found = [f"is not in {stored if not (stored / path).exists() else new}"]
        else:
            found = compare_file(path, stored, new)
        for problem in found:
            print(f"{path}: {problem}")
        problems += bool(found)
    print(f"{len(files)} files, {problems} differ; {len(left_out)} by llama.cpp are left out")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
