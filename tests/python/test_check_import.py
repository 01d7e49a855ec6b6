"""tapml check-import, and tapml.check_import: toy packages (published/) stand in for PyTorch and transformers."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import tapml
from conftest import DEMO
from numpy_llama import CONFIG, make_weights, write_folder
from test_import_trust import ATTENTION, HERE, OTHER, program, swapped

# Gives the published side another configuration.
CHANGED = """#!{python}
import json, runpy, sys
with open(sys.argv[2]) as file:
    path = json.load(file)["folder"] + "/config.json"
with open(path) as file:
    config = json.load(file)
with open(path, "w") as file:
    json.dump({{**config, **{changes!r}}}, file)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("check") / "model", make_weights(), DEMO + "/tokenizer.json")


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("check") / "config.json"
    path.write_text(json.dumps(CONFIG))
    return path


@pytest.fixture()
def toys(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, [HERE / "published", HERE])))


def run(*args, python=sys.executable, packages=True):
    paths = [HERE / "published", HERE] if packages else [HERE / "nothing"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    return subprocess.run(
        [os.environ["TAPML_PROGRAM"], "check-import", *map(str, args), "--python", python],
        capture_output=True, text=True, timeout=300, env=environment)


def test_a_model_directory_agrees(folder, tmp_path):
    result = run(folder, "--prompt", "In the beginning", "--junit", tmp_path / "junit.xml")
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("import: agrees with transformers 5.toy, torch 0.toy (LlamaForCausalLM in f64): "
                               "logits of 16 tokens within ")
    assert lines[-1].startswith("PASS the import agrees, logits of 16 tokens, ")
    assert 'tests="1" failures="0"' in (tmp_path / "junit.xml").read_text()


def test_names_the_first_layer_and_block(folder, tmp_path):
    weights = make_weights()
    swapped(f"{ATTENTION}.k_proj.weight", f"{ATTENTION}.v_proj.weight")(weights)
    other = write_folder(tmp_path / "other", weights, DEMO + "/tokenizer.json")
    python = program(tmp_path / "python", OTHER.format(python=sys.executable, folder=str(other)))
    result = run(folder, "--junit", tmp_path / "junit.xml", python=python)
    assert result.returncode == 1, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1] == f"  first in layer 1, output of {ATTENTION}.k_proj (before the rotation)"
    assert lines[3] == f"  the imported values equal the published output of {ATTENTION}.v_proj"
    # The command tests nothing else anyway.
    assert lines[-1] == f"FAIL the import differs first in {ATTENTION}.k_proj"
    report = (tmp_path / "junit.xml").read_text()
    assert 'tests="1" failures="1"' in report and "first in layer 1" in report
    found = json.loads(run(folder, "--json", python=python).stdout)
    assert found["model"] == str(folder) and not found["passed"] and found["verdict"] == "FAIL"
    assert found["import"]["first"]["equals"] == f"{ATTENTION}.v_proj"


def test_all_given_tokens_are_compared(folder):
    found = json.loads(run(folder, "--tokens", ",".join(map(str, range(40))), "--json").stdout)
    assert found["passed"] and found["import"]["tokens"] == 40
    few = json.loads(run(folder, "--tokens", "7", "--json").stdout)
    assert few["passed"] and few["import"]["tokens"] == 16
    outside = run(folder, "--tokens", "7,2048")
    assert outside.returncode == 2 and "0 to 2047" in outside.stderr
    too_long = run(folder, "--tokens", ",".join(["7"] * 65))
    assert too_long.returncode == 2 and "64 tokens at most" in too_long.stderr


def test_a_late_token_differs(folder, tmp_path):
    # Only the embedding of the last of 20 tokens is another one.
    weights = make_weights()
    weights["model.embed_tokens.weight"] = weights["model.embed_tokens.weight"].copy()
    weights["model.embed_tokens.weight"][99] *= 2
    other = write_folder(tmp_path / "other", weights, DEMO + "/tokenizer.json")
    python = program(tmp_path / "python", OTHER.format(python=sys.executable, folder=str(other)))
    tokens = ",".join(map(str, [*range(19), 99]))
    first = json.loads(run(folder, "--tokens", tokens, "--json", python=python).stdout)["import"]["first"]
    assert (first["module"], first["token"]) == ("model.embed_tokens", 19)


