"""Hand-written tensor programs that access memory out of bounds, and endless programs."""
import numpy as np
import pytest

import tapml

GATHER = """module
prim def gather(x: Buffer((n,), f32), at: Buffer((m,), i64), out y: Buffer((m,), f32), n: i64, m: i64) {
  for i in parallel(m) { y[i] = x[at[i]] }
}
def main(x: Tensor((n,), f32), at: Tensor((m,), i64)) -> Tensor((m,), f32) {
  y: Tensor((m,), f32) = call_tir(@gather, (x, at), Tensor((m,), f32))
  return y
}
"""

ENDLESS = """module
def again(x: Tensor((2,), f32)) -> Tensor((2,), f32) {
  y: Tensor((2,), f32) = add(x, x)
  z: Tensor((2,), f32) = @again(y)
  return z
}
def main(x: Tensor((2,), f32)) -> Tensor((2,), f32) {
  y: Tensor((2,), f32) = @again(x)
  return y
}
"""

X = np.array([1, 2, 3, 4], np.float32)


def test_a_crash_is_an_error_that_names_the_kernel():
    with tapml.cpu() as device:
        f = tapml.upload(tapml.compile(tapml.parse(GATHER), device))["main"]
        assert f(X, np.array([3, 0], np.int64)).numpy().tolist() == [4, 1]
        with pytest.raises(tapml.CrashError) as crash:
            f(X, np.array([1 << 40], np.int64)).numpy()
        assert "gather_" in crash.value.message and "SIGSEGV" in crash.value.message
        assert "x[at[i]]" in crash.value.found
        # The device itself still works.
        again = tapml.upload(tapml.compile(tapml.parse(GATHER), device))["main"]
        assert again(X, np.array([2], np.int64)).numpy().tolist() == [3]


def test_carving_a_crash():
    with tapml.cpu() as device:
        suite = tapml.carve(tapml.parse(GATHER), device, inputs=[[X, np.array([1], np.int64)]])
        assert len(suite.kernels) == 1
        with pytest.raises(tapml.CrashError):
            tapml.carve(tapml.parse(GATHER), device, inputs=[[X, np.array([1 << 40], np.int64)]])


def test_step_limit():
    with tapml.cpu() as device:
        library = tapml.upload(tapml.compile(tapml.parse(ENDLESS), device), step_limit=1000)
        with pytest.raises(tapml.LimitError) as limit:
            library["main"](np.zeros(2, np.float32))
        assert "1000 calls" in limit.value.message
        assert "again" in limit.value.where
        with pytest.raises(tapml.UserError):
            tapml.upload(tapml.compile(tapml.parse(ENDLESS), device), step_limit=-1)
