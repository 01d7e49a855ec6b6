"""Fixtures of the tests of the Python package. TAPML_PROGRAM names the program."""
import os
import pathlib
import subprocess

import pytest

import tapml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = str(ROOT / "models" / "demo")

AFFINE = """module

def main(x: Tensor((n, 3), f32), w: Tensor((3, 2), f32), b: Tensor((2,), f32)) -> Tensor((n, 2), f32) {
  dataflow {
    product: Tensor((n, 2), f32) = matmul(x, w)
    y: Tensor((n, 2), f32) = add(product, b)
    output y
  }
  return y
}
"""


@pytest.fixture(scope="session")
def cpu():
    with tapml.cpu() as session:
        yield session


@pytest.fixture(scope="session")
def opencl():
    with tapml.opencl() as session:
        yield session


class Server:
    """`tapml rpc serve` on a Unix socket."""

    def __init__(self, folder, *options):
        self.place = f"unix:{folder / 'socket'}"
        self.process = subprocess.Popen(
            [os.environ["TAPML_PROGRAM"], "rpc", "serve", "--listen", self.place, *options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout.readline().startswith("serving at ")

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.process.stdout.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.end()


@pytest.fixture(scope="session")
def remote(server):
    with tapml.cpu(at=server.place) as session:
        yield session


@pytest.fixture(scope="session")
def demo():
    return tapml.LanguageModel.load(DEMO)


@pytest.fixture(scope="session")
def demo_suite(demo, cpu, tmp_path_factory):
    """A suite of the demo model on disk: one call of each kernel with the same sizes."""
    folder = tmp_path_factory.mktemp("suite") / "demo"
    tapml.carve(demo, cpu, prompt="In the beginning", max_tokens=2, calls=1).save(str(folder))
    return folder
