"""The program of Figure 5 of the TapML paper, with two available devices and a tolerance."""
from typing import List

import numpy as np

import tapml
import tapml as tml

BLOCK = """module

def transformer_block(
  x: Tensor((6, 32), f32), norm: Tensor((32,), f32),
  wq: Tensor((32, 32), f32), wk: Tensor((32, 32), f32), wv: Tensor((32, 32), f32), wo: Tensor((32, 32), f32),
  norm2: Tensor((32,), f32), up: Tensor((32, 64), f32), down: Tensor((64, 32), f32)
) -> Tensor((6, 32), f32) {
  h: Tensor((6, 32), f32) = rms_norm(x, norm)
  q: Tensor((4, 6, 8), f32) = permute(reshape(matmul(h, wq), shape(6, 4, 8))) {axes: [1, 0, 2]}
  k: Tensor((4, 6, 8), f32) = permute(reshape(matmul(h, wk), shape(6, 4, 8))) {axes: [1, 0, 2]}
  v: Tensor((4, 6, 8), f32) = permute(reshape(matmul(h, wv), shape(6, 4, 8))) {axes: [1, 0, 2]}
  scores: Tensor((4, 6, 6), f32) = matmul(q, k) {transpose_b: true}
  s: Tensor((4, 6, 6), f32) = softmax(multiply(scores, const(f32, (), [0.35355338])))
  o: Tensor((6, 4, 8), f32) = permute(matmul(s, v)) {axes: [1, 0, 2]}
  y: Tensor((6, 32), f32) = add(x, matmul(reshape(o, shape(6, 32)), wo))
  z: Tensor((6, 32), f32) = add(y, matmul(silu(matmul(rms_norm(y, norm2), up)), down))
  return z
}
"""


def validate(mod: tml.Module, np_inputs: List[np.ndarray], one, other):
    def run(device):
        # Locally compile a module for the device platform
        lib = tml.compile(mod, device)
        remote_lib = tml.upload(lib)  # Upload compiled code

        # Prepare remote inputs and outputs
        tml_inputs = [tml.tensor(inp, device) for inp in np_inputs]
        shape, dtype = mod.output[0].shape, mod.output[0].dtype
        tml_output = tml.allocate(shape, dtype, device)

        # Invoke remote function of the decoder block
        remote_fn = remote_lib.get_function("transformer_block")
        remote_fn(*tml_inputs, tml_output)

        # Copy back the remote data to local host and return
        return tml_output.numpy()

    np.testing.assert_allclose(run(one()), run(other()), rtol=1e-4, atol=1e-5)
    return run(one())


def inputs(mod):
    random = np.random.default_rng(7)
    return [(random.standard_normal(t.shape) / np.sqrt(t.shape[-1])).astype(np.float32)
            for t in mod.inputs]


def reference(x, norm, wq, wk, wv, wo, norm2, up, down):
    def rms(a, w):
        return a / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-5) * w

    def heads(a):
        return a.reshape(6, 4, 8).transpose(1, 0, 2)

    h = rms(x, norm)
    s = heads(h @ wq) @ heads(h @ wk).transpose(0, 2, 1) * 0.35355338
    e = np.exp(s - s.max(-1, keepdims=True))
    o = (e / e.sum(-1, keepdims=True) @ heads(h @ wv)).transpose(1, 0, 2).reshape(6, 32)
    y = x + o @ wo
    u = rms(y, norm2) @ up
    return y + (u / (1 + np.exp(-u))) @ down


def test_two_devices_of_this_process():
    mod = tapml.parse(BLOCK)
    given = inputs(mod)
    result = validate(mod, given, tml.cpu, tml.opencl)
    expected = reference(*[one.astype(np.float64) for one in given])
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_a_remote_device(server):
    mod = tapml.parse(BLOCK)
    validate(mod, inputs(mod), tml.cpu, lambda: tml.opencl(at=server.place))
