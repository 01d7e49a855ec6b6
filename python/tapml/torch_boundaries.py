"""Maps values between tapml's kernels to tensors between PyTorch's modules."""

from __future__ import annotations

import bisect
import re
from typing import Any, Iterable, Mapping, Optional, Sequence

import numpy as np

from ._tapml import Suite
from .torch_records import ModuleRecord, RecordedTensor, content_key

#: A tensor parameter of a call: the call's number in the suite, the parameter's name.
Place = tuple[int, str]


def _within(path: str, module: str) -> bool:
    return path == module or path.startswith(module + ".")


def _is_touched(layers: Sequence[str], module: str) -> bool:
    return not module or any(_within(layer, module) for layer in layers)


def _is_inside(layers: Sequence[str], module: str) -> bool:
    return not module or (bool(layers) and all(_within(layer, module) for layer in layers))


class Flow:
    """The data flow between kernel calls, as recorded in tapml's run.

    ``begins``: the index of each decode step's first call.
    """

    def __init__(self, suite: Suite, begins: Sequence[int]) -> None:
        self.calls = suite.calls
        self.step = [bisect.bisect_right(begins, c) for c in range(len(self.calls))]
        self.kernels = {kernel.name: kernel for kernel in suite.kernels}
        self.inputs = [call.inputs for call in self.calls]
        self.outputs = [call.outputs for call in self.calls]
        self.producer: dict[Place, Place] = {}
        self.consumers: dict[Place, list[Place]] = {}
        keys: dict[tuple[int, int], bytes] = {}  # by address: the suite's tensors do not move

        def key(array: np.ndarray[Any, Any]) -> bytes:
            at = (array.__array_interface__["data"][0], array.nbytes)
            if at not in keys:
                keys[at] = content_key(array.view(np.uint8) if array.ndim else array)
            return keys[at]

        last: dict[bytes, Place] = {}
        for c in range(len(self.calls)):
            for name, array in self.inputs[c].items():
                source = last.get(key(array))
                if source is not None:
                    self.producer[c, name] = source
                    self.consumers[source].append((c, name))
            for name, array in self.outputs[c].items():
                last[key(array)] = (c, name)
                self.consumers[c, name] = []

    def beside(self, c: int, name: str) -> list[str]:
        """Parameters of a call that are operands of the same operator as ``name``."""
        kernel = self.kernels[self.calls[c].kernel]
        head, _, body = kernel.spec.partition(f"def {kernel.name}(")[2].partition(") ->")
        # The spec's parameters are the kernel's inputs, in order, with other names.
        own = re.findall(r"(\w+): Tensor\(", head)
        read = [one for one, mode in zip(kernel.parameters, kernel.modes) if mode != "out"]
        found = []
        for line in body.partition("\nprim def ")[0].splitlines():
            operator = re.search(r" = \w+\(([^()]*)\)", line)
            operands = [one.strip() for one in operator[1].split(",")] if operator else []
            named = [read[own.index(one)] for one in operands if one in own]
            if name in named:
                found += [one for one in named if one != name]
        return found

    def value(self, place: Place) -> np.ndarray[Any, Any]:
        return self.outputs[place[0]][place[1]]


def _selected(tensor: RecordedTensor, value: np.ndarray[Any, Any]) -> Optional[np.ndarray[Any, Any]]:
    """PyTorch's tensor in the form of tapml's value; None if it cannot be the same.

    A prefill continues with only the last position where the logits need no others.
    """
    array = tensor.array
    if (array.dtype.kind in "iu") != (value.dtype.kind in "iu"):
        return None
    if array.size != value.size:
        if array.ndim < 2 or array.shape[-2] * value.size != array.size:
            return None
        array = array[..., -1, :]
    return np.ascontiguousarray(array.astype(value.dtype, copy=False).reshape(value.shape))


