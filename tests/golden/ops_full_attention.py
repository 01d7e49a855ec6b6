"""Golden cases of attention without a cache: PyTorch attends with a mask of what each query sees."""

import torch

from make_ops import DTYPES, Case


def attended(q, keys, values, counts, scale, reach=0):
    """Grouped-query attention in f64, where query i of batch b sees the first counts[b] positions, with a reach those
    at most that far from i. Without any, the result is 0."""
    group = q.shape[2] // keys.shape[2]
    k, v = (x.double().repeat_interleave(group, 2).transpose(1, 2) for x in (keys, values))
    own, position = torch.arange(q.shape[1])[:, None], torch.arange(keys.shape[1])[None]
    seen = (position < counts.long()[:, None, None]).expand(-1, q.shape[1], -1)
    if reach:
        seen = seen & ((own - position).abs() <= reach)
    scores = (q.double().transpose(1, 2) @ k.transpose(2, 3) * scale).masked_fill(~seen[:, None], -torch.inf)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return (weights @ v).transpose(1, 2)


# batches, queries, positions, query heads, key-value heads, width, width of values
SHAPES = ((1, 1, 1, 1, 1, 2, 2), (2, 3, 3, 4, 2, 8, 8), (3, 5, 9, 6, 1, 4, 7), (1, 17, 17, 3, 3, 5, 5), (2, 9, 4, 2, 2, 3, 1))


def cases():
    for batches, count, positions, heads, kv_heads, width, wide in SHAPES:
        counts = torch.randint(0, positions + 1, (batches,), dtype=torch.int32)
        counts[0] = positions
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            q = torch.randn(batches, count, heads, width).to(dtype)
            keys = torch.randn(batches, positions, kv_heads, width).to(dtype)
            values = torch.randn(batches, positions, kv_heads, wide).to(dtype)
            for more in ({}, {"reach": 1}, {"reach": 3}):
                yield Case("attention", [q, keys, values, counts], [attended(q, keys, values, counts, 0.25, **more)],
                           {"scale": 0.25, **more}, [DTYPES[dtype]])
