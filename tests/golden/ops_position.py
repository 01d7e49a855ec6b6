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


def rotated_neighbors(x, positions, inv_freq):
    """The same for pairs of neighbors, as GPT-J has it."""
    order = torch.cat([torch.arange(0, x.shape[-1], 2), torch.arange(1, x.shape[-1], 2)])
    back = torch.argsort(order)
    return rotated(x[..., order], positions, inv_freq)[..., back]


def cases():
    for batch, count, heads, width in ((1, 1, 1, 2), (2, 5, 3, 8)):
        x = torch.randn(batch, count, heads, width)
        start = torch.arange(3, 3 + 7 * batch, 7, dtype=torch.int32)
        inv_freq = 10000.0 ** (-torch.arange(0, width // 2) * 2.0 / width)
        yield Case("rope", [x, start, inv_freq], [rotated(x, start, inv_freq)], result=["f32"])
        yield Case("rope", [x, start, inv_freq], [rotated_neighbors(x, start, inv_freq)], {"interleaved": True},
                   result=["f32"])
        yield Case("rope", [x, start, inv_freq], [1.5 * rotated(x, start, inv_freq)], {"scale": 1.5}, result=["f32"])
        if width == 2:
            continue
        # The first six of eight elements.
        for interleaved, turn in ((False, rotated), (True, rotated_neighbors)):
            yield Case("rope", [x, start, inv_freq[:3]],
                       [torch.cat([turn(x[..., :6], start, inv_freq[:3]), x[..., 6:].double()], -1)],
                       {"interleaved": interleaved}, result=["f32"])
