"""Carving, replaying and migrating from Python."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import warnings

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
    with pytest.raises(tapml.Error, match="/proc/suite"):
        suite.save("/proc/suite")
    suite.save(str(tmp_path / "suite"))
    again = tapml.Suite.load(str(tmp_path / "suite"))
    assert [call.kernel for call in again.calls] == [call.kernel for call in suite.calls]
    twice = tapml.carve(tapml.parse(AFFINE), cpu, inputs=[runs[0], *runs])
    assert [call.times for call in twice.calls] == [2, 1], "the same call is one test"


def test_untested_kernels_are_not_proven(demo, cpu, opencl, tmp_path):
    prompt = tapml.carve(demo, cpu, prompt="In the beginning", decode=0, calls=1, as_run=True)
    assert prompt.complete and prompt.reason == "" and prompt.untested
    replayed = tapml.replay(prompt, opencl, junit=tmp_path / "junit.xml")
    assert all(one.passed for one in replayed) and not replayed.passed
    assert replayed.verdict == "NOT PROVEN" and replayed.untested == prompt.untested
    assert replayed.line.startswith(f"NOT PROVEN {len(replayed)} of ")
    assert 'name="coverage"' in (tmp_path / "junit.xml").read_text()
    name = replayed[0].kernel
    one = tapml.replay(prompt, opencl, kernel=name)
    assert one.verdict == "PASS" and one.line == f"PASS 1 of 1 kernel, {one[0].calls} call"
    decoded = tapml.carve(demo, cpu, prompt="In the beginning", decode=1, calls=1, as_run=True)
    assert decoded.untested == () and tapml.replay(decoded, cpu).verdict == "PASS"
    assert not any(call.added for call in decoded.calls)


def test_added_calls_test_decode_without_decode_steps(demo, cpu, opencl):
    suite = tapml.carve(demo, cpu, prompt="In the beginning", decode=0, calls=1)
    assert suite.untested == () and tapml.replay(suite, opencl).verdict == "PASS"
    added = [call for call in suite.calls if call.added]
    assert {call.function for call in added} == {"prefill", "decode", "sample"}
    with tapml.cpu(threads=1) as other:
        moved = tapml.migrate(demo, cpu, other, "In the beginning", validation_tokens=0,
                              max_tokens=2, in_process=True)
        assert moved.verdict == "PASS" and moved.passed and moved.untested == ()
        found = tapml.localize(demo, cpu, other, "In the beginning", max_tokens=0, shrink_seconds=0,
                               in_process=True)
        assert found.verdict == "PASS" and not found.found and found.untested == ()


def test_an_incomplete_suite_is_marked(demo_suite, cpu, tmp_path):
    folder = tmp_path / "part"
    tapml.Suite.load(demo_suite).save(folder)
    text = (folder / "suite.json").read_text()
    text = text.replace('"complete": true', '"complete": false', 1)
    (folder / "suite.json").write_text(text.replace('"reason": ""', '"reason": "interrupted"', 1))
    suite = tapml.Suite.load(folder)
    assert not suite.complete and suite.reason == "interrupted" and "incomplete" in repr(suite)
    replayed = tapml.replay(suite, cpu)
    assert replayed.verdict == "NOT PROVEN" and all(one.passed for one in replayed)


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


def test_kernels_are_found_by_prefix_and_pattern(demo_suite, cpu):
    suite = tapml.Suite.load(str(demo_suite))
    norms = tuple(kernel.name for kernel in suite.kernels if kernel.name.startswith("rms_norm"))
    assert norms and suite.find_kernels("rms_norm") == suite.find_kernels("rms_*") == norms
    assert suite.find_kernels(norms[0]) == norms[:1]
    replayed = tapml.replay(suite, cpu, kernel="rms_norm")
    assert tuple(verdict.kernel for verdict in replayed) == norms and replayed.passed
    with pytest.raises(tapml.UserError, match=f"did you mean '{norms[0]}'"):
        suite.find_kernels("rmsnorm")
    with pytest.raises(tapml.UserError, match="several kernels"):
        tapml.replayer(suite, cpu).kernel("*")


def test_a_platform_is_not_migrated_to_itself_unnoticed(demo, cpu):
    with pytest.warns(tapml.Warning, match="the same platform"):
        tapml.migrate(demo, cpu, tapml.cpu(), "In", max_tokens=1, validation_tokens=0)


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


def test_migration_with_an_injected_fault(demo_suite, cpu, opencl):
    kernels = tapml.Suite.load(str(demo_suite)).kernels
    name = next(kernel.name for kernel in kernels if kernel.name.startswith("slice_"))
    result = tapml.migrate(DEMO, cpu, opencl, "In the beginning", max_tokens=2,
                           inject_fault=f"{name}:dropped-tail")
    assert not result.passed and len(result.culprits) == 1
    (step,) = [step for step in result.steps if not step.migrated]
    assert step.kernel == result.culprits[0] == name and step.outcome == "mismatch"
    assert not step.verdict.passed and step.verdict.max_abs > step.verdict.allowed
    assert "mismatch" in str(step.verdict)


def test_migration_to_several_devices(demo, demo_suite, cpu, opencl, tmp_path):
    kernels = tapml.Suite.load(str(demo_suite)).kernels
    name = next(kernel.name for kernel in kernels if kernel.name.startswith("slice_"))
    with tapml.cpu(threads=1) as other:
        steps = []
        arguments = dict(max_tokens=2, validation_tokens=1, state=tmp_path / "state")
        both = tapml.migrate(demo, cpu, [opencl, other], "In the beginning",
                             inject_fault=f"{other.target}/{name}:dropped-tail",
                             report=tmp_path / "report", junit=tmp_path / "junit.xml",
                             progress=lambda step, done, total: steps.append(step), **arguments)
        assert isinstance(both, tapml.Migrations) and not both.passed and steps.count("carve") == 1
        right, wrong = both.targets
        assert right.passed and right.error is None and right.target == "opencl"
        assert wrong.culprits == (name,) and not wrong.target_ran
        assert both.outcomes[name] == {"opencl": "migrated", other.target: "mismatch"}
        assert set(both.outcomes) == {step.kernel for step in right.steps}
        document = both.to_dict()
        assert [one["target"] for one in document["targets"]] == ["opencl", other.target]
        assert both.seconds >= max(one.seconds for one in both.targets)
        folder = "cpu-threads=1"
        for page in ["report.html", "opencl/report.html", f"{folder}/report.html",
                     f"{folder}/{name}/suite/suite.json"]:
            assert (tmp_path / "report" / page).exists(), page
        assert "../report.html" in (tmp_path / "report" / folder / "report.html").read_text()
        assert (tmp_path / "junit.xml").read_text().count("<testsuite ") == 2
        # One target alone: its page has no links to others, and its state is separate.
        right.save_report(str(tmp_path / "alone"))
        assert "../report.html" not in (tmp_path / "alone" / "report.html").read_text()
        again = tapml.migrate(demo, cpu, opencl, "In the beginning",
                              **{**arguments, "state": tmp_path / "state" / "opencl"})
        assert isinstance(again, tapml.Migration) and again.resumed == len(again.steps)
        with pytest.raises(tapml.UserError, match="twice"):
            tapml.migrate(demo, cpu, [opencl, opencl], "In the beginning")
        with pytest.raises(tapml.UserError, match="TARGET/KERNEL:KIND"):
            tapml.migrate(demo, cpu, (opencl, other), "In the beginning",
                          inject_fault=f"vulkan/{name}:dropped-tail")
    with pytest.raises(tapml.UserError, match="there is no target device"):
        tapml.migrate(demo, cpu, [], "In the beginning")


def test_migration_layer_by_layer(demo, cpu, opencl, tmp_path):
    result = tapml.migrate(demo, cpu, opencl, "In the beginning", max_tokens=2, validation_tokens=1,
                           granularity="layer-by-layer", report=tmp_path / "report")
    assert result.passed and all(step.migrated for step in result.steps)
    names = [layer.layer for layer in result.layers]
    assert names[:3] == ["model.embed_tokens", "model.layers.0", "model.layers.1"]
    assert "lm_head" in names and isinstance(result.layers[0], tapml.LayerStep)
    calls = [layer.dispatched for layer in result.layers]
    assert calls == sorted(calls) and calls[0] > 0
    for layer in result.layers:
        assert layer.left == () and layer.tried and layer.kernels and layer.max_abs <= layer.bound
    assert [one["layer"] for one in result.to_dict()["layers"]] == names
    assert "Layer by layer" in (tmp_path / "report" / "report.html").read_text()
    with pytest.raises(tapml.UserError, match="layer-by-layer"):
        tapml.migrate(demo, cpu, opencl, "In", granularity=["layer-by-layer", "kernel"])


def test_progress_may_raise(demo, cpu, opencl):
    def stop(step, done, total):
        raise StopIteration(step)

    with pytest.raises(StopIteration):
        tapml.migrate(demo, cpu, opencl, "In the beginning", progress=stop)


def test_sampling_is_carved(cpu):
    suite = tapml.carve(DEMO, cpu, prompt="In the beginning", decode=1, temperature=0.9, top_k=40,
                        seed=3)
    assert sum(kernel.name.startswith("draw_token") for kernel in suite.kernels) == 1
    assert {call.function for call in suite.calls} == {"prefill", "decode", "draw"}
    with pytest.raises(tapml.UserError, match="top-p"):
        tapml.carve(DEMO, cpu, prompt="In the beginning", temperature=1, top_p=2)


def test_contents_of_a_carve(demo, cpu, tmp_path):
    whole = tapml.carve(demo, cpu, prompt="In the beginning", decode=1)
    assert {call.function for call in whole.calls} == {"prefill", "decode", "sample"}
    small = tapml.carve(DEMO, cpu, prompt="In the beginning", decode=1, budget="300K",
                        weights="reference")
    assert whole.weights == () and "lm_head.weight" in small.weights
    assert all(kernel.dropped == 0 for kernel in whole.kernels)
    assert sum(kernel.dropped for kernel in small.kernels) > 0
    assert [kernel.name for kernel in small.kernels] == [kernel.name for kernel in whole.kernels]
    small.save(str(tmp_path / "small"))
    again = tapml.Suite.load(str(tmp_path / "small"))
    assert again.weights == small.weights and len(again) == len(small)
    norm = next(call for call in again.calls if call.kernel.startswith("rms_norm"))
    weight = norm.inputs["weight"]  # bf16, as bits since NumPy has no such dtype
    assert weight.shape == (192,) and weight.dtype.itemsize == 2
    for arguments, text in [({"budget": "much"}, "size"), ({"budget": -1}, "budget"),
                            ({"weights": "elsewhere"}, "unknown"), ({"decode": -1}, "steps"),
                            ({"quantize": "q4f32"}, "already loaded"),
                            ({"inputs": [[1]]}, "while it continues a text")]:
        with pytest.raises(tapml.UserError, match=text):
            tapml.carve(demo, cpu, prompt="In the beginning", **arguments)


def test_batches_and_edge_cases(demo, cpu):
    suite = tapml.carve(demo, cpu, prompt=["In the beginning", "And God said to"], decode=1, batch=2,
                        edge=True)
    assert "edge" in {call.function for call in suite.calls}
    decoded = [call for call in suite.calls
               if call.function == "decode" and call.kernel.startswith("paged_attention")]
    assert {next(iter(call.outputs.values())).shape[0] for call in decoded if not call.added} == {2}
    assert all(verdict.passed for verdict in tapml.replay(suite, cpu))
    with pytest.raises(tapml.UserError, match="batch"):
        tapml.carve(demo, cpu, prompt="In the beginning", batch=0)


def test_paths_are_text_or_path_objects(cpu, demo_suite, tmp_path):
    tapml.Suite.load(demo_suite).save(tmp_path / "suite")
    assert tapml.Suite.load(str(tmp_path / "suite")).kernels
    for wrong in (b"suite", 3, None):
        with pytest.raises(TypeError, match="PathLike"):
            tapml.Suite.load(wrong)


def test_quantized_models(cpu, tmp_path):
    model = tapml.LanguageModel.load(DEMO, quantize="q4f32")
    assert model.quantize == "q4f32"
    suite = tapml.carve(model, cpu, prompt="In the beginning", decode=0, calls=1)
    assert any("dequantize" in kernel.name for kernel in suite.kernels)
    with pytest.raises(tapml.UserError, match="q4f32"):
        tapml.LanguageModel.load(DEMO, quantize="q5")
    rules = "q3f32m,lm_head.weight=q8f16,*.k_proj.*=none"
    mixed = tapml.LanguageModel.load(DEMO, quantize=rules)
    assert mixed.quantize == rules
    layer = "model.layers.0.self_attn."
    assert {"lm_head.weight.packed", layer + "k_proj.weight", layer + "q_proj.weight.minimums"} <= set(mixed.weights)
    both = tapml.LanguageModel.load(DEMO, quantize="q4f32", quantize_activations="int8")
    names = [kernel.name for kernel in tapml.carve(both, cpu, prompt="In", decode=0, calls=1).kernels]
    assert any(name.startswith("quantize_") for name in names)
    with pytest.raises(tapml.UserError, match="--quantize-activations"):
        tapml.LanguageModel.load(DEMO, quantize_activations="int8")
    referring = tapml.carve(model, cpu, prompt="In the beginning", decode=0, calls=1,
                            weights="reference")
    referring.save(tmp_path / "suite")
    assert all(verdict.passed for verdict in tapml.replay(tapml.Suite.load(tmp_path / "suite"), cpu))


def skeleton(suite, kernel):
    return subprocess.run(
        [os.environ["TAPML_PROGRAM"], "kernel", "skeleton", str(suite), kernel, "--target", "cpu"],
        capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("fault, failed, words", [
    ("r < *(volatile int *)8", "crash", "SIGSEGV"),
    ("({ for (volatile int i = 0; i < 1;) {} 1; })", "timeout", "0.5 s"),
])
def test_kernels_that_crash_or_hang_are_verdicts(demo_suite, cpu, tmp_path, fault, failed, words):
    suite = tapml.Suite.load(str(demo_suite))
    name, other = [kernel.name for kernel in suite.kernels if kernel.name.startswith("rms_norm")][:2]
    source = skeleton(demo_suite, name)
    assert "r < 192" in source
    (tmp_path / "norm.c").write_text(source.replace("r < 192", fault))
    tests = tapml.replayer(suite, cpu, custom_kernels=tmp_path, kernel_timeout=0.5)
    verdict = tests.kernel(name)
    assert not verdict.passed
    assert verdict.to_dict()["failed"] == failed and words in verdict.to_dict()["failure"]
    index = next(call.index for call in suite.calls if call.kernel == name)
    assert tests.call(index).to_dict()["failed"] == failed
    assert tests.kernel(other).passed
    with pytest.raises(tapml.UserError, match="kernel_timeout"):
        tapml.replayer(suite, cpu, kernel_timeout=0)


def marked_processes(mark):
    """Processes that were started with TAPML_TEST_MARK=mark, and their descendants."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if f"TAPML_TEST_MARK={mark}".encode() in variables:
            found.append(int(folder.name))
    return found


