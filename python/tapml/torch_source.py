"""PyTorch as the trusted source: the results of its modules are expected of tapml's kernels.

``carve_torch`` runs an eager model with hooks on its modules, and runs the same tokens (or arrays)
through tapml's model or program. For each tensor between two of tapml's kernels it looks for the
matching module boundary in PyTorch. Kernels between boundaries are tested as one group
(docs/python.md).
"""

from __future__ import annotations

import inspect
import os
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import _tapml
from ._tapml import LanguageModel, Module, Replayer, Session, Suite
from .errors import UserError
from .torch_boundaries import Boundaries, Flow, joined_calls
from .torch_records import ModuleRecord, arrays_in, of_tokens, record_modules
from .torch_result import TorchCarving, TorchGroup, TorchUnmapped

__all__ = ["TorchCarving", "TorchGroup", "TorchUnmapped", "carve_torch"]

# tapml's engine splits longer prompts, for which PyTorch's single run has no boundaries, and it grows
# the cache outside of kernels.
MOST_TOKENS = 512


def _reason(layers: Sequence[str], records: Mapping[str, ModuleRecord]) -> str:
    missing = [layer for layer in layers if layer not in records]
    if missing and len(missing) == len(layers):
        return "no module of the PyTorch model has this path"
    return "it ends at no known boundary of PyTorch's modules"


def _compare_groups(run: int, suite: Suite, begins: Sequence[int], steps: Sequence[Mapping[str, ModuleRecord]],
           replayer: Callable[[Suite], Replayer]
           ) -> tuple[list[TorchGroup], list[TorchUnmapped], Optional[Suite], list[str]]:
    flow = Flow(suite, begins)
    boundaries = Boundaries(flow, steps)
    unmapped, tests, groups = [], [], []
    for calls, ends in joined_calls(flow, boundaries):
        layers = tuple(sorted({layer for c in calls for layer in flow.calls[c].layers}))
        if not ends:
            unmapped.append(TorchUnmapped(tuple(flow.calls[c].kernel for c in calls), layers, run,
                                          _reason(layers, steps[0])))
            continue
        inputs, links = [], []
        for to, source in flow.producer.items():
            if to[0] not in calls:
                continue
            if source in boundaries.arrays:
                like = flow.inputs[to[0]][to[1]]
                inputs.append((*to, boundaries.arrays[source].reshape(like.shape),
                               boundaries.names[source]))
            else:
                links.append((source, to))
        outputs = [(*place, boundaries.arrays[place], boundaries.names[place]) for place in ends]
        groups.append((calls, layers))
        tests.append((calls, inputs, links, outputs))
    if not tests:
        return [], unmapped, None, boundaries.notes
    trusted, places = _tapml.trusted_suite(suite, tests, "pytorch")
    on_device = replayer(trusted)
    compared = []
    for (calls, layers), (_, inputs, _, outputs), (joined, index) in zip(groups, tests, places):
        compared.append(TorchGroup(
            tuple(flow.calls[c].kernel for c in calls), layers,
            tuple(dict.fromkeys(one[3] for one in inputs)), tuple(one[3] for one in outputs), run,
            flow.step[calls[-1]],
            on_device.group(index) if joined else on_device.call(index)))
    return compared, unmapped, trusted, boundaries.notes


def _folder_of(model: Any) -> str:
    folder = getattr(getattr(model, "config", None), "_name_or_path", "")
    if folder:
        return folder
    raise UserError("the model's folder is unknown", "carve_torch(source=...)",
                    "the model's folder, or a tapml.LanguageModel of it", "none")


def _check_dtypes(model: Any) -> None:
    for name, parameter in getattr(model, "named_parameters", lambda: ())():
        if str(parameter.dtype) not in ("torch.float32", "torch.float64", "float32", "float64"):
            raise UserError("a trusted source computes in f32", f"parameter {name}",
                            "torch.float32", str(parameter.dtype),
                            "model.float(), or from_pretrained(folder, dtype=torch.float32)")


def _tokens(inputs: Any, model: LanguageModel) -> list[list[int]]:
    """One list of token ids per run."""
    if isinstance(inputs, str):
        return [list(model.encode(inputs))]
    if hasattr(inputs, "tolist"):
        inputs = inputs.tolist()
    inputs = list(inputs)
    if inputs and all(isinstance(one, (int, np.integer)) for one in inputs):
        return [[int(one) for one in inputs]]
    return [run for one in inputs for run in _tokens(one, model)]


#: A run of tapml, the first call of each decode step, and PyTorch's module records for each step.
_Run = tuple[Suite, list[int], list[dict[str, ModuleRecord]]]


