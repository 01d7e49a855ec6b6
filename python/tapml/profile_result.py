"""Results of ``tapml.profile``: where a run spends its time."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Optional

__all__ = ["KernelProfile", "Profile"]


@dataclasses.dataclass(frozen=True)
class KernelProfile:
    """All calls of a kernel."""

    kernel: str
    #: The functions of the model that call it: ``"prefill"``, ``"decode"``.
    functions: tuple[str, ...]
    calls: int
    seconds: float
    #: Floating-point operations, and bytes that are read and written.
    flops: float
    bytes: float
    #: False if they depend on data (attention up to a length, experts).
    exact: bool
    #: The least time that the device's ceilings allow, as a share of ``seconds``; None if unknown.
    share_of_ceiling: Optional[float]
    #: The layers of the model that call it, and the lines that made it.
    layers: tuple[str, ...]
    lines: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Profile:
    """The kernels of a run, the most costly first."""

    target: str
    #: Sum over the kernels.
    seconds: float
    #: What the device reaches in tapml's own kernels.
    flops_per_s: float
    bytes_per_s: float
    kernels: tuple[KernelProfile, ...]
    _document: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False,
                                                     compare=False)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> "Profile":
        """Reads the output of ``tapml profile --json``."""
        kernels = tuple(
            KernelProfile(one["kernel"], tuple(one["functions"]), one["calls"], one["seconds"],
                          one["flops"], one["bytes"], one["exact"], one["share_of_ceiling"],
                          tuple(one["layers"]), tuple(one["lines"]))
            for one in document["kernels"])
        ceilings = document["ceilings"]
        return Profile(document["target"], document["seconds"], ceilings["flops_per_s"],
                       ceilings["bytes_per_s"], kernels, document)

    def to_dict(self) -> dict[str, Any]:
        """The output of ``tapml profile --json``."""
        return dict(self._document)
