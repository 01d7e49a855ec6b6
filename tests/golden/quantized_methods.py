"""Random quantized matrices of each method: what its files have, and the f32 numbers that they stand for.

A method gets (seed, name, shape) of a linear layer's weight and returns {end of a tensor's name: tensor} and the
numbers. Where a package computes on CPUs, the numbers are its own: compressed-tensors, bitsandbytes, and the code of
transformers for FP8 and MXFP4. For GPTQ, AWQ and modelopt's NVFP4 they are computed here, after the published
descriptions of the formats.
"""

import bitsandbytes.functional
import numpy as np
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from transformers.integrations.finegrained_fp8 import _dequantize_fp8_weight
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

import rng

DEVIATION = 0.2  # about that of all weights


def draw(seed, name, shape, count):
    """Random integers below count."""
    values = rng.words(seed, name, int(np.prod(shape))) >> np.uint32(8)
    return (values % np.uint32(count)).astype(np.int64).reshape(shape)


def normal(seed, name, shape):
    return torch.from_numpy(rng.weight(seed, name, shape, 0.35).astype(np.float32))


def near(seed, name, shape, size):
    """Positive numbers within a fifth of size."""
    return size * (1 + 0.2 * torch.from_numpy(rng.unit(seed, name, int(np.prod(shape)))).reshape(shape))


def bit_stream(codes, bits, axis):
    """Codes in 32-bit words along an axis, the first in the lowest bits; a code may go on in the next word."""
    codes = np.moveaxis(codes, axis, -1).astype(np.uint64)
    digits = (codes[..., None] >> np.arange(bits, dtype=np.uint64)) & np.uint64(1)
    digits = digits.reshape(*codes.shape[:-1], -1, 32)
    words = (digits << np.arange(32, dtype=np.uint64)).sum(-1).astype(np.uint32).view(np.int32)
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(words, -1, axis)))


