"""Tests of scripts/check_skips on made-up results."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_skips"


def gtest(**results):
    tests = [{"name": name, "status": "RUN", "result": result} for name, result in results.items()]
    return json.dumps({"testsuites": [{"name": "Vulkan", "testsuite": tests}]})


class CheckSkips(unittest.TestCase):
    def run_on(self, results, lines):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, text in results.items():
                (folder / name).write_text(text)
            (folder / "list.txt").write_text(lines)
            return subprocess.run(
                [sys.executable, str(SCRIPT), str(folder), "--list", str(folder / "list.txt")],
                capture_output=True, text=True)

    def test_a_skipped_test_on_the_list_is_counted(self):
        done = self.run_on({"device.json": gtest(Opens="SKIPPED", Runs="COMPLETED")},
                           "# platforms\nVulkan.Op* the reason\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 tests, 1 of them skipped", done.stdout)

    def test_a_skipped_test_that_is_not_listed_fails(self):
        done = self.run_on({"device.json": gtest(Opens="SKIPPED", Runs="SKIPPED")},
                           "Vulkan.Opens the reason\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not on the list: device: Vulkan.Runs", done.stderr)
        self.assertNotIn("Vulkan.Opens", done.stderr)

    def test_tests_that_were_filtered_out_are_not_skipped(self):
        text = json.dumps({"testsuites": [{"name": "A", "testsuite": [
            {"name": "B", "status": "NOTRUN", "result": "SUPPRESSED"},
            {"name": "C", "status": "RUN", "result": "COMPLETED"}]}]})
        done = self.run_on({"a.json": text}, "")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 tests, 0 of them skipped", done.stdout)

    def test_pytest_counts_too(self):
        xml = ('<testsuites><testsuite><testcase classname="test_torch" name="test_a">'
               '<skipped message="no torch"/></testcase></testsuite></testsuites>')
        done = self.run_on({"python.xml": xml}, "")
        self.assertEqual(done.returncode, 1)
        self.assertIn("python: test_torch.test_a", done.stderr)

    def test_no_results_fail(self):
        done = self.run_on({}, "")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no results", done.stderr)

    def test_a_line_without_a_reason_fails(self):
        done = self.run_on({"device.json": gtest(Opens="SKIPPED")}, "Vulkan.Opens\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("list.txt:1: a reason is missing", done.stderr)


if __name__ == "__main__":
    unittest.main()
