"""Golden cases of the positional operators."""

import torch

from make_ops import Case


def rotated(x, positions, inv_freq):
    """Half-split rotary embedding as Llama has it; x [b, n, h, d]."""
    angle = positions.double()[:, None] + torch.arange(x.shape[1]).double()[None, :]
    angle = angle[:, :, None, None] * inv_freq.double()
    first, second = x.double().chunk(2, dim=-1)
    return torch.cat(
        [first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()], -1)


def cases():
    for batch, count, heads, width in ((1, 1, 1, 2), (2, 5, 3, 8)):
        x = torch.randn(batch, count, heads, width)
        start = torch.arange(3, 3 + 7 * batch, 7, dtype=torch.int32)
        inv_freq = 10000.0 ** (-torch.arange(0, width // 2) * 2.0 / width)
        yield Case("rope", [x, start, inv_freq], [rotated(x, start, inv_freq)], result=["f32"])
