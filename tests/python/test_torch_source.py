"""carve_torch, with a NumPy model in place of PyTorch (test_torch.py has the real models)."""
import json

import numpy as np
import pytest

import tapml
from conftest import DEMO
from numpy_llama import Llama, make_weights, write_folder

TOKENS = [5, 900, 31, 7, 77]
LAYER = ["output of model.layers.{}.input_layernorm", "output of model.layers.{}.self_attn.q_proj",
         "output of model.layers.{}.self_attn.k_proj", "output of model.layers.{}.self_attn.v_proj",
         "input of model.layers.{}.self_attn.o_proj",
         "input of model.layers.{}.post_attention_layernorm",
         "output of model.layers.{}.post_attention_layernorm",
         "output of model.layers.{}.mlp.up_proj", "input of model.layers.{}.mlp.down_proj",
         "output of model.layers.{}"]


@pytest.fixture(scope="module")
def weights():
    return make_weights()


@pytest.fixture(scope="module")
def folder(weights, tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("torch") / "model", weights,
                        DEMO + "/tokenizer.json")


@pytest.fixture(scope="module")
def loaded(folder):
    return tapml.LanguageModel.load(folder)


@pytest.fixture()
def model(weights):
    return Llama(weights)


def test_every_kernel_is_between_boundaries(model, loaded, cpu, opencl, tmp_path):
    result = tapml.carve_torch(model, [TOKENS, [3, 4]], source=loaded, device=cpu)
    assert result.passed and not result.culprits and result.unmapped == () and result.notes == ()
    wanted = ["output of model.embed_tokens", *(one.format(i) for i in range(2) for one in LAYER),
              "output of model.norm", "output of lm_head"]
    assert [end for group in result.groups for end in group.outputs] == wanted * 2
    attention = result.groups[5]
    assert [name.rsplit("_", 1)[0] for name in attention.kernels] == [
        "rope", "rope", "kv_append", "kv_append", "paged_attention"]
    assert attention.inputs == tuple(one.format(0) for one in LAYER[1:4])
    down = result.groups[10]
    assert down.inputs == (LAYER[8].format(0), LAYER[5].format(0))
    assert 0 < down.verdict.source_max_abs < down.verdict.allowed
    # A suite of all groups, with PyTorch's tensors: attention, twice, and the last norm after its
    # slice have several kernels.
    assert result.save(tmp_path / "suite") == 0
    suite = tapml.Suite.load(str(tmp_path / "suite"))
    assert suite.source == "pytorch" and len(suite.calls) == 2 * 20 and len(suite.groups) == 2 * 3
    assert len(suite) == len(result.groups)
    for device in (cpu, opencl):
        verdicts = tapml.replay(suite, device)
        assert all(verdict.passed and not verdict.source_wrong for verdict in verdicts)
        assert [one.group for one in verdicts if one.group is not None] == list(range(6))
    group = suite.groups[0]
    assert (group.source, group.carved_on) == ("pytorch", "cpu")
    assert group.kernels == tuple(dict.fromkeys(attention.kernels))
    assert group.layers == attention.layers
    assert tuple(boundary.name for boundary in group.outputs) == attention.outputs
    q = next(boundary for boundary in group.inputs if boundary.name.endswith("layers.0.self_attn.q_proj"))
    assert q.parameter == "x" and q.tensor.shape == (1, 5, 4, 8)
    assert q.parameter not in group.calls[q.call].inputs and not group.calls[q.call].outputs
    assert all(start < end for (start, _), (end, _) in group.links) and len(group.links) >= 4
    (verdict,) = tapml.replay(suite, opencl, kernel=down.kernels[0])
    assert verdict.passed and not verdict.source_wrong and verdict.calls == 4
    logits = model.forward(np.array([TOKENS]))["logits"][0, -1]
    (head,) = [call for call in suite.calls if call.layers == ("lm_head",)
               and (call.outputs["out"] == logits).all()]
    assert head.outputs["out"].shape == (1, 2048)
    document = json.loads(json.dumps(result.to_dict()))
    assert document["source"] == "pytorch" and len(document["groups"]) == len(wanted) * 2
    assert str(result).count("\n") + 1 == 1 + 15, str(result)  # one row per kind


def test_groups_in_replay_and_localize(model, loaded, cpu, opencl, tmp_path):
    result = tapml.carve_torch(model, TOKENS, source=loaded, device=cpu)
    folder = tmp_path / "suite"
    result.save(folder)
    reports = {name: tmp_path / name for name in ("report", "junit", "markdown")}
    verdicts = tapml.replay(folder, opencl, **reports)
    groups = [one for one in verdicts if one.group is not None]
    assert len(groups) == 3 and groups[0].to_dict()["trusted"] == "pytorch"
    assert str(groups[0]).startswith("group 0, rope_")
    page = json.loads((reports["report"] / "report.json").read_text())
    assert len(page["groups"]) == 3 and len(page["kernels"]) == len(verdicts) - 3
    assert "not selected" not in (reports["report"] / "report.html").read_text()
    assert reports["junit"].read_text().count("name=\"group ") == 3
    assert "group 2: slice\\_" in reports["markdown"].read_text()
    tests = tapml.replayer(folder, cpu)
    assert tests.group(1).passed and tests.group(1).group == 1
    with pytest.raises(tapml.UserError, match="no such group"):
        tests.group(3)
    # A group does not name a single kernel: kernels that occur only in groups count as untested.
    found = tapml.localize(loaded, cpu, opencl, "In the", suite=str(folder), max_tokens=1,
                           shrink_seconds=0)
    assert not found.culprits
    assert set(groups[0].to_dict()["kernels"]) <= set(found.untested)


