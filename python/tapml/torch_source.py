"""PyTorch as the trusted source: what its modules compute says what tapml's kernels should.

``carve_torch`` runs an eager model with hooks on its modules, runs the same tokens through tapml's
model, and finds for each tensor between two of tapml's kernels the module border of PyTorch that is
the same place. Kernels between borders are judged as one group (docs/python.md).
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import os
import re
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import _tapml
from ._tapml import LanguageModel, Replayer, Session, Suite, Verdict
from .errors import UserError

__all__ = ["TorchCarving", "TorchGroup", "TorchUnmapped", "carve_torch"]

#: A tensor parameter of a call: the call's number in the suite, the parameter's name.
Place = tuple[int, str]

# Longer prompts pass tapml's engine in pieces, which PyTorch's one run has no borders for.
MOST_TOKENS = 512


@dataclasses.dataclass(frozen=True)
class TorchGroup:
    """Kernels between borders that PyTorch has, and what they compute of PyTorch's inputs."""

    #: Kernel names in the order in which they run, and the layers behind them.
    kernels: tuple[str, ...]
    layers: tuple[str, ...]
    #: Borders in PyTorch's words: ``"input of model.norm"``, ``"output of lm_head"``.
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: Which of the runs, from 0.
    run: int
    #: ``source_*`` are PyTorch's own measures, the others the device's.
    verdict: Verdict

    @property
    def passed(self) -> bool:
        """Whether the device and PyTorch are both within the bounds of the judge."""
        return self.verdict.passed and not self.verdict.source_wrong

    @property
    def outcome(self) -> str:
        """What is wrong, if anything is.

        ``"pass"``; ``"differs"``: the device computes something else than the kernels say;
        ``"pytorch differs"``: the kernels say something else than PyTorch computes, so that either
        PyTorch's module or the model as tapml has it is wrong; ``"cannot run"``, ``"crash"``,
        ... (docs/cli.md).
        """
        if self.verdict.failure:
            return str(self.verdict.to_dict()["failed"])
        if not self.verdict.passed:
            return "differs"
        return "pytorch differs" if self.verdict.source_wrong else "pass"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"kernels": list(self.kernels), "layers": list(self.layers),
                "inputs": list(self.inputs), "outputs": list(self.outputs), "run": self.run,
                "outcome": self.outcome, "verdict": self.verdict.to_dict()}


@dataclasses.dataclass(frozen=True)
class TorchUnmapped:
    """Kernels that nothing of PyTorch says anything about, and why."""

    kernels: tuple[str, ...]
    layers: tuple[str, ...]
    run: int
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"kernels": list(self.kernels), "layers": list(self.layers), "run": self.run,
                "reason": self.reason}


