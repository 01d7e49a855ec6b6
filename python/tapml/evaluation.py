"""Results of ``tapml.evaluate``: a model's scores on tasks, platform by platform."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Optional

__all__ = ["Evaluation", "EvaluationTotal", "TaskResult"]


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


@dataclasses.dataclass(frozen=True)
class EvaluationTotal:
    """The tasks of one kind."""

    tasks: int
    #: None for tasks without a right answer (perplexity).
    correct: Optional[int]
    tokens: int
    #: Mean, in nats per token.
    nll: float
    #: exp(nll)
    perplexity: float


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """A model's results on one platform, and the comparison with the reference."""

    target: str
    tasks: int
    #: Tasks with a right answer, and those answered correctly.
    scored: int
    correct: int
    #: Scored tokens, their mean negative log-likelihood in nats, and exp of it.
    tokens: int
    nll: float
    perplexity: float
    #: By kind: ``"perplexity"``, ``"exact_match"``, ``"multiple_choice"``.
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
        kinds = {name: EvaluationTotal(one["tasks"], one.get("correct"), one["tokens"],
                                       float(one["nll"]), float(one["perplexity"]))
                 for name, one in document["kinds"].items()}
        results = tuple(TaskResult(one["id"], float(one["nll"]), one["tokens"], one.get("correct"),
                                   one.get("choice")) for one in document["results"])
        nll_off = document.get("nll_off")
        failure = document.get("failure", "")
        return Evaluation(
            document["target"], document["tasks"], document["scored"], document["correct"],
            document["tokens"], float(document["nll"]), float(document["perplexity"]), kinds,
            results, document["seconds"], False if failure else document.get("passed"),
            tuple(document.get("flipped", ())), document.get("tasks_off"),
            None if nll_off is None else float(nll_off), failure, document)

    @property
    def verdict(self) -> Optional[str]:
        """``"PASS"`` or ``"FAIL"`` compared with the reference; None without one."""
        return None if self.passed is None else "PASS" if self.passed else "FAIL"

    def to_dict(self) -> dict[str, Any]:
        """The target's part of the output of ``tapml eval --json``."""
        return dict(self._document)
