"""The result of ``carve_torch``: groups with their verdicts, and kernels without one."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, Optional, Sequence, Union

from ._tapml import Suite, Verdict
from .errors import UserError

__all__ = ["TorchCarving", "TorchGroup", "TorchUnmapped"]


@dataclasses.dataclass(frozen=True)
class TorchGroup:
    """Kernels between boundaries in PyTorch, and their results for PyTorch's inputs."""

    #: Kernel names in execution order, and the layers that use them.
    kernels: tuple[str, ...]
    layers: tuple[str, ...]
    #: Boundaries by PyTorch's module names: ``"input of model.norm"``, ``"output of lm_head"``.
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: Index of the run, and the step in it: 0 is the prompt, decode steps count from 1.
    run: int
    step: int
    #: ``source_*`` are measurements of PyTorch, the others of the device.
    verdict: Verdict

    @property
    def passed(self) -> bool:
        """Whether the device and PyTorch are both within the bounds of the reference."""
        return self.verdict.passed and not self.verdict.source_wrong

    @property
    def outcome(self) -> str:
        """``"pass"``, or what is wrong.

        ``"mismatch"``: the device computes something else than the kernels specify; ``"pytorch
        mismatch"``: the kernels specify something else than PyTorch computes, so that either
        PyTorch's module or tapml's model is wrong; ``"cannot run"``, ``"crash"``, ...
        (docs/cli.md).
        """
        if self.verdict.failure:
            return str(self.verdict.to_dict()["failed"])
        if not self.verdict.passed:
            return "mismatch"
        return "pytorch mismatch" if self.verdict.source_wrong else "pass"

    def to_dict(self) -> dict[str, Any]:
        """The group as a JSON object."""
        return {"kernels": list(self.kernels), "layers": list(self.layers),
                "inputs": list(self.inputs), "outputs": list(self.outputs), "run": self.run,
                "step": self.step, "outcome": self.outcome, "verdict": self.verdict.to_dict()}


@dataclasses.dataclass(frozen=True)
class TorchUnmapped:
    """Kernels that have no counterpart in PyTorch, and the reason."""

    kernels: tuple[str, ...]
    layers: tuple[str, ...]
    run: int
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """The kernels as a JSON object."""
        return {"kernels": list(self.kernels), "layers": list(self.layers), "run": self.run,
                "reason": self.reason}


@dataclasses.dataclass(frozen=True)
class TorchCarving:
    """A comparison of a model on a tapml device with PyTorch."""

    target: str
    groups: tuple[TorchGroup, ...]
    unmapped: tuple[TorchUnmapped, ...]
    #: A test with PyTorch's tensors for each group, source ``"pytorch"``: a call for a single kernel,
    #: else a group; None if there are no groups.
    suite: Optional[Suite]
    #: Parts of PyTorch's run that were left out.
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether there are groups, and all of them pass."""
        return bool(self.groups) and all(group.passed for group in self.groups)

    @property
    def verdict(self) -> str:
        """``"PASS"``, ``"FAIL"``, or ``"NOT PROVEN"``: some kernel is in no group."""
        if self.culprits:
            return "FAIL"
        compared = {kernel for group in self.groups for kernel in group.kernels}
        missing = {kernel for one in self.unmapped for kernel in one.kernels} - compared
        return "NOT PROVEN" if missing or not self.groups else "PASS"

    @property
    def culprits(self) -> tuple[TorchGroup, ...]:
        """The groups that do not pass."""
        return tuple(group for group in self.groups if not group.passed)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as a JSON object."""
        return {"source": "pytorch", "target": self.target, "passed": self.passed,
                "verdict": self.verdict,
                "groups": [group.to_dict() for group in self.groups],
                "unmapped": [one.to_dict() for one in self.unmapped], "notes": list(self.notes)}

    def save(self, folder: Union[str, "os.PathLike[str]"]) -> int:
        """Writes ``suite``, for replay on any device; returns 0, the number of groups left out.

        Raises UserError if nothing was compared.
        """
        if self.suite is None:
            raise UserError("nothing was compared", "save(folder)", "at least one group", "none")
        self.suite.save(os.fspath(folder))
        return 0

    def __str__(self) -> str:
        """A row for each kind of group, with the worst of its layers; then the problems."""
        kinds: dict[tuple[Any, ...], list[TorchGroup]] = {}
        for group in self.groups:
            names = (_NUMBER.sub("*", name) for name in group.inputs + group.outputs)
            kinds.setdefault((frozenset(group.kernels), group.outcome, group.step > 0,
                              frozenset(names)), []).append(group)
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
        lines += [f"not compared: {_joined(one.kernels)} ({', '.join(one.layers)}): {one.reason}"
                  for one in self.unmapped]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


# The number of a layer in a module's path, and of a decode step.
_NUMBER = re.compile(r"(?<=\.)[0-9]+(?=\.|$| )|(?<=\(decode )[0-9]+")


def _joined(kernels: Sequence[str]) -> str:
    return " + ".join(dict.fromkeys(kernels))
