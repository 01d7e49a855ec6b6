"""Golden cases of pooling."""

import torch
import torch.nn.functional as F

from make_ops import Case

MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE_MAX = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
ADAPTIVE_AVG = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}


def cases():
    for shape, kernel, strides, padding, dilation in (
            ((1, 2, 7), (3,), (2,), (1,), (1,)),
            ((1, 1, 8), (3,), (3,), (0,), (2,)),
            ((2, 2, 6, 7), (2, 3), (2, 2), (1, 1), (1, 1)),
            ((1, 3, 5, 5), (3, 3), (2, 3), (1, 0), (1, 2)),
            ((1, 1, 4, 5, 6), (2, 2, 3), (2, 1, 2), (0, 1, 1), (1, 1, 1))):
        rank = len(shape) - 2
        for ceil_mode in (False, True):
            x = torch.randn(shape)
            attrs = {"kernel_size": list(kernel), "strides": list(strides),
                     "padding": list(padding), "ceil_mode": ceil_mode}
            out = MAX[rank](x, kernel, strides, padding, dilation, ceil_mode)
            yield Case(f"max_pool{rank}d", [x], [out], {**attrs, "dilation": list(dilation)})
            for include in (False, True):
                out = AVG[rank](x.double(), kernel, strides, padding, ceil_mode, include)
                yield Case(f"avg_pool{rank}d", [x], [out], {**attrs, "count_include_pad": include},
                           ["f32"])
    x = torch.randn(1, 1, 6)
    x[0, 0, 2] = float("nan")
    yield Case("max_pool1d", [x], [F.max_pool1d(x, 2)], {"kernel_size": [2]})
    x = torch.randint(-99, 99, (1, 2, 9))
    yield Case("max_pool1d", [x], [F.max_pool1d(x.double(), 2).long()], {"kernel_size": [2]})
    for shape, size in (((1, 2, 7), (3,)), ((2, 3, 5), (8,)), ((1, 2, 6, 7), (3, 4)),
                        ((2, 1, 4, 4), (1, 1)), ((1, 2, 3, 5, 4), (2, 3, 4)), ((0, 2, 4, 4), (2, 2))):
        rank = len(shape) - 2
        x = torch.randn(shape)
        out = ADAPTIVE_AVG[rank](x.double(), size)
        yield Case(f"adaptive_avg_pool{rank}d", [x], [out], {"output_size": list(size)}, ["f32"])
        if shape[0]:
            out = ADAPTIVE_MAX[rank](x, size)
            yield Case(f"adaptive_max_pool{rank}d", [x], [out], {"output_size": list(size)})
    x = torch.randn(2, 2, 4, 3, 5)
    size = (3, 1, 7)
    yield Case("adaptive_avg_pool3d", [x], [F.adaptive_avg_pool3d(x.double(), size)],
               {"output_size": list(size)}, ["f32"])
    yield Case("adaptive_max_pool3d", [x], [F.adaptive_max_pool3d(x, size)],
               {"output_size": list(size)})
