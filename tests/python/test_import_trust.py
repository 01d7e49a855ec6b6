"""--trust torch: the import of a model checked against its published implementation.

Toy packages (published/) stand in for PyTorch and transformers; test_torch_import.py has the real
ones. A program in place of Python gives the published side another model folder than tapml's, so
that the two differ by a known fault.
"""
import json
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import tapml
from conftest import DEMO
from numpy_llama import make_weights, write_folder

HERE = pathlib.Path(__file__).resolve().parent
OTHER = """#!{python}
import json, runpy, sys
with open(sys.argv[2]) as file:
    request = json.load(file)
with open(sys.argv[2], "w") as file:
    json.dump({{**request, "folder": {folder!r}}}, file)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
ATTENTION = "model.layers.1.self_attn"
CARVE = ["--prompt", "In the beginning", "--max-tokens", "1", "--calls", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("import") / "model", make_weights(),
                        DEMO + "/tokenizer.json")


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def run(*args, python=sys.executable, packages=True):
    paths = [HERE / "published", HERE] if packages else [HERE / "nothing"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    return subprocess.run(
        [os.environ["TAPML_PROGRAM"], *map(str, args), "--trust", "torch", "--python", python],
        capture_output=True, text=True, timeout=300, env=environment)


def swapped(a, b):
    def swap(weights):
        weights[a], weights[b] = weights[b], weights[a]
    return swap


def one_element(weights):
    changed = weights[f"{ATTENTION}.o_proj.weight"].copy()
    changed[3, 5] *= 1.00001
    weights[f"{ATTENTION}.o_proj.weight"] = changed


@pytest.fixture()
def localize_against(folder, tmp_path):
    """Runs localize, whose published side has another folder."""
    def localize(weights, *more, **config):
        other = write_folder(tmp_path / "other", weights, DEMO + "/tokenizer.json", **config)
        python = program(tmp_path / "python", OTHER.format(python=sys.executable, folder=str(other)))
        return run("localize", folder, "--from", "cpu", "--to", "cpu", "--prompt",
                   "In the beginning", "--max-tokens", "0", "--json", *more, python=python)
    return localize


@pytest.mark.parametrize("fault, config, module, end, meaning, layer", [
    (None, {"rms_norm_eps": 1.0001e-5}, "model.layers.0.input_layernorm", "output", "", 0),
    (None, {"rope_theta": 10001.0}, "model.rotary_emb", "cos", "the rope table", -1),
    (swapped(f"{ATTENTION}.k_proj.weight", f"{ATTENTION}.v_proj.weight"), {},
     f"{ATTENTION}.k_proj", "output", "before the rotation", 1),
    (swapped("model.layers.1.input_layernorm.weight", "model.layers.1.post_attention_layernorm.weight"),
     {}, "model.layers.1.input_layernorm", "output", "", 1),
    (one_element, {}, f"{ATTENTION}.o_proj", "output", "before the residual", 1),
    (swapped("model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight"), {},
     "model.layers.0.mlp.gate_proj", "output", "", 0),
    (swapped("model.embed_tokens.weight", "lm_head.weight"), {}, "model.embed_tokens", "output", "", -1),
], ids=["epsilon", "rope_base", "swapped_k_v", "swapped_norms", "one_weight", "swapped_gate_up", "head"])
def test_names_the_first_layer_and_block(localize_against, fault, config, module, end, meaning, layer):
    weights = make_weights()
    if fault:
        fault(weights)
    result = localize_against(weights, **config)
    assert result.returncode == 1, result.stderr
    found = json.loads(result.stdout)
    assert not found["passed"] and found["verdict"] == "FAIL" and "culprits" not in found
    first = found["import"]["first"]
    assert (first["module"], first["end"], first["meaning"], first["layer"]) == (module, end, meaning, layer)
    assert first["max_abs"] > first["allowed"] > 0 and first["published"] != first["found"]
    assert f"FAIL the import differs first in {module}, nothing else was tested" in result.stderr


def test_says_whose_values_the_wrong_ones_are(localize_against):
    weights = make_weights()
    swapped(f"{ATTENTION}.k_proj.weight", f"{ATTENTION}.v_proj.weight")(weights)
    first = json.loads(localize_against(weights).stdout)["import"]["first"]
    assert first["equals"] == f"{ATTENTION}.v_proj" and first["token"] == 0


def test_names_weights_that_the_files_lack(localize_against):
    weights = make_weights()
    del weights["lm_head.weight"]
    found = json.loads(localize_against(weights).stdout)["import"]
    assert found["first"]["module"] == "lm_head" and found["missing"] == ["lm_head.weight"]


def test_the_report_of_a_differing_import(localize_against, tmp_path):
    weights = make_weights()
    one_element(weights)
    report = tmp_path / "report"
    assert localize_against(weights, "--report", report).returncode == 1
    page = (report / "report.html").read_text()
    assert f"the import differs first in {ATTENTION}.o_proj" in page and "tapml check-import" in page
    found = json.loads((report / "report.json").read_text())
    assert found["verdict"] == "FAIL" and found["import"]["first"]["module"] == f"{ATTENTION}.o_proj"
    assert found["run"]["import"] == found["import"] and found["run"]["machine"]["cores"] > 0


def test_check_import_writes_the_same_report(folder, tmp_path):
    paths = os.pathsep.join(map(str, [HERE / "published", HERE]))
    report = tmp_path / "report"
    result = subprocess.run(
        [os.environ["TAPML_PROGRAM"], "check-import", folder, "--python", sys.executable, "--report",
         report], capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths})
    assert result.returncode == 0, result.stderr
    assert "PASS the import agrees" in (report / "report.html").read_text()
    assert json.loads((report / "report.json").read_text())["passed"]


@pytest.fixture()
def toy_packages(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, [HERE / "published", HERE])))


def test_trust_of_the_functions(folder, tmp_path, toy_packages):
    report = tmp_path / "report"
    moved = tapml.migrate(folder, tapml.cpu(), tapml.cpu(), "In the beginning", max_tokens=1,
                          validation_tokens=0, trust="torch", report=report)
    assert moved.passed, moved
    assert json.loads((report / "report.json").read_text())["run"]["import"]["passed"]
    found = tapml.localize(folder, tapml.cpu(), tapml.cpu(), "In the beginning", max_tokens=0,
                           trust="torch", python=sys.executable, report=tmp_path / "other")
    assert not found.culprits and found.verdict != "FAIL"
    assert json.loads((tmp_path / "other/report.json").read_text())["run"]["import"]["passed"]
    suite = tapml.carve(folder, tapml.cpu(), prompt="In the beginning", max_tokens=1, calls=1,
                        trust="torch")
    assert suite.complete


def test_a_differing_import_ends_the_functions(folder, tmp_path, toy_packages):
    weights = make_weights()
    one_element(weights)
    other = write_folder(tmp_path / "other", weights, DEMO + "/tokenizer.json")
    python = program(tmp_path / "python", OTHER.format(python=sys.executable, folder=str(other)))
    report, junit = tmp_path / "report", tmp_path / "junit.xml"
    with pytest.raises(tapml.ImportMismatchError) as caught:
        tapml.migrate(folder, tapml.cpu(), tapml.cpu(), "In the beginning", trust="torch",
                      python=python, report=report, junit=junit)
    assert caught.value.check.first.module == f"{ATTENTION}.o_proj"
    assert caught.value.where == "migrate(trust=...)" and "differs from" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).check == caught.value.check
    assert f"{ATTENTION}.o_proj" in (report / "report.html").read_text()
    assert 'failures="1"' in junit.read_text()
    for function, arguments in ((tapml.localize, (tapml.cpu(), tapml.cpu(), "In the beginning")),
                                (tapml.carve, (tapml.cpu(),))):
        more = {"prompt": "In the beginning"} if function is tapml.carve else {}
        with pytest.raises(tapml.ImportMismatchError):
            function(folder, *arguments, trust="torch", python=python, **more)


@pytest.mark.parametrize("arguments, message", [
    ({"trust": "jax"}, "the trusted implementation is unknown"),
    ({"python": "python3"}, "python goes with trust"),
])
def test_wrong_trust(folder, arguments, message):
    with pytest.raises(tapml.UserError, match=message):
        tapml.migrate(folder, tapml.cpu(), tapml.cpu(), "a", **arguments)
    with pytest.raises(tapml.UserError, match=message):
        tapml.carve(folder, tapml.cpu(), prompt="a", **arguments)


def test_an_agreeing_import_is_part_of_the_results(folder, tmp_path):
    report = tmp_path / "report"
    result = run("migrate", folder, "--from", "cpu", "--to", "cpu", "--prompt", "In the beginning",
                 "--max-tokens", "1", "--validation-tokens", "0", "--report", report)
    assert result.returncode == 0, result.stdout + result.stderr
    assert ("import: agrees with transformers 5.toy, torch 0.toy (LlamaForCausalLM in f64): logits of "
            "16 tokens within ") in result.stdout
    found = json.loads((report / "report.json").read_text())["run"]["import"]
    assert found["passed"] and found["first"] is None and found["missing"] == []
    assert found["implementation"] == "transformers 5.toy, torch 0.toy" and found["dtype"] == "f64"
    # The table's cosines and sines, and 25 values of each layer: 12 modules and what they share.
    assert found["tokens"] == 16 and found["values"] > 50
    assert 0 <= found["max_abs"] < found["allowed"] / 1000
    assert "agrees with transformers 5.toy" in (report / "report.html").read_text()


def test_without_trust_the_report_says_so(folder, tmp_path):
    result = subprocess.run(
        [os.environ["TAPML_PROGRAM"], "localize", folder, "--from", "cpu", "--to", "cpu", "--prompt",
         "In the beginning", "--max-tokens", "0", "--report", tmp_path / "report"],
        capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "report/report.json").read_text())["run"]["import"] is None
    page = (tmp_path / "report/report.html").read_text()
    assert "nothing but tapml vouches for it (--trust torch)" in page


def test_carve_compares_first(folder, tmp_path):
    result = run("carve", folder, *CARVE, "-o", tmp_path / "suite", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["import"]["passed"]
    assert (tmp_path / "suite").is_dir()


def test_without_the_packages(folder, tmp_path):
    # -S leaves out the folders of installed packages.
    python = program(tmp_path / "python", f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")
    result = run("carve", folder, *CARVE, "-o", tmp_path / "suite", python=python, packages=False)
    assert result.returncode == 2
    assert "PyTorch and transformers are not installed" in result.stderr
    assert "pip install torch transformers" in result.stderr and "No module named" in result.stderr
    assert not (tmp_path / "suite").exists()


def test_an_absent_python(folder, tmp_path):
    result = run("carve", folder, *CARVE, "-o", tmp_path / "suite", python=str(tmp_path / "none"))
    assert result.returncode == 2 and "where: --python" in result.stderr


def test_a_model_that_the_published_side_refuses(localize_against):
    result = localize_against(make_weights(), model_type="other")
    assert result.returncode == 2
    error = json.loads(result.stdout)["error"]
    assert "does not run this model" in error["message"] and "no class for other" in error["found"]
    # What another program prints cannot act on the terminal.
    assert "\x1b" not in error["found"] and "\\x1b" in error["found"]


def test_a_python_that_writes_nothing(folder, tmp_path):
    python = program(tmp_path / "python", "#!/bin/sh\nexit 0\n")
    result = run("carve", folder, *CARVE, "-o", tmp_path / "suite", python=python)
    assert result.returncode == 2 and "exit code 0: it printed nothing" in result.stderr


def test_goes_with_a_model_directory(tmp_path, folder):
    made = tmp_path / "model.tapml"
    subprocess.run([os.environ["TAPML_PROGRAM"], "compile", folder, "-o", made], check=True,
                   capture_output=True, timeout=300)
    result = run("localize", made, "--from", "cpu", "--to", "cpu", "--prompt", "a")
    assert result.returncode == 2 and "a compiled model has no import" in result.stderr
