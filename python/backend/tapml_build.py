"""Builds the wheel of the package tapml: PEP 517's hooks over the repository's CMake build.

    python3 python/backend/tapml_build.py FOLDER     what `make wheel` runs
    pip install ./python                             the same, in an environment

The extension module comes from a release build in build/, or, with TAPML_BUILD, from the build in that
folder as it is. Needs only Python and the tools that build tapml. The same module and files give the
same bytes.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent
FILES = ("*.py", "*.pyi", "py.typed")


def run(*command):
    # Standard output belongs to pip.
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, stdout=sys.stderr)


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(tapml VERSION ([\d.]+)", text).group(1)


def tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def extension():
    """The built module."""
    name = "_tapml" + sysconfig.get_config_var("EXT_SUFFIX")
    given = os.environ.get("TAPML_BUILD")
    if given:
        built = pathlib.Path(given) / "python/tapml" / name
        if not built.exists():
            sys.exit(f"tapml_build: {built} does not exist; build the target tapml_python for {sys.executable}")
        return built
    run("cmake", "--preset", "release", "--log-level=WARNING",
        f"-DTAPML_PYTHON={getattr(sys, '_base_executable', sys.executable)}")
    run("cmake", "--build", "--preset", "release", "--target", "tapml_python")
    return ROOT / "build/python/tapml" / name


def stripped(module, folder):
    """The module without the symbols for debuggers, if strip is installed."""
    copy = pathlib.Path(folder) / module.name
    shutil.copy(module, copy)
    if shutil.which("strip"):
        run("strip", "--strip-unneeded", copy)
    return copy.read_bytes()


def metadata():
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version()}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {one}" for one in project["dependencies"]]
    for extra, wanted in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {one} ; extra == "{extra}"' for one in wanted]
    points = []
    for group, entries in {"console_scripts": project["scripts"], **project["entry-points"]}.items():
        points += [f"[{group}]", *[f"{name} = {value}" for name, value in entries.items()], ""]
    wheel = ["Wheel-Version: 1.0", "Generator: tapml_build", "Root-Is-Purelib: false", f"Tag: {tag()}"]
    return {"METADATA": "\n".join(lines) + "\n", "WHEEL": "\n".join(wheel) + "\n",
            "entry_points.txt": "\n".join(points), "LICENSE": (ROOT / "LICENSE").read_text()}


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the package is built in a clone of the repository")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel into the folder and returns its name."""
    module = extension()
    info = f"tapml-{version()}.dist-info"
    contents = {}
    for pattern in FILES:
        for path in sorted((PACKAGE / "tapml").glob(pattern)):
            contents[f"tapml/{path.name}"] = path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        contents[f"tapml/{module.name}"] = stripped(module, folder)
    for name, text in metadata().items():
        contents[f"{info}/{name}"] = text.encode()
    record = []
    for name, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}\n")
    contents[f"{info}/RECORD"] = ("".join(record) + f"{info}/RECORD,,\n").encode()
    wheel = f"tapml-{version()}-{tag()}.whl"
    pathlib.Path(wheel_directory).mkdir(parents=True, exist_ok=True)
    unfinished = pathlib.Path(wheel_directory) / (wheel + ".part")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name)  # dated 1980, so that the bytes are reproducible
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    unfinished.rename(unfinished.with_suffix(""))
    return wheel


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[1]).resolve()
    made = target / build_wheel(target)
    print(f"{made}: {made.stat().st_size} bytes")
