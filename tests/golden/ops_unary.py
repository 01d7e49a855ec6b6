"""Golden cases of functions of one tensor: unary_math, activation, rounding, predicates, cast."""

import torch
import torch.nn.functional as F

from make_ops import Case, DType, DTYPES

INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8]
SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan")]

# Points inside the domain; the special values come on top.
REAL = {
    "exp": (torch.exp, -8, 8), "expm1": (torch.expm1, -8, 8), "log": (torch.log, 0.01, 9), "log2": (torch.log2, 0.01, 9),
    "log10": (torch.log10, 0.01, 9), "sqrt": (torch.sqrt, 0, 9), "rsqrt": (torch.rsqrt, 0.01, 9),
    "sin": (torch.sin, -9, 9), "cos": (torch.cos, -9, 9), "tan": (torch.tan, -1.5, 1.5),
    "asin": (torch.asin, -1, 1), "acos": (torch.acos, -1, 1), "atan": (torch.atan, -9, 9),
    "sinh": (torch.sinh, -5, 5), "cosh": (torch.cosh, -5, 5), "tanh": (torch.tanh, -5, 5),
    "asinh": (torch.asinh, -9, 9), "acosh": (torch.acosh, 1, 9), "atanh": (torch.atanh, -1, 1),
    "erf": (torch.erf, -4, 4), "sigmoid": (torch.sigmoid, -9, 9), "silu": (F.silu, -9, 9),
    "softplus": (F.softplus, -9, 9),
}
ROUNDING = {
    "negative": torch.negative, "abs": torch.abs, "square": torch.square, "floor": torch.floor,
    "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc, "relu": torch.relu,
}


def uniform(low, high, *shape, dtype=torch.float64):
    return (torch.rand(*shape, dtype=torch.float64) * (high - low) + low).to(dtype)


def extremes(dtype):
    info = torch.iinfo(dtype)
    return torch.tensor([info.min, info.min + 1, 0, 1, 2, 99, info.max - 1, info.max], dtype=dtype)


def cases():
    for name, (function, low, high) in REAL.items():
        x = uniform(low, high, 3, 7)
        yield Case(name, [x], [function(x)])
        special = torch.tensor(SPECIAL, dtype=torch.float64)
        if name != "silu":  # x * 0 at minus infinity depends on the formula
            yield Case(name, [special], [function(special)])
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            narrow = uniform(low, high, 9, dtype=dtype)
            yield Case(name, [narrow], [function(narrow.double())], result=[DTYPES[dtype]])
        # Integers are taken as f32.
        whole = torch.randint(1, 6, (5,), dtype=torch.int16)
        if high > 1.5:
            yield Case(name, [whole], [function(whole.double())], result=["f32"])
    x = uniform(-6, 6, 4, 5)
    yield Case("gelu", [x], [F.gelu(x)])
    yield Case("gelu", [x], [F.gelu(x, approximate="tanh")], {"approximate": "tanh"})
    x = torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999, -3.7, 1e300] + SPECIAL,
                     dtype=torch.float64)
    for name, function in ROUNDING.items():
        yield Case(name, [x], [function(x)])
        for dtype in INTEGERS:
            # 0 - x of unsigned numbers wraps.
            if (name, dtype) == ("negative", torch.uint8):
                continue
            yield Case(name, [extremes(dtype)], [function(extremes(dtype))])
    signs = torch.tensor([-3.5, -0.0, 0.0, 2.0, float("inf")], dtype=torch.float64)
    yield Case("sign", [signs], [torch.sign(signs)])
    for dtype in INTEGERS:
        yield Case("sign", [extremes(dtype)], [torch.sign(extremes(dtype))])
    for name in ("isnan", "isinf", "isfinite"):
        yield Case(name, [x], [getattr(torch, name)(x)])
        yield Case(name, [torch.arange(3)], [getattr(torch, name)(torch.arange(3))])
    for low, high in ((-1.0, None), (None, 1.5), (-1.0, 2.0), (3.0, -3.0)):
        attrs = {k: v for k, v in (("min", low), ("max", high)) if v is not None}
        yield Case("clip", [x], [torch.clip(x, low, high)], attrs)
    whole = extremes(torch.int32)
    yield Case("clip", [whole], [torch.clip(whole, -5, 50)], {"min": -5.0, "max": 50.0})
    yield from casts()


def casts():
    values = torch.tensor([0, 1, -1, 2.5, -2.5, 100.75, 127, -128], dtype=torch.float64)
    floats = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
    for dtype in floats + INTEGERS[:-1] + [torch.bool]:
        for source in floats:
            x = values.to(source)
            yield Case("cast", [x], [x.to(dtype)], {"dtype": DType(DTYPES[dtype])})
    for source in INTEGERS:
        for dtype in INTEGERS + floats + [torch.bool]:
            x = extremes(source)
            yield Case("cast", [x], [x.to(dtype)], {"dtype": DType(DTYPES[dtype])})
