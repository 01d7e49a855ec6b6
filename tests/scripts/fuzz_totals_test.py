"""scripts/fuzz_readers --total has a line for every harness, even for those that never ran."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True  # no __pycache__ beside the script

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load():
    loader = importlib.machinery.SourceFileLoader("fuzz_readers", str(ROOT / "scripts/fuzz_readers"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Totals(unittest.TestCase):
    def test_harnesses_without_a_search_have_no_minutes(self):
        fuzz_readers = load()
        entry = {"harness": "json", "seconds": 60, "executions": 7, "findings": 0}
        totals = fuzz_readers.totals([entry, entry])
        self.assertEqual(totals["json"]["seconds"], 120)
        harnesses = {path.stem for path in (ROOT / "tests/fuzz/readers").glob("*.cpp")}
        self.assertEqual(set(totals), harnesses | {"program"})
        self.assertEqual(totals["spirv"],
                         {"seconds": 0, "executions": 0, "findings": 0, "clean_seconds": 0})


if __name__ == "__main__":
    unittest.main()
