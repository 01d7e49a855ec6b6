"""The stubs match the module, and everything public is documented."""
import ast
import inspect
import pathlib

import tapml
from tapml import _tapml


def stub_names():
    """Names in the stubs: of the module, and of each class."""
    tree = ast.parse((pathlib.Path(tapml.__file__).parent / "_tapml.pyi").read_text())
    names, members = set(), {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members[node.name] = {item.name for item in node.body
                                  if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            names.add(node.name)
    return names, members


def public(x):
    return {name for name in dir(x) if not name.startswith("_")}


def test_the_stubs_are_complete():
    names, members = stub_names()
    classes = {name for name, x in vars(_tapml).items() if inspect.isclass(x) and name[0] != "_"}
    assert classes == set(members)
    assert public(_tapml) - classes == names
    for name, found in members.items():
        assert public(getattr(_tapml, name)) == {one for one in found if not one.startswith("_")}


def test_everything_public_is_documented():
    for name in tapml.__all__:
        assert inspect.getdoc(getattr(tapml, name)), name
        assert name in dir(tapml)
    assert (pathlib.Path(tapml.__file__).parent / "py.typed").exists()
    assert tapml.__version__ == _tapml.__version__