def test_decode_steps(model, loaded, cpu, opencl, tmp_path):
    result = tapml.carve_torch(model, TOKENS, source=loaded, device=cpu, decode=3)
    assert result.passed, str(result)
    wanted = ["output of model.embed_tokens", *(one.format(i) for i in range(2) for one in LAYER),
              "output of model.norm", "output of lm_head"]
    for step in range(4):
        mark = f" (decode {step})" if step else ""
        ends = [end for group in result.groups if group.step == step for end in group.outputs]
        assert ends == [one + mark for one in wanted], step
    (attention,) = [group for group in result.groups
                    if group.outputs == (LAYER[4].format(1) + " (decode 2)",)]
    # Rope of k and both updates, for the prompt and two steps; rope of q and attention once.
    assert len(attention.kernels) == 3 * 3 + 2
    starts = [LAYER[i].format(1) + mark for mark in ("", " (decode 1)", " (decode 2)") for i in (2, 3)]
    assert set(attention.inputs) == {*starts, LAYER[1].format(1) + " (decode 2)"}
    assert 0 < attention.verdict.source_max_abs < attention.verdict.allowed
    assert str(result).count("\n") + 1 == 1 + 15 + 15, str(result)
    assert result.save(tmp_path / "suite") == 0
    suite = tapml.Suite.load(str(tmp_path / "suite"))
    assert {call.function for call in suite.calls} == {"prefill", "decode"}
    assert all(verdict.passed for verdict in tapml.replay(suite, opencl))


def test_a_call_that_is_the_same_in_two_steps(model, weights, cpu, tmp_path):
    """A model that always predicts the same token: calls that depend only on it are equal."""
    zero = {**weights, "lm_head.weight": np.zeros_like(weights["lm_head.weight"])}
    model.lm_head.weight = zero["lm_head.weight"]
    folder = write_folder(tmp_path / "model", zero, DEMO + "/tokenizer.json")
    result = tapml.carve_torch(model, TOKENS, source=folder, device=cpu, decode=2)
    assert result.passed, str(result)
    ends = [(group.step, end) for group in result.groups for end in group.outputs]
    assert (1, "output of model.embed_tokens (decode 1)") in ends
    assert (2, "output of model.embed_tokens (decode 2)") not in ends
    assert (2, LAYER[4].format(0) + " (decode 2)") in ends


def test_a_wrong_cache_shows_only_in_the_steps(model, loaded, cpu):
    """A mask that hides the first token from the last ones, as a stale page would."""
    attention = model.model.layers[1].self_attn
    plain = attention.forward

    def forward(hidden_states, angles):
        tri = np.tri
        hide = tri(hidden_states.shape[1], dtype=bool)
        hide[6:, 0] = False
        np.tri = lambda n, dtype: hide
        try:
            return plain(hidden_states=hidden_states, angles=angles)
        finally:
            np.tri = tri

    attention.forward = forward
    result = tapml.carve_torch(model, TOKENS, source=loaded, device=cpu, decode=3)
    assert [(one.outputs, one.outcome) for one in result.culprits] == [
        ((LAYER[4].format(1) + f" (decode {step})",), "pytorch mismatch") for step in (2, 3)]


@pytest.mark.parametrize("bug", ["epsilon", "rounded", "transposed"])
def test_a_wrong_module_is_named(model, loaded, cpu, bug):
    layer = model.model.layers[1]
    if bug == "epsilon":
        layer.post_attention_layernorm.eps = np.float32(1e-2)
        end = "output of model.layers.1.post_attention_layernorm"
    elif bug == "rounded":
        plain = layer.input_layernorm.forward
        # bf16 keeps the upper half of the bits.
        layer.input_layernorm.forward = lambda x: (
            plain(x).view(np.uint32) & np.uint32(0xffff0000)).view(np.float32)
        end = "output of model.layers.1.input_layernorm"
    else:
        layer.self_attn.q_proj.weight = layer.self_attn.q_proj.weight.T
        end = "output of model.layers.1.self_attn.q_proj"
    result = tapml.carve_torch(model, TOKENS, source=loaded, device=cpu)
    assert not result.passed
    (culprit,) = result.culprits
    assert culprit.outputs == (end,) and culprit.outcome == "pytorch mismatch"
    assert culprit.verdict.passed and culprit.verdict.source_wrong
    assert f"culprit: {culprit.kernels[0]} (pytorch mismatch), layers: {end[10:]}" in str(result)


