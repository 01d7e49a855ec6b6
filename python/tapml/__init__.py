"""tapml brings machine-learning models up on new platforms, kernel by kernel.

Read a program (``parse``, ``Module.load``, ``LanguageModel.load``), compile it for a device
(``compile``), send it there (``upload``) and call it with tensors on that device (``tensor``,
``allocate``). Devices may be in this process or in another one, also on another computer;
everything else is the same. ``carve`` keeps a real run as a test for every kernel, ``replay`` runs
these tests on a device, and ``migrate`` moves a model from one device to another and validates
each step.

Errors are raised as one of the classes in ``tapml.errors``.
"""

from __future__ import annotations

import json as _json
import os as _os
import re as _re
import sys as _sys
import time as _time
from dataclasses import dataclass as _dataclass
from typing import Any, Callable, Iterable, Mapping, Sequence, Union
from typing import overload as _overload

from . import _tapml
from ._tapml import (
    Culprit, Embedder, Engine, Executable, Function, FunctionType, Generation, GraphBuilder, GraphFunction,
    GroupValue, LanguageModel, LayerStep, Library, Localization, Migration, Migrations,
    MigrationStep, Module, OperatorCall, Pattern, PatternBuilder, Replayer, Rewriter, Session,
    Snapshot, Speculation, Suite, SuiteCall, SuiteGroup, SuiteKernel, Tensor, Value, ValueType, Var, Verdict,
)
from .errors import (
    AbsentError, CancelledError, ClosedError, CompileError, CrashError, Error, InternalError,
    LimitError, LostError, OutOfMemoryError, PlatformError, ProtocolError, TimeoutError,
    UnauthorizedError, UserError, Warning,
)
from .evaluation import Evaluation, EvaluationTotal, TaskResult, WrittenProgram
from .import_check import ImportCheck, ImportDifference, ImportMismatchError
from .profile_result import KernelProfile, Profile
from .replay_result import Replay
from .torch_source import TorchCarving, TorchGroup, TorchUnmapped, carve_torch

__version__: str = _tapml.__version__

__all__ = [
    "AbsentError", "CancelledError", "ClosedError", "CompileError", "CrashError", "Culprit",
    "Embedder", "Engine", "Error", "Evaluation", "EvaluationTotal", "Executable", "Function", "FunctionType",
    "Generation", "GraphBuilder", "GraphFunction", "ImportCheck", "ImportDifference",
    "ImportMismatchError", "InternalError", "KernelProfile", "LanguageModel", "LayerStep", "Library", "LimitError",
    "Localization", "LostError", "Migration", "MigrationStep", "Migrations", "Module",
    "OperatorCall", "OutOfMemoryError", "Pass", "Pattern", "PatternBuilder", "PlatformError", "Profile", "ProtocolError", "Replay", "Replayer", "Rewriter", "Session", "Snapshot", "Speculation",
    "Suite", "GroupValue", "SuiteCall", "SuiteGroup", "SuiteKernel",
    "TaskResult", "Tensor", "TimeoutError", "TorchCarving", "TorchGroup", "TorchUnmapped",
    "UnauthorizedError", "UserError", "Value", "ValueType", "Var", "Verdict", "Warning", "WrittenProgram", "allocate",
    "carve", "carve_torch", "check_import", "compile", "cpu", "device", "devices", "evaluate", "load", "localize",
    "migrate", "null", "opencl", "parse", "pass_names", "profile", "replay", "replayer",
    "rewrite", "run_passes", "tensor", "upload", "vulkan",
]


@_dataclass(frozen=True)
class Pass:
    """A custom pass for ``compile``: a function from a Module to a Module.

    It runs after the pass ``after``, one of ``pass_names()``. The name of the fusion policy
    includes it, because it may change the kernels.
    """

    name: str
    after: str
    run: Callable[[Module], Module]


