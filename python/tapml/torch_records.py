"""Records the inputs and outputs of an eager PyTorch model's modules, with hooks."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any, Callable, Iterator, Mapping, Optional

import numpy as np


@dataclasses.dataclass(frozen=True)
class RecordedTensor:
    """A tensor of PyTorch's run; equal bytes have equal keys."""

    key: bytes
    array: np.ndarray[Any, Any]


@dataclasses.dataclass
class ModuleRecord:
    """Calls of a module: input and output tensors."""

    #: Shape of its own weight; None if it has none.
    weight: Optional[tuple[int, ...]] = None
    inputs: list[list[RecordedTensor]] = dataclasses.field(default_factory=list)
    outputs: list[list[RecordedTensor]] = dataclasses.field(default_factory=list)


def content_key(array: np.ndarray[Any, Any]) -> bytes:
    return hashlib.sha256(memoryview(np.ascontiguousarray(array)).cast("B")
                          if array.size else b"").digest()


def arrays_in(x: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The tensors in arguments and results, at any nesting, as compact copies."""
    if isinstance(x, np.ndarray):
        yield np.array(x, order="C")
    elif hasattr(x, "detach") and hasattr(x, "cpu"):
        yield np.array(_widened(x.detach().cpu()).numpy(), order="C")
    elif isinstance(x, Mapping):
        for one in x.values():
            yield from arrays_in(one)
    elif isinstance(x, (list, tuple)):
        for one in x:
            yield from arrays_in(one)


def _widened(x: Any) -> Any:
    # NumPy has no bf16.
    return x.float() if str(x.dtype) == "torch.bfloat16" else x


def record_modules(model: Any, run: Callable[[], Any]) -> dict[str, ModuleRecord]:
    """Records the inputs and outputs of each module, by path, while ``run()`` runs the model.

    The path of the model itself is empty.
    """
    records: dict[str, ModuleRecord] = {}
    known: dict[bytes, RecordedTensor] = {}
    handles = []

    def taken(x: Any) -> list[RecordedTensor]:
        tensors = []
        for array in arrays_in(x):
            key = content_key(array)
            tensors.append(known.setdefault(key, RecordedTensor(key, array)))
        return tensors

    def watch(path: str, module: Any) -> None:
        shape = getattr(getattr(module, "weight", None), "shape", None)
        record = records[path] = ModuleRecord(None if shape is None else tuple(shape))
        # Before the call, because modules may write into their arguments.
        handles.append(module.register_forward_pre_hook(
            lambda _, args, kwargs: record.inputs.append(taken((args, kwargs))), with_kwargs=True))
        handles.append(module.register_forward_hook(
            lambda _, args, kwargs, result: record.outputs.append(taken(result)),
            with_kwargs=True))

    try:
        for path, module in model.named_modules():
            watch(path, module)
        run()
    finally:
        for handle in handles:
            handle.remove()
    return records


def of_tokens(records: Mapping[str, ModuleRecord], total: int, begin: int, end: int
               ) -> dict[str, ModuleRecord]:
    """The part of the records for the tokens from ``begin`` to ``end`` of ``total``.

    Tensors have a row for each token, in the last dimension but one (for ids and positions, the
    last). Tensors without such rows are kept whole.
    """
    known: dict[bytes, RecordedTensor] = {}

    def cut(tensor: RecordedTensor) -> RecordedTensor:
        array = tensor.array
        if array.ndim >= 2 and array.shape[-2] == total:
            array = array[..., begin:end, :]
        elif array.ndim >= 1 and array.dtype.kind in "iu" and array.shape[-1] == total:
            array = array[..., begin:end]
        else:
            return tensor
        if tensor.key not in known:
            array = np.ascontiguousarray(array)
            known[tensor.key] = RecordedTensor(content_key(array), array)
        return known[tensor.key]

    def cut_all(calls: list[list[RecordedTensor]]) -> list[list[RecordedTensor]]:
        return [[cut(tensor) for tensor in tensors] for tensors in calls]

    return {path: ModuleRecord(record.weight, cut_all(record.inputs), cut_all(record.outputs))
            for path, record in records.items()}
