"""Golden cases of quantized weights."""

import torch

from make_ops import Case, DType


def dequantized(packed, scales, group):
    nibbles = torch.stack((packed & 15, packed >> 4), -1).flatten(-2)
    return (nibbles.double() - 8) * scales.double().repeat_interleave(group, -1)


def levels(packed):
    """Of a byte each, or of nibbles that are not centered."""
    if packed.dtype == torch.int8:
        return packed.double()
    return torch.stack((packed & 15, packed >> 4), -1).flatten(-2).double()


# Planes of a level: bits in a byte, from the lowest, and the place of the part in the level.
PLANES = {2: [(2, 0)], 3: [(2, 0), (1, 2)], 5: [(4, 0), (1, 4)], 6: [(4, 0), (2, 4)]}


def packed_levels(codes, bits):
    """Rows of codes below 2^bits: all low parts, then all high parts."""
    rows = []
    for width, shift in PLANES[bits]:
        parts = ((codes >> shift) & (2**width - 1)).unflatten(-1, (-1, 8 // width))
        rows.append((parts << (torch.arange(8 // width) * width)).sum(-1))
    return torch.cat(rows, -1).to(torch.uint8)


def few_bit_cases():
    for bits, dtype, group, shape in ((2, torch.float16, 32, (3, 64)), (2, torch.float32, 2, (4,)),
                                      (3, torch.float32, 32, (2, 2, 32)), (3, torch.bfloat16, 1, (8,)),
                                      (5, torch.float16, 64, (3, 128)), (6, torch.float32, 8, (2, 24)),
                                      (6, torch.float32, 32, (0, 32))):
        codes = torch.randint(0, 2**bits, shape)
        groups = (*shape[:-1], shape[-1] // group)
        scales, minimums = (torch.randn(*groups, dtype=torch.float64).to(dtype) for _ in range(2))
        wide, least = (x.double().repeat_interleave(group, -1) for x in (scales, minimums))
        packed = packed_levels(codes, bits)
        attrs = {"group": group, "bits": bits}
        for name in ("f32", "f16"):
            yield Case("dequantize", [packed, scales], [(codes.double() - 2 ** (bits - 1)) * wide],
                       {**attrs, "dtype": DType(name)}, [name])
        yield Case("dequantize_affine", [packed, scales, minimums], [codes.double() * wide + least], attrs, ["f32"])


def whole_cases():
    for dtype, group, shape in ((torch.float16, 32, (3, 64)), (torch.float32, 16, (2, 2, 32)),
                                (torch.bfloat16, 1, (5,)), (torch.float32, 32, (0, 32))):
        packed = torch.randint(-128, 128, shape, dtype=torch.int8)
        scales = torch.randn(*shape[:-1], shape[-1] // group, dtype=torch.float64).to(dtype)
        result = levels(packed) * scales.double().repeat_interleave(group, -1)
        for name in ("f32", "f16"):
            yield Case("dequantize", [packed, scales], [result], {"group": group, "dtype": DType(name)}, [name])


def affine_cases():
    for dtype, group, shape, packed_dtype in (
            (torch.float16, 32, (3, 32), torch.uint8), (torch.float32, 16, (2, 3, 16), torch.uint8),
            (torch.float32, 32, (2, 64), torch.int8), (torch.bfloat16, 2, (4, 6), torch.int8)):
        low, high = (0, 256) if packed_dtype == torch.uint8 else (-128, 128)
        packed = torch.randint(low, high, shape, dtype=packed_dtype)
        all_levels = levels(packed)
        groups = (*shape[:-1], all_levels.shape[-1] // group)
        scales, minimums = (torch.randn(*groups, dtype=torch.float64).to(dtype) for _ in range(2))
        wide = [x.double().repeat_interleave(group, -1) for x in (scales, minimums)]
        yield Case("dequantize_affine", [packed, scales, minimums], [all_levels * wide[0] + wide[1]],
                   {"group": group}, ["f32"])


def table_cases():
    for dtype, group, shape in ((torch.float16, 32, (3, 32)), (torch.float32, 16, (2, 3, 32)),
                                (torch.bfloat16, 2, (4, 6)), (torch.float32, 32, (0, 16))):
        packed = torch.randint(0, 256, shape, dtype=torch.uint8)
        values = torch.randn(16)
        scales = torch.randn(*shape[:-1], shape[-1] * 2 // group, dtype=torch.float64).to(dtype)
        result = values.double()[levels(packed).long()] * scales.double().repeat_interleave(group, -1)
        for name in ("f32", "f16"):
            yield Case("dequantize_table", [packed, scales], [result],
                       {"group": group, "dtype": DType(name), "values": values.tolist()}, [name])


def float_cases():
    e2m1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)
    for form, dtype, group, shape in (
            ("e2m1", torch.float16, 32, (3, 32)), ("e2m1", torch.float32, 16, (2, 3, 32)),
            ("e4m3", torch.float32, 32, (2, 2, 64)), ("e4m3", torch.bfloat16, 1, (254,)),
            ("e4m3", torch.float32, 32, (0, 32))):
        packed = torch.randint(0, 256, shape, dtype=torch.uint8)
        if form == "e4m3":  # all but the NaN's codes
            packed = (torch.arange(packed.numel()) % 127 + 128 * (torch.arange(packed.numel()) // 127 % 2))
            packed = packed.reshape(shape).to(torch.uint8)
            values = packed.view(torch.float8_e4m3fn).double()
        else:
            values = e2m1[levels(packed).long()]
        scales = torch.randn(*shape[:-1], values.shape[-1] // group, dtype=torch.float64).to(dtype)
        result = values * scales.double().repeat_interleave(group, -1)
        for name in ("f32", "f16"):
            yield Case("dequantize_float", [packed, scales], [result],
                       {"group": group, "dtype": DType(name), "format": form}, [name])


def activation_cases():
    for dtype, group, shape in ((torch.float32, 32, (3, 64)), (torch.float16, 16, (2, 2, 32)),
                                (torch.bfloat16, 1, (5,)), (torch.float32, 3, (4, 9)),
                                (torch.float32, 32, (0, 32))):
        x = torch.randn(shape, dtype=torch.float64).to(dtype)
        if x.dim() == 2 and x.numel():  # a group of zeros, and one too small to count
            x[0, :group] = 0
            x[1, :group] = 2.0**-101
        groups = x.double().unflatten(-1, (-1, group))
        peak = groups.abs().amax(-1, keepdim=True)
        scales = torch.where(peak < 2.0**-100, 0, peak / 127)
        quantized = torch.where(scales == 0, 0, (groups / scales).round())
        yield Case("quantize", [x], [quantized.flatten(-2).to(torch.int8), scales.squeeze(-1)],
                   {"group": group}, ["i8", "f32"])


def cases():
    for dtype, group, shape in ((torch.float32, 32, (3, 32)), (torch.float16, 32, (2, 3, 16)),
                                (torch.bfloat16, 2, (4, 5)), (torch.float64, 1, (3,)),
                                (torch.float32, 6, (2, 9)), (torch.float32, 32, (0, 16)),
                                (torch.float16, 64, (1, 32))):
        packed = torch.randint(0, 256, shape, dtype=torch.uint8)
        scales = torch.randn(*shape[:-1], shape[-1] * 2 // group, dtype=torch.float64).to(dtype)
        for result in ("f32", "f16"):
            yield Case("dequantize", [packed, scales], [dequantized(packed, scales, group)],
                       {"group": group, "dtype": DType(result)}, [result])
    yield from whole_cases()
    yield from few_bit_cases()
    yield from affine_cases()
    yield from table_cases()
    yield from float_cases()
    yield from activation_cases()