def device(target: str, *, token_file: str | _os.PathLike[str] | None = None,
           tls_ca: str | _os.PathLike[str] | None = None, cache: bool = True,
           libraries: Sequence[str | _os.PathLike[str]] = (),
           request_seconds: float | None = None, insecure: bool = False) -> Session:
    """Opens a device.

    ``target`` is ``kind[:key=value,...][@endpoint]``: ``"cpu:threads=1"``, ``"opencl"``,
    ``"vulkan@unix:device.sock"``, ``"cpu@pipe:ssh board tapml rpc serve --stdio"``. A server's
    token is read from ``token_file`` (one token, or lines ``ENDPOINT TOKEN``), else from
    TAPML_RPC_TOKEN; without TLS it is sent to other computers only with ``insecure``. Root
    certificates for encrypted endpoints come from ``tls_ca``, else from TAPML_RPC_CA, else from
    the system. ``cache`` lets drivers keep the programs that they build; ``libraries`` are shared
    objects of routines for the cpu of this process. A request to a remote device may take
    ``request_seconds`` before it raises TimeoutError, and the session stays open; None waits as
    long as the server shows signs of life. Ctrl-C ends every wait for the server.

    Raises UserError for an invalid target, a wrong token or an endpoint that the token must not be
    sent to, AbsentError for an unavailable platform, LostError if no server answers.
    """
    return _tapml.open_session(target, _os.fspath(token_file) if token_file else "",
                               _os.fspath(tls_ca) if tls_ca else "", cache,
                               [_os.fspath(library) for library in libraries], request_seconds, insecure)


def _kind(kind: str, at: str | None, options: Mapping[str, Any], token_file: Any,
          insecure: bool = False) -> Session:
    text = kind
    if options:
        text += ":" + ",".join(f"{key}={value}" for key, value in options.items())
    if at is not None:
        text += "@" + at
    return device(text, token_file=token_file, insecure=insecure)


def cpu(*, at: str | None = None, token_file: str | _os.PathLike[str] | None = None,
        insecure: bool = False, **options: Any) -> Session:
    """Opens a processor: of this computer, or the one at the endpoint ``at``.

    ``options`` are those of the target: ``threads=1``. ``insecure`` is that of ``device()``.
    """
    return _kind("cpu", at, options, token_file, insecure)


def opencl(*, at: str | None = None, token_file: str | _os.PathLike[str] | None = None,
           insecure: bool = False,            **options: Any) -> Session:
    """Opens an OpenCL device, local or at the endpoint ``at``; ``device=0`` selects the first."""
    return _kind("opencl", at, options, token_file, insecure)


def vulkan(*, at: str | None = None, token_file: str | _os.PathLike[str] | None = None,
           insecure: bool = False,            **options: Any) -> Session:
    """Opens a Vulkan device, local or at the endpoint ``at``; ``device=0`` selects the first."""
    return _kind("vulkan", at, options, token_file, insecure)


def null(*, at: str | None = None, token_file: str | _os.PathLike[str] | None = None) -> Session:
    """Opens a device that has memory but runs nothing."""
    return _kind("null", at, {}, token_file)


def devices() -> list[dict[str, Any]]:
    """Lists every platform with its limits, or with the reason why it is unavailable."""
    return _json.loads(_tapml.devices_json())


def parse(text: str, name: str = "<text>") -> Module:
    """Reads a module from its text; messages call the text ``name``.

    Raises UserError with line, column and caret for an invalid module.
    """
    return Module.parse(text, name)


def tensor(x: Any, device: Session, dtype: Any = None, *, copy: bool | None = None) -> Tensor:
    """Makes ``x`` a tensor on a device.

    ``x`` is a NumPy array, a PyTorch tensor or any other object with ``__dlpack__``, a tapml
    tensor of any session, or numbers in lists. Elements are rounded to ``dtype`` if it is given.

    On a cpu of this process the tensor shares the array's memory if possible: compact, row-major,
    native byte order, writable, of the same dtype. Writes to the array are then visible in the
    tensor. ``copy=True`` always copies; ``copy=False`` raises UserError with the reason if the
    memory cannot be shared.
    """
    return _tapml.tensor(x, device, dtype, copy=copy)


def allocate(shape: int | Iterable[int], dtype: Any, device: Session) -> Tensor:
    """Allocates a tensor of unspecified elements.

    ``dtype`` may be tapml's name (``"f32"``), NumPy's or PyTorch's.
    """
    return _tapml.allocate(shape, dtype, device)


def compile(module: Module | LanguageModel, target: Session | str, *, cache: bool = True,
            verify: bool = False, dump: str | _os.PathLike[str] | None = None,
            skip: Sequence[str] = (), bounds: Mapping[str, int] | None = None,
            libraries: Sequence[str | _os.PathLike[str]] = (),
            patterns: str | _os.PathLike[str] | None = None,
            passes: Sequence[Pass] = ()) -> Executable:
    """Compiles a module for a device, or for a target without a device.

    ``verify`` checks the invariants after every pass; ``dump`` is a folder for the text after each
    pass; ``skip`` names passes to leave out; ``bounds`` are upper bounds of symbolic variables;
    ``patterns`` is a file of patterns (docs/patterns.md); ``libraries`` are shared objects of
    routines; ``passes`` are custom passes, run in order.

    Raises UserError for an invalid module, LimitError for a module that exceeds the target's
    limits.
    """
    return _tapml.compile(module, target, cache=cache, verify=verify,
                          dump=_os.fspath(dump) if dump is not None else None, skip=list(skip),
                          bounds=dict(bounds or {}),
                          libraries=[_os.fspath(library) for library in libraries],
                          patterns=_os.fspath(patterns) if patterns is not None else None,
                          passes=[(one.name, one.after, one.run) for one in passes])


