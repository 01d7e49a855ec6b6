"""Golden cases of the operators that move elements without looking at them."""

import numpy as np
import torch
import torch.nn.functional as F

from make_ops import Case, Ints

X = torch.arange(24).reshape(2, 3, 4)


def arrangements():
    x = X.float()
    yield Case("reshape", [x, Ints([4, 6])], [x.reshape(4, 6)])
    yield Case("permute", [x], [x.permute(2, 0, 1)], {"axes": [2, 0, -2]})
    yield Case("concat", [[x, x[:, :1], x[:, :0]]], [torch.cat([x, x[:, :1], x[:, :0]], 1)],
               {"axis": -2})
    yield Case("stack", [[x, x + 1, x * 2]], [torch.stack([x, x + 1, x * 2], -2)], {"axis": -2})
    yield Case("split", [x], list(x.split([1, 0, 3], 2)), {"axis": 2, "sizes": [1, 0, 3]})
    yield Case("split", [x], list(x.chunk(2, 2)), {"axis": -1, "sections": 2})
    yield Case("expand_dims", [x], [x[:, None, :, :, None]], {"axes": [1, -1]})
    yield Case("squeeze", [x[:, :1, :, None]], [x[:, 0]], {"axes": [-1, 1]})
    yield Case("flatten", [x], [x.flatten(1)], {"start_axis": 1})
    yield Case("flatten", [torch.tensor(3.0)], [torch.tensor([3.0])])
    yield Case("broadcast_to", [x[:, :1], Ints([5, 2, 3, 4])], [x[:, :1].expand(5, 2, 3, 4)])
    for axes in ([], [0], [-1, 1]):
        yield Case("flip", [x], [x.flip(axes or [0, 1, 2])], {"axes": axes})
    for shifts, axes in (([5], []), ([-27], []), ([1, -7], [0, 2]), ([2], [-2])):
        yield Case("roll", [x], [x.roll(shifts, axes or None)], {"shifts": shifts, "axes": axes})
    for repeats in ([], [2], [3, 1], [2, 1, 1, 2], [1, 0, 1]):
        yield Case("tile", [x], [torch.from_numpy(np.tile(x.numpy(), repeats))],
                   {"repeats": repeats})
    for repeats, axis in ((3, 0), (2, -1), (0, 1)):
        yield Case("repeat", [x], [x.repeat_interleave(repeats, axis)],
                   {"repeats": repeats, "axis": axis})
    yield Case("swap_axes", [x], [x.swapaxes(0, -1)], {"axis1": 0, "axis2": -1})
    for source, destination in ((0, 2), (2, 0), (-1, 1), (1, 1)):
        yield Case("move_axis", [x], [x.movedim(source, destination)],
                   {"source": source, "destination": destination})


