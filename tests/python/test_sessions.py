"""Sessions: their attributes, use after close, several at once, threads, Ctrl-C."""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tapml
from conftest import AFFINE, DEMO


def test_attributes_of_a_session(cpu, opencl, remote, server):
    assert cpu.target == "cpu" and cpu.platform == "cpu" and cpu.endpoint == ""
    assert opencl.info["platform"] == "opencl" and "f32" in opencl.info["compute_dtypes"]
    assert remote.endpoint == server.place and remote.info["threads"] >= 1
    with tapml.cpu(threads=1) as one:
        assert one.target == "cpu:threads=1" and one.info["threads"] == 1
        assert not one.closed
        one.synchronize()
        one.synchronize(timeout=5)
    assert one.closed
    with pytest.raises(tapml.UserError):
        cpu.synchronize(timeout=-1)
    available = {status["platform"]: status["available"] for status in tapml.devices()}
    assert available["cpu"] and available["opencl"] and available["null"]


@pytest.mark.parametrize("kind", ["cpu", "remote"])
def test_use_after_close(kind, server):
    session = tapml.cpu(at=server.place) if kind == "remote" else tapml.cpu()
    executable = tapml.compile(tapml.parse(AFFINE), session)
    library = tapml.upload(executable)
    f = library["main"]
    t = tapml.tensor(np.zeros(3, np.float32), session, copy=True)
    snapshot = session.snapshot()
    session.close()
    session.close()
    for use in (t.numpy, t.copy, lambda: t.write(np.zeros(3, np.float32)), t.tolist,
                lambda: t.__dlpack__(), lambda: f(1, 2, 3), lambda: library["main"],
                lambda: library.functions, lambda: tapml.upload(executable),
                lambda: tapml.tensor(1, session), lambda: tapml.allocate((1,), "f32", session),
                session.synchronize, session.snapshot, lambda: session.restore(snapshot),
                lambda: session.info):
        with pytest.raises(tapml.ClosedError):
            use()
    assert "closed" in repr(session) and "closed" in repr(t) and "closed" in repr(library)


def test_snapshots(cpu, remote):
    for session in (cpu, remote):
        t = tapml.tensor(np.arange(3, dtype=np.int32), session, copy=True)
        snapshot = session.snapshot()
        t.write(np.zeros(3, np.int32))
        session.restore(snapshot)
        assert t.tolist() == [0, 1, 2]
    with pytest.raises(tapml.UserError, match="another session"):
        cpu.restore(snapshot)


def affine_of(session):
    f = tapml.upload(tapml.compile(tapml.parse(AFFINE), session))["main"]
    w = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    return lambda x: f(x, w, np.zeros(2, np.float32)).numpy(), w


@pytest.mark.parametrize("kind", ["cpu", "opencl", "remote"])
def test_threads_call_at_once(kind, request):
    call, w = affine_of(request.getfixturevalue(kind))
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((seed % 5 + 1, 3)).astype(np.float32)
        for _ in range(20):
            if not np.allclose(call(x), x @ w, rtol=1e-4, atol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_closing_while_others_call():
    """A late caller gets ClosedError; nothing crashes."""
    session = tapml.cpu()
    call, w = affine_of(session)
    outcomes = []

    def work():
        x = np.ones((64, 3), np.float32)
        try:
            while True:
                np.testing.assert_allclose(call(x), x @ w)
        except tapml.ClosedError:
            outcomes.append("closed")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    session.close()
    for thread in threads:
        thread.join()
    assert outcomes == ["closed"] * 4


def test_other_threads_run_during_long_work(cpu, demo):
    ticks = 0
    done = threading.Event()

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    tapml.compile(demo, cpu, cache=False)
    done.set()
    thread.join()
    assert ticks > 20


# A loop that would take hours.
FOREVER = """module

def main(x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  y: Tensor((4,), f32) = for i in range(1000000000000) (a: Tensor((4,), f32) = x) {
    b: Tensor((4,), f32) = add(a, a)
    yield b
  }
  return y
}
"""

INTERRUPTED = """
import sys, threading, time
import numpy as np, tapml
session = tapml.device(sys.argv[1])
f = tapml.upload(tapml.compile(tapml.parse(sys.argv[2]), session))["main"]
print("ready", flush=True)
try:
    f(np.zeros(4, np.float32)).numpy()
except KeyboardInterrupt:
    print("interrupted", flush=True)
again = tapml.upload(tapml.compile(tapml.parse(sys.argv[3]), session))["main"]
print(again(np.ones((1, 3), np.float32), np.ones((3, 2), np.float32),
            np.ones(2, np.float32)).tolist(), flush=True)
"""


@pytest.mark.parametrize("kind", ["cpu", "remote"])
def test_ctrl_c_ends_a_call(kind, server):
    target = "cpu" if kind == "cpu" else f"cpu@{server.place}"
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, target, FOREVER, AFFINE],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out == "interrupted\n[[4.0, 4.0]]\n", err
    assert process.returncode == 0