def rewrite(module: Module, visit: Callable[[Rewriter, OperatorCall], Var | None]) -> Module:
    """Replaces operator calls of a module.

    ``visit(rewriter, call)`` is called for each operator call, in order. The Var that it returns
    replaces the call's result; None keeps the call. ``rewriter.op(...)`` adds calls before it, and
    ``rewriter.producer(value)`` returns the call that computes an operand. The result is verified.
    """
    return _tapml.rewrite(module, visit)


def run_passes(module: Module, names: Sequence[str]) -> Module:
    """Runs passes of the compiler by name (docs/passes.md), with the verifier after each.

    Raises UserError for an unknown name and for a module that violates a pass's requirements.
    """
    return _tapml.run_passes(module, list(names))


def pass_names() -> tuple[str, ...]:
    """The passes before the kernels are formed, in order; a Pass can be added after any of them."""
    return _tapml.pass_names()


def load(path: str | _os.PathLike[str]) -> Executable:
    """Reads an executable written by ``Executable.save`` or the command ``tapml compile``."""
    return _tapml.load(_os.fspath(path))


def upload(executable: Executable, device: Session | None = None, *, in_process: bool = False,
           kernel_timeout: float = 30, step_limit: int = 0) -> Library:
    """Sends compiled code to a device: ``device``, or the one it was compiled for.

    Kernels of hand-written tensor programs that are not proved to stay within their buffers run in
    a separate process. A crash there is a PlatformError that names the kernel, and so is a call of
    more than ``kernel_timeout`` seconds; with ``in_process`` they run on the device itself. A call
    raises LimitError if it calls functions more than ``step_limit`` times, counting every
    iteration of a loop (0: no limit).

    Raises UserError for a device of another platform.
    """
    return _tapml.upload(executable, device, in_process=in_process, kernel_timeout=kernel_timeout,
                         step_limit=step_limit)


Path = Union[str, "_os.PathLike[str]"]
#: A file of tolerances (docs/cli.md), or its entries: ``[{"kernel": "rope_*", "factor": 2,
#: "reason": "..."}]``.
Tolerance = Union[str, "_os.PathLike[str]", Sequence[Mapping[str, Any]]]


def _path(path: Path | None) -> str:
    return _os.fspath(path) if path is not None else ""


def _read(path: Path, what: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{what} cannot be read", _os.fspath(path), "a text file",
                        str(error)) from None


def _tolerance(tolerance: Tolerance | None) -> tuple[str, str]:
    """Text and name in the form that the extension module takes."""
    if tolerance is None:
        return "", ""
    if isinstance(tolerance, (str, _os.PathLike)):
        return _read(tolerance, "the file of tolerances"), _os.fspath(tolerance)
    return _json.dumps({"tolerances": [dict(one) for one in tolerance]}), "tolerance"


def _size(size: int | str, where: str) -> int:
    """The bytes that a number, or a text such as ``"512M"`` or ``"2GB"``, stands for."""
    if isinstance(size, int):
        return size
    matched = _re.fullmatch(r"([0-9]+)([KMGT]?)(?:B|iB)?", size)
    if matched is None:
        raise UserError("a size cannot be read", where, "bytes, as in 512M or 2GiB", size)
    return int(matched[1]) * 1024 ** " KMGT".index(matched[2] or " ")


def _model(model: LanguageModel | Path, quantize: str) -> LanguageModel:
    if isinstance(model, (str, _os.PathLike)):
        return LanguageModel.load(model, quantize=quantize)
    if not isinstance(model, LanguageModel):
        raise UserError("not a language model", "model", "a tapml.LanguageModel, or the folder of "
                        "one", type(model).__name__)
    if quantize and quantize != model.quantize:
        raise UserError("the model is already loaded", "quantize", "a model's folder, or "
                        "LanguageModel.load(folder, quantize=...)", repr(model))
    return model


def _first(prompt: str | Sequence[str]) -> str:
    return prompt if isinstance(prompt, str) else prompt[0] if prompt else ""


