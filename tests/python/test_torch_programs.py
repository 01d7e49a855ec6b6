"""carve_torch of programs that are not language models, with a NumPy model in place of PyTorch."""
import numpy as np
import pytest

import tapml
from numpy_llama import Linear, Module, Norm, Silu

BLOCK = """module

def main(x: Tensor((n, 32), f32), norm_weight: Tensor((32,), f32), up_weight: Tensor((48, 32), f32), down: Tensor((32, 48), f32)) -> Tensor((n, 32), f32) {
  dataflow {
    a: Tensor((n, 32), f32) = rms_norm(x, norm_weight) {epsilon: 1e-05} @origin("norm")
    b: Tensor((n, 48), f32) = matmul(a, up_weight) {transpose_b: true} @origin("up")
    c: Tensor((n, 48), f32) = silu(b) @origin("act")
    d: Tensor((n, 32), f32) = matmul(c, down) {transpose_b: true} @origin("down")
    y: Tensor((n, 32), f32) = add(d, x) @origin("")
    output y
  }
  return y
}
"""
PARAMETERS = {"down": "down.weight"}


class Block(Module):
    def __init__(self):
        super().__init__()
        random = np.random.default_rng(2)

        def normal(*shape):
            return random.standard_normal(shape).astype(np.float32)

        self.norm, self.act = Norm(normal(32)), Silu()
        self.up, self.down = Linear(normal(48, 32)), Linear(normal(32, 48))

    def forward(self, x):
        return self.down(self.act(self.up(self.norm(x)))) + x

    def state_dict(self):
        return {f"{name}.weight": getattr(self, name).weight for name in ("norm", "up", "down")}


@pytest.fixture()
def model():
    return Block()


@pytest.fixture(scope="module")
def module():
    return tapml.parse(BLOCK)


def arrays(*rows):
    random = np.random.default_rng(3)
    return [[random.standard_normal((n, 32)).astype(np.float32)] for n in rows]


def test_a_program_by_its_origins(model, module, cpu, opencl, tmp_path):
    result = tapml.carve_torch(model, arrays(3, 5), source=module, parameters=PARAMETERS, device=cpu)
    assert result.passed and not result.unmapped and not result.notes, str(result)
    assert [group.outputs for group in result.groups] == 2 * [
        ("output of norm",), ("input of down",), ("output of the model",)]
    assert result.groups[2].inputs == ("input of down",)
    assert result.save(tmp_path / "suite") == 0
    verdicts = tapml.replay(tmp_path / "suite", opencl)
    assert len(verdicts) == 3 and all(one.passed and not one.source_wrong for one in verdicts)


def test_without_origins_the_program_is_one_group(model, cpu, opencl, tmp_path):
    plain = "\n".join(line.split(" @origin")[0] for line in BLOCK.splitlines())
    result = tapml.carve_torch(model, arrays(4), source=tapml.parse(plain), parameters=PARAMETERS,
                               device=cpu)
    (group,) = result.groups
    assert result.passed and group.outputs == ("output of the model",) and len(group.kernels) == 3
    result.save(tmp_path / "suite")
    (verdict,) = tapml.replay(tmp_path / "suite", opencl)
    assert verdict.passed and verdict.group == 0


def test_a_module_of_the_program_that_is_wrong(model, module, cpu):
    model.norm.eps = np.float32(0.1)
    result = tapml.carve_torch(model, arrays(3), source=module, parameters=PARAMETERS, device=cpu)
    assert [(one.outputs, one.outcome) for one in result.culprits] == [
        (("output of norm",), "pytorch mismatch")]


def test_bad_input_of_programs(model, module, cpu):
    def refused(text, inputs=None, **options):
        with pytest.raises(tapml.UserError, match=text):
            tapml.carve_torch(model, arrays(3) if inputs is None else inputs,
                              **{"source": module, "parameters": PARAMETERS, "device": cpu, **options})

    refused("(?s)the wrong number of inputs.*2 per run: x, down", parameters={})
    refused("(?s)function has no such parameter.*norm_weight.*bias", parameters={"bias": "down.weight"})
    refused("(?s)model has no such parameter.*up.weight.*down.bias", parameters={"down": "down.bias"})
    refused("nothing to run", [])
    refused("go with a language model", decode=1)
    refused("go with a language model", quantize="q4f32")
    refused("go with a program", source="models/demo")
    refused("dimension 1 of parameter x of main is 31, not 32", [[np.zeros((3, 31), np.float32)]])
