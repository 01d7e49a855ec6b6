"""Tests of scripts/seeded_bugs in a repository of its own, whose "compiler" is a script of two lines that add numbers."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# `fuzz run` finds what differs from 2 + 2 = 4 and 3 * 3 = 9; `fuzz replay` evaluates again.
PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys, time

def double(x):
    return x + x

def square(x):
    return x * x

right = {"double": double(2) == 4, "square": square(3) == 9}
if sys.argv[2] == "replay":
    name = json.loads((pathlib.Path(sys.argv[3]) / "finding.json").read_text())["of"]
    print(json.dumps({"same": not right[name], "found": None if right[name] else {}}))
elif sys.argv[2] == "run":
    corpus = pathlib.Path(sys.argv[sys.argv.index("--corpus") + 1])
    for number, name in enumerate(name for name in right if not right[name]):
        folder = corpus / "findings" / f"{number}-values" / "reduced"
        folder.mkdir(parents=True)
        (folder / "finding.json").write_text(json.dumps({"of": name}))
        (folder / "program.txt").write_text(name)
        (folder / "pass.json").write_text(json.dumps({"pass": "add_numbers"}))
    time.sleep(0 if all(right.values()) else 60)
"""
CMAKE = """#!/usr/bin/env bash
[[ $1 == --build ]] || exit 0
mkdir -p build/dev
cp src/program.py build/dev/tapml
chmod +x build/dev/tapml
"""


class SeededBugs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "checkout"
        self.write("scripts/seeded_bugs", (ROOT / "scripts/seeded_bugs").read_text()).chmod(0o755)
        self.write("bin/cmake", CMAKE).chmod(0o755)
        self.write("src/program.py", PROGRAM)
        self.write(".gitignore", "/build/\n")
        self.git("init", "-q")
        self.bug("adds_one", "    return x + x\n", "    return x + x + 1\n")
        self.bug("cubes", "    return x * x\n", "    return x * x * x\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def git(self, *arguments):
        return subprocess.run(["git", "-C", str(self.root), *arguments], check=True, capture_output=True,
                              text=True).stdout

    def bug(self, name, before, after):
        self.git("add", "-A")
        self.write("src/program.py", PROGRAM.replace(before, after))
        self.write(f"tests/seeded_bugs/{name}/bug.patch", self.git("diff", "--", "src/program.py"))
        self.write("src/program.py", PROGRAM)
        self.write(f"tests/seeded_bugs/{name}/about.json",
                   json.dumps({"stage": "pass", "level": "high", "shape": "A shape.", "written": "before"}))

    def run_script(self, *arguments):
        return subprocess.run([str(self.root / "scripts/seeded_bugs"), *arguments], capture_output=True, text=True,
                              env={"PATH": f"{self.root}/bin:/usr/bin:/bin:/usr/sbin:/sbin"})

    def good(self, *arguments):
        done = self.run_script(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_witness_is_found_kept_and_checked(self):
        self.assertIn("2 patches apply, 0 have a witness", self.good("validate"))
        self.assertIn("adds_one found after", self.good("witness", "adds_one", "cubes"))
        kept = self.root / "tests/seeded_bugs/cubes/witness/finding.json"
        self.assertEqual(json.loads(kept.read_text()), {"of": "square"})
        self.assertIn("2 witnesses fail with their patches and not without: adds_one, cubes",
                      self.good("check", "adds_one", "cubes"))
        self.assertIn("1 witnesses fail with their patches and not without: cubes",
                      self.good("check", "--rotating", "1", "--day", "3"))
        self.assertIn("return x * x\n", (self.root / "src/program.py").read_text())

    def test_a_witness_of_something_else_is_an_error(self):
        self.good("witness", "adds_one")
        self.write("tests/seeded_bugs/adds_one/witness/finding.json", json.dumps({"of": "square"}))
        done = self.run_script("check", "adds_one")
        self.assertEqual(done.returncode, 1)
        self.assertIn("adds_one: its witness does not fail with the patch", done.stderr)

    def test_the_study_continues_where_it_stopped(self):
        self.good("study", "--bugs", "adds_one", "--seeds", "1")
        self.assertIn("cubes, main, seed 2: killed", self.good("study", "--seeds", "2"))
        results = json.loads((self.root / "docs/studies/hirgen.json").read_text())
        self.assertEqual([(one["bug"], one["seed"], one["killed"], one["pass"]) for one in results["runs"]],
                         [("adds_one", 1, True, "add_numbers"), ("adds_one", 2, True, "add_numbers"),
                          ("cubes", 1, True, "add_numbers"), ("cubes", 2, True, "add_numbers")])
        page = (self.root / "docs/studies/hirgen.md").read_text()
        self.assertIn("4 of 4 runs and 2 of 2 bugs ended with a kill", page)

    def test_validate_names_what_is_wrong(self):
        self.write("src/program.py", PROGRAM.replace("x + x", "x * 2"))
        self.write("tests/seeded_bugs/cubes/about.json", json.dumps({"stage": "passes"}))
        done = self.run_script("validate")
        self.assertEqual(done.returncode, 1)
        self.assertIn("adds_one: the patch does not apply", done.stderr)
        self.assertIn("cubes: stage is passes, not one of deduction, pass", done.stderr)
        self.assertIn("cubes: shape is not a sentence", done.stderr)

    def test_an_unknown_name_is_an_error(self):
        done = self.run_script("check", "none")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no seeded bug none", done.stderr)


if __name__ == "__main__":
    shutil.which("git") or unittest.skip("git is not installed")
    unittest.main()