def _texts(prompt: str | Sequence[str]) -> str | list[str]:
    return prompt if isinstance(prompt, str) else list(prompt)


def carve(what: LanguageModel | Module | Executable | Path, device: Session, *,
          prompt: str | Sequence[str | Sequence[int]] | None = None, max_tokens: int = 4,
          decode: int | None = None, temperature: float = 0.0, top_p: float = 1.0,
          top_k: int = 0, seed: int = 0, inputs: Sequence[Sequence[Any]] | None = None,
          function: str | None = None, calls: int = 0, budget: int | str = 0,
          weights: str = "inside", quantize: str = "", batch: int = 1, edge: bool = False,
          as_run: bool = False, cache: bool = True, in_process: bool = False, kernel_timeout: float = 30,
          step_limit: int = 0, trust: str | None = None, python: Path | None = None) -> Suite:
    """Keeps a real run on ``device`` as a test for every kernel call.

    For a language model (or its folder) ``prompt`` is one text or several (among several, a list
    of token ids may replace a text). Each is continued by ``max_tokens`` tokens, or by ``decode``
    steps after the first token. ``temperature`` and the parameters after it are those of
    ``Engine.generate``; with them the tests include random sampling. An encoder makes a vector of
    each text, and continues none. For a module or an
    executable, ``function`` (its only one, or ``main``) is called with each of ``inputs``, a
    sequence of argument lists.

    ``calls`` limits the calls kept for each kernel and set of sizes (0 keeps all), and ``budget``
    the bytes of tensors (``"20MB"``): for each kernel the calls that differ most in shape, range
    and magnitude are kept, and ``SuiteKernel.dropped`` counts the others. ``batch`` texts run at
    once, so that kernels are tested on batches; ``edge`` adds extreme values and odd sizes to the
    run's data. The cache is fragmented, to find kernels that depend on what it holds by chance
    (docs/interface.md); ``as_run`` carves what a plain run does, and adds no calls. ``weights="reference"`` leaves the weights in the model folder. ``quantize`` is as
    in ``LanguageModel.load``. For a module or an executable, ``in_process``, ``kernel_timeout``
    and ``step_limit`` are as in ``upload``; ``trust`` and ``python`` as in ``migrate``.

    Raises UserError for an empty or too long prompt and for arguments that do not fit together,
    ImportMismatchError as ``migrate``.
    Warns of NaN in the run, and of token ids that no text gives, with a quantized model. Ctrl-C
    raises KeyboardInterrupt.
    """
    if isinstance(what, (Module, Executable)):
        if inputs is None or prompt is not None:
            raise UserError("a module is carved by calls of its function", "carve(inputs=...)",
                            "a list of argument lists", "no inputs")
        if weights != "inside" or quantize or decode is not None or batch != 1 or temperature:
            raise UserError("weights, quantize, decode, batch and temperature go with a language model",
                            "carve(...)",
                            "a LanguageModel, or the folder of one", type(what).__name__)
        if trust is not None:
            raise UserError("a module has no published implementation", "carve(trust=...)",
                            "a LanguageModel, or the folder of one", type(what).__name__)
        executable = what if isinstance(what, Executable) else compile(what, device, cache=cache)
        if function is None:
            names = executable.functions
            function = names[0] if len(names) == 1 else "main"
        return _tapml.carve_function(executable, device, function, [list(one) for one in inputs],
                                     calls, _size(budget, "carve(budget=...)"), edge, in_process,
                                     kernel_timeout, step_limit)
    if prompt is None or inputs is not None or function is not None:
        raise UserError("a language model is carved while it continues a text",
                        "carve(prompt=...)", "a text, or several", "no prompt")
    if weights not in ("inside", "reference"):
        raise UserError("the value of weights is unknown", "carve(weights=...)",
                        '"inside" or "reference"', repr(weights))
    if decode is not None and decode < 0:
        raise UserError("the number of steps is negative", "carve(decode=...)", "0 or more", str(decode))
    prompts = [prompt] if isinstance(prompt, str) else list(prompt)
    model = _model(what, quantize)
    texts = [one for one in prompts if isinstance(one, str)]
    _trusted_import("carve", trust, python, model.folder, texts[0] if texts else "", None)
    return _tapml.carve_model(model, device, prompts,
                              max_tokens if decode is None else decode + 1,
                              (temperature, top_p, top_k, seed), calls,
                              _size(budget, "carve(budget=...)"), weights == "reference", batch, edge,
                              as_run, cache)


