"""Carving, replaying and migrating from Python."""
import numpy as np
import pytest

import tapml
from conftest import AFFINE, DEMO


def test_generation(demo, cpu):
    engine = demo.engine(cpu)
    seen = []
    result = engine.generate("In the beginning", max_tokens=6, logits=True,
                             on_token=lambda token, text: seen.append((token, text)))
    assert result.text == " of the world, and the"[: len(result.text)] and len(result.tokens) == 6
    assert [token for token, _ in seen] == result.tokens and result.stop_reason == "max_tokens"
    assert demo.decode(result.tokens) == result.text
    assert result.prompt_tokens == demo.encode("In the beginning")
    rows = len(result.prompt_tokens) + len(result.tokens) - 1
    assert result.logits.shape[0] == rows
    assert result.logits[-1].argmax() == result.tokens[-1]

    def stop(token, text):
        raise KeyError(token)

    with pytest.raises(KeyError):
        engine.generate("In the beginning", on_token=stop)
    with pytest.raises(tapml.UserError):
        engine.generate("")
    assert engine.generate("In the beginning", max_tokens=6).tokens == result.tokens


def test_carving_a_module(cpu, tmp_path):
    random = np.random.default_rng(3)
    w, b = (random.standard_normal(shape).astype(np.float32) for shape in ((3, 2), (2,)))
    runs = [(random.standard_normal((n, 3)).astype(np.float32), w, b) for n in (2, 5)]
    suite = tapml.carve(tapml.parse(AFFINE), cpu, inputs=runs)
    assert len(suite) == 2 and len(suite.kernels) == 1 and suite.source == "cpu"
    kernel = suite.kernels[0]
    assert sorted(kernel.modes) == ["in", "in", "in", "out"] and "matmul" in kernel.spec
    for call, (x, _, _) in zip(suite.calls, runs):
        assert call.kernel == kernel.name and call.function == "main"
        assert any(array.shape == x.shape and (array == x).all() for array in call.inputs.values())
        (out,) = call.outputs.values()
        np.testing.assert_allclose(out, x @ w + b, rtol=1e-5)
    suite.save(str(tmp_path / "suite"))
    again = tapml.Suite.load(str(tmp_path / "suite"))
    assert [call.kernel for call in again.calls] == [call.kernel for call in suite.calls]
    twice = tapml.carve(tapml.parse(AFFINE), cpu, inputs=[runs[0], *runs])
    assert [call.times for call in twice.calls] == [2, 1], "the same call is one test"


def test_replay_on_another_device(demo_suite, opencl, remote):
    suite = tapml.Suite.load(str(demo_suite))
    name = next(kernel.name for kernel in suite.kernels if "rms_norm" in kernel.name)
    for device in (opencl, remote):
        (verdict,) = tapml.replay(suite, device, kernel=name)
        assert verdict.passed and verdict.kernel == name and verdict.layers
        assert 0 <= verdict.max_abs <= verdict.allowed and verdict.to_dict()["kernel"] == name
    with pytest.raises(tapml.UserError, match="no such kernel"):
        tapml.replay(suite, opencl, kernel="nothing")
    with pytest.raises(tapml.UserError, match="no such call"):
        tapml.Replayer(suite, opencl).call(10**6)


def test_migration(demo, cpu, opencl, tmp_path):
    steps = []
    result = tapml.migrate(demo, cpu, opencl, "In the beginning", max_tokens=4,
                           progress=lambda step, done, total: steps.append(step))
    assert result.passed and result.target_ran and result.culprits == ()
    assert result.first_divergence is None
    assert result.source_text == result.target_text == demo.decode(result.source_tokens)
    assert {step.outcome for step in result.steps} == {"migrated"} and steps
    assert result.to_dict()["passed"]
    result.save_report(str(tmp_path / "report"))
    assert "<html" in (tmp_path / "report" / "report.html").read_text()


def test_migration_with_a_planted_bug(demo_suite, cpu, opencl):
    kernels = tapml.Suite.load(str(demo_suite)).kernels
    name = next(kernel.name for kernel in kernels if kernel.name.startswith("slice_"))
    result = tapml.migrate(DEMO, cpu, opencl, "In the beginning", max_tokens=2,
                           plant=f"{name}:dropped-tail")
    assert not result.passed and len(result.culprits) == 1
    (step,) = [step for step in result.steps if not step.migrated]
    assert step.kernel == result.culprits[0] == name and step.outcome == "differs"
    assert not step.verdict.passed and step.verdict.max_abs > step.verdict.allowed
    assert "differs" in str(step.verdict)


def test_progress_may_raise(demo, cpu, opencl):
    def stop(step, done, total):
        raise StopIteration(step)

    with pytest.raises(StopIteration):
        tapml.migrate(demo, cpu, opencl, "In the beginning", progress=stop)
