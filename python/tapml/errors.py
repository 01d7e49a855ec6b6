"""What tapml raises, and what it warns with.

Every exception has the same attributes, each a text that may be empty: ``message`` says in one
sentence what is wrong, ``where`` names the place (a file with line and column, a function, an
argument), ``expected`` and ``found`` say what was wanted there and what came, ``hint`` what to do.
"""

from __future__ import annotations

import builtins

__all__ = [
    "Error", "UserError", "ClosedError", "PlatformError", "AbsentError", "LostError",
    "OutOfMemoryError", "TimeoutError", "LimitError", "CancelledError", "ProtocolError",
    "CrashError", "UnauthorizedError", "InternalError", "CompileError", "Warning",
]


class Error(Exception):
    """Whatever tapml complains about."""

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
    """A session, or something on it, is used after it was closed."""


class UnauthorizedError(UserError):
    """A server does not know who asks: the token is wrong, or none was shown."""


class PlatformError(Error, RuntimeError):
    """The platform is at fault: it is not there, was lost, or cannot do what it should."""

    kind = "platform"


class AbsentError(PlatformError):
    """No such device here; the message says what to install."""


class LostError(PlatformError):
    """The device or the connection to it is gone; the session is of no use any more."""


class CrashError(LostError):
    """What ran there ended its process: the signal and the backtrace are in ``message``."""


class OutOfMemoryError(PlatformError, MemoryError):
    """The device has no memory left for an allocation."""


class TimeoutError(PlatformError, builtins.TimeoutError):
    """Something took longer than its deadline."""


class LimitError(PlatformError):
    """More than the device, a server or an interface allows."""


class CancelledError(PlatformError):
    """The work was interrupted."""


class ProtocolError(PlatformError):
    """The other side of a connection speaks another protocol, or not by its rules."""


class InternalError(Error):
    """A defect of tapml."""


class CompileError(InternalError):
    """A driver refuses the code that tapml made for it; ``found`` has what it says."""


class Warning(UserWarning):
    """What tapml warns of."""


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
    """The exception of an error of the C++ side."""
    general = _KINDS.get(kind, InternalError)
    made = _FAULTS.get(fault, general)
    if not issubclass(made, general):
        made = general
    return made(message, where, expected, found, hint)
