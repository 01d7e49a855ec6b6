#!/usr/bin/env python3
"""Writes sampler.json: the tokens that sampling draws from known logits, by the rules of
src/llm/sampler.h, written once more here in plain f64.

Each case has a `seed` (of the logits and of the generator), `vocabulary`, `temperature`, `top_k`,
`top_p`, and `tokens`, one for each of its draws. Logits of draw d are 6 * unit of elements
d * vocabulary, ... of rng.py's stream "logits" in f32, quantized to 1/4 where `ties` is set.
Usage: make_sampler.py     Needs numpy.
"""

import json
import math
import os
import pathlib

import numpy as np

import rng

HERE = pathlib.Path(__file__).resolve().parent
DRAWS = 40
CASES = [
    {"seed": 1, "vocabulary": 50, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "ties": False},
    {"seed": 2, "vocabulary": 1000, "temperature": 0.7, "top_k": 0, "top_p": 0.9, "ties": False},
    {"seed": 3, "vocabulary": 1000, "temperature": 1.5, "top_k": 40, "top_p": 0.95, "ties": False},
    {"seed": 4, "vocabulary": 64, "temperature": 2.0, "top_k": 7, "top_p": 1.0, "ties": True},
    {"seed": 5, "vocabulary": 300, "temperature": 0.3, "top_k": 0, "top_p": 0.5, "ties": True},
    {"seed": 6, "vocabulary": 128, "temperature": 100.0, "top_k": 0, "top_p": 0.999, "ties": False},
    {"seed": 7, "vocabulary": 128, "temperature": 0.01, "top_k": 3, "top_p": 0.2, "ties": True},
    {"seed": 8, "vocabulary": 5000, "temperature": 0.9, "top_k": 0, "top_p": 1.0, "ties": False},
]
LN2_HIGH = float.fromhex("0x1.62e42feep-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
INVERSE_LN2 = float.fromhex("0x1.71547652b82fep+0")


def exp_nonpositive(x):
    if not x >= -700:
        return 0.0
    n = math.floor(x * INVERSE_LN2 + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    total = 1.0 / 13
    for k in range(12, 1, -1):
        total = (1 + r * total) / k
    return math.ldexp(1 + (r + r * r * total), n)


def draw_unit(seed, draw):
    upper, lower = (int(w) for w in rng.words(seed, "sample", 2 * draw + 2)[2 * draw:])
    return ((upper << 32 | lower) >> 11) * 2.0**-53


def logits_of(case, draw):
    count = case["vocabulary"]
    values = rng.unit(case["seed"], "logits", (draw + 1) * count)[draw * count:] * np.float32(6)
    return np.round(values * np.float32(4)) / np.float32(4) if case["ties"] else values


def sample(logits, case, draw):
    order = sorted(range(len(logits)), key=lambda i: (-float(logits[i]), i))
    if case["top_k"]:
        order = order[: case["top_k"]]
    largest = float(logits[order[0]])
    sums, total = [], 0.0
    for i in order:
        total += exp_nonpositive((float(logits[i]) - largest) / case["temperature"])
        sums.append(total)
    kept = next(s for s in sums if s >= case["top_p"] * total)
    threshold = draw_unit(case["seed"], draw) * kept
    return next(i for i, s in zip(order, sums) if s > threshold)


def main():
    cases = []
    for case in CASES:
        tokens = [sample(logits_of(case, d), case, d) for d in range(DRAWS)]
        cases.append({**case, "tokens": tokens})
    part = HERE / "sampler.json.part"
    part.write_text("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
    os.replace(part, HERE / "sampler.json")
    print(f"sampler.json: {len(cases)} cases of {DRAWS} draws")


if __name__ == "__main__":
    main()