def test_a_kernel_that_never_ends_ends_with_its_program(demo_suite, tmp_path):
    suite = tapml.Suite.load(str(demo_suite))
    name = next(kernel.name for kernel in suite.kernels if kernel.name.startswith("rms_norm"))
    hang = skeleton(demo_suite, name).replace(
        "r < 192", "({ for (volatile int i = 0; i < 1;) {} 1; })")
    (tmp_path / "norm.c").write_text(hang)
    program = f"""
import tapml
tests = tapml.replayer({str(demo_suite)!r}, tapml.cpu(), custom_kernels={str(tmp_path)!r}, only={name!r},
                       kernel_timeout=1000)
print("ready", flush=True)
tests.kernel({name!r})
"""
    mark = str(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                               env={**os.environ, "TAPML_TEST_MARK": mark})
    try:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(1)
        assert len(marked_processes(mark)) == 3, "the program, the server and its session"
    finally:
        process.kill()
        process.wait()
    until = time.monotonic() + 20
    while marked_processes(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert marked_processes(mark) == []


def test_replay_with_tolerances_and_custom_kernels(demo_suite, cpu, tmp_path):
    suite = tapml.Suite.load(str(demo_suite))
    name = next(kernel.name for kernel in suite.kernels if kernel.name.startswith("rms_norm"))
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    source = skeleton(demo_suite, name)
    (kernels / "norm.c").write_text(source)
    (verdict,) = tapml.replay(suite, cpu, kernel=name, custom_kernels=kernels)
    assert verdict.passed and verdict.provider.startswith("user:") and not verdict.tolerated
    assert "r < 192" in source
    (kernels / "norm.c").write_text(source.replace("r < 192", "r < 190"))
    (wrong,) = tapml.replay(suite, cpu, kernel=name, custom_kernels=kernels, report=tmp_path / "wrong")
    again = f"tapml replay '{suite.folder}' --target '{cpu.target}' --kernel '{name}' --custom-kernels '{kernels}'"
    assert f"<pre>{again}</pre>" in (tmp_path / "wrong/report.html").read_text()
    assert not wrong.passed and wrong.max_abs > wrong.allowed
    loose = tmp_path / "loose.json"
    loose.write_text(json.dumps({"tolerances": [
        {"kernel": "rms_norm_*", "absolute": 10, "reason": "a test"}]}))
    (verdict,) = tapml.replay(demo_suite, cpu, kernel=name, custom_kernels=kernels, tolerance=loose,
                              junit=tmp_path / "junit.xml", markdown=tmp_path / "summary.md",
                              report=tmp_path / "report")
    assert name in (tmp_path / "report/report.html").read_text()
    report = json.loads((tmp_path / "report/report.json").read_text())
    assert report["passed"] and [row["kernel"] for row in report["speed"]["kernels"]] == [name]
    assert verdict.passed and verdict.tolerated
    assert verdict.to_dict()["tolerance"]["reason"] == "a test"
    assert "<testsuite" in (tmp_path / "junit.xml").read_text()
    assert name.replace("_", "\\_") in (tmp_path / "summary.md").read_text()
    (kernels / "norm.c").write_text(source.replace("#include <math.h>", "nonsense(;"))
    with pytest.raises(tapml.UserError, match="nonsense|compile"):
        tapml.replay(suite, cpu, kernel=name, custom_kernels=kernels)
    with pytest.warns(tapml.Warning, match="applies to no kernel"):
        tapml.replay(suite, cpu, kernel=name,
                     tolerance=[{"kernel": "nothing_*", "factor": 2, "reason": "a test"}])
    with pytest.raises(tapml.UserError, match="reason"):
        tapml.replay(suite, cpu, kernel=name, tolerance=[{"kernel": "rms_norm_*", "factor": 2}])
    with pytest.raises(tapml.UserError, match="cannot be read"):
        tapml.replay(suite, cpu, kernel=name, tolerance=tmp_path / "nothing.json")


def test_random_tokens_of_a_quantized_model_are_warned_of(demo, cpu):
    model = tapml.LanguageModel.load(demo.folder, quantize="q4f32")
    tokens = model.encode("In the beginning")
    with warnings.catch_warnings():
        warnings.simplefilter("error", tapml.Warning)
        tapml.carve(model, cpu, prompt=["In the beginning", tokens], max_tokens=1, calls=1)
        tapml.carve(demo, cpu, prompt=[tokens[::-1]], max_tokens=1, calls=1)
    with pytest.warns(tapml.Warning, match="prompt 1 has token ids that no text gives.*q4f32"):
        tapml.carve(model, cpu, prompt=["In", [300, 301, 302, 303]], max_tokens=1, calls=1)


def test_migration_in_steps(demo, cpu, opencl, tmp_path):
    suite = tapml.carve(demo, cpu, prompt="In the beginning", decode=0, calls=1)
    name = next(kernel.name for kernel in suite.kernels if kernel.name.startswith("take_"))
    arguments = dict(max_tokens=2, validation_tokens=1, state=tmp_path / "state")
    first = tapml.migrate(demo, cpu, opencl, "In the beginning", stop_at_first=True,
                          inject_fault=f"{name}:dropped-tail", junit=tmp_path / "junit.xml", **arguments)
    assert first.culprits == (name,) and first.untried and first.resumed == 0
    assert "<skipped" in (tmp_path / "junit.xml").read_text()
    with pytest.raises(tapml.UserError, match="another"):
        tapml.migrate(demo, cpu, opencl, "And God said", **arguments)
    del arguments["state"]
    assert tapml.migrate(demo, cpu, opencl, "In the beginning", hybrid_every=0, **arguments).passed
    for wrong, text in [({"order": "alphabetical"}, "order"), ({"granularity": "=x"}, "group"),
                        ({"validation_tokens": -1}, "negative"), ({"hybrid_every": -1}, "negative")]:
        with pytest.raises(tapml.UserError, match=text):
            tapml.migrate(demo, cpu, opencl, "In the beginning", **wrong)


def test_localization(demo, demo_suite, cpu, opencl, tmp_path):
    kernels = tapml.Suite.load(str(demo_suite)).kernels
    name = next(kernel.name for kernel in kernels if kernel.name.startswith("slice_"))
    steps = []
    found = tapml.localize(demo, cpu, opencl, "In the beginning", suite=demo_suite, max_tokens=1,
                           repeats=2, shrink_seconds=5, inject_fault=f"{name}:dropped-tail",
                           report=tmp_path / "report", junit=tmp_path / "junit.xml",
                           progress=lambda step, done, total: steps.append(step))
    assert found.found and [one.kernel for one in found.culprits] == [name] and steps
    again = f"cd '{name}' &amp;&amp; tapml replay 'suite' --target '{opencl.target}' --inject-fault '{name}:dropped-tail'"
    assert f"<pre>{again}</pre>" in (tmp_path / "report/report.html").read_text()
    (culprit,) = found.culprits
    assert culprit.found_by == "replay" and culprit.failed_runs == culprit.runs == 2
    assert not culprit.verdict.passed and "prim def" in culprit.loops and "kernel" in culprit.code
    assert len(culprit.smallest) == 1 and tapml.replay(culprit.smallest, cpu)[0].passed
    assert found.to_dict()["culprits"] == [name] and name in str(culprit)
    assert {one.kernel for one in found.verdicts if not one.passed} == {name}
    assert (tmp_path / "report" / name / "README.md").exists()
    assert "failure" in (tmp_path / "junit.xml").read_text()
    with pytest.raises(tapml.UserError, match="out of range"):
        tapml.localize(demo, cpu, opencl, "In the beginning", repeats=0)


def test_evaluation(demo, cpu, opencl, tmp_path):
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"kind": "exact_match", "id": "e", "prompt": "And God", "answer": " said"}\n'
                     '{"kind": "perplexity", "text": "In the beginning"}\n'
                     '{"kind": "multiple_choice", "prompt": "And God", "choices": [" said", " xyz"],'
                     ' "answer": 0}\n')
    one, other = tapml.evaluate(demo, [cpu, opencl], tasks, reference=cpu)
    assert one.target == "cpu" and other.target == "opencl" and other.passed
    assert other.verdict == "PASS"
    assert one.tasks == 3 and one.scored == 2 and [task.id for task in one.results] == ["e", "2", "3"]
    assert one.results[2].choice == 0 and one.results[2].correct and one.results[1].correct is None
    assert one.kinds["perplexity"].correct is None
    assert one.nll == pytest.approx(other.nll, rel=1e-4)
    assert other.perplexity == pytest.approx(np.exp(other.nll))
    assert one.to_dict()["target"] == "cpu" and other.nll_off < 1e-3
    (alone,) = tapml.evaluate(DEMO, cpu, tasks, quantize="q4f32")
    assert alone.passed is None and alone.nll != one.nll
    tasks.write_text('{"kind": "program", "id": "p", "prompt": "text = r\'\'\'In the", '
                     '"test": "\'\'\'\\nassert text.startswith(\'In the\')"}\n')
    (writer,) = tapml.evaluate(demo, cpu, tasks, max_tokens=5)
    assert writer.correct == 1 and writer.kinds["program"].nll is None and writer.nll is None
    program = writer.results[0].program
    assert len(program.tokens) == 5 and program.message == "" and program.differs_at is None
    with tapml.null() as nothing:
        one, other = tapml.evaluate(demo, [nothing, cpu], tasks, reference=cpu, max_tokens=3)
    assert one.results[0].program.differs_at == 0 and one.results[0].program.margin == 0
    assert other.results[0].program.differs_at is None and other.passed
    with pytest.raises(tapml.AbsentError, match="no-such-python"):
        tapml.evaluate(demo, cpu, tasks, python="no-such-python")
    tasks.write_text('{"kind": "guess"}\n')
    with pytest.raises(tapml.UserError, match="tasks.jsonl:1"):
        tapml.evaluate(demo, cpu, tasks)