def regions():
    x = X.to(torch.int64) * 1_000_000_007_000
    spans = [(0, 3, 1), (None, None, -1), (-1, -5, -2), (-2, 100, 1), (2, 1, 1), (100, -100, -3),
             (-100, 2, 2)]
    a = x[1].numpy()
    for start, stop, step in spans:
        # None walks to the end, which is an end out of reach here.
        begin = start if start is not None else 100
        end = stop if stop is not None else -100
        yield Case("strided_slice", [x[1], Ints([begin, begin]), Ints([end, end])],
                   [torch.from_numpy(a[start:stop:step, start:stop:step].copy())],
                   {"strides": [step, step]})
    yield Case("slice", [x, Ints([1, 0]), Ints([3, 4])], [x[:, 1:3, 0:4:2]],
               {"axes": [1, 2], "strides": [1, 2]})
    for starts in ([0, 0, 0], [1, 1, 2], [9, -4, 3]):
        at = [min(max(s, 0), d - n) for s, d, n in zip(starts, x.shape, (1, 2, 3))]
        window = tuple(slice(s, s + n) for s, n in zip(at, (1, 2, 3)))
        first = torch.tensor(starts, dtype=torch.int32)
        yield Case("dynamic_slice", [x, first, Ints([1, 2, 3])], [x[window]])
        update = -x[:1, :2, :3]
        changed = x.clone()
        changed[window] = update
        yield Case("dynamic_update_slice", [x, update, first.long()], [changed])
    y = X.to(torch.float16)[None]
    for mode, torch_mode in (("constant", "constant"), ("edge", "replicate"),
                             ("reflect", "reflect"), ("circular", "circular")):
        args = {"value": 7.0} if mode == "constant" else {}
        padded = F.pad(y.float(), (2, 1, 0, 2), torch_mode, **args).half()
        yield Case("pad", [y], [padded],
                   {"widths": [0, 0, 0, 0, 0, 2, 2, 1], "mode": mode, **args})
    wide = torch.arange(4.0)
    for mode, numpy_mode in (("reflect", "reflect"), ("circular", "wrap"), ("edge", "edge")):
        yield Case("pad", [wide], [torch.from_numpy(np.pad(wide.numpy(), (9, 13), numpy_mode))],
                   {"widths": [9, 13], "mode": mode})
    image = torch.arange(2 * 8 * 2 * 3, dtype=torch.int32).reshape(2, 8, 2, 3)
    yield Case("depth_to_space", [image], [F.pixel_shuffle(image, 2)],
               {"block": 2, "depth_first": False})
    n, c, h, w = image.shape
    depth_first = image.reshape(n, 2, 2, c // 4, h, w).permute(0, 3, 4, 1, 5, 2)
    depth_first = depth_first.reshape(n, c // 4, 2 * h, 2 * w)
    yield Case("depth_to_space", [image], [depth_first], {"block": 2})
    yield Case("space_to_depth", [depth_first], [image], {"block": 2})


def corners():
    """What the first cases of an operator leave out: no elements, no dimensions, other axes."""
    x = X.to(torch.int16)
    scalar = torch.tensor(2.5)
    yield Case("reshape", [x[:, :0], Ints([0, 5])], [torch.zeros(0, 5, dtype=torch.int16)])
    yield Case("reshape", [scalar, Ints([1, 1])], [scalar.reshape(1, 1)])
    yield Case("concat", [[x[0], x[1, :0], x[1]]], [torch.cat([x[0], x[1]])], {"axis": 0})
    yield Case("stack", [[scalar, -scalar]], [torch.stack([scalar, -scalar])], {"axis": 0})
    yield Case("stack", [[x[:, :0], x[:, :0]]], [torch.stack([x[:, :0]] * 2, 3)], {"axis": 3})
    yield Case("expand_dims", [scalar], [scalar[None, None]], {"axes": [0, 1]})
    yield Case("squeeze", [x[:1, None, :, :1]], [x[:1, :, 0]], {"axes": [-1, 1]})
    yield Case("broadcast_to", [scalar, Ints([2, 0, 3])], [scalar.expand(2, 0, 3)])
    yield Case("broadcast_to", [x[:, :, :1], Ints([2, 3, 4])], [x[:, :, :1].expand(2, 3, 4)])
    yield Case("swap_axes", [x], [x.swapaxes(1, -2)], {"axis1": 1, "axis2": -2})
    yield Case("slice", [x, Ints([3]), Ints([3])], [x[:, :, 3:3]], {"axes": [2]})
    yield Case("slice", [x, Ints([0, 1, 0]), Ints([2, 3, 4])], [x[::2, 1:3, ::3]],
               {"strides": [2, 1, 3]})
    image = torch.arange(2 * 3 * 6 * 9).reshape(2, 3, 6, 9)
    blocks = image.reshape(2, 3, 2, 3, 3, 3).permute(0, 3, 5, 1, 2, 4)
    yield Case("space_to_depth", [image], [blocks.reshape(2, 27, 2, 3)], {"block": 3})


def dtypes():
    for dtype in (torch.bool, torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32,
                  torch.uint32, torch.int64, torch.uint64, torch.float16, torch.bfloat16,
                  torch.float32, torch.float64):
        x = (X % 7 - 3 if dtype.is_signed else X % 7).to(dtype)
        turned = (X % 7 - 3 if dtype.is_signed else X % 7).permute(1, 2, 0).to(dtype)
        yield Case("permute", [x], [turned], {"axes": [1, 2, 0]})


def cases():
    yield from arrangements()
    yield from regions()
    yield from dtypes()
    yield from corners()
