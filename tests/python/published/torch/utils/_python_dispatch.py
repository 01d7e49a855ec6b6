"""NumPy's operations have no mode: the toy model never leaves the dtype of its weights."""
import contextlib


class TorchDispatchMode(contextlib.nullcontext):
    pass
