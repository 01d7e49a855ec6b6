"""The commands of docs/examples/backend-ci.yaml run unchanged."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import textwrap

import pytest

from conftest import ROOT
from test_pytest_plugin import suite, wrong_suite  # noqa: F401: fixtures

WORKFLOW = (ROOT / "docs/examples/backend-ci.yaml").read_text()


def commands():
    """The steps that run a command, by name."""
    found = re.findall(r"^      - name: (.*)\n(?:        if: .*\n)?        run: \|\n((?:          .*\n)+)",
                       WORKFLOW, re.M)
    assert WORKFLOW.count("run: |") == len(found) == 3
    return {name: textwrap.dedent(text) for name, text in found}


def variables():
    block = re.search(r"^env:\n((?:  .*\n)+)", WORKFLOW, re.M)[1]
    return dict(re.findall(r"^  (\w+): (\S+)", block, re.M))


@pytest.fixture()
def run(tmp_path):
    """Runs a step in a checkout, as the runner does."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tapml").symlink_to(os.environ["TAPML_PROGRAM"])
    values = variables()
    (tmp_path / values["TOLERANCE"]).write_text(json.dumps({"tolerances": [
        {"kernel": "matmul_*", "factor": 2, "reason": "an example"}]}))
    environment = {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}
    environment |= values | {"GITHUB_STEP_SUMMARY": "step.md",
                             "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}

    def step(name):
        return subprocess.run(["bash", "-e", "-c", commands()[name]], cwd=tmp_path, text=True,
                              env=environment, capture_output=True, timeout=120)

    step.folder = tmp_path
    step.suite = tmp_path / values["SUITE"]
    return step


def test_a_correct_backend(run, suite):  # noqa: F811
    shutil.copytree(suite, run.suite)
    for name in commands():
        done = run(name)
        assert done.returncode == 0, name + done.stdout + done.stderr
    assert json.loads((run.folder / "devices.json").read_text())["platforms"]
    assert "**PASS " in (run.folder / "step.md").read_text()
    assert (run.folder / "report/report.html").exists()
    assert 'tests="3"' in (run.folder / "junit.xml").read_text()


def test_a_faulty_backend(run, wrong_suite):  # noqa: F811
    shutil.copytree(wrong_suite, run.suite)
    test, summary = run("Every carved test"), run("Summary")
    assert test.returncode == 1 and "3 failed" in test.stdout
    assert summary.returncode == 1 and "**PASS " not in (run.folder / "step.md").read_text()
    # An incomplete download is not a fault of the backend.
    shutil.rmtree(run.suite / "tensors")
    verify = run("The backend of this commit")
    assert verify.returncode == 1 and "FAIL" in verify.stdout


def test_the_page_names_the_workflow():
    page = (ROOT / "docs/backend-ci.md").read_text()
    assert "docs/examples/backend-ci.yaml" in page
    for name in commands():
        assert f"**{name}**" in page
    assert pathlib.Path(ROOT / "docs/examples/backend-ci.yaml").exists()
