"""The counter-based generator of test weights: the same bits in Python (here) and C++.

Philox4x32-10. For the tensor `name` of a model with the seed `seed` (a decimal integer):

  key      the first 8 bytes of SHA-256("<seed>:<name>"), as two little-endian u32 (k0, k1)
  counter  (i mod 2^32, i div 2^32, 0, 0) gives the four u32 of elements 4i .. 4i+3, in order
  unit(u)  (u >> 8) * 2^-23 - 1, in [-1, 1), exact in f32

  one round of (c0, c1, c2, c3):   p = 0xD2511F53 * c0,  q = 0xCD9E8D57 * c2  (64-bit products)
                                   (hi(q) ^ c1 ^ k0, lo(q), hi(p) ^ c3 ^ k1, lo(p))
  ten rounds; between two of them  k0 += 0x9E3779B9, k1 += 0xBB67AE85  (mod 2^32)

Weights, in f32 arithmetic with one rounding at each operation, then rounded to the storage dtype
(nearest, ties to even): a norm's weight (a tensor with one dimension) is 1 + 0.1f * unit, a bias 0.1f * unit, every other one 0.08f * unit. Elements are in row-major order.
"""

import hashlib

import numpy as np

NORM_SCALE = np.float32(0.1)
BIAS_SCALE = np.float32(0.1)
WEIGHT_SCALE = np.float32(0.08)


def philox(key, counter):
    """The four u32 words [n, 4] for u64 block numbers [n]."""
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    c = [counter & low, counter >> shift, np.zeros_like(counter), np.zeros_like(counter)]
    k0, k1 = key
    for _ in range(10):
        p = np.uint64(0xD2511F53) * c[0]
        q = np.uint64(0xCD9E8D57) * c[2]
        c = [(q >> shift) ^ c[1] ^ np.uint64(k0), q & low, (p >> shift) ^ c[3] ^ np.uint64(k1), p & low]
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, -1).astype(np.uint32)


def key_of(seed, name):
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")


def words(seed, name, count):
    """The first count u32 of the tensor's stream."""
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    return philox(key_of(seed, name), blocks).reshape(-1)[:count]


def unit(seed, name, count):
    """The first count values in [-1, 1), f32."""
    value = (words(seed, name, count) >> np.uint32(8)).astype(np.float32)
    return value * np.float32(2.0**-23) - np.float32(1.0)


def weight(seed, name, shape, scale=WEIGHT_SCALE):
    """A tensor's values in f32, before the rounding to its storage dtype; `scale` is of matrices."""
    value = unit(seed, name, int(np.prod(shape)))
    if name.endswith(".bias"):
        value = BIAS_SCALE * value
    elif len(shape) == 1:
        value = np.float32(1.0) + NORM_SCALE * value
    else:
        value = np.float32(scale) * value
    return value.reshape(shape)


def check():
    """The published known answers of Philox4x32-10."""
    zero = philox((0, 0), np.array([0], dtype=np.uint64))[0]
    assert [hex(x) for x in zero] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


if __name__ == "__main__":
    check()
    for seed, name in ((0, "x"), (1, "model.embed_tokens.weight"), (2, "model.norm.weight")):
        print(seed, name, [hex(x) for x in key_of(seed, name)],
              [hex(x) for x in words(seed, name, 5)], unit(seed, name, 2).tolist())
