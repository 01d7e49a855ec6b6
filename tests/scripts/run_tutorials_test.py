"""scripts/run_tutorials detects pages whose output differs from the actual output."""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "run_tutorials"


def load():
    loader = importlib.machinery.SourceFileLoader("run_tutorials", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


tutorials = load()
REPOSITORY = SCRIPT.parents[1]
PROGRAM = """#!/bin/sh
case $1 in
  fail) echo "no such thing" >&2; exit 2 ;;
  *) printf 'one   line\\nand 42 more\\nthe end\\n' ;;
esac
"""


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A repository of two files; copying the whole repository for each case is slow."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        tutorials.ROOT = pathlib.Path(folder.name)
        (tutorials.ROOT / "scripts").mkdir()
        for name in ("Makefile", "scripts/activate"):
            shutil.copy(REPOSITORY / name, tutorials.ROOT / name)
        subprocess.run(["git", "-C", folder.name, "init", "-q"], check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "tapml"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.clone = self.folder / "clone"
        tutorials.copy_repository(self.clone, self.program)

    def run_page(self, *lines):
        page = self.folder / "page.md"
        page.write_text("\n".join(["```console", "$ source scripts/activate", "```", *lines]) + "\n")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            passed = tutorials.run_page(page, self.program, self.clone)
        return passed, printed.getvalue()

    def console(self, *lines):
        return self.run_page("```console", *lines, "```")

    def test_matching_output_passes(self):
        self.assertTrue(self.console("$ tapml x", "one line", "and 42 more", "the end")[0])

    def test_a_page_that_needs_more_is_unsupported(self):
        page = self.folder / "page.md"
        page.write_text("# Page\n\n<!-- needs: board -->\n")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertFalse(tutorials.is_possible(page, []))
            self.assertTrue(tutorials.is_possible(page, ["board"]))
        self.assertIn("left out; it needs board", printed.getvalue())

    def test_another_line_fails_with_its_position(self):
        passed, printed = self.console("$ tapml x", "one line", "and 43 more", "the end")
        self.assertFalse(passed)
        self.assertIn("page.md:5: `tapml x`", printed)
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

    def test_files_of_web_pages_keep_their_other_lines(self):
        self.assertTrue(self.run_page("```html", "<!-- file: a.html -->", "<p>text", "```", "",
                                      "```console", "$ cat a.html", "<p>text", "```")[0])

    def test_a_session_continues_across_commands(self):
        self.assertTrue(self.console("$ mkdir new && cd new && NAME=value", "$ basename $PWD; echo $NAME",
                                     "new", "value")[0])

    def test_a_page_starts_with_nothing_on_the_path(self):
        page = self.folder / "bare.md"
        page.write_text("```console\n$ command -v tapml || echo none; echo ${TAPML:-unset}\nnone\nunset\n"
                        "$ ls Makefile build\nMakefile\n\nbuild:\ntapml\n```\n")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertTrue(tutorials.run_page(page, self.program, self.clone), printed.getvalue())

    def test_processes_of_a_page_end_with_it(self):
        mark = self.folder / "pid"
        self.assertTrue(self.console(f"$ sleep 1000 & echo $! > {mark}")[0])
        pid = int(mark.read_text())
        for _ in range(100):
            state = pathlib.Path(f"/proc/{pid}/stat")
            if not state.exists() or state.read_text().split()[2] == "Z":
                return
            time.sleep(0.05)
        self.fail(f"process {pid} still runs")

    def test_a_command_that_ends_the_shell_is_a_failure(self):
        passed, printed = self.console("$ exit 3")
        self.assertFalse(passed)
        self.assertIn("ends the shell", printed)


if __name__ == "__main__":
    unittest.main()