def _suite(suite: Suite | Path, model: Path | None = None) -> Suite:
    return suite if isinstance(suite, Suite) else Suite.load(_os.fspath(suite), model=_path(model))


def replayer(suite: Suite | Path, device: Session, *, custom_kernels: Path | None = None,
             tolerance: Tolerance | None = None, model: Path | None = None,
             only: str = "", cache: bool = True, in_process: bool = False,
             kernel_timeout: float = 30) -> Replayer:
    """Compiles a suite's kernels for a device, to run its tests one by one.

    Takes the arguments of ``replay``; ``only`` selects the kernels to compile, like ``kernel``
    there.
    """
    return Replayer(_suite(suite, model), device, custom_kernels=_path(custom_kernels),
                    tolerance=_tolerance(tolerance), only=only, cache=cache,
                    in_process=in_process, kernel_timeout=kernel_timeout)


def replay(suite: Suite | Path, device: Session, *, kernel: str | None = None,
           custom_kernels: Path | None = None, tolerance: Tolerance | None = None,
           model: Path | None = None, report: Path | None = None, junit: Path | None = None,
           markdown: Path | None = None, cache: bool = True, in_process: bool = False,
           kernel_timeout: float = 30,
           on_verdict: Callable[[Verdict], None] | None = None) -> Replay:
    """Runs a suite's tests on a device: a verdict for each kernel, or only for ``kernel``.

    ``kernel`` is a name, the beginning of names, or a pattern with ``*`` and ``?``. Without it, a
    verdict for each group of kernels follows (``Verdict.group`` is its number). The list also has
    a verdict on all of them: ``Replay.verdict`` is ``"PASS"``, ``"FAIL"`` or ``"NOT PROVEN"``.

    A kernel that differs raises no error; its verdict reports it. ``custom_kernels`` is a folder
    of sources that replace the compiler's kernels (docs/custom-kernels.md); ``tolerance`` widens
    the bounds of kernels (docs/cli.md); ``model`` is the folder of weights by reference if it has
    moved. ``report`` is a folder for report.html and report.json; ``junit`` and ``markdown`` are
    files for CI. ``on_verdict`` receives each verdict as soon as it is known.

    Kernels run on a similar device in a separate process, where a crash, and a call that takes
    longer than ``kernel_timeout`` seconds, is a verdict. With ``in_process`` they run on the
    device itself, and a crash ends this process.

    Raises UserError for an invalid or altered suite, an unknown kernel, and a source that its
    compiler rejects (with the compiler's log).
    """
    name = suite.folder or "a suite" if isinstance(suite, Suite) else _os.fspath(suite)
    suite = _suite(suite, model)
    tests = replayer(suite, device, custom_kernels=custom_kernels, tolerance=tolerance, only=kernel or "",
                     cache=cache, in_process=in_process, kernel_timeout=kernel_timeout)
    verdicts = []
    start = _time.monotonic()
    tested = {call.kernel for call in suite.calls}
    names = [one.name for one in suite.kernels if one.name in tested]
    groups = range(len(suite.groups))
    if not names and not groups and kernel is None:
        raise UserError("the suite has no tests", name, "at least one call", "none",
                        "carve a run that calls its kernels")
    if kernel is not None:
        chosen = suite.find_kernels(kernel)
        names = [name for name in names if name in chosen] or chosen[:1]
    runs = [lambda name=name: tests.kernel(name) for name in names]
    if kernel is None:
        runs += [lambda index=index: tests.group(index) for index in groups]
    for run in runs:
        verdicts.append(run())
        if on_verdict is not None:
            on_verdict(verdicts[-1])
    whole = kernel is None
    if report is not None:
        _tapml.save_replay_report(tests, name, verdicts, whole, _time.monotonic() - start,
                                  _path(report), _path(model))
    if junit is not None or markdown is not None:
        _tapml.save_ci_reports(f"tapml replay {name}: {tests.device.target}", suite,
                               tests.device.target, verdicts, whole, _path(junit), _path(markdown))
    return Replay(suite, verdicts, whole)


@_overload
def migrate(model: LanguageModel | Path, source: Session, target: Session, prompt: str | Sequence[str], *,
            max_tokens: int = 64, validation_tokens: int = 4, temperature: float = 0.0,
            top_p: float = 1.0, top_k: int = 0, seed: int = 0, order: str = "execution",
            granularity: str | Sequence[str] = "kernel", hybrid_every: int = 1,
            stop_at_first: bool = False, state: Path | None = None, tolerance: Tolerance | None = None,
            custom_kernels: Path | None = None, report: Path | None = None, junit: Path | None = None,
            markdown: Path | None = None, inject_fault: str = "", quantize: str = "", cache: bool = True,
            in_process: bool = False, kernel_timeout: float = 30, trust: str | None = None,
            python: Path | None = None,
            progress: Callable[[str, int, int], None] | None = None) -> Migration: ...


