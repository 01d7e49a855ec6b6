"""With PyTorch and ml_dtypes, where they are installed: make test-torch."""
import numpy as np
import pytest

import tapml

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "int16",
                                   "int32", "int64", "uint8", "bool"])
def test_tensors_share_memory_both_ways(cpu, dtype):
    x = torch.arange(6).reshape(2, 3).remainder(2).to(getattr(torch, dtype))
    t = tapml.tensor(x, cpu, copy=False)
    assert t.shape == (2, 3)
    back = t.torch()
    assert back.dtype == x.dtype and back.data_ptr() == x.data_ptr() and torch.equal(back, x)
    x.zero_()
    assert not t.torch().any()


def test_strided_and_graph_tensors(cpu):
    x = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(tapml.tensor(x.T, cpu).torch(), x.T)
    with pytest.raises(tapml.UserError, match="row-major"):
        tapml.tensor(x.T, cpu, copy=False)
    with pytest.raises(tapml.UserError, match="grad") as caught:
        tapml.tensor(x.clone().requires_grad_(), cpu)
    assert "detach" in caught.value.hint


def test_dtypes_of_torch(cpu, opencl):
    assert tapml.allocate((2,), torch.bfloat16, cpu).dtype == "bf16"
    x = torch.randn(5).to(torch.bfloat16)
    assert torch.equal(tapml.tensor(x, opencl).torch(), x)
    assert torch.equal(tapml.tensor(x.to(torch.float32), cpu, "bf16").torch(), x)


def test_a_block_against_torch(cpu):
    from test_figure5 import BLOCK, inputs

    module = tapml.parse(BLOCK)
    given = [torch.from_numpy(one) for one in inputs(module)]
    y = tapml.upload(tapml.compile(module, cpu))["transformer_block"](*given).torch()
    x, norm, wq, wk, wv, wo, norm2, up, down = given
    h = torch.nn.functional.rms_norm(x, (32,), norm, 1e-5)
    q, k, v = ((h @ w).reshape(6, 4, 8).transpose(0, 1) for w in (wq, wk, wv))
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(0, 1).reshape(6, 32)
    z = x + o @ wo
    z = z + torch.nn.functional.silu(torch.nn.functional.rms_norm(z, (32,), norm2, 1e-5) @ up) @ down
    torch.testing.assert_close(y, z, rtol=1e-4, atol=1e-5)


def test_bf16_of_ml_dtypes(cpu):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1.5, -2.25], ml_dtypes.bfloat16)
    t = tapml.tensor(x, cpu, copy=False)
    assert t.dtype == "bf16" and t.numpy().dtype == x.dtype
    assert t.numpy().__array_interface__["data"][0] == x.__array_interface__["data"][0]
