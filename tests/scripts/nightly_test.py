"""Tests of .ci/nightly in a repository of its own, whose `make` only says whether it passes."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/contributing.md"


class Nightly(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in (".ci/nightly", PAGE):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        # As after no step has passed.
        page = (self.root / PAGE).read_text()
        page = re.sub(r"^(\| `[a-z0-9-]+` \|) (-|\d{4}-).*", r"\1 - | |", page, flags=re.MULTILINE)
        (self.root / PAGE).write_text(page)
        self.program("scripts/setup", "true")
        self.program("scripts/count_instructions", "true")
        self.program("scripts/seeded_bugs", "true")
        self.program("bin/make", '[[ "$*" != *tsan* ]]')
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "all")

    def program(self, name, text):
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text("#!/usr/bin/env bash\n" + text + "\n")
        (self.root / name).chmod(0o755)

    def git(self, *arguments):
        subprocess.run(["git", "-C", str(self.root), "-c", "user.name=a", "-c", "user.email=a@b",
                        *arguments], check=True, capture_output=True)

    def run_nightly(self, *arguments):
        return subprocess.run([str(self.root / ".ci/nightly"), *arguments], capture_output=True,
                              text=True, env={"PATH": f"{self.root}/bin:/usr/bin:/bin"})

    def page(self):
        return (self.root / PAGE).read_text()

    def dates(self):
        return dict(re.findall(r"^\| `([a-z0-9-]+)` \| (-|\d{4}-\d\d-\d\d) \|", self.page(),
                               flags=re.MULTILINE))

    def test_the_page_has_a_row_for_each_step(self):
        steps = [line.split()[0] for line in self.run_nightly("--list").stdout.splitlines()]
        self.assertGreater(len(steps), 10)
        self.assertEqual(list(self.dates()), steps)

    def test_steps_that_pass_are_recorded(self):
        done = self.run_nightly("--record", "page", "soak")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual({name for name, date in self.dates().items() if date != "-"},
                         {"page", "soak"})
        self.assertIn("Last full pass of `.ci/nightly`: not yet.", self.page())

    def test_a_step_that_fails_is_not_recorded(self):
        done = self.run_nightly("--record")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nightly: FAILED: tsan", done.stdout)
        self.assertEqual({name for name, date in self.dates().items() if date == "-"}, {"tsan"})

    def test_the_oldest_step_dates_the_full_pass(self):
        self.program("bin/make", "true")
        self.assertEqual(self.run_nightly("--record").returncode, 0)
        page = self.page()
        (self.root / PAGE).write_text(
            re.sub(r"^(\| `ops` \|) [\d-]+", r"\1 2026-01-02", page, flags=re.MULTILINE))
        self.assertEqual(self.run_nightly("--record", "page").returncode, 0)
        self.assertIn("Last full pass of `.ci/nightly`: 2026-01-02.", self.page())

    def test_nothing_is_recorded_unasked(self):
        self.run_nightly("page")
        self.assertEqual(set(self.dates().values()), {"-"})

    def test_unknown_steps_are_refused(self):
        done = self.run_nightly("pages")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no step 'pages'", done.stderr)


if __name__ == "__main__":
    unittest.main()