def _evaluated(model: Any, call: Callable[[Any], Any]) -> Any:
    """``call(to_tensor)`` with the model in evaluation mode, if it is a PyTorch model."""
    if not hasattr(model, "eval"):
        return call(np.asarray)
    import torch

    training = model.training
    device = next((parameter.device for parameter in model.parameters()), None)
    try:
        with torch.no_grad():
            model.eval()
            return call(lambda x: torch.as_tensor(x, device=device))
    finally:
        model.train(training)


def _forward(model: Any, tokens: Sequence[int]) -> Any:
    """Calls the model in the way of transformers: ids of one sequence, no cache."""
    options = {}
    if "use_cache" in inspect.signature(model.forward).parameters:
        options["use_cache"] = False
    return _evaluated(model, lambda tensor: model(tensor(np.array([tokens], np.int64)), **options))


def _call(model: Any, *arguments: Any) -> Any:
    return _evaluated(model, lambda tensor: model(*(tensor(one) for one in arguments)))


def _text_runs(model: Any, inputs: Any, loaded: LanguageModel, device: Session, decode: int,
               weights: str, forward: Optional[Callable[..., Any]], cache: bool) -> Iterator[_Run]:
    runs = _tokens(inputs, loaded)
    if not runs or not all(runs):
        raise UserError("there are no tokens to run", "carve_torch(inputs)", "a text or token ids",
                        "none")
    if decode < 0:
        raise UserError("the number of steps is negative", "carve_torch(decode=...)", "0 or more",
                        str(decode))
    longest = max(len(tokens) for tokens in runs)
    if longest + decode > MOST_TOKENS:
        raise UserError("a run is too long", "carve_torch(inputs)", f"at most {MOST_TOKENS} tokens",
                        f"{longest} tokens" + (f" and {decode} decode steps" if decode else ""))
    for tokens in runs:
        suite, more, begins = _tapml.carve_steps(loaded, device, tokens, decode,
                                                 weights == "reference", cache)
        total = len(tokens) + decode
        records = record_modules(model, lambda: (forward or _forward)(model, [*tokens, *more]))
        steps = [records if not more else of_tokens(records, total, 0, len(tokens)),
                 *(of_tokens(records, total, end, end + 1) for end in range(len(tokens), total))]
        yield suite, begins, steps


def _weights_of(model: Any, function: str, names: Sequence[str],
                parameters: Mapping[str, str]) -> dict[str, Any]:
    """The model's tensors by the function's parameters that take them."""
    tensors = {name: array for name, one in model.state_dict().items() for array in arrays_in(one)}
    found = {name.replace(".", "_"): name for name in tensors}
    wanted = {name: found[name] for name in names if name in found and name not in parameters}
    for name, tensor in {**wanted, **parameters}.items():
        if name not in names:
            raise UserError("the function has no such parameter", "carve_torch(parameters=...)",
                            f"parameters of {function}: {', '.join(names)}", repr(name))
        if tensor not in tensors:
            raise UserError("the model has no such parameter", "carve_torch(parameters=...)",
                            ", ".join(tensors), repr(tensor))
        wanted[name] = tensor
    return {name: tensors[tensor] for name, tensor in wanted.items()}


def _program_runs(model: Any, inputs: Any, module: Module, function: Optional[str],
                  parameters: Mapping[str, str], device: Session,
                  forward: Optional[Callable[..., Any]], cache: bool) -> Iterator[_Run]:
    if function is None:
        function = module.functions[0] if len(module.functions) == 1 else "main"
    names = [one.name for one in module[function].inputs]
    weights = _weights_of(model, function, names, parameters)
    free = [name for name in names if name not in weights]
    runs = [list(run) if isinstance(run, (list, tuple)) else [run] for run in inputs]
    if not runs:
        raise UserError("there is nothing to run", "carve_torch(inputs)", "lists of arguments", "none")
    executable = _tapml.compile(module, device, cache=cache)
    for run in runs:
        if len(run) != len(free):
            raise UserError("a run has the wrong number of inputs", "carve_torch(inputs)",
                            f"{len(free)} per run: {', '.join(free)}", str(len(run)),
                            "parameters={...} maps parameters to weights with other names")
        own = {**weights, **dict(zip(free, (next(arrays_in(one), one) for one in run)))}
        suite = _tapml.carve_function(executable, device, function, [[own[name] for name in names]],
                                      0, 0, False, False, 30.0, 0)
        yield suite, [], [record_modules(model, lambda: (forward or _call)(model, *run))]