def gptq(bits, group, symmetric, act_order=False, v2=False):
    def make(seed, name, shape):
        outputs, inputs = shape
        size = inputs if group == -1 else min(group, inputs)
        groups = -(-inputs // size)
        index = np.arange(inputs) // size
        if act_order:
            index = index[np.argsort(rng.words(seed, name + ".order", inputs), kind="stable")]
        codes = draw(seed, name, (inputs, outputs), 2**bits)
        middle = 2**(bits - 1)
        zeros = np.full((groups, outputs), middle)
        if not symmetric:
            zeros = np.clip(middle - 2 + draw(seed, name + ".zeros", zeros.shape, 5), 1, 2**bits - 1)
        scales = near(seed, name + ".scales", zeros.shape, DEVIATION * 3.4 / 2**bits).half()
        numbers = (torch.from_numpy(codes - zeros[index]).float() * scales.float()[index]).T
        tensors = {".qweight": bit_stream(codes, bits, 0), ".qzeros": bit_stream(zeros - (0 if v2 else 1), bits, 1),
                   ".scales": scales, ".g_idx": torch.from_numpy(index.astype(np.int32))}
        return tensors, numbers
    return make


def awq(group):
    def make(seed, name, shape):
        outputs, inputs = shape
        groups = inputs // min(group, inputs)
        codes = draw(seed, name, (inputs, outputs), 16)
        zeros = 5 + draw(seed, name + ".zeros", (groups, outputs), 6)
        scales = near(seed, name + ".scales", zeros.shape, DEVIATION * 3.4 / 16).half()
        index = np.arange(inputs) // (inputs // groups)
        numbers = (torch.from_numpy(codes - zeros[index]).float() * scales.float()[index]).T

        def pack(x):
            x = x.reshape(x.shape[0], -1, 8)[..., [0, 2, 4, 6, 1, 3, 5, 7]]
            return bit_stream(x.reshape(x.shape[0], -1), 4, 1)
        return {".qweight": pack(codes), ".qzeros": pack(zeros), ".scales": scales}, numbers
    return make


def fp8(scales_of, suffix, dtype=torch.float8_e4m3fn, block=None, power_of_two=False):
    """scales_of(outputs, inputs) is the shape of the scales."""
    def make(seed, name, shape):
        largest = torch.finfo(dtype).max
        codes = (normal(seed, name, shape) / 1.2 * largest).to(dtype)
        scales = near(seed, name + ".scales", scales_of(*shape), 1.2 / largest)
        if power_of_two:
            scales = scales.log2().round().exp2()
        numbers = _dequantize_fp8_weight(codes, scales, block, torch.float32)
        return {".weight": codes, suffix: scales.to(torch.float8_e8m0fnu) if power_of_two else scales}, numbers
    return make


def compressed(form, args, size, scale_dtype=torch.bfloat16, act_order=False):
    """args: of the weights. size: of scales against the largest level."""
    args = QuantizationArgs(**args)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    compressor = BaseCompressor.get_value_from_registry(form)

    def make(seed, name, shape):
        outputs, inputs = shape
        strategy = getattr(args.strategy, "value", args.strategy)
        groups = {"tensor": (1,), "channel": (outputs, 1)}.get(strategy)
        if strategy in ("group", "tensor_group"):
            groups = (outputs, inputs // args.group_size)
        if strategy == "block":
            groups = tuple(-(-n // b) for n, b in zip(shape, args.block_structure))
        scales = near(seed, name + ".scales", groups, size).to(scale_dtype)
        state = {"weight": normal(seed, name, shape), "weight_scale": scales.float()}
        if not args.symmetric:
            low = -2 + draw(seed, name + ".zeros", groups, 5)
            state["weight_zero_point"] = torch.from_numpy(low).to(torch.int8)
        if strategy == "tensor_group":
            # Scales are of float8, which the whole matrix's scale brings into range.
            state["weight_global_scale"] = torch.tensor([400 / size], dtype=torch.float32)
            state["weight_scale"] = (scales.float() * state["weight_global_scale"]).to(torch.float8_e4m3fn).float()
        if form == "mxfp4-pack-quantized":
            state["weight_scale"] = scales.float().log2().round().exp2()
        stored = compressor.compress(dict(state), scheme)
        if strategy == "tensor_group":  # the package's would be rounded to bf16
            whole = stored["weight_scale"].float() / stored["weight_global_scale"]
            numbers = unpack_fp4_from_uint8(stored["weight_packed"], *shape, dtype=torch.float32)
            numbers = numbers * whole.repeat_interleave(args.group_size, 1)
        else:
            numbers = compressor.decompress(dict(stored), scheme)["weight"].float()
        if stored["weight_scale"].dtype == torch.float32:
            stored["weight_scale"] = scales
        return {"." + key: value for key, value in stored.items()}, numbers
    return make


def mxfp4(seed, name, shape):
    """Of gpt-oss's experts: shape is [experts, inputs, outputs]."""
    experts, inputs, outputs = shape
    blocks = torch.from_numpy(draw(seed, name, (experts, outputs, inputs // 32, 16), 256)).to(torch.uint8)
    scales = torch.from_numpy(122 + draw(seed, name + ".scales", (experts, outputs, inputs // 32), 3)).to(torch.uint8)
    numbers = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
    return {"_blocks": blocks, "_scales": scales}, numbers


def nvfp4(seed, name, shape):
    """Of modelopt."""
    outputs, inputs = shape
    codes = draw(seed, name, shape, 16)
    scales = near(seed, name + ".scales", (outputs, inputs // 16), 200).to(torch.float8_e4m3fn)
    whole = torch.tensor(DEVIATION / 3 / 200)
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    numbers = values[torch.from_numpy(codes)] * (scales.float() * whole).repeat_interleave(16, 1)
    packed = torch.from_numpy((codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8))
    return {".weight": packed, ".weight_scale": scales, ".weight_scale_2": whole,
            ".input_scale": torch.tensor(0.01)}, numbers


def bitsandbytes_four(kind, nested):
    def make(seed, name, shape):
        packed, state = bitsandbytes.functional.quantize_4bit(
            normal(seed, name, shape), blocksize=32, quant_type=kind, compress_statistics=nested)
        numbers = bitsandbytes.functional.dequantize_4bit(packed, state)
        parts = {".weight." + key: value for key, value in state.as_dict(packed=True).items()}
        return {".weight": packed, **parts}, numbers.float()
    return make


def bitsandbytes_eight(seed, name, shape):
    codes, largest, _ = bitsandbytes.functional.int8_vectorwise_quant(normal(seed, name, shape).half())
    numbers = codes.float() * (largest[:, None] * np.float32(7.874015718698502e-3))
    return {".weight": codes, ".SCB": largest, ".weight_format": torch.zeros((), dtype=torch.uint8)}, numbers