@dataclasses.dataclass(frozen=True)
class TorchCarving:
    """A model on a device of tapml, held against PyTorch."""

    target: str
    groups: tuple[TorchGroup, ...]
    unmapped: tuple[TorchUnmapped, ...]
    #: Tests with PyTorch's tensors for the groups of one kernel, source ``"pytorch"``; None where
    #: there is none.
    suite: Optional[Suite]
    #: What of PyTorch's run was left aside.
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every group passes, and there is one."""
        return bool(self.groups) and all(group.passed for group in self.groups)

    @property
    def culprits(self) -> tuple[TorchGroup, ...]:
        """The groups that do not pass."""
        return tuple(group for group in self.groups if not group.passed)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"source": "pytorch", "target": self.target, "passed": self.passed,
                "groups": [group.to_dict() for group in self.groups],
                "unmapped": [one.to_dict() for one in self.unmapped], "notes": list(self.notes)}

    def save(self, folder: Union[str, "os.PathLike[str]"]) -> int:
        """Writes ``suite``, for replay on any device; returns the groups that are not in it.

        These are the groups of several kernels: a suite's test is one call. Raises UserError where
        no group is one kernel.
        """
        if self.suite is None:
            raise UserError("no group is a single kernel", "save(folder)",
                            "a test with PyTorch's tensors", f"{len(self.groups)} groups")
        self.suite.save(os.fspath(folder))
        return sum(len(group.kernels) > 1 for group in self.groups)

    def __str__(self) -> str:
        """A row for each kind of group, with the worst of its layers; then what is wrong."""
        kinds: dict[tuple[Any, ...], list[TorchGroup]] = {}
        for group in self.groups:
            kinds.setdefault((group.kernels, group.outcome,
                              *(_NUMBER.sub("*", name) for name in group.inputs + group.outputs)),
                             []).append(group)
        rows = [("to", "groups", "error", "allowed", "pytorch", "outcome", "kernels")]
        for groups in kinds.values():
            worst = max(groups, key=lambda group: group.verdict.error_over_bound)
            ends = worst.outputs if len(groups) == 1 else tuple(
                _NUMBER.sub("*", name) for name in worst.outputs)
            v = worst.verdict
            rows.append((", ".join(ends), str(len(groups)), f"{v.max_abs:.2e}", f"{v.allowed:.2e}",
                         f"{v.source_max_abs:.2e}", worst.outcome, _joined(worst.kernels)))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                 for row in rows]
        for group in self.culprits:
            lines.append(f"culprit: {_joined(group.kernels)} ({group.outcome}), "
                         f"layers: {', '.join(group.layers)}")
        lines += [f"not judged: {_joined(one.kernels)} ({', '.join(one.layers)}): {one.reason}"
                  for one in self.unmapped]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


_NUMBER = re.compile(r"(?<=\.)[0-9]+(?=\.|$)")


def _joined(kernels: Sequence[str]) -> str:
    return " + ".join(dict.fromkeys(kernels))


@dataclasses.dataclass(frozen=True)
class _Tensor:
    """A tensor of PyTorch's run; equal bytes, equal key."""

    key: bytes
    array: np.ndarray[Any, Any]


@dataclasses.dataclass
class _Record:
    """Calls of a module: tensors in and out."""

    #: Shape of its own weight; None where it has none.
    weight: Optional[tuple[int, ...]] = None
    inputs: list[list[_Tensor]] = dataclasses.field(default_factory=list)
    outputs: list[list[_Tensor]] = dataclasses.field(default_factory=list)


def _key(array: np.ndarray[Any, Any]) -> bytes:
    return hashlib.sha256(memoryview(np.ascontiguousarray(array)).cast("B")
                          if array.size else b"").digest()


