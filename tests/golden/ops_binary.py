"""Golden cases of functions of two tensors: arithmetic, comparisons, logic."""

import numpy as np
import torch

from make_ops import Case, DTYPES

INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8]
SHAPES = [((4, 5), (4, 5)), ((3, 1, 4), (2, 1)), ((), (3,)), ((0, 3), (3,)), ((2, 3), ())]

ARITHMETIC = {
    "add": torch.add, "subtract": torch.subtract, "multiply": torch.multiply,
    "maximum": torch.maximum, "minimum": torch.minimum,
}
DIVISION = {
    "floor_divide": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "trunc_divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "floor_mod": torch.remainder, "mod": torch.fmod,
}
COMPARISONS = {
    "equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le,
    "greater": torch.gt, "greater_equal": torch.ge,
}
LOGICAL = {
    "logical_and": torch.logical_and, "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}
BITWISE = {
    "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
}


def grid(dtype, values):
    """All pairs of some values, as two columns."""
    x = torch.tensor(values, dtype=dtype)
    return x.repeat_interleave(len(values)), x.repeat(len(values))


def extremes(dtype):
    info = torch.iinfo(dtype)
    small = [0, 1, 2, 3, 7] + ([-1, -2, -7] if info.min < 0 else [])
    return grid(dtype, [info.min, info.max, *small])


def cases():
    torch.set_printoptions(precision=17)
    for shape_a, shape_b in SHAPES:
        a, b = torch.randn(shape_a, dtype=torch.float64), torch.randn(shape_b, dtype=torch.float64)
        for name, function in {**ARITHMETIC, **COMPARISONS, "divide": torch.divide}.items():
            yield Case(name, [a, b], [function(a, b)])
        yield Case("power", [a.abs(), b], [torch.pow(a.abs(), b)])
        condition = a > 0
        yield Case("where", [condition, a, b], [torch.where(condition, a, b)])
    specials = grid(torch.float64, [0.0, 1.0, -2.5, float("inf"), -float("inf"), float("nan")])
    for name, function in {**ARITHMETIC, **COMPARISONS, "divide": torch.divide,
                           "power": torch.pow, **LOGICAL}.items():
        yield Case(name, list(specials), [function(*specials)])
    a, b = grid(torch.float64, [7.5, -7.5, 2.0, -2.0, 0.375, -0.125, 5.0, 1.0])
    for name, function in DIVISION.items():
        yield Case(name, [a, b], [function(a, b)])
        x, y = a.float(), b.float()
        yield Case(name, [x, y], [function(x.double(), y.double())], result=["f32"])
    for dtype in INTEGERS:
        a, b = extremes(dtype)
        for name, function in {**ARITHMETIC, **COMPARISONS, **LOGICAL, **BITWISE}.items():
            yield Case(name, [a, b], [function(a, b)])
        # PyTorch refuses division by zero and traps at the least number over -1.
        safe = (b != 0) & ~((b == -1) & (a == torch.iinfo(dtype).min))
        for name, function in DIVISION.items():
            yield Case(name, [a[safe], b[safe]], [function(a[safe], b[safe])])
        count = torch.clamp(b, 0, torch.iinfo(dtype).bits - 1)
        yield Case("left_shift", [a, count], [torch.bitwise_left_shift(a, count)])
        yield Case("right_shift", [a, count], [torch.bitwise_right_shift(a, count)])
        exponent = torch.clamp(b, 0, 9)
        yield Case("power", [a, exponent], [torch.pow(a, exponent)])
        x, y = a[b != 0], b[b != 0]
        yield Case("divide", [x, y], [x.double() / y.double()], result=["f32"])
        yield Case("bitwise_not", [a], [torch.bitwise_not(a)])
        yield Case("logical_not", [a], [torch.logical_not(a)])
    truths = grid(torch.bool, [False, True])
    for name, function in {**LOGICAL, **BITWISE, "equal": torch.eq, "less": torch.lt}.items():
        yield Case(name, list(truths), [function(*truths)])
    yield Case("logical_not", [truths[0]], [~truths[0]])
    yield Case("bitwise_not", [truths[0]], [~truths[0]])
    # Wide unsigned numbers, which a double cannot hold: by NumPy.
    wide = np.array([0, 1, 2, 3, 2**63, 2**64 - 1, 10**19, 2**53 + 1], dtype=np.uint64)
    u, v = np.repeat(wide, len(wide)), np.tile(wide, len(wide))
    for name, function in {"add": np.add, "subtract": np.subtract, "multiply": np.multiply,
                           "maximum": np.maximum, "less": np.less, "equal": np.equal,
                           "bitwise_xor": np.bitwise_xor, "power": np.power}.items():
        yield Case(name, [torch.from_numpy(u), torch.from_numpy(v)],
                   [torch.from_numpy(function(u, v))])
    x, y = u[v != 0], v[v != 0]
    for name, function in {"floor_divide": np.floor_divide, "floor_mod": np.mod,
                           "trunc_divide": np.floor_divide, "mod": np.fmod}.items():
        yield Case(name, [torch.from_numpy(x), torch.from_numpy(y)],
                   [torch.from_numpy(function(x, y))])