class Stall(threading.Thread):
    """A connection to a server that takes this many bytes from its client and then stalls."""

    def __init__(self, path, after):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.place = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.path, self.left = path, after
        self.stalled = threading.Event()
        self.start()

    def run(self):
        client, _ = self.listener.accept()
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.path)
        back = threading.Thread(target=self.pass_back, args=(server, client), daemon=True)
        back.start()
        while self.left > 0:
            data = client.recv(min(self.left, 65536))
            if not data:
                return
            server.sendall(data)
            self.left -= len(data)
        self.stalled.set()
        back.join()

    def pass_back(self, server, client):
        while data := server.recv(65536):
            try:
                client.sendall(data)
            except OSError:
                return


def packs_badly():
    """64 MiB: zeros or ones would be compressed to a few bytes."""
    return np.random.default_rng(7).integers(0, 256, 64 << 20, np.uint8)


def test_requests_of_an_endpoint_have_a_time_limit(server):
    way = Stall(server.place.removeprefix("unix:"), 100_000)
    session = tapml.device(f"cpu@{way.place}", request_seconds=0.5)
    array = packs_badly()
    start = time.monotonic()
    with pytest.raises(tapml.TimeoutError):
        tapml.tensor(array, session)
    assert time.monotonic() - start < 3
    for wrong in (0, -1, float("nan"), 1e9):
        with pytest.raises(tapml.UserError, match="request_seconds"):
            tapml.device(f"cpu@{server.place}", request_seconds=wrong)


def test_ctrl_c_ends_an_upload(server):
    way = Stall(server.place.removeprefix("unix:"), 100_000)
    session = tapml.device(f"cpu@{way.place}")
    sent, array = [], packs_badly()

    def interrupt():
        way.stalled.wait(20)
        time.sleep(0.2)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        tapml.tensor(array, session)
    assert time.monotonic() - sent[0] < 1


def test_interpreter_exits_with_everything_open():
    program = """
import numpy as np, tapml, sys
session = tapml.cpu()
x = np.zeros(8, np.float32)
t = tapml.tensor(x, session)
view = t.numpy()
kept = np.from_dlpack(tapml.tensor(np.arange(9), session, copy=True))
library = tapml.upload(tapml.compile(tapml.parse(sys.argv[1]), session))
f = library["main"]
"""
    done = subprocess.run([sys.executable, "-c", program, AFFINE], capture_output=True, text=True,
                          timeout=120, env=os.environ)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_remote_endpoint_is_carved_remotely(cpu, remote, server, tmp_path):
    """The model's VM runs beside the device; the suite equals that of a local run."""
    folders = []
    for name, session in (("here", cpu), ("there", remote)):
        suite = tapml.carve(DEMO, session, prompt="In the beginning", max_tokens=2, calls=1)
        suite.save(str(tmp_path / name))
        files = {path.relative_to(tmp_path / name): path.read_bytes()
                 for path in (tmp_path / name).rglob("*") if path.is_file()}
        index = files[pathlib.Path("suite.json")].decode()
        files[pathlib.Path("suite.json")] = index.replace(f"@{server.place}", "").encode()
        folders.append(files)
    assert folders[0] == folders[1]
    assert len(folders[0]) > 20
