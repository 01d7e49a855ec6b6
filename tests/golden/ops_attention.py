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


def attended(q, keys, values, table, lengths, scale, window=0, chunk=0, soft_cap=0.0, value_width=0,
             sinks=None, ahead=None,
             slopes=None):
    """Grouped-query attention in f64, where query i of batch b sees positions 0 .. lengths[b] + i, of them the
    last `window` and those of its own `chunk`, and the next ahead[b, i] positions of the call."""
    if value_width:
        values = values[..., :value_width]
    batches, count, heads, _ = q.shape
    # [batches, positions, kv_heads, d]
    k, v = (pool.double()[table.long()].flatten(1, 2) for pool in (keys, values))
    position = torch.arange(k.shape[1])
    last = lengths.long()[:, None] + torch.arange(count)
    distance = last[:, :, None] - position[None, None]
    farthest = torch.zeros_like(last) if ahead is None else torch.minimum(ahead.long(), last[:, -1:] - last)
    seen = ((distance >= -farthest[:, :, None]) & ((distance < window) if window else True))[:, None]
    if chunk:
        seen &= (position[None, None] >= (last // chunk * chunk)[:, :, None])[:, None]
    group = heads // k.shape[2]
    if soft_cap or sinks is not None or slopes is not None:
        scores = q.double().transpose(1, 2) @ k.repeat_interleave(group, 2).permute(0, 2, 3, 1) * scale
        if soft_cap:
            scores = soft_cap * torch.tanh(scores / soft_cap)
        if slopes is not None:
            scores = scores - slopes.double()[None, :, None, None] * distance[:, None]
        scores = scores.masked_fill(~seen, -torch.inf)
        if sinks is not None:
            column = sinks.double()[None, :, None, None].expand(batches, heads, count, 1)
            scores = torch.cat([scores, column], -1)
        weights = scores.softmax(-1)[..., :k.shape[1]]
        return (weights @ v.repeat_interleave(group, 2).transpose(1, 2)).transpose(1, 2)
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
            for more in ({}, {"window": 3}, {"soft_cap": 0.75}, {"window": 1, "soft_cap": 2.5}, {"chunk": 3},
                         {"chunk": 4, "window": 3}):
                if more and dtype != torch.float32:
                    continue
                yield Case("paged_attention", [q, keys, values, table, lengths],
                           [attended(q, keys, values, table, lengths, 0.25, **more)], {"scale": 0.25, **more},
                           [DTYPES[dtype]])
            sinks = torch.randn(heads) * 3
            for more in ({}, {"window": 2, "soft_cap": 1.5}):
                yield Case("paged_attention_with_sinks", [q, keys, values, table, lengths, sinks.to(dtype)],
                           [attended(q, keys, values, table, lengths, 0.25, sinks=sinks.to(dtype), **more)],
                           {"scale": 0.25, **more}, [DTYPES[dtype]])
            ahead = torch.randint(0, 4, (batches, count), dtype=torch.int32)
            for more in ({}, {"window": 2, "soft_cap": 1.5}, {"chunk": 3}):
                if more and dtype != torch.float32:
                    continue
                yield Case("paged_attention_ahead", [q, keys, values, table, lengths, ahead],
                           [attended(q, keys, values, table, lengths, 0.25, ahead=ahead, **more)],
                           {"scale": 0.25, **more}, [DTYPES[dtype]])
        # Values of another width than keys, and keys whose first elements are the values.
        wide = torch.randn(pages, rows, kv_heads, width + 3)
        q, keys = torch.randn(batches, count, heads, width), torch.randn(pages, rows, kv_heads, width)
        yield Case("paged_attention", [q, keys, wide, table, lengths],
                   [attended(q, keys, wide, table, lengths, 0.25)], {"scale": 0.25}, ["f32"])
        part = {"scale": 0.25, "value_width": max(1, width // 2)}
        yield Case("paged_attention", [q, keys, keys, table, lengths],
                   [attended(q, keys, keys, table, lengths, **part)], part, ["f32"])
    # A cache in a narrower dtype than what comes.
    table, lengths = table_of(1, 2, 3), torch.tensor([3], dtype=torch.int32)
    pool, fresh = torch.randn(3, 4, 2, 2).half(), torch.randn(1, 4, 2, 2)
    yield Case("kv_append", [pool, fresh, table, lengths], [appended(pool, fresh, table, lengths)])
    # No tokens leave the cache as it is.
    yield Case("kv_append", [pool, fresh[:, :0], table, lengths], [pool])
    for batches, count, heads, kv_heads, width, pages, rows, per_batch in SHAPES:
        table = table_of(batches, per_batch, pages)
        lengths = torch.randint(0, per_batch * rows - count + 1, (batches,), dtype=torch.int32)
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            q = torch.randn(batches, count, heads, width).to(dtype)
            keys, values = (torch.randn(pages, rows, kv_heads, width).to(dtype) for _ in range(2))
            slopes = torch.randn(heads).to(dtype)
            for more in ({}, {"window": 2, "soft_cap": 1.5}):
                yield Case("paged_attention_with_slopes", [q, keys, values, table, lengths, slopes],
                           [attended(q, keys, values, table, lengths, 0.25, slopes=slopes, **more)],
                           {"scale": 0.25, **more}, [DTYPES[dtype]])
