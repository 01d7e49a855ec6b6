"""tapml-farm on a Ray cluster of two workers on this machine."""
import importlib.util
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import time

import pytest

from tapml import farm

PROGRAM = os.environ["TAPML_PROGRAM"]
SMALL = ["--tests", "10", "--workers", "2", "--json"]
ray_missing = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="make test-torch installs Ray")


def run_farm(corpus, *options, program=PROGRAM):
    return subprocess.run([sys.executable, "-m", "tapml.farm", "fuzz", "--corpus", str(corpus), "--program", str(program),
                           *SMALL, *options], capture_output=True, text=True, timeout=240)


def script(path, text):
    """A program that runs `text` and then tapml."""
    path.write_text(f'#!/bin/sh\n{text}\nexec "{PROGRAM}" "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


def test_ranges():
    assert farm.ranges_of(10, 7, 3) == [(10, 12), (13, 15), (16, 16)]


def test_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert farm.main(["fuzz", "--corpus", str(tmp_path / "farm")]) == 2
    assert "Ray is not installed: pip install" in capsys.readouterr().err


@ray_missing
def test_runs_every_seed_once(tmp_path):
    corpus = tmp_path / "farm"
    ended = run_farm(corpus, "--seed", "5", "--seeds", "5", "--range", "2", "--", "--language", "0")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {"seeds": 5, "tests": 50, "findings": []}
    assert sorted(path.name for path in (corpus / "ranges").iterdir()) == ["5-6", "7-8", "9-9"]
    kept = json.loads((corpus / "ranges/7-8/range.json").read_text())
    assert [seed["seed"] for seed in kept] == [7, 8]
    # Nothing is left to do, and another farm is refused.
    again = run_farm(corpus, "--seed", "5", "--seeds", "5", "--range", "2", "--", "--language", "0",
                     program=script(tmp_path / "fails", "exit 2"))
    assert (again.returncode, again.stdout) == (0, ended.stdout)
    other = run_farm(corpus, "--seed", "6")
    assert other.returncode == 2 and "belongs to another farm" in other.stderr


@ray_missing
def test_a_lost_workers_range_runs_again(tmp_path):
    mark = tmp_path / "lost"
    # The first call ends the worker process that started it.
    loses = script(tmp_path / "loses", f'if mkdir "{mark}" 2>/dev/null; then kill -9 $PPID; sleep 1; exit 1; fi')
    ended = run_farm(tmp_path / "farm", "--seeds", "3", program=loses)
    assert ended.returncode == 0, ended.stderr
    assert "the worker is lost, again" in ended.stderr
    assert json.loads(ended.stdout)["tests"] == 30


@ray_missing
def test_continues_after_an_interrupt(tmp_path):
    corpus = tmp_path / "farm"
    # Only the first seed ends.
    waits = script(tmp_path / "waits", f'case " $* " in *" --seed 0 "*) ;; *) [ -e "{tmp_path}/go" ] || sleep 600;; esac')
    command = [sys.executable, "-m", "tapml.farm", "fuzz", "--corpus", str(corpus), "--program", str(waits), *SMALL,
               "--seeds", "3"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (corpus / "ranges/0-0").exists() and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "the same command continues" in errors
    assert [path.name for path in (corpus / "ranges").iterdir()] == ["0-0"]
    (tmp_path / "go").touch()
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["tests"] == 30
    assert "seeds 0 to 0" not in ended.stderr


@ray_missing
def test_findings_are_merged(tmp_path):
    """Two seeds with the same finding, which a program in place of tapml reports."""
    fake = tmp_path / "fake"
    fake.write_text(f"""#!{sys.executable}
import json, pathlib, sys
if sys.argv[2] == "triage":
    found = sorted(str(path) for path in pathlib.Path(sys.argv[3]).glob("ranges/*/seed-*/findings/*"))
    print(json.dumps({{"findings": found[:1], "all": found}}))
    sys.exit(1)
folder = pathlib.Path(sys.argv[sys.argv.index("--corpus") + 1], "findings/3-values")
folder.mkdir(parents=True)
(folder / "finding.json").write_text("seed " + sys.argv[sys.argv.index("--seed") + 1])
print(json.dumps({{"tests": 10, "findings": [1]}}))
sys.exit(1)
""")
    fake.chmod(0o755)
    corpus = tmp_path / "farm"
    ended = run_farm(corpus, "--seeds", "2", program=fake)
    assert ended.returncode == 1, ended.stderr
    assert json.loads(ended.stdout)["findings"] == [str(pathlib.Path(corpus, "ranges/0-0/seed-0/findings/3-values"))]
    assert (corpus / "ranges/1-1/seed-1/findings/3-values/finding.json").read_text() == "seed 1"


@ray_missing
def test_a_program_that_fails_ends_the_farm(tmp_path):
    ended = run_farm(tmp_path / "farm", "--seeds", "1", "--", "--no-such-option")
    assert ended.returncode == 2
    assert "--no-such-option" in ended.stderr
