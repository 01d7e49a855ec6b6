"""With PyTorch and ml_dtypes, if they are installed: make test-torch."""
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


@pytest.fixture(scope="module")
def llama():
    transformers = pytest.importorskip("transformers")
    from conftest import DEMO

    return transformers.LlamaForCausalLM.from_pretrained(DEMO, dtype=torch.float32)


def test_transformers_is_a_source(llama, cpu, opencl, tmp_path):
    result = tapml.carve_torch(llama, ["And God said, Let there be light", "In"], device=cpu)
    assert result.passed and not result.unmapped, str(result)
    assert len(result.groups) == 2 * (3 + 6 * 10)
    # Groups are no larger than PyTorch's modules: the code between q, k, v and o is one group.
    assert {len(group.kernels) for group in result.groups} == {1, 2, 5}
    assert result.save(tmp_path / "suite") == 0
    suite = tapml.Suite.load(str(tmp_path / "suite"))
    assert suite.source == "pytorch" and len(suite.groups) == 2 * 7 and len(suite) == len(result.groups)
    verdicts = tapml.replay(suite, opencl)
    assert all(verdict.passed and not verdict.source_wrong for verdict in verdicts)
    assert sum(verdict.group is not None for verdict in verdicts) == 2 * 7


def test_decode_steps_of_transformers(llama, cpu, opencl, tmp_path):
    result = tapml.carve_torch(llama, "And God said, Let there be light", device=cpu, decode=2)
    assert result.passed and not result.unmapped, str(result)
    assert [sum(group.step == step for group in result.groups) for step in range(3)] == [63] * 3
    assert {len(group.kernels) for group in result.groups if group.step == 2} == {1, 3 * 3 + 2}
    # PyTorch with its own cache computes only the last token in its modules.
    ids = llama.generate(torch.tensor([tapml.LanguageModel.load(llama.name_or_path).encode(
        "And God said, Let there be light")]), max_new_tokens=3, do_sample=False,
        output_logits=True, return_dict_in_generate=True)
    (head,) = [group for group in result.groups if group.outputs == ("output of lm_head (decode 2)",)]
    result.save(tmp_path / "suite")
    suite = tapml.Suite.load(str(tmp_path / "suite"))
    found = [call.outputs["out"] for call in suite.calls
             if call.kernel == head.kernels[0] and call.layers == ("lm_head",)]
    wanted = ids.logits[2][0].numpy()
    assert min(np.abs(one.reshape(-1) - wanted).max() for one in found) < 1e-4
    assert all(one.passed and not one.source_wrong for one in tapml.replay(suite, opencl))


@pytest.mark.parametrize("bug", ["epsilon", "bf16", "mask"])
def test_a_bug_in_transformers_model(llama, cpu, monkeypatch, bug):
    layer = llama.model.layers[3]
    norm = layer.post_attention_layernorm
    end = "output of model.layers.3.post_attention_layernorm"
    if bug == "epsilon":
        monkeypatch.setattr(norm, "variance_epsilon", 1e-3)
    elif bug == "bf16":
        plain = norm.forward
        monkeypatch.setattr(norm, "forward", lambda x: plain(x).to(torch.bfloat16).to(torch.float32))
    else:
        monkeypatch.setattr(layer.self_attn, "scaling", layer.self_attn.scaling * 1.01)
        end = "input of model.layers.3.self_attn.o_proj"
    result = tapml.carve_torch(llama, "And God said", device=cpu, decode=1)
    assert [(one.outputs, one.outcome) for one in result.culprits] == [
        ((end,), "pytorch mismatch"), ((end + " (decode 1)",), "pytorch mismatch")]


def test_a_model_in_another_dtype(llama, cpu):
    from conftest import DEMO

    half = type(llama)(llama.config).to(torch.bfloat16)
    with pytest.raises(tapml.UserError, match="f32") as caught:
        tapml.carve_torch(half, "And God said", source=DEMO, device=cpu)
    assert "float()" in caught.value.hint


@pytest.mark.parametrize("kind", ["moe", "biases"])
def test_other_architectures(cpu, tmp_path, kind):
    transformers = pytest.importorskip("transformers")
    import shutil

    from conftest import DEMO

    torch.manual_seed(0)
    small = dict(vocab_size=2048, hidden_size=64, num_hidden_layers=2, max_position_embeddings=128)
    if kind == "moe":
        model = transformers.Qwen2MoeForCausalLM(transformers.Qwen2MoeConfig(
            **small, intermediate_size=96, num_attention_heads=4, num_key_value_heads=2,
            moe_intermediate_size=48, shared_expert_intermediate_size=80, num_experts=8,
            num_experts_per_tok=2))
    else:
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            **small, intermediate_size=64, num_attention_heads=1, num_key_value_heads=1,
            attention_bias=True, mlp_bias=True, tie_word_embeddings=True))
    model.save_pretrained(tmp_path / "model")
    shutil.copy(DEMO + "/tokenizer.json", tmp_path / "model")
    result = tapml.carve_torch(model, torch.tensor([[5, 9, 100, 7, 77]]), source=tmp_path / "model",
                               device=cpu, decode=2)
    assert result.passed and not result.unmapped, str(result)
    ends = {end for group in result.groups for end in group.outputs}
    for mark in ("", " (decode 1)", " (decode 2)"):
        assert {"output of lm_head" + mark, "output of model.layers.1" + mark} <= ends
        if kind == "moe":
            router = "input of model.layers.0.mlp.experts" + mark
            assert router in ends, "the router is a group of its own"


def test_a_module_of_torch_against_a_program(cpu, opencl, tmp_path):
    from test_torch_programs import BLOCK, PARAMETERS

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.RMSNorm(32, eps=1e-5)
            self.up = torch.nn.Linear(32, 48, bias=False)
            self.act = torch.nn.SiLU()
            self.down = torch.nn.Linear(48, 32, bias=False)

        def forward(self, x):
            return self.down(self.act(self.up(self.norm(x)))) + x

    torch.manual_seed(0)
    model, module = Block(), tapml.parse(BLOCK)
    runs = [[torch.randn(3, 32)], [torch.randn(6, 32)]]
    result = tapml.carve_torch(model, runs, source=module, parameters=PARAMETERS, device=cpu)
    assert result.passed and not result.unmapped and len(result.groups) == 6, str(result)
    assert model.training, "it is left as it was"
    result.save(tmp_path / "suite")
    assert all(one.passed and not one.source_wrong for one in tapml.replay(tmp_path / "suite", opencl))
    with torch.no_grad():
        model.down.weight[3] *= 1.01
    given = tapml.carve_torch(model, runs, source=module, parameters=PARAMETERS, device=cpu)
    assert given.passed, "the program gets the model's own weights"
    model.norm.eps = 0.1
    wrong = tapml.carve_torch(model, runs[0], source=module, parameters=PARAMETERS, device=cpu)
    assert [one.outputs for one in wrong.culprits] == [("output of norm",)]
