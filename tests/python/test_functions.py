"""Compiled functions: arguments, results, destination passing, executables on disk."""
import numpy as np
import pytest

import tapml
from conftest import AFFINE

VALUES = """module

def pick(t: Tuple(Tensor((n,), f32), Tensor((m,), f32)), s: Shape((a, b))) -> Tuple(Tensor((m,), f32), Shape((b, a))) {
  second: Tensor((m,), f32) = t[1]
  return (second, shape(b, a))
}

def shift(x: Tensor((n,), f32), by: Tensor((), f32)) -> Tuple(Tensor((n,), f32), Tensor((n,), f32)) {
  up: Tensor((n,), f32) = add(x, by)
  down: Tensor((n,), f32) = subtract(x, by)
  return (up, down)
}

def same(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  return x
}
"""


def arguments(n=4):
    x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
    return x, np.array([[1, 2], [3, 4], [5, 6]], np.float32), np.array([10, 20], np.float32)


@pytest.fixture(params=["cpu", "opencl", "remote"])
def device(request):
    return request.getfixturevalue(request.param)


def test_results(device):
    f = tapml.upload(tapml.compile(tapml.parse(AFFINE), device))["main"]
    assert f.name == "main" and f.parameters == ["x", "w", "b"]
    for n in (1, 4, 0):
        x, w, b = arguments(n)
        y = f(*[tapml.tensor(one, device) for one in (x, w, b)])
        assert y.dtype == "f32" and y.device is device
        np.testing.assert_allclose(y.numpy(), x @ w + b, rtol=1e-6)
        np.testing.assert_allclose(f(x, w, b).numpy(), x @ w + b, rtol=1e-6)  # sends the arrays


def test_outputs_with_a_destination(device):
    library = tapml.upload(tapml.compile(tapml.parse(VALUES), device))
    x = np.arange(5, dtype=np.float32)
    up, down = (tapml.allocate((5,), "f32", device) for _ in range(2))
    assert library["shift"](x, 2, up, down) is None
    np.testing.assert_array_equal(up.numpy(), x + 2)
    np.testing.assert_array_equal(down.numpy(), x - 2)
    with pytest.raises(tapml.UserError, match="output tensor has the wrong type") as caught:
        library["shift"](x, 2, up, tapml.allocate((4,), "f32", device))
    assert caught.value.where == "output 1 of shift"
    assert (caught.value.expected, caught.value.found) == ("f32[5]", "f32[4]")
    with pytest.raises(tapml.UserError, match="too many arguments"):
        library["shift"](x, 2, up, down, up)
    with pytest.raises(tapml.UserError, match="not a tensor on the call's device"):
        library["shift"](x, 2, np.zeros(5, np.float32), down)
    with pytest.raises(tapml.UserError, match="too few arguments"):
        library["shift"](x)


def test_tuples_and_shapes(device):
    f = tapml.upload(tapml.compile(tapml.parse(VALUES), device)).get_function("pick")
    a, b = np.zeros(2, np.float32), np.ones(3, np.float32)
    second, shape = f((a, b), (5, 7))
    assert second.tolist() == [1, 1, 1] and shape == (7, 5)
    with pytest.raises(tapml.UserError, match="the tuple has the wrong length"):
        f((a, b, a), (5, 7))
    with pytest.raises(tapml.UserError, match="not a 64-bit integer"):
        f((a, b), ("x", 7))
    with pytest.raises(tapml.UserError, match="the wrong kind"):
        f(3, (5, 7))


def test_writes_outside_the_session_are_seen(cpu):
    f = tapml.upload(tapml.compile(tapml.parse(VALUES), cpu))["shift"]
    x = np.zeros(3, np.float32)
    t = tapml.tensor(x, cpu, copy=False)
    assert f(t, 1.0)[0].tolist() == [1, 1, 1]
    x[:] = 5
    assert f(t, 1.0)[0].tolist() == [6, 6, 6]


def test_a_result_may_be_an_argument(cpu):
    f = tapml.upload(tapml.compile(tapml.parse(VALUES), cpu))["same"]
    x = np.arange(3, dtype=np.float32)
    y = f(tapml.tensor(x, cpu, copy=False))
    del x
    assert y.tolist() == [0, 1, 2]


def test_types_before_compilation():
    module = tapml.parse(VALUES)
    assert module.functions == ("pick", "same", "shift")
    shift = module["shift"]
    assert [(t.name, t.kind, t.dtype, t.shape) for t in shift.inputs] == [
        ("x", "tensor", "f32", ("n",)), ("by", "tensor", "f32", ())]
    assert [t.shape for t in shift.output] == [("n",), ("n",)]
    pair, shape = module["pick"].inputs
    assert pair.kind == "tuple" and pair.shape is None and shape.shape == ("a", "b")
    with pytest.raises(tapml.UserError, match="the function is ambiguous"):
        module.output
    affine = tapml.parse(AFFINE)
    assert affine.output[0].shape == ("n", 2)
    with pytest.raises(tapml.UserError, match="the shape cannot be allocated") as caught:
        tapml.allocate(affine.output[0].shape, "f32", tapml.cpu())
    assert "bind()" in caught.value.hint
    assert affine.bind(n=8).output[0].shape == (8, 2)
    with pytest.raises(tapml.UserError, match="no such symbolic variable"):
        affine.bind(m=8)
    assert tapml.parse(str(affine)).functions == ("main",)


def test_executables_on_disk(cpu, opencl, tmp_path):
    path = str(tmp_path / "affine.tapml")
    tapml.compile(tapml.parse(AFFINE), "cpu").save(path)
    executable = tapml.load(path)
    assert executable.target == "cpu" and executable.functions == ("main",)
    assert len(executable.kernels) == 1
    x, w, b = arguments()
    np.testing.assert_allclose(tapml.upload(executable, cpu)["main"](x, w, b).numpy(), x @ w + b)
    with pytest.raises(tapml.UserError, match="for a target without a device"):
        tapml.upload(executable)
    with pytest.raises(tapml.UserError, match="another platform"):
        tapml.upload(executable, opencl)
    (tmp_path / "broken.tapml").write_bytes(b"no executable")
    with pytest.raises(tapml.UserError):
        tapml.load(tmp_path / "broken.tapml")


def test_compile_settings(cpu, tmp_path):
    module = tapml.parse(AFFINE)
    tapml.compile(module, cpu, verify=True, dump=tmp_path, cache=False, bounds={"n": 16})
    assert any(tmp_path.iterdir())
    fused, apart = (tapml.compile(module, cpu, skip=skip) for skip in ([], ["fuse_ops"]))
    assert (len(fused.kernels), len(apart.kernels)) == (1, 2)
    with pytest.raises(tapml.UserError):
        tapml.compile(module, cpu, skip=["no_such_pass"])
    with pytest.raises(tapml.UserError, match="symbolic variable"):
        tapml.compile(module, cpu, bounds={"q": 16})
