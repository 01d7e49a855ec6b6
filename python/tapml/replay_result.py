"""What ``replay`` says: a verdict for each kernel and group, and one for all of them."""

from __future__ import annotations

from typing import Iterable

from ._tapml import Suite, Verdict, replay_verdict

__all__ = ["Replay"]


class Replay(list[Verdict]):
    """The verdicts of a suite's tests, in the order in which they ran."""

    #: ``"PASS"``, ``"FAIL"``, or ``"NOT PROVEN"``: nothing is wrong in what was tested, and the suite
    #: is incomplete or lacks kernels.
    verdict: str
    #: As ``tapml replay`` ends: ``"PASS 28 of 28 kernels, 177 calls"``.
    line: str
    #: Kernels that the suite has no test of; empty where one kernel was asked for.
    untested: tuple[str, ...]

    def __init__(self, suite: Suite, verdicts: Iterable[Verdict], whole: bool) -> None:
        super().__init__(verdicts)
        self.verdict, self.line, self.untested = replay_verdict(suite, self, whole)

    @property
    def passed(self) -> bool:
        """Whether it is proven that all is right."""
        return self.verdict == "PASS"