@_overload
def migrate(model: LanguageModel | Path, source: Session,
            target: list[Session] | tuple[Session, ...], prompt: str | Sequence[str], *,
            max_tokens: int = 64, validation_tokens: int = 4, temperature: float = 0.0,
            top_p: float = 1.0, top_k: int = 0, seed: int = 0, order: str = "execution",
            granularity: str | Sequence[str] = "kernel", hybrid_every: int = 1,
            stop_at_first: bool = False, state: Path | None = None, tolerance: Tolerance | None = None,
            custom_kernels: Path | None = None, report: Path | None = None, junit: Path | None = None,
            markdown: Path | None = None, inject_fault: str = "", quantize: str = "", cache: bool = True,
            in_process: bool = False, kernel_timeout: float = 30, trust: str | None = None,
            python: Path | None = None,
            progress: Callable[[str, int, int], None] | None = None) -> Migrations: ...


def migrate(model: LanguageModel | Path, source: Session,
            target: Session | list[Session] | tuple[Session, ...], prompt: str | Sequence[str], *,
            max_tokens: int = 64, validation_tokens: int = 4, temperature: float = 0.0,
            top_p: float = 1.0, top_k: int = 0, seed: int = 0, order: str = "execution",
            granularity: str | Sequence[str] = "kernel", hybrid_every: int = 1,
            stop_at_first: bool = False, state: Path | None = None, tolerance: Tolerance | None = None,
            custom_kernels: Path | None = None, report: Path | None = None, junit: Path | None = None,
            markdown: Path | None = None, inject_fault: str = "", quantize: str = "", cache: bool = True,
            in_process: bool = False, kernel_timeout: float = 30, trust: str | None = None,
            python: Path | None = None,
            progress: Callable[[str, int, int], None] | None = None) -> Migration | Migrations:
    """Moves a language model from one device to another, kernel by kernel.

    ``prompt`` is the text that the model continues, or for an encoder a text, or several, of which
    it makes vectors; nothing of tokens and sampling then counts.

    Every kernel is tested with its carved calls; then the model runs as a hybrid with this kernel
    and those before it on the target. At the end the target runs the whole model, and both devices
    continue the prompt by ``max_tokens`` tokens. A kernel that differs raises no error: it stays
    on the source, and the result names it.

    ``validation_tokens`` decode steps are carved, and teacher-forced in every hybrid. With a ``temperature``
    (``top_p``, ``top_k``, ``seed`` as in ``Engine.generate``) tokens are sampled, and the sampling
    kernels migrate too; the verdict then ignores where the two texts diverge. ``order`` is
    ``"execution"``, ``"cost"`` or ``"risk"``; ``granularity`` is one or several of ``"kernel"``,
    ``"layer"`` and groups ``"NAME=GLOB,GLOB"``, or ``"layer-by-layer"`` (docs/migrate.md).
    The model runs after every ``hybrid_every``-th of these, and at the end (0: at the end alone); if
    it is wrong, parts of them are tried until those are found that make it wrong.
    ``stop_at_first`` stops after the first kernel that stays. ``state`` is a folder that keeps
    finished steps, so that the same call continues after an interruption. ``tolerance``,
    ``custom_kernels``, ``junit``, ``markdown``, ``in_process`` and ``kernel_timeout`` are as in
    ``replay``; ``report`` is a folder for report.html and report.json. ``inject_fault``
    (``"KERNEL:KIND"``) makes a kernel of the target wrong. ``progress(step, done, total)`` is
    called during the migration. ``trust="torch"`` first compares the model with its published
    implementation, which ``python`` runs, as ``check_import`` does.

    With a list of devices in ``target`` the result is a ``Migrations``: the source runs and is
    compared with the reference once, then every kernel is tried on each device before the next
    one. A device that fails only ends its own migration (``Migration.error``). ``state`` and
    ``report`` then have a folder for each device; a fault is injected into all of them, or with
    ``"TARGET/KERNEL:KIND"`` into one.

    Raises UserError for invalid arguments and for the state of another migration, PlatformError if
    a device fails, ImportMismatchError if ``trust`` is given and the import differs (then reports
    are about the import); Ctrl-C raises KeyboardInterrupt.
    """
    several = isinstance(target, (list, tuple))
    model = _model(model, quantize)
    imported = _trusted_import("migrate", trust, python, model.folder, _first(prompt), progress,
                               report, junit, markdown)
    moved = _tapml.migrate(
        model, source, list(target) if several else [target], _texts(prompt),
        max_tokens=max_tokens, validation_tokens=validation_tokens,
        sampler=(temperature, top_p, top_k, seed), order=order,
        granularity=[granularity] if isinstance(granularity, str) else list(granularity),
        hybrid_every=hybrid_every, stop_at_first=stop_at_first, state=_path(state), tolerance=_tolerance(tolerance),
        custom_kernels=_path(custom_kernels), inject_fault=inject_fault, cache=cache, speed=report is not None,
        in_process=in_process, kernel_timeout=kernel_timeout,
        compared_import=imported and imported._compared, progress=progress)
    result: Migration | Migrations = moved if several else moved.targets[0]
    if report is not None:
        result.save_report(_path(report))
    result.save_ci_reports(junit=_path(junit), markdown=_path(markdown))
    return result


