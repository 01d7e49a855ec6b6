"""The exceptions and the warning of tapml.

Every exception has the same attributes, each a text that may be empty: ``message`` is one sentence
that describes the error, ``where`` names its location (a file with line and column, a function, an
argument), ``expected`` and ``found`` describe the expected and the actual input, and ``hint`` is a
way to fix it.
"""

from __future__ import annotations

import builtins

__all__ = [
    "Error", "UserError", "ClosedError", "PlatformError", "AbsentError", "LostError",
    "OutOfMemoryError", "TimeoutError", "LimitError", "CancelledError", "ProtocolError",
    "CrashError", "UnauthorizedError", "InternalError", "CompileError", "Warning",
]


class Error(Exception):
    """Base class of all exceptions that tapml raises."""

    kind = "internal"

    def __init__(self, message: str, where: str = "", expected: str = "", found: str = "",
                 hint: str = "") -> None:
        super().__init__(message, where, expected, found, hint)
        self.message = message
        self.where = where
        self.expected = expected
        self.found = found
        self.hint = hint

    def __reduce__(self):
        return type(self), (self.message, self.where, self.expected, self.found, self.hint)

    def __str__(self) -> str:
        lines = [self.message]
        for name in ("where", "expected", "found", "hint"):
            text = getattr(self, name)
            if text:
                lines.append(f"  {name}: {text}")
        return "\n".join(lines)


class UserError(Error, ValueError):
    """The input is at fault: a file, a text, an argument."""

    kind = "user"


class ClosedError(UserError):
    """A session, or an object on it, was used after it was closed."""


class UnauthorizedError(UserError):
    """A server rejected the client: the token is wrong or missing."""


class PlatformError(Error, RuntimeError):
    """The platform is at fault: it is unavailable, was lost, or failed."""

    kind = "platform"


class AbsentError(PlatformError):
    """The device is unavailable; the message says what to install."""


class LostError(PlatformError):
    """The device or the connection to it was lost; the session cannot be used any more."""


class CrashError(LostError):
    """Code on the device ended its process; ``message`` has the signal and the backtrace."""


class OutOfMemoryError(PlatformError, MemoryError):
    """The device has no memory left for an allocation."""


class TimeoutError(PlatformError, builtins.TimeoutError):
    """An operation took longer than its deadline."""


class LimitError(PlatformError):
    """A limit of the device, a server or an interface was exceeded."""


class CancelledError(PlatformError):
    """The work was interrupted."""


class ProtocolError(PlatformError):
    """The other end of a connection speaks another protocol, or violates it."""


class InternalError(Error):
    """A defect of tapml."""


class CompileError(InternalError):
    """A driver rejects the code that tapml generated for it; ``found`` has its log."""


class Warning(UserWarning):
    """The category of tapml's warnings."""


_FAULTS: dict[str, type[Error]] = {
    "absent": AbsentError,
    "lost": LostError,
    "out of memory": OutOfMemoryError,
    "timeout": TimeoutError,
    "limit": LimitError,
    "cancelled": CancelledError,
    "protocol": ProtocolError,
    "crash": CrashError,
    "unauthorized": UnauthorizedError,
    "compile": CompileError,
}
_KINDS: dict[str, type[Error]] = {"user": UserError, "platform": PlatformError}


def make_error(kind: str, fault: str, message: str, where: str, expected: str, found: str,
               hint: str) -> Error:
    """Makes the exception for an error from C++."""
    general = _KINDS.get(kind, InternalError)
    made = _FAULTS.get(fault, general)
    if not issubclass(made, general):
        made = general
    return made(message, where, expected, found, hint)
