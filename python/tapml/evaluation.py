"""Results of ``tapml.evaluate``: a model's scores on tasks, platform by platform."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Optional

__all__ = ["Evaluation", "EvaluationTotal", "TaskResult", "WrittenProgram"]


@dataclasses.dataclass(frozen=True)
class WrittenProgram:
    """What the model wrote for a task that is a program."""

    code: str
    tokens: tuple[int, ...]
    #: Why it did not pass its tests; else empty.
    message: str
    #: The first token that is not the reference's, and by how much its logit is above that of the
    #: reference's token; None if all are equal, or without a reference.
    differs_at: Optional[int] = None
    margin: Optional[float] = None


@dataclasses.dataclass(frozen=True)
class TaskResult:
    """One task on one platform."""

    id: str
    #: Negative log-likelihood of the right continuation, in nats, summed over its tokens.
    nll: float
    tokens: int
    #: None for a task without a right answer (perplexity).
    correct: Optional[bool]
    #: Index of the most likely of several choices; else None.
    choice: Optional[int]
    #: Of a task that is a program; else None.
    program: Optional[WrittenProgram] = None


@dataclasses.dataclass(frozen=True)
class EvaluationTotal:
    """The tasks of one kind."""

    tasks: int
    #: None for tasks without a right answer (perplexity).
    correct: Optional[int]
    #: Scored tokens: 0 for programs.
    tokens: int
    #: Mean, in nats per token; None without scored tokens.
    nll: Optional[float]
    #: exp(nll)
    perplexity: Optional[float]


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """A model's results on one platform, and the comparison with the reference."""

    target: str
    tasks: int
    #: Tasks with a right answer, and those answered correctly.
    scored: int
    correct: int
    #: Scored tokens, their mean negative log-likelihood in nats, and exp of it (None without any).
    tokens: int
    nll: Optional[float]
    perplexity: Optional[float]
    #: By kind: ``"perplexity"``, ``"exact_match"``, ``"multiple_choice"``, ``"program"``.
    kinds: Mapping[str, EvaluationTotal]
    results: tuple[TaskResult, ...]
    seconds: float
    #: Whether it agrees with the reference (at most 3 tasks and 0.1% of nll off); None without one,
    #: False if any result is not finite.
    passed: Optional[bool] = None
    #: Ids of tasks that are right on only one of the two.
    flipped: tuple[str, ...] = ()
    tasks_off: Optional[int] = None
    #: Relative difference of the mean negative log-likelihood.
    nll_off: Optional[float] = None
    #: The first task with non-finite logits, and the kernel where they begin; else empty.
    failure: str = ""
    _document: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False,
                                                     compare=False)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> "Evaluation":
        """Reads one target's part of the output of ``tapml eval --json``."""
        kinds = {name: EvaluationTotal(one["tasks"], one.get("correct"), *_nll_of(one))
                 for name, one in document["kinds"].items()}
        results = tuple(TaskResult(one["id"], float(one["nll"]), one["tokens"], one.get("correct"),
                                   one.get("choice"), _program_of(one.get("program")))
                        for one in document["results"])
        nll_off = document.get("nll_off")
        failure = document.get("failure", "")
        return Evaluation(
            document["target"], document["tasks"], document["scored"], document["correct"],
            *_nll_of(document), kinds, results, document["seconds"],
            False if failure else document.get("passed"), tuple(document.get("flipped", ())), document.get("tasks_off"),
            None if nll_off is None else float(nll_off), failure, document)

    @property
    def verdict(self) -> Optional[str]:
        """``"PASS"`` or ``"FAIL"`` compared with the reference; None without one."""
        return None if self.passed is None else "PASS" if self.passed else "FAIL"

    def to_dict(self) -> dict[str, Any]:
        """The target's part of the output of ``tapml eval --json``."""
        return dict(self._document)


def _nll_of(total: Mapping[str, Any]) -> tuple[int, Optional[float], Optional[float]]:
    """Tokens, nats per token and perplexity of a total, which lacks all without scored tokens."""
    if "tokens" not in total:
        return 0, None, None
    return total["tokens"], float(total["nll"]), float(total["perplexity"])


def _program_of(program: Optional[Mapping[str, Any]]) -> Optional[WrittenProgram]:
    if program is None:
        return None
    margin = program.get("margin")
    return WrittenProgram(program["code"], tuple(program["tokens"]), program["message"],
                          program.get("differs_at"), None if margin is None else float(margin))
