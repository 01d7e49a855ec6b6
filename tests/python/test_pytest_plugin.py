"""pytest --tapml-suite SUITE --tapml-target T, in a process of its own."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tapml
from conftest import AFFINE


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
    """The same tests of a kernel whose loops, which targets run, do not do what its graph says."""
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
        assert "3 passed" in done.stdout  # and nothing of the folder's own
    both = run("--tapml-suite", suite, "test_other.py", cwd=tmp_path)
    assert "4 passed" in both.stdout
    one = run("--tapml-suite", suite, "-k", f"{name}[1]", cwd=tmp_path)
    assert "1 passed, 2 deselected" in one.stdout
    none = run("test_other.py", cwd=tmp_path)
    assert "1 passed" in none.stdout


def test_a_kernel_that_differs_fails(wrong_suite, tmp_path):
    done = run("--tapml-suite", wrong_suite, "--tapml-target", "opencl", "--junitxml", "junit.xml",
               cwd=tmp_path)
    assert done.returncode == 1 and "3 failed" in done.stdout
    assert "differs; largest error" in done.stdout and "in out of call 0" in done.stdout
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
