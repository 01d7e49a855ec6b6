"""Golden cases of reductions, scans, softmax and normalizations."""

import torch
import torch.nn.functional as F

from make_ops import Case, DTYPES

AXES = [[], [0], [-1], [0, 2], [2, -2]]


def all_axes(axes, x):
    return tuple(axes) if axes else tuple(range(x.dim()))


def over(function, x, axes, keep):
    """A function of one dimension, applied to several in turn."""
    for axis in sorted((axis % x.dim() for axis in all_axes(axes, x)), reverse=True):
        x = function(x, axis, keep)
    return x


REDUCTIONS = {
    "sum": lambda x, axes, keep: torch.sum(x, all_axes(axes, x), keep),
    "mean": lambda x, axes, keep: torch.mean(x, all_axes(axes, x), keep),
    "max": lambda x, axes, keep: torch.amax(x, all_axes(axes, x), keep),
    "min": lambda x, axes, keep: torch.amin(x, all_axes(axes, x), keep),
    "prod": lambda x, axes, keep: over(lambda y, d, k: torch.prod(y, d, keepdim=k), x, axes, keep),
    "any": lambda x, axes, keep: over(torch.any, x, axes, keep),
    "all": lambda x, axes, keep: over(torch.all, x, axes, keep),
    "logsumexp": lambda x, axes, keep: torch.logsumexp(x, all_axes(axes, x), keep),
    "variance": lambda x, axes, keep: torch.var(x, all_axes(axes, x), correction=0, keepdim=keep),
}


def cases():
    for axes in AXES:
        for keep in (False, True):
            x = torch.randn(3, 4, 5, dtype=torch.float64)
            attrs = {"axes": axes, "keepdims": keep}
            for name, function in REDUCTIONS.items():
                yield Case(name, [x], [function(x, axes, keep)], attrs)
                if name not in ("any", "all"):
                    narrow = x.to(torch.bfloat16)
                    yield Case(name, [narrow], [function(narrow.double(), axes, keep)], attrs,
                               result=["bf16"])
            yield Case("variance", [x], [torch.var(x, all_axes(axes, x), correction=1, keepdim=keep)],
                       {**attrs, "correction": 1})
            flags = torch.rand(3, 4, 5) < 0.4
            for name in ("any", "all"):
                yield Case(name, [flags], [REDUCTIONS[name](flags, axes, keep)], attrs)
    for dtype in (torch.int8, torch.int32, torch.int64, torch.uint8):
        x = torch.randint(0, 100, (6, 7)).to(dtype)
        for name in ("sum", "prod", "max", "min"):
            # PyTorch sums in i64; the result wraps when it is stored.
            y = REDUCTIONS[name](x.long() if name in ("sum", "prod") else x, [1], False).to(dtype)
            yield Case(name, [x], [y], {"axes": [1], "keepdims": False})
        for name, function in (("cumsum", torch.cumsum), ("cumprod", torch.cumprod)):
            yield Case(name, [x], [function(x.long(), 1).to(dtype)], {"axis": 1})
        for name, function in (("argmax", torch.argmax), ("argmin", torch.argmin)):
            yield Case(name, [x], [position(x.numpy(), name)], {"axis": 0})
    special = torch.tensor([[1, float("nan"), 3], [float("inf"), 2, -1],
                            [-float("inf")] * 3], dtype=torch.float64)
    for name in ("sum", "max", "min", "logsumexp", "prod"):
        yield Case(name, [special], [REDUCTIONS[name](special, [1], False)], {"axes": [1]})
    empty = torch.zeros(3, 0, dtype=torch.float64)
    for name in ("sum", "prod", "any", "all", "logsumexp"):
        yield Case(name, [empty], [REDUCTIONS[name](empty, [1], False)], {"axes": [1]})
    yield from positions()
    yield from scans()
    yield from normalizations()


def position(array, name):
    """NumPy takes the first of equal elements, and of NaNs."""
    import numpy as np

    return torch.from_numpy(getattr(np, name)(array, axis=0).astype(np.int32))