def _runs(model: Any, inputs: Any, source: Any, device: Session, quantize: str, decode: int,
          weights: str, function: Optional[str], parameters: Optional[Mapping[str, str]],
          forward: Optional[Callable[..., Any]], cache: bool) -> Iterator[_Run]:
    if isinstance(source, Module):
        if quantize or decode or weights != "inside":
            raise UserError("quantize, decode and weights go with a language model",
                            "carve_torch(source=...)", "a LanguageModel, or the folder of one",
                            "Module")
        _check_dtypes(model)
        return _program_runs(model, inputs, source, function, parameters or {}, device, forward, cache)
    if function is not None or parameters is not None:
        raise UserError("function and parameters go with a program", "carve_torch(source=...)",
                        "a tapml.Module", type(source).__name__)
    if weights not in ("inside", "reference"):
        raise UserError("the value of weights is unknown", "carve_torch(weights=...)",
                        '"inside" or "reference"', repr(weights))
    loaded = source if isinstance(source, LanguageModel) else LanguageModel.load(
        _folder_of(model) if source is None else source, quantize=quantize)
    _check_dtypes(model)
    return _text_runs(model, inputs, loaded, device, decode, weights, forward, cache)


def carve_torch(model: Any, inputs: Any, *,
                source: Union[LanguageModel, Module, str, "os.PathLike[str]", None] = None,
                device: Optional[Session] = None, quantize: str = "",
                forward: Optional[Callable[..., Any]] = None,
                custom_kernels: Union[str, "os.PathLike[str]", None] = None, weights: str = "inside",
                decode: int = 0, function: Optional[str] = None,
                parameters: Optional[Mapping[str, str]] = None,
                cache: bool = True) -> TorchCarving:
    """Compares tapml's kernels on ``device`` with the results of an eager PyTorch model.

    ``model`` is a torch.nn.Module with its weights in f32 (transformers' LlamaForCausalLM), loaded
    from the folder ``source``, or else from the folder in its own configuration. ``inputs`` is a
    text, token ids (i64[n] or i64[1, n]), or several of these; each is one run. ``decode`` steps
    follow each, with the tokens that are most likely in tapml's model; PyTorch's model is called
    once with all tokens and without a cache, and its results for a step's token are compared with
    that step. A run with its steps has at most 512 tokens. ``forward(model, tokens)`` runs models
    with another calling convention. ``device`` is the source platform under test, a cpu by
    default. ``custom_kernels`` is as in ``replay``, ``weights`` (of the suite) as in ``carve``.

    For a program, ``source`` is a Module whose origins are paths of the model's modules (``""``
    for operations of the model's own ``forward``), and ``inputs`` is a sequence of argument lists.
    Its ``function`` (its only one, or ``main``) takes these and the model's tensors: each
    parameter named like a parameter or buffer of the model (``fc_weight`` for ``fc.weight``), or
    mapped to one by ``parameters``, takes that tensor.

    Forward hooks record the inputs and outputs of every module. tapml's model runs the same
    tokens; a tensor between two kernels is a boundary if, by the layers of the kernels, a module
    begins or ends there. The kernels between boundaries are a group. It gets PyTorch's inputs
    (weights, page tables and constants are tapml's own) and is compared with PyTorch's outputs as
    those of the source: both have to be within the bounds of docs/verdicts.md. Kernels without a
    boundary are listed with the reason.

    Raises UserError for a model that is not f32, an invalid folder, too many tokens, and arguments
    and parameters that do not fit; exceptions of the model's own code; KeyboardInterrupt.
    """
    if device is None:
        device = _tapml.open_session("cpu", "", "", cache, [])
    groups: list[TorchGroup] = []
    unmapped: list[TorchUnmapped] = []
    tests: list[Suite] = []
    notes: list[str] = []
    runs = _runs(model, inputs, source, device, quantize, decode, weights, function, parameters,
                 forward, cache)
    for number, (suite, begins, steps) in enumerate(runs):
        compared, others, carved, remarks = _compare_groups(
            number, suite, begins, steps,
            lambda tests: Replayer(tests, device, cache=cache,
                                   custom_kernels="" if custom_kernels is None else os.fspath(custom_kernels)))
        groups += compared
        unmapped += others
        notes += remarks
        if carved is not None:
            tests.append(carved)
    made = None if not tests else tests[0] if len(tests) == 1 else _tapml.merge(tests)
    return TorchCarving(device.target, tuple(groups), tuple(unmapped), made,
                        tuple(dict.fromkeys(notes)))