def test_a_model_that_is_read_wrongly(model, weights, cpu, tmp_path):
    folder = write_folder(tmp_path / "model", weights, DEMO + "/tokenizer.json", rope_theta=9e3)
    result = tapml.carve_torch(model, TOKENS, source=folder, device=cpu)
    assert [one.outputs for one in result.culprits] == [(LAYER[4].format(0),), (LAYER[4].format(1),)]


def test_a_wrong_kernel_of_the_platform_is_named(model, loaded, cpu, tmp_path):
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    suite = tapml.carve(loaded, cpu, prompt="In", decode=0, as_run=True)
    (name,) = {call.kernel for call in suite.calls if call.layers == ("model.layers.0.input_layernorm",)}
    (kernels / "norm.c").write_text(f"""
// prim def {name}(
//     x: Buffer((b, n, 32), f32), weight: Buffer((32,), f32), out out: Buffer((b, n, 32), f32),
//     b: i64, n: i64)
// launch norm(x, weight, out) over b * n
#include <math.h>
#include <stdint.h>
void norm(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end) {{
  const float *x = buffers[0], *weight = buffers[1];
  float* out = buffers[2];
  for (int64_t row = begin; row < end; ++row) {{
    float sum = 0;
    for (int i = 0; i < 31; ++i) sum += x[row * 32 + i] * x[row * 32 + i];
    for (int i = 0; i < 32; ++i) {{
      out[row * 32 + i] = x[row * 32 + i] / sqrtf(sum / 32 + 1e-5f) * weight[i];
    }}
  }}
}}
""")
    result = tapml.carve_torch(model, TOKENS, source=loaded, device=cpu, custom_kernels=kernels)
    assert [(one.kernels, one.outcome) for one in result.culprits] == [((name,), "mismatch")] * 4
    assert all("norm" in one.outputs[0] and not one.verdict.source_wrong for one in result.culprits)


def hide(model, hidden):
    """PyTorch's module tree without some of its paths."""
    named = model.named_modules
    model.named_modules = lambda: [(path, one) for path, one in named() if not hidden(path)]


def test_groups_grow_where_pytorch_has_no_modules(model, loaded, cpu):
    hide(model, lambda path: "self_attn." in path)
    result = tapml.carve_torch(model, TOKENS, source=loaded, device=cpu)
    assert result.passed
    group = result.groups[2]
    assert group.inputs == ("output of model.layers.0.input_layernorm", "output of model.embed_tokens")
    assert group.outputs == ("input of model.layers.0.post_attention_layernorm",)
    assert len(group.kernels) == 9 and len(result.groups) == 3 + 2 * 6


def test_missing_boundaries_have_a_reason(model, loaded, cpu):
    hide(model, lambda path: path in ("", "lm_head", "model.norm", "model"))
    result = tapml.carve_torch(model, TOKENS, source=loaded, device=cpu)
    assert result.passed and len(result.groups) == 21
    (rest,) = result.unmapped
    assert rest.layers == ("lm_head", "model.norm") and "no module" in rest.reason
    assert f"not compared: {' + '.join(rest.kernels)}" in str(result)


def test_the_models_own_output_is_a_boundary(model, loaded, cpu):
    hide(model, lambda path: path == "lm_head")
    result = tapml.carve_torch(model, TOKENS, source=loaded, device=cpu)
    assert result.passed and not result.unmapped
    assert result.groups[-1].outputs == ("output of the model",)


def test_a_module_that_is_called_twice(model, loaded, cpu):
    norm = model.model.layers[0].input_layernorm
    plain = model.model.layers[0].forward
    model.model.layers[0].forward = lambda x, angles: (norm(x), plain(x, angles))[1]
    result = tapml.carve_torch(model, TOKENS, source=loaded, device=cpu)
    assert result.notes == ("model.layers.0.input_layernorm was called 2 times, and is left out",)
    assert result.passed, "the modules beside it have the same boundaries"


def test_bad_input(model, loaded, cpu):
    def refused(text, *args, **kwargs):
        with pytest.raises(tapml.UserError, match=text):
            tapml.carve_torch(model, *args, **{"source": loaded, "device": cpu, **kwargs})

    refused("the model's folder is unknown", TOKENS, source=None)
    refused("no tokens", [])
    refused("too long", [1] * 513)
    refused(r"(?s)too long.*60 tokens and 453 decode steps", [1] * 60, decode=453)
    refused("the number of steps is negative", TOKENS, decode=-1)
    refused("context|capacity|fit", TOKENS, decode=60)
    refused("the value of weights is unknown", TOKENS, weights="here")
    refused("vocabulary", [2048])
    model.named_parameters = lambda: [("norm.weight", np.zeros(2, np.float16))]
    refused("f32", TOKENS)
    del model.named_parameters

    def broken(x):
        raise ArithmeticError

    model.lm_head.forward = broken
    with pytest.raises(ArithmeticError):
        tapml.carve_torch(model, TOKENS, source=loaded, device=cpu)
    assert not any(one._before or one._after for _, one in model.named_modules()), "hooks are gone"
