"""Golden cases of the operators that order elements, and of those whose size the data decides."""

import numpy as np
import torch

from make_ops import Case, Ints

NAN, INF = float("nan"), float("inf")


def orders():
    mixed = torch.tensor([[3.0, NAN, -INF, 0.0, -0.0, 3.0, INF, NAN, -1.0],
                          [1.0, 1.0, 1.0, 0.0, 2.0, 2.0, NAN, -2.0, 0.0]])
    inputs = [mixed, mixed.double(), mixed.half(), torch.randint(-9, 9, (3, 1, 17)),
              torch.randint(0, 200, (2, 40)).to(torch.uint8), torch.randn(4, 33),
              torch.tensor([2**62 + 1, 2**62, -2**63, 2**62 + 2]), torch.zeros(3, 0),
              torch.tensor([True, False, True])]
    for x in inputs:
        for descending in (False, True):
            for axis in {0, x.dim() - 1}:
                values, order = torch.sort(x, dim=axis, descending=descending, stable=True)
                attrs = {"axis": axis, "descending": descending}
                yield Case("sort", [x], [values], attrs)
                yield Case("argsort", [x], [order.int()], attrs)
    for x in inputs[:6]:
        for largest in (False, True):
            values, order = torch.sort(x, dim=-1, descending=largest, stable=True)
            yield Case("topk", [x], [values[..., :3], order[..., :3].int()] if x.shape[-1] >= 3
                       else [values, order.int()],
                       {"k": min(3, x.shape[-1]), "largest": largest})
    row = torch.tensor([-2.0, 0.0, 0.0, 1.5, 1.5, 7.0, INF])
    values = torch.tensor([[-3.0, -2.0, 0.0], [1.0, 1.5, INF]])
    rows = torch.randint(0, 9, (3, 8)).sort(-1).values
    for right in (False, True):
        yield Case("searchsorted", [row, values], [torch.searchsorted(row, values, right=right).int()],
                   {"right": right})
        wanted = torch.randint(-1, 10, (3, 5))
        yield Case("searchsorted", [rows, wanted],
                   [torch.searchsorted(rows, wanted, right=right).int()], {"right": right})


def selections():
    for x in (torch.randint(-1, 2, (3, 4, 2)), torch.tensor([0.0, -0.0, NAN, 1.0]), torch.zeros(0, 3),
              torch.tensor(5), torch.tensor(0), torch.eye(3).bool(), torch.zeros(4)):
        found = torch.nonzero(x).int()
        yield Case("nonzero", [x], [found])
        yield Case("nonzero_count", [x], [torch.tensor([len(found)], dtype=torch.int32)])
        padded = torch.cat([found, torch.zeros(2, found.shape[1], dtype=torch.int32)])
        yield Case("nonzero_fill", [x, Ints([len(padded)])], [padded])
    for x in (torch.randint(-4, 4, (5, 6)), torch.tensor([3.0, NAN, 1.0, NAN, 3.0, -INF]),
              torch.zeros(0), torch.tensor(7), torch.randint(0, 2, (40,)).bool()):
        values, inverse, counts = np.unique(x.numpy(), return_inverse=True, return_counts=True)
        yield Case("unique", [x], [torch.from_numpy(values),
                                   torch.from_numpy(inverse).reshape(x.shape).int(),
                                   torch.from_numpy(counts).int()])
        ordered, order = torch.sort(x.flatten(), stable=True)
        parts = [torch.from_numpy(values), torch.from_numpy(inverse).flatten().int(),
                 torch.from_numpy(counts).int()]
        yield Case("unique_count", [ordered], [torch.tensor([len(values)], dtype=torch.int32)])
        yield Case("unique_fill", [ordered, order.int(), Ints([len(values)])], parts)


def cases():
    yield from orders()
    yield from selections()
