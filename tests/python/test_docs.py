"""The examples of docs/python.md run in order, unchanged; those with PyTorch if it is installed."""
import importlib.util
import re

from conftest import ROOT


def test_the_examples_of_the_page(tmp_path, monkeypatch):
    (tmp_path / "models").symlink_to(ROOT / "models")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/python.md").read_text()
    blocks = [(text.count("\n", 0, found.start()) + 2, found[1])
              for found in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M)]
    assert len(blocks) > 5
    names = {}
    for line, block in blocks:
        if "torch" in block and not importlib.util.find_spec("transformers"):
            continue
        # Tracebacks then have the page's line numbers.
        exec(compile("\n" * (line - 1) + block, "docs/python.md", "exec"), names)
    for file in ("junit.xml", "summary.md", "report/report.html", "localize/report.html"):
        assert (tmp_path / "out" / file).stat().st_size > 0
    assert names["culprit"].kernel == names["wrong"]
