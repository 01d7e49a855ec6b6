"""scripts/run_tutorials finds pages that show something else than what happens."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "run_tutorials"


def load():
    loader = importlib.machinery.SourceFileLoader("run_tutorials", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


tutorials = load()
PROGRAM = """#!/bin/sh
case $1 in
  fail) echo "no such thing" >&2; exit 2 ;;
  *) printf 'one   line\\nand 42 more\\nthe end\\n' ;;
esac
"""


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def run_page(self, *lines):
        page = self.folder / "page.md"
        page.write_text("\n".join(lines) + "\n")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            passed = tutorials.run_page(page, self.program)
        return passed, printed.getvalue()

    def console(self, *lines):
        return self.run_page("```console", *lines, "```")

    def test_what_happens_passes(self):
        self.assertTrue(self.console("$ tapml x", "one line", "and 42 more", "the end")[0])

    def test_a_page_that_needs_more_is_left_out(self):
        page = self.folder / "page.md"
        page.write_text("# Page\n\n<!-- needs: board -->\n")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertFalse(tutorials.is_possible(page, []))
            self.assertTrue(tutorials.is_possible(page, ["board"]))
        self.assertIn("left out; it needs board", printed.getvalue())

    def test_another_line_fails_with_its_place(self):
        passed, printed = self.console("$ tapml x", "one line", "and 43 more", "the end")
        self.assertFalse(passed)
        self.assertIn("page.md:2: `tapml x`", printed)
        self.assertIn("and 42 more", printed)

    def test_a_missing_line_fails(self):
        self.assertFalse(self.console("$ tapml x", "one line", "and 42 more")[0])

    def test_a_line_too_many_fails(self):
        self.assertFalse(
            self.console("$ tapml x", "one line", "and 42 more", "the end", "more")[0])

    def test_wildcards(self):
        self.assertTrue(self.console("$ tapml x", "...", "and <...> more", "...")[0])
        self.assertFalse(self.console("$ tapml x", "...", "and <...> less", "...")[0])

    def test_exit_codes_and_messages(self):
        command = '$ tapml fail 2>&1; echo "exit code $?"'
        self.assertTrue(self.console(command, "no such thing", "exit code 2")[0])
        self.assertFalse(self.console(command, "no such thing", "exit code 0")[0])

    def test_files_are_there_for_the_commands_below(self):
        self.assertTrue(self.run_page("```", "# file: a.txt", "text", "```", "",
                                      "```console", "$ cat a.txt", "text", "```")[0])


if __name__ == "__main__":
    unittest.main()
