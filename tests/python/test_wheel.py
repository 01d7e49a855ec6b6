"""The wheel, built from this build's module, in a separate environment."""
import os
import pathlib
import subprocess
import sys
import zipfile

import numpy as np

import tapml
from conftest import AFFINE, ROOT


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=300, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel(cpu, tmp_path):
    build = pathlib.Path(tapml.__file__).parents[2]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    run(sys.executable, ROOT / "python/backend/tapml_build.py", tmp_path,
        env={**environment, "TAPML_BUILD": str(build)})
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"tapml-{tapml.__version__}-cp3")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"tapml/__init__.py", "tapml/_tapml.pyi", "tapml/py.typed", "tapml/pytest_plugin.py",
            f"tapml-{tapml.__version__}.dist-info/RECORD"} <= set(names)

    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--system-site-packages", venv, env=environment)
    run(venv / "bin/pip", "install", "--no-index", "--no-deps", "--quiet",
        "--disable-pip-version-check", wheel, env=environment)
    where = run(venv / "bin/python", "-c", "import tapml; print(tapml.__file__)", cwd=tmp_path,
                env=environment)
    assert where.startswith(str(venv))

    assert "tapml-farm fuzz" in run(venv / "bin/tapml-farm", "fuzz", "--help", cwd=tmp_path, env=environment)

    # The plugin is found by its entry point.
    suite = tmp_path / "suite"
    run_of = [np.ones(shape, np.float32) for shape in ((2, 3), (3, 2), (2,))]
    tapml.carve(tapml.parse(AFFINE), cpu, inputs=[run_of]).save(str(suite))
    out = run(venv / "bin/python", "-m", "pytest", "-p", "no:cacheprovider", "--tapml-suite", suite,
              "--tapml-target", "cpu", cwd=tmp_path, env=environment)
    assert "1 passed" in out
