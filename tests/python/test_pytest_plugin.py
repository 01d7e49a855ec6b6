"""pytest --tapml-suite SUITE --tapml-target T, in a separate process."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tapml
from conftest import AFFINE, ROOT


@pytest.fixture(scope="module")
def suite(cpu, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin") / "suite"
    random = np.random.default_rng(5)
    runs = [[random.standard_normal(shape).astype(np.float32) for shape in ((n, 3), (3, 2), (2,))]
            for n in (2, 4, 3)]
    tapml.carve(tapml.parse(AFFINE), cpu, inputs=runs).save(str(folder))
    return folder


@pytest.fixture(scope="module")
def wrong_suite(suite):
    """The same tests for a kernel whose loops, which targets run, disagree with its graph."""
    folder = suite.parent / "wrong"
    shutil.copytree(suite, folder)
    document = json.loads((folder / "suite.json").read_text())
    for kernel in document["kernels"]:
        kernel["spec"] = kernel["spec"].replace("v0[vi, vj] + x2[vj]", "v0[vi, vj] - x2[vj]")
        kernel["spec_hash"] = hashlib.sha256(kernel["spec"].encode()).hexdigest()
    (folder / "suite.json").write_text(json.dumps(document))
    return folder


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tapml.pytest_plugin", "-p", "no:cacheprovider",
         *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=120,
        env={key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"})


def test_every_carved_call_is_an_item(suite, tmp_path, server):
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    name = tapml.Suite.load(str(suite)).kernels[0].name
    for target in ("cpu", "opencl", f"cpu@{server.place}"):
        done = run("--tapml-suite", suite, "--tapml-target", target, "-v", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        for call in range(3):
            assert f"suite.json::{name}[{call}] PASSED" in done.stdout
        assert "3 passed" in done.stdout  # and no other tests of the folder
    both = run("--tapml-suite", suite, "test_other.py", cwd=tmp_path)
    assert "4 passed" in both.stdout
    one = run("--tapml-suite", suite, "-k", f"{name}[1]", cwd=tmp_path)
    assert "1 passed, 2 deselected" in one.stdout
    none = run("test_other.py", cwd=tmp_path)
    assert "1 passed" in none.stdout


def test_groups_are_items(tmp_path):
    suite = ROOT / "tests/golden/suites/groups"
    done = run("--tapml-suite", suite, "--tapml-target", "opencl", "-v", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "suite.json::softmax_ab2d711a[0] PASSED" in done.stdout
    assert "suite.json::softmax_ab2d711a+matmul_e629c9b9[group 0] PASSED" in done.stdout
    one = run("--tapml-suite", suite, "-k", "matmul_e629c9b9", cwd=tmp_path)
    assert "1 passed, 1 deselected" in one.stdout, one.stdout
    wrong = tmp_path / "wrong"
    shutil.copytree(suite, wrong)
    document = json.loads((wrong / "suite.json").read_text())
    kernel = document["kernels"][1]
    kernel["spec"] = kernel["spec"].replace("a[vi, vr]*b[vr, vj]", "a[vi, vr]-b[vr, vj]")
    kernel["spec_hash"] = hashlib.sha256(kernel["spec"].encode()).hexdigest()
    (wrong / "suite.json").write_text(json.dumps(document))
    done = run("--tapml-suite", wrong, "--junitxml", "junit.xml", cwd=tmp_path)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout
    assert "group 0, softmax_ab2d711a + matmul_e629c9b9: mismatch; largest error" in done.stdout
    assert "Traceback" not in done.stdout
    document["groups"][0]["links"][0]["from"] = [1, 2]
    (wrong / "suite.json").write_text(json.dumps(document))
    done = run("--tapml-suite", wrong, cwd=tmp_path)
    assert done.returncode == 2 and "runs backwards" in done.stdout, done.stdout


def test_an_incomplete_suite_fails(suite, tmp_path):
    part = tmp_path / "part"
    shutil.copytree(suite, part)
    document = json.loads((part / "suite.json").read_text())
    document.update(complete=False, reason="interrupted",
                    untested=[{"kernel": "relu_00c0ffee", "origin": ["net.act"]}])
    (part / "suite.json").write_text(json.dumps(document))
    done = run("--tapml-suite", part, "-v", cwd=tmp_path)
    assert done.returncode == 1 and "1 failed, 3 passed" in done.stdout, done.stdout
    assert "suite.json::coverage FAILED" in done.stdout
    assert "NOT PROVEN: the suite is incomplete: interrupted; untested kernels: relu_00c0ffee" in done.stdout


def test_a_kernel_that_differs_fails(wrong_suite, tmp_path):
    done = run("--tapml-suite", wrong_suite, "--tapml-target", "opencl", "--junitxml", "junit.xml",
               cwd=tmp_path)
    assert done.returncode == 1 and "3 failed" in done.stdout
    assert "mismatch; largest error" in done.stdout and "in out of call 0" in done.stdout
    assert "Traceback" not in done.stdout
    assert 'property name="max_abs"' in (tmp_path / "junit.xml").read_text()


def test_bad_input_of_the_plugin(suite, tmp_path):
    missing = run("--tapml-suite", tmp_path, cwd=tmp_path)
    assert missing.returncode == 4 and "not a folder with a suite.json" in missing.stderr
    target = run("--tapml-suite", suite, "--tapml-target", "cupu", cwd=tmp_path)
    assert target.returncode == 1 and "cupu" in target.stdout
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "suite.json").write_text("{")
    done = run("--tapml-suite", broken, cwd=tmp_path)
    assert done.returncode == 2 and "suite.json" in done.stdout


def test_tolerances_custom_kernels_and_moved_weights(demo, wrong_suite, cpu, tmp_path):
    loose = tmp_path / "loose.json"
    loose.write_text(json.dumps({"tolerances": [
        {"kernel": "*", "absolute": 100, "reason": "a test of the plugin"}]}))
    done = run("--tapml-suite", wrong_suite, "--tapml-tolerance", loose, "--junitxml", "junit.xml",
               cwd=tmp_path)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout
    assert 'value="a test of the plugin"' in (tmp_path / "junit.xml").read_text()
    # Weights by reference, for a model that has moved.
    model = tmp_path / "model"
    shutil.copytree(demo.folder, model)
    tapml.carve(str(model), cpu, prompt="In", decode=0, calls=1, weights="reference").save(
        str(tmp_path / "suite"))
    model.rename(tmp_path / "moved")
    gone = run("--tapml-suite", tmp_path / "suite", cwd=tmp_path)
    assert gone.returncode == 2 and "Traceback" not in gone.stdout
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "norm.c").write_text("""
// prim def rms_norm(
//     x: Buffer((b, n, 192), f32), weight: Buffer((192,), bf16),
//     out out: Buffer((b, n, 192), f32), b: i64, n: i64)
// launch nothing(out) over b * n * 192
#include <stdint.h>
void nothing(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end) {
  float* out = buffers[0];
  for (int64_t i = begin; i < end; ++i) out[i] = 0;
}
""")
    arguments = ("--tapml-suite", tmp_path / "suite", "--tapml-model", tmp_path / "moved", "-k",
                 "rms_norm or take", "--tapml-custom-kernels", kernels)
    done = run(*arguments, cwd=tmp_path)
    # Its call of the run, and an added one.
    assert done.returncode == 1 and "2 failed" in done.stdout, done.stdout
    assert "passed" in done.stdout
    # Failures are named, and notes are shown.
    right = (kernels / "norm.c").read_text()
    (kernels / "norm.c").write_text(right.replace("out[i] = 0", "((volatile float*)16)[i] = 0"))
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 1 and ": crash: the session's process crashed" in done.stdout
    assert "cannot run" not in done.stdout, done.stdout
    (kernels / "norm.c").write_text(right.replace("out[i] = 0", "out[begin] = 0"))
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 1 and "elements of out were not written" in done.stdout, done.stdout