def test_a_configuration_alone_agrees(config):
    one, again, other = (json.loads(run("--config", config, "--seed", seed, "--json").stdout)
                         for seed in (1, 1, 2))
    assert one["passed"] and one["model"] == str(config) and one["import"]["missing"] == []
    # The same seed gives the same weights.
    assert one["import"]["allowed"] == again["import"]["allowed"] != other["import"]["allowed"]


@pytest.mark.parametrize("changes, module", [
    ({"rms_norm_eps": 1.1e-5}, "model.layers.0.input_layernorm"), ({"rope_theta": 10001.0}, "model.rotary_emb"),
], ids=["epsilon", "rope_base"])
def test_random_weights_show_a_wrong_constant(config, tmp_path, changes, module):
    python = program(tmp_path / "python", CHANGED.format(python=sys.executable, changes=changes))
    result = run("--config", config, "--json", python=python)
    assert result.returncode == 1, result.stderr
    assert json.loads(result.stdout)["import"]["first"]["module"] == module


def test_the_folder_of_random_weights_is_removed(config, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert run("--config", config).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_random_weights_that_do_not_fit(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**CONFIG, "vocab_size": 2**26, "hidden_size": 2**14,
                                "num_attention_heads": 2**11, "num_key_value_heads": 2}))
    result = run("--config", path)
    assert result.returncode == 2 and "do not fit in the memory" in result.stderr, result.stderr
    assert "num_hidden_layers" in result.stderr


def test_errors_name_the_configuration(config, tmp_path):
    python = program(tmp_path / "python", "#!/bin/sh\nexit 1\n")
    result = run("--config", config, python=python)
    assert result.returncode == 2 and f"where: {config}" in result.stderr, result.stderr


def test_warnings_of_the_configuration(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**CONFIG, "sliding_window": 7}))
    result = run("--config", path)
    assert result.returncode == 0 and result.stderr.count("sliding_window") == 1, result.stderr


def test_a_broken_model_folder(folder, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    (broken / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:5000])
    result = run(broken)
    assert result.returncode == 2 and str(broken / "model.safetensors") in result.stderr


def test_without_the_packages(folder, tmp_path):
    # -S leaves out the folders of installed packages.
    python = program(tmp_path / "python", f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")
    result = run(folder, python=python, packages=False)
    assert result.returncode == 2 and "PyTorch and transformers are not installed" in result.stderr
    assert "--trust" not in result.stderr


def test_the_function(folder, toys):
    steps = []
    check = tapml.check_import(folder, prompt="In the beginning",
                               progress=lambda step, done, total: steps.append(step))
    assert check.passed and check.first is None and check.model_class == "LlamaForCausalLM"
    assert check.tokens == 16 and check.max_abs < check.allowed and check.missing == ()
    assert str(check).startswith("agrees with transformers 5.toy")
    assert tapml.ImportCheck.from_dict(check.to_dict()) == check
    assert "published" in steps and "reference" in steps


def test_the_function_with_a_difference(config, tmp_path, toys):
    python = program(tmp_path / "python", CHANGED.format(python=sys.executable, changes={"rms_norm_eps": 1.1e-5}))
    check = tapml.check_import(config=config, seed=3, tokens=range(20), python=python)
    assert not check.passed and check.tokens == 20
    assert check.first.module == "model.layers.0.input_layernorm" and check.first.layer == 0
    assert check.first.max_abs > check.first.allowed > 0
    assert "first in layer 0, output of model.layers.0.input_layernorm" in str(check)


def test_arguments_of_the_function(folder, config, tmp_path):
    for arguments in ({}, {"model": folder, "config": config}, {"config": config, "prompt": "x"},
                      {"model": folder, "prompt": "x", "tokens": [1]}):
        with pytest.raises(tapml.UserError):
            tapml.check_import(**arguments)
    with pytest.raises(tapml.UserError, match="cannot start"):
        tapml.check_import(folder, python=tmp_path / "none")