def test_profile(demo, cpu):
    steps = []
    found = tapml.profile(demo, cpu, "In the beginning", max_tokens=2,
                          progress=lambda step, done, total: steps.append(step))
    assert found.target == "cpu" and found.flops_per_s > 0 and found.bytes_per_s > 0
    assert found.seconds == pytest.approx(sum(one.seconds for one in found.kernels))
    assert found.seconds >= found.kernels[0].seconds >= found.kernels[-1].seconds
    assert {"prefill", "decode"} <= {name for one in found.kernels for name in one.functions}
    assert any(one.layers and one.exact and one.share_of_ceiling > 0 for one in found.kernels)
    assert "profile" in steps and found == tapml.Profile.from_dict(found.to_dict())
    with pytest.raises(tapml.UserError, match="negative"):
        tapml.profile(demo, cpu, "In the beginning", max_tokens=-1)


@pytest.mark.parametrize("work", ["migrate", "localize", "evaluate"])
def test_ctrl_c_ends_long_work(demo, cpu, opencl, tmp_path, work):
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"kind": "perplexity", "text": "In the beginning God created"}\n' * 5000)
    pressed = []

    def press(step, done, total):
        if not pressed:
            pressed.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
            pressed[0].start()

    with pytest.raises(KeyboardInterrupt):
        if work == "migrate":
            tapml.migrate(demo, cpu, opencl, "In the beginning", max_tokens=400, progress=press)
        elif work == "localize":
            tapml.localize(demo, cpu, opencl, "In the beginning", max_tokens=100, progress=press)
        else:
            tapml.evaluate(demo, cpu, tasks, progress=press)
    assert pressed[0].finished.is_set()
    assert len(demo.engine(cpu).generate("In the", max_tokens=2).tokens) == 2
