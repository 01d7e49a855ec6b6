"""Golden cases of quantized weights."""

import torch

from make_ops import Case, DType


def dequantized(packed, scales, group):
    nibbles = torch.stack((packed & 15, packed >> 4), -1).flatten(-2)
    return (nibbles.double() - 8) * scales.double().repeat_interleave(group, -1)


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