class Boundaries:
    """Maps values of tapml's run to tensors of PyTorch's run, which has ``steps``.

    Steps share no boundary: a call that is the same in two of them is one call, of the first.
    """

    def __init__(self, flow: Flow, steps: Sequence[Mapping[str, ModuleRecord]]) -> None:
        self.flow = flow
        self.names: dict[Place, str] = {}
        self.arrays: dict[Place, np.ndarray[Any, Any]] = {}
        self.tensors: dict[Place, RecordedTensor] = {}
        self.notes: list[str] = []
        self.steps = steps
        # Calls with a layer in the module, and calls with all layers in it.
        self.touching: dict[str, set[int]] = {}
        self.inside: dict[str, set[int]] = {}
        for path, record in steps[0].items():
            touching = {c for c, call in enumerate(flow.calls) if _is_touched(call.layers, path)}
            if len(record.outputs) == 1 and len(record.inputs) == 1:
                self.touching[path] = touching
                self.inside[path] = {c for c in touching if _is_inside(flow.calls[c].layers, path)}
            elif record.outputs and touching:
                self.notes.append(f"{path} was called {len(record.outputs)} times, and is left out")
        # Innermost first: their boundaries are the closest.
        self.paths = sorted(self.touching, key=lambda path: (path == "", -path.count("."), path))
        while self._pass():
            pass

    def _pass(self) -> bool:
        before = len(self.arrays)
        for step in range(len(self.steps)):
            for path in self.paths:
                self._output_of(path, step)
            for path in self.paths:
                self._input_of(path, step)
        return len(self.arrays) > before

    def _of_step(self, calls: Iterable[int], step: int) -> list[int]:
        return sorted(c for c in calls if self.flow.step[c] == step)

    def _name(self, end: str, path: str, step: int) -> str:
        return f"{end} of {path or 'the model'}" + (f" (decode {step})" if step else "")

    def _output_of(self, path: str, step: int) -> None:
        inside = self.inside[path]
        own = set(self._of_step(inside, step))
        # A module that shares a kernel with another one ends inside that kernel.
        if not own or inside != self.touching[path]:
            return
        leaving = [place for place, readers in self.flow.consumers.items() if place[0] in own and
                   (not readers or any(reader not in inside for reader, _ in readers))]
        self._claim(leaving, self.steps[step][path].outputs[0], self._name("output", path, step))

    def _input_of(self, path: str, step: int) -> None:
        record = self.steps[step][path]
        touching = self.touching[path]
        inside = self.inside[path]
        own = set(self._of_step(inside or touching, step))
        readers = [to for to in self.flow.producer if to[0] in own] if inside else [
            to for c in sorted(own) for to in self._beside_weight(c, record.weight)]
        entering = [self.flow.producer[to] for to in readers if to in self.flow.producer]
        self._claim(dict.fromkeys(source for source in entering if source[0] not in touching),
                    record.inputs[0], self._name("input", path, step))

    def _beside_weight(self, c: int, shape: Optional[tuple[int, ...]]) -> list[Place]:
        """The other operands of the fused operator that uses the only weight of this shape.

        For a module that shares its kernel with others these are the module's inputs; any other
        value may be inside the kernel.
        """
        inputs = self.flow.inputs[c]
        weights = [name for name, array in inputs.items()
                   if (c, name) not in self.flow.producer and array.shape == shape]
        if len(weights) != 1:
            return []
        return [(c, name) for name in self.flow.beside(c, weights[0])]

    def _claim(self, places: Iterable[Place], tensors: Sequence[RecordedTensor], name: str) -> None:
        """Matches a value with a tensor if, after earlier matches, only one pair is possible."""
        places = list(places)
        used = {tensor.key for place, tensor in self.tensors.items() if place in places}
        free = {tensor.key: tensor for tensor in tensors if tensor.key not in used}
        found = [(place, tensor, array) for place in places if place not in self.arrays
                 for tensor in free.values()
                 for array in [_selected(tensor, self.flow.value(place))] if array is not None]
        if len(found) != 1:
            return
        place, tensor, array = found[0]
        self.arrays[place], self.tensors[place], self.names[place] = array, tensor, name


def joined_calls(flow: Flow, boundaries: Boundaries) -> list[tuple[list[int], list[Place]]]:
    """Calls that are connected by values without a boundary, in order, and their end boundaries.

    Calls that a cache connects across several steps form a group for each step: with those calls
    of earlier steps that its outputs depend on.
    """
    parent = list(range(len(flow.calls)))

    def root(c: int) -> int:
        while parent[c] != c:
            parent[c] = c = parent[parent[c]]
        return c

    for place, readers in flow.consumers.items():
        if place not in boundaries.arrays:
            for reader, _ in readers:
                parent[root(reader)] = root(place[0])
    joined: dict[int, list[int]] = {}
    for c in range(len(flow.calls)):
        joined.setdefault(root(c), []).append(c)
    ends: dict[int, list[Place]] = {}
    for place in flow.consumers:
        if place in boundaries.arrays:
            ends.setdefault(root(place[0]), []).append(place)
    groups: list[tuple[list[int], list[Place]]] = []
    for number, calls in joined.items():
        if len({flow.step[c] for c in calls}) == 1:
            groups.append((calls, ends.get(number, [])))
            continue
        left = set(calls)
        by_step: dict[int, list[Place]] = {}
        for place in ends.get(number, []):
            by_step.setdefault(flow.step[place[0]], []).append(place)
        for places in by_step.values():
            needed = _needed(flow, boundaries, {c for c, _ in places})
            left -= set(needed)
            groups.append((needed, places))
        if left:
            groups.append((sorted(left), []))
    return sorted(groups, key=lambda group: [
        (flow.step[c], c) for c in group[0] if flow.step[c] == flow.step[group[0][-1]]])


def _needed(flow: Flow, boundaries: Boundaries, calls: set[int]) -> list[int]:
    """The calls, and those that they depend on without a boundary in between."""
    sources: dict[int, set[int]] = {}
    for to, source in flow.producer.items():
        if source not in boundaries.arrays:
            sources.setdefault(to[0], set()).add(source[0])
    found, new = set(calls), list(calls)
    while new:
        for c in sources.get(new.pop(), set()) - found:
            found.add(c)
            new.append(c)
    return sorted(found)