def positions():
    x = torch.randint(-3, 4, (9, 8)).double()
    x[4, 2] = x[6, 2] = float("nan")
    x[0, 3] = float("inf")
    for name in ("argmax", "argmin"):
        yield Case(name, [x], [position(x.numpy(), name)], {"axis": 0})
        kept = position(x.numpy(), name)[None, :]
        yield Case(name, [x], [kept], {"axis": -2, "keepdims": True})


def scans():
    for name, function in (("cumsum", torch.cumsum), ("cumprod", torch.cumprod)):
        for axis in (0, 1, -1):
            x = torch.randn(3, 5, 4, dtype=torch.float64)
            yield Case(name, [x], [function(x, axis)], {"axis": axis})
            back = function(x.flip(axis), axis).flip(axis)
            yield Case(name, [x], [back], {"axis": axis, "reverse": True})
            start = torch.full_like(x.narrow(axis, 0, 1), 0 if name == "cumsum" else 1)
            shifted = torch.cat([start, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
            yield Case(name, [x], [function(shifted, axis)], {"axis": axis, "exclusive": True})
            narrow = x.half()
            yield Case(name, [narrow], [function(narrow.double(), axis)], {"axis": axis},
                       result=["f16"])


def normalizations():
    x = torch.randn(2, 6, 5, dtype=torch.float64) * 3 + 1
    for axis in (0, 1, -1):
        yield Case("softmax", [x], [F.softmax(x, axis)], {"axis": axis})
        yield Case("log_softmax", [x], [F.log_softmax(x, axis)], {"axis": axis})
    weight, bias = torch.randn(5, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    yield Case("rms_norm", [x, weight], [F.rms_norm(x, (5,), weight, 1e-6)], {"epsilon": 1e-6})
    yield Case("layer_norm", [x, weight, bias], [F.layer_norm(x, (5,), weight, bias, 1e-5)], {})
    w2, b2 = torch.randn(6, 5, dtype=torch.float64), torch.randn(6, 5, dtype=torch.float64)
    yield Case("layer_norm", [x, w2, b2], [F.layer_norm(x, (6, 5), w2, b2, 0.5)], {"epsilon": 0.5})
    w, b = torch.randn(6, dtype=torch.float64), torch.randn(6, dtype=torch.float64)
    for groups in (1, 2, 3, 6):
        yield Case("group_norm", [x, w, b], [F.group_norm(x, groups, w, b, 1e-5)],
                   {"groups": groups})
    yield Case("instance_norm", [x, w, b], [F.instance_norm(x, weight=w, bias=b, eps=1e-5)], {})
    mean, variance = torch.randn(6, dtype=torch.float64), torch.rand(6, dtype=torch.float64)
    yield Case("batch_norm", [x, w, b, mean, variance],
               [F.batch_norm(x, mean, variance, w, b, eps=1e-5)], {})
    for dtype in (torch.float32, torch.bfloat16):
        y = x.to(dtype)
        name = DTYPES[dtype]
        yield Case("layer_norm", [y, weight.float(), bias.float()],
                   [F.layer_norm(y.double(), (5,), weight.float().double(),
                                 bias.float().double())], {}, result=[name])
        yield Case("log_softmax", [y], [F.log_softmax(y.double(), -1)], {}, result=[name])
    y = x.half()
    yield Case("rms_norm", [y, weight.float()],
               [F.rms_norm(y.double(), (5,), weight.float().double(), 0.25)], {"epsilon": 0.25},
               result=["f16"])
    images = torch.randn(2, 6, 3, 4)
    yield Case("instance_norm", [images, w.float(), b.float()],
               [F.instance_norm(images.double(), weight=w.float().double(),
                                bias=b.float().double(), eps=0.5)], {"epsilon": 0.5}, ["f32"])
    own = [tensor.float() for tensor in (w, b, mean, variance)]
    scale, shift, mean, variance = (tensor.double() for tensor in own)
    yield Case("batch_norm", [images, *own],
               [F.batch_norm(images.double(), mean, variance, scale, shift, eps=0.25)],
               {"epsilon": 0.25}, ["f32"])
