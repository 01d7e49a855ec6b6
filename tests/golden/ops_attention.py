"""Golden cases of the paged cache: pages are gathered, then PyTorch attends over what lies there."""

import torch
import torch.nn.functional as F

from make_ops import DTYPES, Case


def table_of(batches, per_batch, pages):
    """Each batch has pages of its own, in no order."""
    return torch.randperm(pages)[:batches * per_batch].reshape(batches, per_batch).int()


def appended(pool, fresh, table, lengths):
    size = pool.shape[1]
    result = pool.clone()
    for b in range(fresh.shape[0]):
        for i in range(fresh.shape[1]):
            position = int(lengths[b]) + i
            result[int(table[b, position // size]), position % size] = fresh[b, i].to(pool.dtype)
    return result


def attended(q, keys, values, table, lengths, scale, window=0, soft_cap=0.0):
    """Grouped-query attention in f64, where query i of batch b sees positions 0 .. lengths[b] + i, of them the
    last `window`."""
    batches, count, heads, _ = q.shape
    # [batches, positions, kv_heads, d]
    k, v = (pool.double()[table.long()].flatten(1, 2) for pool in (keys, values))
    position = torch.arange(k.shape[1])
    last = lengths.long()[:, None] + torch.arange(count)
    distance = last[:, :, None] - position[None, None]
    seen = ((distance >= 0) & ((distance < window) if window else True))[:, None]
    group = heads // k.shape[2]
    if soft_cap:
        scores = q.double().transpose(1, 2) @ k.repeat_interleave(group, 2).permute(0, 2, 3, 1) * scale
        scores = (soft_cap * torch.tanh(scores / soft_cap)).masked_fill(~seen, -torch.inf)
        return (scores.softmax(-1) @ v.repeat_interleave(group, 2).transpose(1, 2)).transpose(1, 2)
    out = F.scaled_dot_product_attention(
        q.double().transpose(1, 2), k.repeat_interleave(group, 2).transpose(1, 2),
        v.repeat_interleave(group, 2).transpose(1, 2), attn_mask=seen, scale=scale)
    return out.transpose(1, 2)


# batches, new tokens, query heads, key-value heads, width, pages, rows a page, pages a batch
SHAPES = ((1, 1, 1, 1, 2, 1, 1, 1), (2, 3, 4, 2, 8, 7, 4, 3), (3, 5, 6, 1, 4, 9, 2, 3),
          (1, 17, 3, 3, 5, 4, 16, 2))


def cases():
    for batches, count, heads, kv_heads, width, pages, rows, per_batch in SHAPES:
        table = table_of(batches, per_batch, pages)
        lengths = torch.randint(0, per_batch * rows - count + 1, (batches,), dtype=torch.int32)
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            pool, values = (torch.randn(pages, rows, kv_heads, width).to(dtype) for _ in range(2))
            fresh = torch.randn(batches, count, kv_heads, width).to(dtype)
            keys = appended(pool, fresh, table, lengths)
            yield Case("kv_append", [pool, fresh, table, lengths], [keys])
            q = torch.randn(batches, count, heads, width).to(dtype)
            for more in ({}, {"window": 3}, {"soft_cap": 0.75}, {"window": 1, "soft_cap": 2.5}):
                if more and dtype != torch.float32:
                    continue
                yield Case("paged_attention", [q, keys, values, table, lengths],
                           [attended(q, keys, values, table, lengths, 0.25, **more)], {"scale": 0.25, **more},
                           [DTYPES[dtype]])
    # A cache in a narrower dtype than what comes.
    table, lengths = table_of(1, 2, 3), torch.tensor([3], dtype=torch.int32)
    pool, fresh = torch.randn(3, 4, 2, 2).half(), torch.randn(1, 4, 2, 2)
    yield Case("kv_append", [pool, fresh, table, lengths], [appended(pool, fresh, table, lengths)])
    # No tokens leave the cache as it is.
    yield Case("kv_append", [pool, fresh[:, :0], table, lengths], [pool])
