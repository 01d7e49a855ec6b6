"""Golden cases of the operators that read and write at indices."""

import torch
import torch.nn.functional as F

from make_ops import Case, DType


def reads():
    x = torch.randn(4, 5, 3)
    ids = torch.tensor([[3, 0, -1], [1, 1, -4]])
    front = ids % 4
    for dtype in (torch.int32, torch.int64):
        yield Case("take", [x, ids.to(dtype)], [x[front]])
        yield Case("take", [x, (ids % 3).to(dtype)], [x[:, :, ids % 3]], {"axis": -1})
    # Outside: zeros.
    far = torch.tensor([0, 9, -9, 3])
    expected = x[[0, 0, 0, 3]].clone()
    expected[1:3] = 0
    yield Case("take", [x, far], [expected])
    yield Case("take", [x[:0], far], [torch.zeros(4, 5, 3)])
    index = torch.randint(0, 5, (3, 7, 3))
    yield Case("gather", [x, index - 5 * (index % 2)], [x.gather(1, index)], {"axis": 1})
    pairs = torch.tensor([[[0, 4], [3, -1]], [[-4, 0], [2, 2]]])
    yield Case("gather_nd", [x, pairs], [x[pairs[..., 0], pairs[..., 1]]])
    yield Case("gather_nd", [x, torch.zeros(2, 0, dtype=torch.int32)], [x.expand(2, 4, 5, 3)])
    hot = torch.tensor([[0, 2], [1, -1]])
    yield Case("one_hot", [hot], [F.one_hot(hot % 3, 3).float()], {"depth": 3})
    yield Case("one_hot", [torch.tensor([1, 5, -7])],
               [torch.tensor([[2, 2, 2], [5, 2, 2], [2, 2, 2]], dtype=torch.int8)],
               {"depth": 3, "axis": 0, "on_value": 5.0, "off_value": 2.0, "dtype": DType("i8")})


def more_reads():
    x = torch.randint(-99, 99, (3, 4), dtype=torch.int16)
    index = torch.tensor([[0, 2, -1, 1], [-3, 0, 0, 2]], dtype=torch.int32)
    yield Case("gather", [x, index], [x.gather(0, index.long() % 3)], {"axis": 0})
    yield Case("gather", [x, index[:, :0]], [x[:2, :0]], {"axis": -1})


def writes():
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int8):
        x = (torch.randn(4, 6) * 9).to(dtype)
        updates = (torch.randn(3, 5) * 9).to(dtype)
        index = torch.stack([torch.randperm(6)[:5] for _ in range(3)])
        yield Case("scatter", [x, index - 6 * (index % 2), updates], [x.scatter(1, index, updates)],
                   {"axis": 1})
        again = torch.randint(0, 4, (3, 5))
        yield Case("scatter_add", [x, again.int(), updates], [x.scatter_add(0, again, updates)])
    # Duplicates: the last one stays; outside writes nothing.
    x = torch.zeros(5)
    index = torch.tensor([1, 3, 1, -2, 8, -6])
    yield Case("scatter", [x, index, torch.arange(1.0, 7.0)], [torch.tensor([0, 3.0, 0, 4, 0])])
    yield Case("scatter_add", [x, index, torch.arange(1.0, 7.0)], [torch.tensor([0, 4.0, 0, 6, 0])])
    x = torch.randn(4, 5, 3)
    pairs = torch.tensor([[0, 4], [3, -1], [2, 0]])
    updates = torch.randn(3, 3)
    changed = x.clone()
    changed[pairs[:, 0], pairs[:, 1]] = updates
    yield Case("scatter_nd", [x, pairs, updates], [changed])
    rows = torch.tensor([[1], [1], [-3]])
    slices = torch.randn(3, 5, 3)
    yield Case("scatter_nd", [x, rows, slices], [x.index_add(0, rows[:, 0] % 4, slices)],
               {"accumulate": True})
    first, second = torch.tensor([[0], [3]]), torch.tensor([1, -1, 2])
    values = torch.randn(3, 1)
    for accumulate in (False, True):
        yield Case("index_put", [x, values, [first, second.int()]],
                   [x.index_put((first, second), values, accumulate)], {"accumulate": accumulate})


def cases():
    yield from reads()
    yield from writes()
    yield from more_reads()
