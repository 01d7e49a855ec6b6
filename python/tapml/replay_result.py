"""The result of ``replay``: a verdict for each kernel and group, and one for all of them."""

from __future__ import annotations

from typing import Iterable

from ._tapml import Suite, Verdict, replay_verdict

__all__ = ["Replay"]


class Replay(list[Verdict]):
    """The verdicts of a suite's tests, in execution order."""

    #: ``"PASS"``, ``"FAIL"``, or ``"NOT PROVEN"``: all tests pass, but the suite is incomplete or
    #: lacks kernels.
    verdict: str
    #: The last line of ``tapml replay``: ``"PASS 28 of 28 kernels, 177 calls"``.
    line: str
    #: Kernels without a test in the suite; empty if only one kernel was replayed.
    untested: tuple[str, ...]

    def __init__(self, suite: Suite, verdicts: Iterable[Verdict], whole: bool) -> None:
        super().__init__(verdicts)
        self.verdict, self.line, self.untested = replay_verdict(suite, self, whole)

    @property
    def passed(self) -> bool:
        """Whether every kernel is proven to be right."""
        return self.verdict == "PASS"
