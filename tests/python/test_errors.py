"""Each kind of failure is an exception of its own class, with its parts as attributes."""
import builtins
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tapml
from conftest import AFFINE, DEMO, Server


def test_the_classes():
    for error, base in ((tapml.UserError, ValueError), (tapml.PlatformError, RuntimeError),
                        (tapml.OutOfMemoryError, MemoryError),
                        (tapml.TimeoutError, builtins.TimeoutError), (tapml.Warning, UserWarning)):
        assert issubclass(error, base)
    for error in (tapml.AbsentError, tapml.LostError, tapml.OutOfMemoryError, tapml.TimeoutError,
                  tapml.LimitError, tapml.CancelledError, tapml.ProtocolError):
        assert issubclass(error, tapml.PlatformError) and issubclass(error, tapml.Error)
        made = error("m", "w", "e", "f", "h")
        assert (made.message, made.where, made.expected, made.found, made.hint) == tuple("mwefh")
        assert str(made) == "m\n  where: w\n  expected: e\n  found: f\n  hint: h"
        again = pickle.loads(pickle.dumps(made))
        assert type(again) is error and str(again) == str(made)


def test_faults_of_all_kinds():
    for kind, fault, error in (("platform", "crash", tapml.CrashError),
                               ("platform", "lost", tapml.LostError),
                               ("user", "unauthorized", tapml.UnauthorizedError),
                               ("internal", "compile", tapml.CompileError),
                               ("user", "none", tapml.UserError), ("user", "crash", tapml.UserError),
                               ("platform", "new", tapml.PlatformError),
                               ("internal", "none", tapml.InternalError)):
        assert type(tapml.errors.make_error(kind, fault, *"mwefh")) is error
    assert issubclass(tapml.CrashError, tapml.LostError)


def test_text_that_is_not_a_module():
    with pytest.raises(tapml.UserError) as caught:
        tapml.parse("module\n\ndef main(x: Tensr((2,), f32)) -> Object { return x }", "mine.txt")
    error = caught.value
    assert error.kind == "user" and error.where.startswith("mine.txt:3:13")
    assert "^" in error.where and error.expected and error.found


def test_a_call_with_the_wrong_shapes(cpu, opencl, remote):
    for device in (cpu, opencl, remote):
        f = tapml.upload(tapml.compile(tapml.parse(AFFINE), device))["main"]
        good = [np.zeros((4, 3), np.float32), np.zeros((3, 2), np.float32),
                np.zeros(2, np.float32)]
        with pytest.raises(tapml.UserError) as caught:
            f(np.zeros((4, 5), np.float32), *good[1:]).numpy()
        assert "x" in caught.value.where
        with pytest.raises(tapml.UserError):
            f(good[0].astype(np.float64), *good[1:]).numpy()
        assert f(*good).shape == (4, 2)  # the library still works


def test_targets(tmp_path):
    for target in ("cupu", "cpu:threads=x", "cpu:nothing=1", "", "cpu@"):
        with pytest.raises(tapml.UserError):
            tapml.device(target)
    with pytest.raises(tapml.AbsentError) as caught:
        tapml.opencl(device=255)
    assert caught.value.kind == "platform"
    with pytest.raises(tapml.PlatformError):
        tapml.cpu(at=f"unix:{tmp_path}/nobody")
    with pytest.raises(tapml.UserError):
        tapml.device(f"cpu@unix:{tmp_path}/nobody", token_file=tmp_path / "no_token")
    (tmp_path / "token").write_text("secret\n")
    with pytest.raises(tapml.UserError, match="without encryption"):
        tapml.device("cpu@192.0.2.1:9000", token_file=tmp_path / "token")
    with pytest.raises(tapml.PlatformError):
        tapml.device("cpu@192.0.2.1:9000", token_file=tmp_path / "token", insecure=True,
                     request_seconds=0.2)


def test_files(tmp_path):
    with pytest.raises(tapml.UserError):
        tapml.Module.load(str(tmp_path / "none.txt"))
    with pytest.raises(tapml.UserError):
        tapml.LanguageModel.load(str(tmp_path))
    with pytest.raises(tapml.UserError):
        tapml.Suite.load(str(tmp_path))


def test_features_of_a_model_without_an_encoder(cpu, tmp_path):
    features = np.zeros((2, 3), np.float32)
    np.save(tmp_path / "features.npy", features)
    for given in (features, tmp_path / "features.npy", str(tmp_path / "features.npy")):
        model = tapml.LanguageModel.load(DEMO, features=given)
        for run in (lambda: model.engine(cpu), lambda: tapml.carve(model, cpu, prompt="a"),
                    lambda: tapml.migrate(model, cpu, cpu, "a")):
            with pytest.raises(tapml.UserError, match="reads no features"):
                run()


def test_things_of_another_kind(cpu):
    for wrong in (lambda: tapml.tensor(1, "cpu"), lambda: tapml.compile(AFFINE, cpu),
                  lambda: tapml.compile(tapml.parse(AFFINE), 3), lambda: tapml.migrate(
                      3, cpu, cpu, "text"), lambda: tapml.carve(tapml.parse(AFFINE), cpu),
                  lambda: tapml.carve("folder", cpu)):
        with pytest.raises(tapml.UserError):
            wrong()
    library = tapml.upload(tapml.compile(tapml.parse(AFFINE), cpu))
    with pytest.raises(tapml.UserError, match="no such function") as caught:
        library["mian"]
    assert caught.value.expected == "main"


def test_a_tensor_of_another_session(cpu, opencl):
    f = tapml.upload(tapml.compile(tapml.parse(AFFINE), cpu))["main"]
    with pytest.raises(tapml.UserError, match="another session") as caught:
        f(tapml.tensor(np.zeros((1, 3), np.float32), opencl), np.zeros((3, 2), np.float32),
          np.zeros(2, np.float32))
    assert "to(session)" in caught.value.hint


def test_limits_and_memory(tmp_path):
    server = Server(tmp_path, "--memory", "1M")
    try:
        with tapml.cpu(at=server.place) as session:
            with pytest.raises(tapml.OutOfMemoryError):
                tapml.tensor(np.zeros(2**20, np.float32), session).numpy()
            assert tapml.tensor(np.ones(4, np.float32), session).tolist() == [1] * 4
    finally:
        server.end()


def test_a_server_that_goes_away(tmp_path):
    server = Server(tmp_path)
    session = tapml.cpu(at=server.place)
    t = tapml.tensor(np.ones(4, np.float32), session)
    assert t.tolist() == [1] * 4
    server.end()
    with pytest.raises(tapml.LostError):
        t.numpy()
    session.close()


def test_warnings_are_warnings(cpu, tmp_path):
    """An unusable cache is not an error."""
    (tmp_path / "file").write_text("no folder")
    program = """
import sys, warnings
import tapml
sys.path.insert(0, sys.argv[1])
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    tapml.compile(tapml.parse(sys.argv[2]), "cpu")
print([type(one.message).__name__ for one in seen if issubclass(one.category, tapml.Warning)])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, os.path.dirname(__file__), AFFINE],
        env={**os.environ, "TAPML_CACHE": str(tmp_path / "file" / "cache")}, capture_output=True,
        text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['Warning']"
