"""Golden cases of operators that make tensors."""

import torch

from make_ops import Case, DType, DTYPES, Ints

TYPES = [torch.float64, torch.float32, torch.float16, torch.int8, torch.int64, torch.bool]


def cases():
    for dtype in TYPES:
        named = {"dtype": DType(DTYPES[dtype])}
        value = -1.25 if dtype.is_floating_point else 1.0
        yield Case("full", [Ints([2, 3])], [torch.full((2, 3), value, dtype=dtype)],
                   {"value": value, **named})
        for k in (-2, 0, 1, 9):
            whole = torch.ones(4, 5, dtype=torch.int32)
            diagonal = (torch.tril(whole, k) * torch.triu(whole, k)).to(dtype)
            yield Case("eye", [Ints([4]), Ints([5])], [diagonal], {"k": k, **named})
            x = (torch.rand(2, 4, 5) * 50 + 1).to(dtype)
            yield Case("tril", [x], [torch.tril(x, k)], {"k": k})
            yield Case("triu", [x], [torch.triu(x, k)], {"k": k})
        yield Case("zeros_like", [x], [torch.zeros_like(x)])
        yield Case("ones_like", [x.float()], [torch.ones_like(x)], named)
        yield Case("copy", [x], [x])
    for start, stop, step in ((0, 7, 1), (3, 20, 4), (9, -3, -5), (4, 4, 1), (-2, 3, 1)):
        for dtype in (torch.int64, torch.int32, torch.float32, torch.bfloat16):
            yield Case("arange", [Ints([start]), Ints([stop])],
                       [torch.arange(start, stop, step).to(dtype)],
                       {"step": step, "dtype": DType(DTYPES[dtype])})
    # Past 5 with -2 as the step nothing is left.
    yield Case("arange", [Ints([2]), Ints([5])], [torch.zeros(0, dtype=torch.int64)], {"step": -2})