def localize(model: LanguageModel | Path, source: Session, target: Session, prompt: str | Sequence[str], *,
             suite: Suite | Path | None = None, max_tokens: int = 4, temperature: float = 0.0,
             top_p: float = 1.0, top_k: int = 0, seed: int = 0, repeats: int = 5,
             shrink_seconds: float = 10, custom_kernels: Path | None = None,
             tolerance: Tolerance | None = None, report: Path | None = None,
             junit: Path | None = None, markdown: Path | None = None,
             inject_fault: str | Sequence[str] = (), quantize: str = "", cache: bool = True,
             in_process: bool = False, kernel_timeout: float = 30, trust: str | None = None,
             python: Path | None = None,
             progress: Callable[[str, int, int], None] | None = None) -> Localization:
    """Finds all kernels that make a model wrong on ``target``, with a ``prompt`` as in ``migrate``.

    Runs carved tests first: those of ``suite``, or of the prompt's run with ``max_tokens`` decode
    steps.
    Where these pass, bisects over hybrid runs. Each culprit runs ``repeats`` times, and its
    failing input is reduced for at most ``shrink_seconds``. ``report`` is a folder for
    report.html, report.json and a reproducer for each culprit; the other arguments are as in
    ``migrate``.

    Raises UserError for invalid arguments and for a suite of another model, PlatformError if a
    device fails, ImportMismatchError as ``migrate``; Ctrl-C raises KeyboardInterrupt.
    """
    model = _model(model, quantize)
    imported = _trusted_import("localize", trust, python, model.folder, _first(prompt), progress,
                               report, junit, markdown)
    result = _tapml.localize(
        model, source, target, _texts(prompt),
        suite=None if suite is None else _suite(suite, model.folder), max_tokens=max_tokens,
        repeats=repeats, sampler=(temperature, top_p, top_k, seed), shrink_seconds=shrink_seconds,
        tolerance=_tolerance(tolerance), custom_kernels=_path(custom_kernels),
        inject_faults=[inject_fault] if isinstance(inject_fault, str) else list(inject_fault), cache=cache,
        in_process=in_process,
        kernel_timeout=kernel_timeout, compared_import=imported and imported._compared,
        progress=progress)
    if report is not None:
        result.save_report(_path(report))
    result.save_ci_reports(junit=_path(junit), markdown=_path(markdown))
    return result


def evaluate(model: LanguageModel | Path, devices: Session | Sequence[Session], tasks: Path | str, *,
             reference: Session | None = None, quantize: str = "", cache: bool = True,
             max_tokens: int = 512, chat: bool = False, python: Path | None = None,
             progress: Callable[[str, int, int], None] | None = None) -> list[Evaluation]:
    """Runs a model's tasks on each device: an Evaluation for each, in order.

    ``tasks`` is a file with one JSON object per line (docs/cli.md, eval). With ``reference``, each
    result tells whether it agrees with that device; if it is not among ``devices``, its own result
    comes first.

    Programs have at most ``max_tokens`` tokens, are asked for in a chat if ``chat`` says so (by the
    model's chat template), and run confined with the interpreter ``python`` (default: this one).

    Raises UserError with line and column for an invalid file, and PlatformError if this system
    cannot confine programs.
    """
    places = [devices] if isinstance(devices, Session) else list(devices)
    if reference is not None and reference not in places:
        places.insert(0, reference)
    documents = _tapml.evaluate(_model(model, quantize), places, _read(tasks, "the file of tasks"),
                                _os.fspath(tasks),
                                None if reference is None else places.index(reference), cache,
                                max_tokens, chat, _os.fspath(python or _sys.executable), progress)
    return [Evaluation.from_dict(_json.loads(one)) for one in documents]