def _arrays(x: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The tensors in arguments and results, however they are nested, as compact copies."""
    if isinstance(x, np.ndarray):
        yield np.array(x, order="C")
    elif hasattr(x, "detach") and hasattr(x, "cpu"):
        yield np.array(_widened(x.detach().cpu()).numpy(), order="C")
    elif isinstance(x, Mapping):
        for one in x.values():
            yield from _arrays(one)
    elif isinstance(x, (list, tuple)):
        for one in x:
            yield from _arrays(one)


def _widened(x: Any) -> Any:
    # NumPy has no bf16.
    return x.float() if str(x.dtype) == "torch.bfloat16" else x


def _record(model: Any, run: Callable[[], Any]) -> dict[str, _Record]:
    """What goes into and comes out of each module while ``run()`` runs the model, by path."""
    records: dict[str, _Record] = {}
    known: dict[bytes, _Tensor] = {}
    handles = []

    def taken(x: Any) -> list[_Tensor]:
        tensors = []
        for array in _arrays(x):
            key = _key(array)
            tensors.append(known.setdefault(key, _Tensor(key, array)))
        return tensors

    def watch(path: str, module: Any) -> None:
        shape = getattr(getattr(module, "weight", None), "shape", None)
        record = records[path] = _Record(None if shape is None else tuple(shape))
        # Before the call, because modules may write into their arguments.
        handles.append(module.register_forward_pre_hook(
            lambda _, args, kwargs: record.inputs.append(taken((args, kwargs))), with_kwargs=True))
        handles.append(module.register_forward_hook(
            lambda _, args, kwargs, result: record.outputs.append(taken(result)),
            with_kwargs=True))

    try:
        for path, module in model.named_modules():
            if path:
                watch(path, module)
        run()
    finally:
        for handle in handles:
            handle.remove()
    return records


def _within(path: str, module: str) -> bool:
    return path == module or path.startswith(module + ".")


class _Flow:
    """What tapml's own run says about which kernel reads what of which."""

    def __init__(self, suite: Suite) -> None:
        self.calls = suite.calls
        self.kernels = {kernel.name: kernel for kernel in suite.kernels}
        self.inputs = [call.inputs for call in self.calls]
        self.outputs = [call.outputs for call in self.calls]
        self.producer: dict[Place, Place] = {}
        self.consumers: dict[Place, list[Place]] = {}
        keys: dict[tuple[int, int], bytes] = {}  # by address: the suite's tensors stay where they are

        def key(array: np.ndarray[Any, Any]) -> bytes:
            at = (array.__array_interface__["data"][0], array.nbytes)
            if at not in keys:
                keys[at] = _key(array.view(np.uint8) if array.ndim else array)
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
        """Parameters of a call that are operands of an operator together with ``name``."""
        kernel = self.kernels[self.calls[c].kernel]
        head, _, body = kernel.spec.partition(f"def {kernel.name}(")[2].partition(") ->")
        # The spec's parameters are the kernel's that are read, in order, under names of its own.
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


def _selected(tensor: _Tensor, value: np.ndarray[Any, Any]) -> Optional[np.ndarray[Any, Any]]:
    """PyTorch's tensor in the form of tapml's value; None where it cannot be the same.

    A prefill goes on with the last position alone where that is all that the logits need.
    """
    array = tensor.array
    if (array.dtype.kind in "iu") != (value.dtype.kind in "iu"):
        return None
    if array.size != value.size:
        if array.ndim < 2 or array.shape[-2] * value.size != array.size:
            return None
        array = array[..., -1, :]
    return np.ascontiguousarray(array.astype(value.dtype, copy=False).reshape(value.shape))


class _Borders:
    """Which value of tapml's run is which tensor of PyTorch's."""

    def __init__(self, flow: _Flow, records: Mapping[str, _Record]) -> None:
        self.flow = flow
        self.names: dict[Place, str] = {}
        self.arrays: dict[Place, np.ndarray[Any, Any]] = {}
        self.tensors: dict[Place, _Tensor] = {}
        self.notes: list[str] = []
        self.records = {}
        for path, record in records.items():
            if len(record.outputs) == 1 and len(record.inputs) == 1:
                self.records[path] = record
            elif record.outputs and self._touching(path):
                self.notes.append(f"{path} was called {len(record.outputs)} times, and is left aside")
        # The innermost first: their borders are the closest.
        self.paths = sorted(self.records, key=lambda path: (-path.count("."), path))
        while self._pass():
            pass

    def _touching(self, path: str) -> list[int]:
        return [c for c, call in enumerate(self.flow.calls)
                if any(_within(layer, path) for layer in call.layers)]

    def _inside(self, path: str) -> list[int]:
        return [c for c, call in enumerate(self.flow.calls)
                if call.layers and all(_within(layer, path) for layer in call.layers)]

    def _pass(self) -> bool:
        before = len(self.arrays)
        for path in self.paths:
            self._output_of(path)
        for path in self.paths:
            self._input_of(path)
        return len(self.arrays) > before

    def _output_of(self, path: str) -> None:
        inside = set(self._inside(path))
        # A module that shares a kernel with something else ends inside of that kernel.
        if not inside or inside != set(self._touching(path)):
            return
        leaving = [place for place, readers in self.flow.consumers.items() if place[0] in inside and
                   (not readers or any(reader not in inside for reader, _ in readers))]
        self._claim(leaving, self.records[path].outputs[0], f"output of {path}")

    def _input_of(self, path: str) -> None:
        touching = set(self._touching(path))
        inside = self._inside(path)
        readers = [to for to in self.flow.producer if to[0] in inside] if inside else [
            to for c in touching for to in self._beside_weight(c, self.records[path].weight)]
        entering = [self.flow.producer[to] for to in readers if to in self.flow.producer]
        self._claim(dict.fromkeys(source for source in entering if source[0] not in touching),
                    self.records[path].inputs[0], f"input of {path}")

    def _beside_weight(self, c: int, shape: Optional[tuple[int, ...]]) -> list[Place]:
        """What a fused kernel's operator takes beside the one weight of this shape.

        Of a module whose kernel it shares with others this is what the module gets; anything else
        may be a value inside of the kernel.
        """
        inputs = self.flow.inputs[c]
        weights = [name for name, array in inputs.items()
                   if (c, name) not in self.flow.producer and array.shape == shape]
        if len(weights) != 1:
            return []
        return [(c, name) for name in self.flow.beside(c, weights[0])]

    def _claim(self, places: Iterable[Place], tensors: Sequence[_Tensor], name: str) -> None:
        """Settles what only one pair can be, given what is settled already."""
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


def _groups(flow: _Flow, borders: _Borders) -> list[list[int]]:
    """Calls that a value without a border joins, in order."""
    parent = list(range(len(flow.calls)))

    def root(c: int) -> int:
        while parent[c] != c:
            parent[c] = c = parent[parent[c]]
        return c

    for place, readers in flow.consumers.items():
        if place not in borders.arrays:
            for reader, _ in readers:
                parent[root(reader)] = root(place[0])
    groups: dict[int, list[int]] = {}
    for c in range(len(flow.calls)):
        groups.setdefault(root(c), []).append(c)
    return sorted(groups.values())


def _reason(layers: Sequence[str], records: Mapping[str, _Record]) -> str:
    missing = [layer for layer in layers if layer not in records]
    if missing and len(missing) == len(layers):
        return "no module of the PyTorch model has this path"
    return "it ends at no border of PyTorch's modules that is known to be the same place"


def _judge(run: int, suite: Suite, replayer: Replayer, records: Mapping[str, _Record]
           ) -> tuple[list[TorchGroup], list[TorchUnmapped], Optional[Suite], list[str]]:
    flow = _Flow(suite)
    borders = _Borders(flow, records)
    judged, unmapped = [], []
    tests: list[int] = []
    before: list[tuple[int, str, Any]] = []
    after: list[tuple[int, str, Any]] = []
    for calls in _groups(flow, borders):
        kernels = tuple(flow.calls[c].kernel for c in calls)
        layers = tuple(sorted({layer for c in calls for layer in flow.calls[c].layers}))
        ends = [place for place in flow.consumers if place[0] in calls and place in borders.arrays]
        if not ends:
            unmapped.append(TorchUnmapped(kernels, layers, run, _reason(layers, records)))
            continue
        inputs, links, starts = [], [], []
        for to, source in flow.producer.items():
            if to[0] not in calls:
                continue
            if source in borders.arrays:
                like = flow.inputs[to[0]][to[1]]
                inputs.append((*to, borders.arrays[source].reshape(like.shape)))
                starts.append(borders.names[source])
            else:
                links.append((to, source))
        outputs = [(*place, borders.arrays[place]) for place in ends]
        verdict = replayer.group(calls, inputs=inputs, links=links, outputs=outputs)
        judged.append(TorchGroup(kernels, layers, tuple(dict.fromkeys(starts)),
                                 tuple(borders.names[place] for place in ends), run, verdict))
        if len(calls) == 1 and len(outputs) == len(flow.outputs[calls[0]]):
            tests += calls
            before += inputs
            after += outputs
    carved = _tapml.with_tensors(suite, tests, before, after, "pytorch") if tests else None
    return judged, unmapped, carved, borders.notes


def _folder_of(model: Any) -> str:
    folder = getattr(getattr(model, "config", None), "_name_or_path", "")
    if folder:
        return folder
    raise UserError("it is not known where the model's files are", "carve_torch(source=...)",
                    "the model's folder, or a tapml.LanguageModel of it", "none")


def _check_dtypes(model: Any) -> None:
    for name, parameter in getattr(model, "named_parameters", lambda: ())():
        if str(parameter.dtype) not in ("torch.float32", "torch.float64", "float32", "float64"):
            raise UserError("a trusted source computes in f32", f"parameter {name}",
                            "torch.float32", str(parameter.dtype),
                            "model.float(), or from_pretrained(folder, dtype=torch.float32)")


def _tokens(inputs: Any, model: LanguageModel) -> list[list[int]]:
    """One list of token ids a run."""
    if isinstance(inputs, str):
        return [list(model.encode(inputs))]
    if hasattr(inputs, "tolist"):
        inputs = inputs.tolist()
    inputs = list(inputs)
    if inputs and all(isinstance(one, (int, np.integer)) for one in inputs):
        return [[int(one) for one in inputs]]
    return [run for one in inputs for run in _tokens(one, model)]


def _forward(model: Any, tokens: Sequence[int]) -> Any:
    """Runs the model as transformers' models are called: ids of one sequence, no cache."""
    options = {}
    if "use_cache" in inspect.signature(model.forward).parameters:
        options["use_cache"] = False
    if not hasattr(model, "eval"):
        return model(np.array([tokens], np.int64), **options)
    import torch

    training = model.training
    device = next((parameter.device for parameter in model.parameters()), None)
    try:
        with torch.no_grad():
            return model.eval()(torch.tensor([list(tokens)], device=device), **options)
    finally:
        model.train(training)


def carve_torch(model: Any, inputs: Any, *,
                source: Union[LanguageModel, str, "os.PathLike[str]", None] = None,
                device: Optional[Session] = None, quantize: str = "",
                forward: Optional[Callable[[Any, Sequence[int]], Any]] = None,
                kernels: Union[str, "os.PathLike[str]", None] = None, weights: str = "inside",
                cache: bool = True) -> TorchCarving:
    """Judges tapml's kernels on ``device`` by what an eager PyTorch model computes.

    ``model`` is a torch.nn.Module with its weights in f32 (transformers' LlamaForCausalLM), loaded
    from the folder that ``source`` names, or that it says itself. ``inputs`` is a text, token ids
    (i64[n] or i64[1, n]), or several of these; each is one run without a cache, of 512 tokens at
    most. ``forward(model, tokens)`` runs models that are called in another way. ``device`` is the
    source platform that is to be judged; a cpu without it. ``kernels`` and ``weights`` (of the
    suite) as in ``replay`` and ``carve``.

    Forward hooks record what goes into and comes out of every module. tapml's model runs the same
    tokens; a tensor between two kernels that is, by the layers behind them, where a module begins
    or ends is a border. The kernels between borders are a group, which gets PyTorch's inputs (weights,
    page tables and constants are tapml's own) and is judged with PyTorch's outputs as the source's:
    both have to be within the bounds of docs/verdicts.md. What has no border is listed with the
    reason.

    Raises UserError for a model that is not f32, a folder that is none, too many tokens; whatever
    the model's own code raises; KeyboardInterrupt.
    """
    if isinstance(source, LanguageModel):
        loaded = source
    else:
        loaded = LanguageModel.load(_folder_of(model) if source is None else source,
                                    quantize=quantize)
    _check_dtypes(model)
    runs = _tokens(inputs, loaded)
    if not runs or not all(runs):
        raise UserError("there are no tokens to run", "carve_torch(inputs)", "a text or token ids",
                        "none")
    longest = max(len(tokens) for tokens in runs)
    if longest > MOST_TOKENS:
        raise UserError("a run is too long", "carve_torch(inputs)", f"at most {MOST_TOKENS} tokens",
                        f"{longest} tokens")
    if weights not in ("inside", "reference"):
        raise UserError("no such place for weights", "carve_torch(weights=...)",
                        '"inside" or "reference"', repr(weights))
    if device is None:
        device = _tapml.open_session("cpu", "", "", cache, [])
    groups: list[TorchGroup] = []
    unmapped: list[TorchUnmapped] = []
    tests: list[Suite] = []
    notes: list[str] = []
    for number, tokens in enumerate(runs):
        suite = _tapml.carve_model(loaded, device, [tokens], 0, 0, 0, weights == "reference", 1, False,
                                   cache)
        records = _record(model, lambda: (forward or _forward)(model, tokens))
        replayer = Replayer(suite, device, kernels="" if kernels is None else os.fspath(kernels),
                            cache=cache)
        judged, others, carved, remarks = _judge(number, suite, replayer, records)
        groups += judged
        unmapped += others
        notes += remarks
        if carved is not None:
            tests.append(carved)
    made = None if not tests else tests[0] if len(tests) == 1 else _tapml.merge(tests)
    return TorchCarving(device.target, tuple(groups), tuple(unmapped), made,
                        tuple(dict.fromkeys(notes)))
