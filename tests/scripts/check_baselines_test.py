"""Tests of scripts/check_baselines on temporary repositories."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_baselines"
STORED = "bench/instructions/stored.json"
RULE = "scripts/check_baselines"


class Repository:
    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        self.git("init", "-q")

    def git(self, *arguments):
        subprocess.run(["git", "-C", str(self.root), "-c", "user.name=a", "-c", "user.email=a@b",
                        *arguments], check=True, capture_output=True)

    def commit(self, path, text, message):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def check(self):
        return subprocess.run([sys.executable, str(SCRIPT), "--root", str(self.root)],
                              capture_output=True, text=True)


class CheckBaselines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.repository = Repository(folder.name)
        self.repository.commit(STORED, "1", "Older than the rule")
        self.repository.commit(RULE, "", "The rule")

    def test_commits_older_than_the_rule_are_exempt(self):
        self.assertEqual(self.repository.check().returncode, 0)

    def test_a_change_with_a_reason_is_accepted(self):
        self.repository.commit(STORED, "2", "Tiles\n\nInstructions: +3%, tiles are proved first")
        done = self.repository.check()
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_change_without_a_reason_is_refused(self):
        self.repository.commit(STORED, "2", "Tiles are larger\n\nInstructions:")
        self.repository.commit("other", "", "Something else")
        done = self.repository.check()
        self.assertEqual(done.returncode, 1)
        self.assertIn("without a reason", done.stderr)
        self.assertIn("Tiles are larger", done.stderr)

    def test_a_branch_without_the_rule_is_exempt(self):
        self.repository.git("checkout", "-qb", "other", "HEAD~1")
        self.repository.commit(STORED, "3", "On a branch from before the rule")
        self.repository.git("checkout", "-q", "-")
        self.repository.git("merge", "-q", "--no-edit", "other")
        done = self.repository.check()
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