def profile(model: LanguageModel | Path, device: Session, prompt: str, *, max_tokens: int = 32,
            quantize: str = "", cache: bool = True,
            progress: Callable[[str, int, int], None] | None = None) -> Profile:
    """Runs a prompt and ``max_tokens`` decode steps, and times every kernel.

    The run waits for every call, so it is slower than usual. The device's ceilings are measured
    after it, in about a second.
    """
    document = _tapml.profile(_model(model, quantize), device, prompt, max_tokens, cache, progress)
    return Profile.from_dict(_json.loads(document))


def check_import(model: LanguageModel | Path | None = None, *, config: Path | None = None,
                 seed: int = 0, prompt: str = "", tokens: Sequence[int] = (),
                 python: Path | None = None,
                 progress: Callable[[str, int, int], None] | None = None) -> ImportCheck:
    """Compares a model as tapml reads it with its published implementation.

    ``model`` is a model directory; with ``config``, a config.json alone, the weights are random
    (``seed``). PyTorch and transformers run in a process of ``python``, by default the Python that
    runs this. Both compute the logits of the same tokens in f64: ``tokens``, or those of
    ``prompt``, and random ones up to 16 (docs/verdicts.md, "The import"). A model that differs
    raises no error: ``first`` of the result names the first module that does.

    Raises UserError for invalid arguments, if the packages are not installed, and if they do not
    run the model; Ctrl-C raises KeyboardInterrupt.
    """
    where = "check_import(model)"
    if (model is None) == (config is None):
        raise UserError("one input is needed", where, "model or config",
                        "neither" if model is None else "both")
    if prompt and (config is not None or len(tokens) > 0):
        raise UserError("a prompt goes with a model directory, and without tokens", where,
                        "no prompt", repr(prompt))
    document, text, compared = _tapml.check_import(
        model.folder if isinstance(model, LanguageModel) else _path(model), config=_path(config),
        seed=seed, prompt=prompt, tokens=list(tokens), python=_path(python) or _sys.executable,
        progress=progress)
    return ImportCheck.from_dict(_json.loads(document), text, compared)


def _trusted_import(command: str, trust: str | None, python: Path | None, folder: str, prompt: str,
                    progress: Callable[[str, int, int], None] | None, report: Path | None = None,
                    junit: Path | None = None, markdown: Path | None = None) -> ImportCheck | None:
    """The comparison that ``trust`` asks for; raises ImportMismatchError if the import differs."""
    where = f"{command}(trust=...)"
    if trust is None:
        if python is not None:
            raise UserError("python goes with trust", f"{command}(python=...)", 'trust="torch"',
                            "no trust")
        return None
    if trust != "torch":
        raise UserError("the trusted implementation is unknown", where, '"torch"', repr(trust))
    compared = check_import(folder, prompt=prompt, python=python, progress=progress)
    if compared.passed:
        return compared
    _tapml.save_import_reports(compared._compared, command, folder, prompt, _path(python),
                               _path(report), _path(junit), _path(markdown))
    raise ImportMismatchError(compared, where)


def _add_conveniences() -> None:
    """Adds methods that are simpler to write in Python than in C++."""

    def item(self: Tensor) -> Any:
        """The only element as a Python number."""
        if self.size != 1:
            raise UserError("a tensor of several elements is not a number", "item()", "1 element",
                            str(self.size))
        return _host(self).item()

    def tolist(self: Tensor) -> Any:
        """The elements as Python numbers in nested lists."""
        return _host(self).tolist()

    def bits(self: Tensor) -> Any:
        """The elements' bits as a NumPy array of unsigned integers (bf16: uint16)."""
        width = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[_BYTES[self.dtype]]
        return self.view(width).numpy()

    def torch(self: Tensor) -> Any:
        """A PyTorch tensor: shares the memory on a cpu of this process, else a copy."""
        from torch.utils.dlpack import from_dlpack

        return from_dlpack(self)

    for method in (item, tolist, bits, torch):
        method.__qualname__ = f"Tensor.{method.__name__}"
        setattr(Tensor, method.__name__, method)


_BYTES = {"bool": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2, "i32": 4, "u32": 4,
          "f32": 4, "i64": 8, "u64": 8, "f64": 8}


def _host(x: Tensor) -> Any:
    return x.numpy(dtype="f32") if x.dtype == "bf16" else x.numpy()


_add_conveniences()
