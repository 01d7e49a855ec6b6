"""Results of ``tapml.check_import``: a model compared with its published implementation."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Optional

from . import _tapml
from .errors import Error

__all__ = ["ImportCheck", "ImportDifference", "ImportMismatchError"]


@dataclasses.dataclass(frozen=True)
class ImportDifference:
    """The first value that differs, in the order of the model."""

    #: Module of the published implementation, such as ``"model.layers.0.self_attn.k_proj"``.
    module: str
    #: Which of its values: ``"input"``, ``"output"``, ``"cos"`` or ``"sin"``.
    end: str
    #: What the value is, such as ``"before the rotation"``; may be empty.
    meaning: str
    #: -1 outside of the layers.
    layer: int
    #: The largest difference over all tokens, and the most that is allowed.
    max_abs: float
    allowed: float
    #: The first token that exceeds it.
    token: int
    #: The values at the largest difference.
    published: float
    found: float
    #: Another module whose output equals the found values; empty if there is none.
    equals: str
    #: Whether the import agrees, and only the program after the compiler's passes differs.
    by_passes: bool


@dataclasses.dataclass(frozen=True)
class ImportCheck:
    """Whether a model as tapml reads it agrees with its published implementation."""

    #: The packages, such as ``"transformers 5.24.0, torch 2.13.0"``, and their class of the model.
    implementation: str
    model_class: str
    #: The dtype that it computed in: ``"f64"``, or ``"f32"`` for a model that is too large.
    dtype: str
    passed: bool
    #: Compared tokens of one text, and hidden states.
    tokens: int
    values: int
    #: Kernels that these tokens call, and those whose specification gives values of the modules.
    kernels: int
    kernels_at_ends: int
    #: The largest difference of a logit, and the most that is allowed at its token.
    max_abs: float
    allowed: float
    #: None if the logits agree.
    first: Optional[ImportDifference]
    #: Weights that the files lack, and that the implementation has.
    missing: tuple[str, ...]
    _document: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False,
                                                     compare=False)
    _text: str = dataclasses.field(default="", repr=False, compare=False)
    _compared: Optional[_tapml.ComparedImport] = dataclasses.field(default=None, repr=False,
                                                                  compare=False)

    @staticmethod
    def from_dict(document: Mapping[str, Any], text: str = "",
                  compared: Optional[_tapml.ComparedImport] = None) -> "ImportCheck":
        """Reads the ``import`` of ``tapml check-import --json``."""
        numbers = ("max_abs", "allowed", "published", "found")
        first = document["first"]
        return ImportCheck(
            document["implementation"], document["class"], document["dtype"], document["passed"],
            document["tokens"], document["values"], document["kernels"],
            document["kernels_at_ends"], float(document["max_abs"]), float(document["allowed"]),
            first and ImportDifference(**{name: float(value) if name in numbers else value
                                          for name, value in first.items()}),
            tuple(document["missing"]), document, text, compared)

    def to_dict(self) -> dict[str, Any]:
        """The ``import`` of ``tapml check-import --json``."""
        return dict(self._document)

    def __str__(self) -> str:
        return self._text or repr(self)


class ImportMismatchError(Error):
    """A model differs from its published implementation, so ``trust="torch"`` ended the call."""

    kind = "import"

    def __init__(self, check: ImportCheck, where: str) -> None:
        super().__init__("the import " + str(check), where,
                         hint="nothing else was tested: mend the import first")
        #: What differs.
        self.check = check

    def __reduce__(self):
        return type(self), (dataclasses.replace(self.check, _compared=None), self.where)
