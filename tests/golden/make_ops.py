#!/usr/bin/env python3
"""Writes the golden values of the operators: what PyTorch or NumPy compute for given arguments.

Each module ops_<family>.py beside this file has a function cases() that yields Case objects; this
script makes ops/<family>.json (the calls) and ops/<family>.safetensors (their tensors).

Usage: make_ops.py [--check] [family ...]   (all without a name; --check only compares: exit 1 where
what is in ops/ differs)
Needs torch, safetensors, numpy.
"""

import dataclasses
import importlib
import json
import os
import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class DType:
    """An attribute that is a dtype, as the text format spells it: DType("f16")."""

    name: str


@dataclasses.dataclass
class Case:
    """One call. An argument is a tensor, a list of tensors (a tuple) or Ints (a shape); an integer
    argument is Ints of one. Expected outputs in f64 are compared with the reference's values to
    1e-10 relative, others must be within its bounds; integers and bools are compared exactly.
    `result` are the dtypes of the outputs in the program, where these are not those of `outputs`."""

    op: str
    args: list
    outputs: list
    attrs: dict = dataclasses.field(default_factory=dict)
    result: list | None = None


class Ints(list):
    """The integers of a shape or prim argument."""


DTYPES = {
    torch.bool: "bool", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32",
    torch.int64: "i64", torch.uint8: "u8", torch.uint16: "u16", torch.uint32: "u32",
    torch.uint64: "u64", torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32",
    torch.float64: "f64",
}


def attribute(value):
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, float):
        # JSON has no infinity.
        return {"number": repr(value)}
    return list(value) if isinstance(value, (list, tuple)) else value


def make(family):
    """The document and the tensors of one family."""
    tensors, calls = {}, []

    def keep(tensor):
        name = f"t{len(tensors)}"
        tensors[name] = torch.as_tensor(tensor).detach().contiguous().clone()
        return name

    for case in importlib.import_module(f"ops_{family}").cases():
        args = []
        for arg in case.args:
            if isinstance(arg, Ints):
                args.append({"ints": [int(i) for i in arg]})
            elif isinstance(arg, (list, tuple)):
                args.append({"tensors": [keep(t) for t in arg]})
            else:
                args.append({"tensors": [keep(arg)]})
        outputs = [torch.as_tensor(o) for o in case.outputs]
        calls.append({
            "op": case.op,
            "attrs": {k: attribute(v) for k, v in sorted(case.attrs.items())},
            "args": args,
            "outputs": [keep(o) for o in outputs],
            "result": case.result or [DTYPES[o.dtype] for o in outputs],
        })
    return calls, tensors


def document(calls):
    return "[\n" + ",\n".join(json.dumps(call) for call in calls) + "\n]\n"


def write(path, writer):
    part = path.with_name(path.name + ".part")
    writer(part)
    part.chmod(0o644)
    os.replace(part, path)


def same(family, calls, tensors):
    """Whether ops/ already holds this, up to the last places of floats."""
    try:
        old = load_file(HERE / f"ops/{family}.safetensors")
        text = (HERE / f"ops/{family}.json").read_text()
    except OSError:
        return False
    if text != document(calls) or old.keys() != tensors.keys():
        return False
    return all(
        old[k].dtype == t.dtype and old[k].shape == t.shape
        and torch.allclose(old[k].double(), t.double(), rtol=1e-6, atol=1e-12, equal_nan=True)
        for k, t in tensors.items())


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    check = "--check" in sys.argv[1:]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    known = sorted(p.stem.removeprefix("ops_") for p in HERE.glob("ops_*.py"))
    if unknown := set(names) - set(known):
        sys.exit(f"make_ops.py: no family {', '.join(sorted(unknown))}; known are {', '.join(known)}")
    (HERE / "ops").mkdir(exist_ok=True)
    failed = False
    for family in names or known:
        torch.manual_seed(0)
        calls, tensors = make(family)
        if check:
            ok = same(family, calls, tensors)
            failed |= not ok
            print(f"{family}: {len(calls)} cases {'agree' if ok else 'DIFFER'}")
            continue
        write(HERE / f"ops/{family}.safetensors", lambda part: save_file(tensors, str(part)))
        write(HERE / f"ops/{family}.json", lambda part: part.write_text(document(calls)))
        print(f"{family}: {len(calls)} cases, {sum(t.nbytes for t in tensors.values())} bytes")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    # Families import Case and Ints from here, not from a second copy of this module.
    sys.modules["make_ops"] = sys.modules["__main__"]
    sys.path.insert(0, str(HERE))
    main()
