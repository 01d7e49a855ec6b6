"""tapml brings machine-learning models up on new platforms, kernel by kernel.

A program is read (``parse``, ``Module.load``, ``LanguageModel.load``), compiled for a device
(``compile``), sent there (``upload``) and called with tensors of that device (``tensor``,
``allocate``). Devices may be in this process or in another one, also of another machine; everything
else is the same. ``carve`` keeps a real run as a test for every kernel, ``replay`` runs these tests
on a device, ``migrate`` moves a model from one device to another, each step validated.

What goes wrong is raised as one of the classes in ``tapml.errors``.
"""

from __future__ import annotations

import json as _json
import os as _os
from typing import Any, Callable, Iterable, Mapping, Sequence

from . import _tapml
from ._tapml import (
    Engine, Executable, Function, FunctionType, Generation, LanguageModel, Library, Migration,
    MigrationStep, Module, Replayer, Session, Snapshot, Suite, SuiteCall, SuiteKernel, Tensor,
    Value, ValueType, Verdict,
)
from .errors import (
    AbsentError, CancelledError, ClosedError, Error, InternalError, LimitError, LostError,
    OutOfMemoryError, PlatformError, ProtocolError, TimeoutError, UserError, Warning,
)

__version__: str = _tapml.__version__

__all__ = [
    "AbsentError", "CancelledError", "ClosedError", "Engine", "Error", "Executable", "Function",
    "FunctionType", "Generation", "InternalError", "LanguageModel", "Library", "LimitError",
    "LostError", "Migration", "MigrationStep", "Module", "OutOfMemoryError", "PlatformError",
    "ProtocolError", "Replayer", "Session", "Snapshot", "Suite", "SuiteCall", "SuiteKernel",
    "Tensor", "TimeoutError", "UserError", "Value", "ValueType", "Verdict", "Warning", "allocate",
    "carve", "compile", "cpu", "device", "devices", "load", "migrate", "null", "opencl", "parse",
    "replay", "tensor", "upload", "vulkan",
]


def device(target: str, *, token_file: str | _os.PathLike[str] | None = None,
           tls_ca: str | _os.PathLike[str] | None = None, cache: bool = True,
           libraries: Sequence[str | _os.PathLike[str]] = ()) -> Session:
    """Opens a device.

    ``target`` is ``kind[:key=value,...][@place]``: ``"cpu:threads=1"``, ``"opencl"``,
    ``"vulkan@unix:/run/x"``, ``"cpu@pipe:ssh board tapml rpc serve --stdio"``. A server's token is
    read from ``token_file``, else from TAPML_RPC_TOKEN; root certificates of encrypted places from
    ``tls_ca``, else from TAPML_RPC_CA, else they are the system's. ``cache`` lets drivers keep programs that
    they built; ``libraries`` are shared objects of routines for the cpu of this process.

    Raises UserError for a text that is no target or a wrong token, AbsentError for a platform that
    is not there, LostError where nobody answers.
    """
    return _tapml.open_session(target, _os.fspath(token_file) if token_file else "",
                               _os.fspath(tls_ca) if tls_ca else "", cache,
                               [_os.fspath(library) for library in libraries])


def _kind(kind: str, at: str | None, options: Mapping[str, Any], token_file: Any) -> Session:
    text = kind
    if options:
        text += ":" + ",".join(f"{key}={value}" for key, value in options.items())
    if at is not None:
        text += "@" + at
    return device(text, token_file=token_file)


def cpu(*, at: str | None = None, token_file: str | _os.PathLike[str] | None = None,
        **options: Any) -> Session:
    """Opens a processor: of this machine, or the one at the place ``at``.

    ``options`` are those of the target: ``threads=1``.
    """
    return _kind("cpu", at, options, token_file)


def opencl(*, at: str | None = None, token_file: str | _os.PathLike[str] | None = None,
           **options: Any) -> Session:
    """Opens an OpenCL device, here or at the place ``at``; ``device=0`` chooses one of several."""
    return _kind("opencl", at, options, token_file)


def vulkan(*, at: str | None = None, token_file: str | _os.PathLike[str] | None = None,
           **options: Any) -> Session:
    """Opens a Vulkan device, here or at the place ``at``; ``device=0`` chooses one of several."""
    return _kind("vulkan", at, options, token_file)


def null(*, at: str | None = None, token_file: str | _os.PathLike[str] | None = None) -> Session:
    """Opens the device that has memory and runs nothing."""
    return _kind("null", at, {}, token_file)


def devices() -> list[dict[str, Any]]:
    """Every platform, here or not, with its limits or the reason why it is not."""
    return _json.loads(_tapml.devices_json())


def parse(text: str, name: str = "<text>") -> Module:
    """Reads a module from its text; ``name`` stands for the text in messages.

    Raises UserError with line, column and caret for what is no module.
    """
    return Module.parse(text, name)


def tensor(x: Any, device: Session, dtype: Any = None, *, copy: bool | None = None) -> Tensor:
    """``x`` as a tensor on a device.

    ``x`` is a NumPy array, a PyTorch tensor or anything else with ``__dlpack__``, a tapml tensor of
    any session, or numbers in lists; of dtype ``dtype`` where given (as rounding to it gives).

    On a cpu of this process the tensor is the array's own memory where that is possible: compact,
    row-major, native byte order, writable, of the same dtype. What is written to the array then
    shows in the tensor. ``copy=True`` always copies; ``copy=False`` raises UserError, which says
    why, where the memory cannot be shared.
    """
    return _tapml.tensor(x, device, dtype, copy=copy)


