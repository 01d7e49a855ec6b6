"""Golden cases of convolutions and their transposes."""

import torch
import torch.nn.functional as F

from make_ops import Case

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def attributes(strides, padding, dilation, groups, **more):
    return {"strides": list(strides), "padding": list(padding), "dilation": list(dilation),
            "groups": groups, **more}


def cases():
    for x_shape, w_shape, strides, padding, dilation, groups in (
            ((1, 1, 7), (1, 1, 3), (1,), (0,), (1,), 1),
            ((2, 4, 9), (6, 2, 3), (2,), (2,), (2,), 2),
            ((1, 3, 5, 6), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
            ((2, 4, 7, 6), (8, 1, 3, 2), (2, 1), (1, 0), (1, 2), 4),
            ((1, 3, 5, 5), (2, 3, 1, 1), (2, 2), (0, 0), (1, 1), 1),
            ((0, 3, 5, 5), (2, 3, 3, 3), (1, 1), (0, 0), (1, 1), 1),
            ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2), 1)):
        x, w = torch.randn(x_shape), torch.randn(w_shape)
        rank = len(x_shape) - 2
        out = CONV[rank](x.double(), w.double(), None, strides, padding, dilation, groups)
        yield Case(f"conv{rank}d", [x, w], [out], attributes(strides, padding, dilation, groups),
                   ["f32"])
    x, w = torch.randn(1, 2, 5, 6), torch.randn(3, 2, 3, 3)
    out = F.conv2d(F.pad(x.double(), (0, 2, 1, 0)), w.double())
    yield Case("conv2d", [x, w], [out], {"padding": [1, 0, 0, 2]}, ["f32"])
    x, w = torch.randint(-9, 9, (1, 2, 5, 6)), torch.randint(-9, 9, (3, 2, 3, 3))
    out = F.conv2d(x.double(), w.double()).round().long()
    yield Case("conv2d", [x, w], [out], {})
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        x, w = torch.randn(1, 4, 6).to(dtype), torch.randn(2, 4, 3).to(dtype)
        out = F.conv1d(x.double(), w.double())
        yield Case("conv1d", [x, w], [out], {},
                   [{torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64"}[dtype]])

    for x_shape, w_shape, strides, padding, extra, dilation, groups in (
            ((1, 1, 4), (1, 1, 3), (1,), (0,), (0,), (1,), 1),
            ((2, 4, 5), (4, 3, 3), (2,), (1,), (1,), (1,), 2),
            ((1, 3, 4, 5), (3, 2, 3, 3), (2, 3), (1, 0), (1, 2), (1, 1), 1),
            ((1, 4, 3, 3), (4, 1, 2, 3), (1, 2), (0, 1), (1, 0), (2, 1), 4),
            ((1, 2, 3, 2, 4), (2, 3, 2, 2, 3), (2, 1, 2), (0, 1, 1), (1, 0, 0), (1, 2, 1), 1)):
        x, w = torch.randn(x_shape), torch.randn(w_shape)
        rank = len(x_shape) - 2
        out = TRANSPOSED[rank](x.double(), w.double(), None, strides, padding, extra, groups, dilation)
        yield Case(f"conv{rank}d_transpose", [x, w], [out],
                   attributes(strides, padding, dilation, groups, output_padding=list(extra)),
                   ["f32"])

    x, w = torch.randn(2, 4, 3, 4, 5), torch.randn(6, 2, 2, 2, 2)
    strides, padding, dilation = (2, 1, 1), (1, 1, 0), (1, 2, 3)
    out = F.conv3d(x.double(), w.double(), None, strides, padding, dilation, 2)
    yield Case("conv3d", [x, w], [out], attributes(strides, padding, dilation, 2), ["f32"])
    x, w = torch.randn(1, 4, 2, 3, 3), torch.randn(4, 3, 3, 1, 2)
    strides, padding, extra, dilation = (1, 2, 3), (1, 0, 1), (0, 1, 2), (2, 1, 1)
    out = F.conv_transpose3d(x.double(), w.double(), None, strides, padding, extra, 2, dilation)
    yield Case("conv3d_transpose", [x, w], [out],
               attributes(strides, padding, dilation, 2, output_padding=list(extra)), ["f32"])
