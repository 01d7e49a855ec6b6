"""--trust torch and check-import with PyTorch and transformers, if they are installed: make test-torch."""
import json
import os
import shutil
import subprocess
import sys

import pytest

from conftest import DEMO, ROOT
from test_check_import import CHANGED
from test_import_trust import OTHER, program

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
         "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 2048,
         "max_position_embeddings": 128}


def saved(folder, config):
    """A model folder of the configuration with random weights."""
    torch.manual_seed(1)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    shutil.copy(DEMO + "/tokenizer.json", folder)
    return folder


def carve(folder, output, python=sys.executable):
    result = subprocess.run(
        [os.environ["TAPML_PROGRAM"], "carve", folder, "--prompt", "In the beginning", "--max-tokens",
         "1", "--calls", "1", "-o", output, "--trust", "torch", "--python", python, "--json"],
        capture_output=True, text=True, timeout=300)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    return json.loads(result.stdout)["import"]


def agrees(found, architecture, within):
    assert found["passed"] and found["dtype"] == "f64" and found["class"] == architecture
    assert found["implementation"].startswith(f"transformers {transformers.__version__}, torch ")
    assert found["max_abs"] <= within * found["allowed"]
    assert 2 * found["kernels_at_ends"] > found["kernels"] > 0 and found["values"] > 40


def test_the_demo_agrees(tmp_path):
    agrees(carve(DEMO, tmp_path / "suite"), "LlamaForCausalLM", 1e-4)


@pytest.mark.parametrize("scaling", [
    {"rope_type": "default", "rope_theta": 10000.0},
    {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
    {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
     "high_freq_factor": 4.0, "original_max_position_embeddings": 64}],
    ids=["default", "linear", "llama3"])
def test_llama_agrees(tmp_path, scaling):
    config = transformers.LlamaConfig(**SIZES, rope_parameters=scaling, attention_bias=True)
    agrees(carve(saved(tmp_path / "model", config), tmp_path / "suite"), "LlamaForCausalLM", 1e-4)


@pytest.mark.parametrize("normed", [False, True])
def test_qwen2_moe_agrees(tmp_path, normed):
    config = transformers.Qwen2MoeConfig(
        **SIZES, moe_intermediate_size=32, shared_expert_intermediate_size=48, num_experts=6,
        num_experts_per_tok=2, norm_topk_prob=normed, mlp_only_layers=[1])
    agrees(carve(saved(tmp_path / "model", config), tmp_path / "suite"), "Qwen2MoeForCausalLM", 1e-4)


LOGITS = ROOT / "tests/golden/logits"
EMBEDDINGS = ROOT / "tests/golden/embeddings"
ARCHITECTURES = [one["model_type"] for one in json.loads(subprocess.run(
    [os.environ["TAPML_PROGRAM"], "models", "--json"], capture_output=True, text=True, check=True,
    timeout=60).stdout)["architectures"]]


def check(config, tmp_path, *arguments, python=sys.executable):
    """check-import of a configuration alone."""
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config if isinstance(config, dict) else config.to_dict()))
    result = subprocess.run(
        [os.environ["TAPML_PROGRAM"], "check-import", "--config", file, "--python", python, "--json",
         *arguments], capture_output=True, text=True, timeout=300)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    return json.loads(result.stdout)["import"]


@pytest.mark.parametrize("config", [
    transformers.LlamaConfig(**SIZES, architectures=["LlamaForCausalLM"], attention_bias=True, mlp_bias=True),
    transformers.LlamaConfig(**SIZES, architectures=["LlamaForCausalLM"], tie_word_embeddings=True),
    transformers.Qwen2MoeConfig(
        **SIZES, architectures=["Qwen2MoeForCausalLM"], moe_intermediate_size=32,
        shared_expert_intermediate_size=48, num_experts=6, num_experts_per_tok=2, mlp_only_layers=[1])],
    ids=["llama", "llama_tied", "qwen2_moe"])
def test_random_weights_agree(tmp_path, config):
    found = check(config, tmp_path, "--tokens", ",".join(map(str, range(100, 140))))
    agrees(found, config.architectures[0], 1e-4)
    assert found["tokens"] == 40 and found["missing"] == []


@pytest.mark.parametrize("name", [one for one in ARCHITECTURES if (LOGITS / one).is_dir()])
def test_each_architecture_agrees(tmp_path, name):
    config = json.loads((LOGITS / name / "config.json").read_text())
    found = check(config, tmp_path)
    assert found["passed"] and found["dtype"] == "f64" and found["missing"] == [], found
    assert found["values"] > 30


@pytest.mark.parametrize("name", sorted(one.name for one in EMBEDDINGS.iterdir()))
def test_each_encoder_agrees(tmp_path, name):
    config = json.loads((EMBEDDINGS / name / "config.json").read_text())
    found = check(config, tmp_path)
    assert found["passed"] and found["dtype"] == "f64" and found["missing"] == [], found
    assert found["compared"] == "vector" and found["values"] > 30


def test_names_a_wrong_factor(tmp_path):
    config = json.loads((LOGITS / "granite/config.json").read_text())
    changes = {"residual_multiplier": config["residual_multiplier"] * 1.001}
    python = program(tmp_path / "python", CHANGED.format(python=sys.executable, changes=changes))
    found = check(config, tmp_path, python=python)
    assert not found["passed"] and found["first"]["layer"] == 0


def changed(tmp_path, folder, change, weights=None):
    """A Python whose published side has a changed copy of the folder."""
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    config = json.loads((other / "config.json").read_text())
    change(config)
    (other / "config.json").write_text(json.dumps(config))
    if weights:
        from safetensors.torch import load_file, save_file
        tensors = load_file(other / "model.safetensors")
        weights(tensors)
        save_file(tensors, other / "model.safetensors", {"format": "pt"})
    return program(tmp_path / "python", OTHER.format(python=sys.executable, folder=str(other)))


@pytest.mark.parametrize("change, module", [
    (lambda config: config.update(rope_theta=10001.0), "model.rotary_emb"),
    (lambda config: config.update(rms_norm_eps=1.0001e-5), "model.layers.0.input_layernorm"),
    (lambda config: config.update(hidden_act="gelu"), "model.layers.0.mlp.act_fn"),
], ids=["rope_base", "epsilon", "activation"])
def test_names_a_wrong_constant(tmp_path, change, module):
    found = carve(DEMO, tmp_path / "suite", changed(tmp_path, DEMO, change))
    assert not found["passed"] and found["first"]["module"] == module


def test_names_the_router(tmp_path):
    config = transformers.Qwen2MoeConfig(
        **SIZES, moe_intermediate_size=32, shared_expert_intermediate_size=48, num_experts=6,
        num_experts_per_tok=2, norm_topk_prob=False)
    folder = saved(tmp_path / "model", config)
    python = changed(tmp_path, folder, lambda config: config.update(norm_topk_prob=True))
    found = carve(folder, tmp_path / "suite", python)
    assert not found["passed"] and found["first"]["module"] == "model.layers.0.mlp.gate"


def test_names_swapped_projections(tmp_path):
    def swap(weights):
        path = "model.layers.2.self_attn."
        weights[path + "k_proj.weight"], weights[path + "v_proj.weight"] = (
            weights[path + "v_proj.weight"], weights[path + "k_proj.weight"])
    found = carve(DEMO, tmp_path / "suite", changed(tmp_path, DEMO, lambda config: None, swap))
    first = found["first"]
    assert first["module"] == "model.layers.2.self_attn.k_proj" and first["layer"] == 2
    assert first["equals"] == "model.layers.2.self_attn.v_proj"