def allocate(shape: int | Iterable[int], dtype: Any, device: Session) -> Tensor:
    """A tensor of unspecified elements.

    ``dtype`` may be tapml's name (``"f32"``), NumPy's or PyTorch's.
    """
    return _tapml.allocate(shape, dtype, device)


def compile(module: Module | LanguageModel, target: Session | str, *, cache: bool = True,
            verify: bool = False, dump: str | _os.PathLike[str] | None = None,
            skip: Sequence[str] = (), bounds: Mapping[str, int] | None = None,
            libraries: Sequence[str | _os.PathLike[str]] = (),
            patterns: str | _os.PathLike[str] | None = None) -> Executable:
    """Compiles a module for a device, or for a target that is not there.

    ``verify`` checks the invariants after every pass, ``dump`` is a folder for the text after each,
    ``skip`` names passes to leave out, ``bounds`` the most that symbolic variables can be,
    ``patterns`` a file of patterns (docs/patterns.md), ``libraries`` shared objects of routines.

    Raises UserError for a module that is wrong, LimitError for what the target cannot do.
    """
    return _tapml.compile(module, target, cache=cache, verify=verify,
                          dump=_os.fspath(dump) if dump is not None else None, skip=list(skip),
                          bounds=dict(bounds or {}),
                          libraries=[_os.fspath(library) for library in libraries],
                          patterns=_os.fspath(patterns) if patterns is not None else None)


def load(path: str | _os.PathLike[str]) -> Executable:
    """Reads an executable that ``Executable.save``, or the command ``tapml compile``, wrote."""
    return _tapml.load(_os.fspath(path))


def upload(executable: Executable, device: Session | None = None) -> Library:
    """Sends compiled code to a device: the one it was compiled for, or ``device``.

    Raises UserError for a device of another platform.
    """
    return _tapml.upload(executable, device)


def carve(what: LanguageModel | Module | Executable | str | _os.PathLike[str], device: Session, *,
          prompt: str | Sequence[str] | None = None, max_tokens: int = 4,
          inputs: Sequence[Sequence[Any]] | None = None, function: str | None = None,
          calls: int = 0, cache: bool = True) -> Suite:
    """Keeps a real run on ``device`` as a test for every kernel call.

    Of a language model (or its folder) ``prompt`` is run, one text or several, each continued by
    ``max_tokens`` tokens. Of a module or an executable ``function`` (its only one, or ``main``) is
    called with each of ``inputs``, a sequence of argument lists. ``calls`` bounds the calls that
    are kept of a kernel with the same sizes; 0 keeps all.
    """
    if isinstance(what, (Module, Executable)):
        if inputs is None or prompt is not None:
            raise UserError("a module is carved by calls of its function", "carve(inputs=...)",
                            "a list of argument lists", "no inputs")
        executable = what if isinstance(what, Executable) else compile(what, device, cache=cache)
        if function is None:
            names = executable.functions
            function = names[0] if len(names) == 1 else "main"
        return _tapml.carve_function(executable, device, function, [list(one) for one in inputs],
                                     calls)
    if prompt is None or inputs is not None or function is not None:
        raise UserError("a language model is carved while it continues a text",
                        "carve(prompt=...)", "a text, or several", "no prompt")
    prompts = [prompt] if isinstance(prompt, str) else list(prompt)
    return _tapml.carve_model(what, device, prompts, max_tokens, calls, cache)


def replay(suite: Suite | str | _os.PathLike[str], device: Session, *,
           kernel: str | None = None,
           on_verdict: Callable[[Verdict], None] | None = None) -> list[Verdict]:
    """Runs a suite's tests on a device: a verdict for each kernel, or for ``kernel`` alone.

    A kernel that differs is no error: its verdict says so. ``on_verdict`` sees each verdict when it
    is known.
    """
    if not isinstance(suite, Suite):
        suite = Suite.load(_os.fspath(suite))
    replayer = Replayer(suite, device)
    verdicts = []
    for name in [one.name for one in suite.kernels] if kernel is None else [kernel]:
        verdicts.append(replayer.kernel(name))
        if on_verdict is not None:
            on_verdict(verdicts[-1])
    return verdicts


def migrate(model: LanguageModel | str | _os.PathLike[str], source: Session, target: Session,
            prompt: str, *, max_tokens: int = 64, plant: str = "",
            progress: Callable[[str, int, int], None] | None = None) -> Migration:
    """Moves a language model from one device to another, kernel by kernel.

    Every kernel is held against its carved tests, then the model runs as a hybrid with this kernel
    and those before it on the target; at the end the target runs alone. A kernel that differs is no
    error: it stays on the source, and the result names it. ``plant`` (``"KERNEL:KIND"``) puts a bug
    into the target; ``progress(step, done, total)`` is called on the way.
    """
    return _tapml.migrate(model, source, target, prompt, max_tokens=max_tokens, plant=plant,
                          progress=progress)


def _add_conveniences() -> None:
    """What is easier said in Python than in C++."""

    def item(self: Tensor) -> Any:
        """The only element as a Python number."""
        if self.size != 1:
            raise UserError("a tensor of several elements is no number", "item()", "1 element",
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
        """A PyTorch tensor: on a cpu of this process the same memory, else a copy."""
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
