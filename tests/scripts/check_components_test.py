"""Tests of scripts/check_components: it accepts what the table allows and finds injected violations."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_components"

TABLE = """
| component | holds | may include | state |
| --- | --- | --- | --- |
| base/ | a | – | here |
| io/ | b | base | here |
| text/ | c | io | here |
| cli/ | d | anything | here |

| header | components |
| --- | --- |
| `llvm/` | text |
"""


class CheckComponents(unittest.TestCase):
    def run_on(self, files, table=TABLE):
        """(exit code, output) of the script on a tree with these files."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, content in {"docs/architecture.md": table, **files}.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
            done = subprocess.run([sys.executable, SCRIPT, "--root", root],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_allowed_directly_and_through_a_component(self):
        code, output = self.run_on({
            "src/base/a.h": "#pragma once\n",
            "src/text/c.cpp": '#include "base/a.h"\n#include "io/b.h"\n#include "text/c.h"\n'
                              '#include <llvm/IR/Module.h>\n',
            "src/cli/main.cpp": '#include "text/c.h"\n',
        })
        self.assertEqual(code, 0, output)
        self.assertIn("3 files", output)

    def test_a_platform_is_its_line_and_two_folders(self):
        files = {
            "src/abi/platforms.h": "#define TAPML_KNOWN_PLATFORMS(PLATFORM) \\\n  PLATFORM(cpu)\n",
            "src/target/cpu/describe.cpp": "// x\n",
            "src/device/cpu/open.cpp": "// x\n",
        }
        components = TABLE.replace("| cli/", "| abi/ | e | base | here |\n| target/ | f | base | here |\n"
                                        "| device/ | g | base | here |\n| cli/")
        code, output = self.run_on(files, components)
        self.assertEqual(code, 0, output)
        files["src/abi/platforms.h"] += "  PLATFORM(none)\n"
        files["src/device/other/open.cpp"] = "// x\n"
        code, output = self.run_on(files, components)
        self.assertEqual(code, 1, output)
        self.assertIn("src/abi/platforms.h:1: src/target/none/describe.cpp is missing", output)
        self.assertIn("src/abi/platforms.h:1: src/device/none/open.cpp is missing", output)
        self.assertIn("src/device/other/open.cpp:1: no line PLATFORM(other) in src/abi/platforms.h", output)

    def test_a_platform_is_named_only_in_its_folders(self):
        files = {
            "src/abi/platforms.h": "  PLATFORM(cpu)\n  PLATFORM(null)\n" 'const char* kDefault = "cpu";\n',
            "src/target/cpu/describe.cpp": 'd.platform = "cpu";\n',
            "src/device/cpu/open.cpp": 'info.platform = "cpu";\n',
            "src/target/null/describe.cpp": "// x\n",
            "src/device/null/open.cpp": "// x\n",
            "src/io/b.cpp": 'return "null";\n',
            "src/text/c.cpp": '#include "cpu"\n// such as "cpu"\nreturn "a \\"cpu\\"" "cpus" "null or 0";\n',
        }
        components = TABLE.replace("| cli/", "| abi/ | e | base | here |\n| target/ | f | base | here |\n"
                                        "| device/ | g | base | here |\n| cli/")
        code, output = self.run_on(files, components)
        self.assertNotIn("names the platform", output)
        files["src/text/c.cpp"] = ('if (platform == "cpu") return;\nreturn "cpu:threads=1";\n'
                                   'return "null";\nif (target.description.code == x) return;\n')
        files["python/src/d.cpp"] = 'switch (CodeKind::kNative) {}\nreturn "cpu@host";\n'
        code, output = self.run_on(files, components)
        self.assertEqual(code, 1, output)
        for line in ("src/text/c.cpp:1: names the platform cpu", "src/text/c.cpp:2: names the platform cpu",
                     "src/text/c.cpp:3: names the platform null", "src/text/c.cpp:4: asks for a platform's kind",
                     "python/src/d.cpp:1: asks for a platform's kind", "python/src/d.cpp:2: names the platform cpu"):
            self.assertIn(line, output)

    def test_include_down_the_table(self):
        code, output = self.run_on({"src/io/b.cpp": '// x\n#include "text/c.h"\n'})
        self.assertEqual(code, 1, output)
        self.assertIn('src/io/b.cpp:2: io/ may not include "text/c.h"; it may include: base', output)

    def test_folders_of_a_component_with_its_own_table(self):
        table = TABLE + """
| in text/ | holds | may include |
| --- | --- | --- |
| tree/ | a | – |
| print/ | b | tree |
| parse/ | c | tree |
| tool/ | d | print |
"""
        files = {"src/text/tree/t.h": '#include "base/a.h"\n',
                 "src/text/print/p.cpp": '#include "text/tree/t.h"\n#include "text/print/p.h"\n',
                 "src/text/tool/m.cpp": '#include "text/tree/t.h"\n',
                 "src/cli/main.cpp": '#include "text/tool/m.h"\n'}
        code, output = self.run_on(files, table)
        self.assertEqual(code, 0, output)
        files["src/text/parse/x.cpp"] = '// x\n#include "text/print/p.h"\n'
        files["src/text/tree/t.cpp"] = '#include "text/tool/m.h"\n'
        files["src/text/other/o.cpp"] = '#include "text/tree/t.h"\n'
        files["src/text/alone.cpp"] = '#include "text/tree/t.h"\n'
        code, output = self.run_on(files, table)
        self.assertEqual(code, 1, output)
        self.assertIn('src/text/parse/x.cpp:2: text/parse/ may not include "text/print/p.h"; in text/ it may '
                      'include: tree', output)
        self.assertIn('src/text/tree/t.cpp:1: text/tree/ may not include "text/tool/m.h"; in text/ it may '
                      'include: no other folder', output)
        self.assertIn("src/text/other/o.cpp:1: not in a folder of the table 'in text/'", output)
        self.assertIn("src/text/alone.cpp:1: not in a folder of the table 'in text/'", output)

    def test_third_party_header_outside_its_component(self):
        code, output = self.run_on({"src/io/b.cpp": "#include <llvm/IR/Module.h>\n"})
        self.assertEqual(code, 1, output)
        self.assertIn("src/io/b.cpp:1: io/ may not include <llvm/IR/Module.h>", output)

    def test_host_header_in_the_wasm_part(self):
        code, output = self.run_on({
            "src/io/b.cpp": '#include "base/host/thread.h"\n',
            "src/io/host/b.cpp": '#include "base/host/thread.h"\n',
        })
        self.assertEqual(code, 1, output)
        self.assertIn("src/io/b.cpp:1:", output)
        self.assertNotIn("src/io/host/b.cpp", output)

    def test_unknown_component_and_long_file(self):
        code, output = self.run_on({"src/attic/x.cpp": "", "src/base/a.cpp": "\n" * 1001})
        self.assertEqual(code, 1, output)
        self.assertIn("src/attic/x.cpp:1: not in a component", output)
        self.assertIn("src/base/a.cpp:1001: 1001 lines", output)

    def test_a_row_of_single_files(self):
        table = TABLE.replace("| text/ |", "| text/*/host.cpp | run time | base | here |\n| text/ |")
        files = {"src/text/one/host.cpp": '#include "base/a.h"\n',
                 "src/text/one/other.cpp": '#include "io/b.h"\n'}
        code, output = self.run_on(files, table)
        self.assertEqual(code, 0, output)
        files["src/text/one/host.cpp"] += '#include "text/c.h"\n'
        code, output = self.run_on(files, table)
        self.assertEqual(code, 1, output)
        self.assertIn('src/text/one/host.cpp:2: text/*/host.cpp may not include "text/c.h"; it may '
                      'include: base', output)

    def test_a_library_is_its_folder_and_its_line(self):
        table = TABLE.replace("| cli/ |", "| abi/ | t | - | here |\n| library/ | l | abi | here |\n| cli/ |")
        files = {
            "src/abi/libraries.h": "#define TAPML_KNOWN_LIBRARIES(LIBRARY) \\\n  LIBRARY(quick)\n",
            "src/library/library.cpp": "",
            "src/library/quick/patterns.cpp": "// Quick's patterns\n",
            "src/library/quick/routines.cpp": "",
        }
        code, output = self.run_on(files, table)
        self.assertEqual(code, 0, output)
        files["src/library/library.cpp"] = "int a;\nvoid quick_patterns();\n"
        files["cmake/x.cmake"] = "find_path(QUICK)\n"
        files["src/library/other/patterns.cpp"] = ""
        files["src/abi/libraries.h"] += "  LIBRARY(none)\n"
        code, output = self.run_on(files, table)
        self.assertEqual(code, 1, output)
        self.assertIn("src/library/library.cpp:2: names the library quick", output)
        self.assertIn("cmake/x.cmake:1: names the library QUICK", output)
        self.assertIn("src/library/other/: no line LIBRARY(other) in src/abi/libraries.h", output)
        self.assertIn("src/library/other/: routines.cpp is missing", output)
        self.assertIn("there is no folder src/library/none/", output)

    def test_table_with_an_edge_downwards(self):
        code, output = self.run_on({}, TABLE.replace("| b | base |", "| b | text |"))
        self.assertEqual(code, 2, output)
        self.assertIn("'text', which is not a component above it", output)


if __name__ == "__main__":
    unittest.main()
