"""Encoders: vectors of texts, and the top-down commands."""
import json
import os
import subprocess

import numpy as np
import pytest

import tapml
from conftest import DEMO


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys")
    found = subprocess.run([os.environ["TAPML_TOY_PACKAGES"], str(folder)], check=True,
                           capture_output=True, text=True)
    texts = json.loads(found.stdout)["texts"]
    return folder / "bert", texts, np.fromfile(folder / "bert/rows", np.float32).reshape(len(texts), -1)


def test_vectors(made, cpu, remote):
    folder, texts, expected = made
    model = tapml.LanguageModel.load(folder)
    assert model.is_encoder
    for device in (cpu, remote):
        vectors = model.embedder(device).embed(texts)
        assert vectors.dtype == np.float32 and vectors.shape == expected.shape
        assert np.abs(vectors - expected).max() < 1e-4
    embedder = model.embedder(cpu)
    assert np.array_equal(embedder.embed([model.encode(texts[1])]), embedder.embed(texts[1:2]))
    plain = tapml.LanguageModel.load(folder, pooling="cls", normalize=False).embedder(cpu).embed(texts)
    assert not np.allclose(np.linalg.norm(plain, axis=1), 1, atol=0.1)


def test_the_commands(made, cpu, opencl):
    folder, texts, _ = made
    model = tapml.LanguageModel.load(folder)
    suite = tapml.carve(model, cpu, prompt=texts)
    assert suite.complete and not suite.untested
    assert tapml.replay(suite, cpu, in_process=True).passed
    migrated = tapml.migrate(model, cpu, opencl, texts, in_process=True)
    assert migrated.verdict == "PASS" and migrated.target_ran
    assert migrated.to_dict()["whole_model"]["cosine_distance"] < 1e-6
    found = tapml.localize(folder, cpu, cpu, texts[0], in_process=True, shrink_seconds=0,
                           inject_fault="attention:dropped-tail")
    assert len(found.culprits) == 1 and "attention" in found.culprits[0].kernel


def test_refusals(made, cpu):
    folder, texts, _ = made
    model = tapml.LanguageModel.load(folder)
    demo = tapml.LanguageModel.load(DEMO)
    assert not demo.is_encoder
    for run, match in ((lambda: model.engine(cpu), "encoder"),
                       (lambda: demo.embedder(cpu), "not an encoder"),
                       (lambda: model.embedder(cpu).embed([]), "no text"),
                       (lambda: model.embedder(cpu).embed([[1] * 41]), "longer"),
                       (lambda: tapml.migrate(model, cpu, cpu, []), "no text"),
                       (lambda: tapml.migrate(demo, cpu, cpu, ["a", "b"]), "one prompt"),
                       (lambda: tapml.carve(model, cpu, prompt=[[999]]), "outside the vocabulary")):
        with pytest.raises(tapml.UserError, match=match):
            run()
