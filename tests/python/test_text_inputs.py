"""Features and embeddings: what the texts of some models have besides tokens."""
import json
import os
import subprocess

import numpy as np
import pytest

import tapml
from conftest import DEMO


class Toys:
    """Packages of models that take them, in whose prompts a byte is a token."""

    def __init__(self, folder):
        made = subprocess.run([os.environ["TAPML_TOY_PACKAGES"], str(folder)], check=True,
                              capture_output=True, text=True)
        self.expected = json.loads(made.stdout)
        assert self.expected["embeddings"] != self.expected["plain"]
        self.prompt = bytes(self.expected["prompt"]).decode()
        self.position = self.expected["position"]
        self.encoder = folder / "encoder/package"
        self.decoder = folder / "embeddings/package"
        self.features = np.fromfile(folder / "encoder/rows", np.float32).reshape(5, 7)
        self.rows = np.fromfile(folder / "embeddings/rows", np.float32).reshape(2, 12)


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    return Toys(tmp_path_factory.mktemp("toys"))


def tokens(model, device, prompt, **inputs):
    return model.engine(device).generate(prompt, max_tokens=6, **inputs).tokens


def test_features(toys, cpu, tmp_path):
    np.save(tmp_path / "features.npy", toys.features)
    expected = toys.expected["encoder"]
    for given in (toys.features, tmp_path / "features.npy", tapml.tensor(toys.features, cpu)):
        model = tapml.LanguageModel.load(toys.encoder, features=given)
        assert tokens(model, cpu, toys.prompt) == expected
    plain = tapml.LanguageModel.load(toys.encoder, features=np.zeros((5, 7), np.float32))
    assert tokens(plain, cpu, toys.prompt) != expected
    assert tokens(plain, cpu, toys.prompt, features=toys.features) == expected
    with pytest.raises(tapml.UserError, match="do not fit the model"):
        tokens(plain, cpu, toys.prompt, features=toys.features[:, 1:])


def test_embeddings(toys, cpu, remote, tmp_path):
    np.save(tmp_path / "image.npy", toys.rows)
    at, expected = toys.position, toys.expected["embeddings"]
    halves = [(toys.rows[1:], at + 1), (toys.rows[:1], at)]
    for given in ([(toys.rows, at)], [(tmp_path / "image.npy", at)], halves,
                  [(tapml.tensor(toys.rows, cpu), at)], ((toys.rows[None], np.int64(at)),)):
        model = tapml.LanguageModel.load(toys.decoder, embeddings=given)
        assert tokens(model, cpu, toys.prompt) == expected
    assert tokens(model, remote, toys.prompt) == expected


def test_each_text_may_have_its_own(toys, cpu):
    model = tapml.LanguageModel.load(toys.decoder)
    engine, image = model.engine(cpu), [(toys.rows, toys.position)]
    for given, name in ((None, "plain"), (image, "embeddings"), ([], "plain"), (None, "plain")):
        found = engine.generate(toys.prompt, max_tokens=6, embeddings=given)
        assert found.tokens == toys.expected[name], name
    always = tapml.LanguageModel.load(toys.decoder, embeddings=image).engine(cpu)
    for given, name in ((None, "embeddings"), ([], "plain"), (None, "embeddings")):
        found = always.generate(toys.prompt, max_tokens=6, embeddings=given)
        assert found.tokens == toys.expected[name], name


def test_the_commands_use_them(toys, cpu, tmp_path):
    np.save(tmp_path / "image.npy", toys.rows)
    model = tapml.LanguageModel.load(toys.decoder,
                                     embeddings=[(tmp_path / "image.npy", toys.position)])
    suite = tapml.carve(model, cpu, prompt=toys.prompt, max_tokens=2)
    assert tapml.replay(suite, cpu, in_process=True).passed
    assert any(np.array_equal(x.reshape(-1, 12), toys.rows)
               for call in suite.calls for x in call.inputs.values() if x.size == toys.rows.size)
    options = {"in_process": True, "max_tokens": 2}
    migrated = tapml.migrate(model, cpu, cpu, toys.prompt, validation_tokens=1, **options)
    assert migrated.passed and migrated.target_tokens == toys.expected["embeddings"][:2]
    assert not tapml.localize(model, cpu, cpu, toys.prompt, **options).culprits
    (tmp_path / "tasks.jsonl").write_text(
        json.dumps({"kind": "exact_match", "prompt": toys.prompt, "answer": "\x01"}) + "\n")
    scores = [tapml.evaluate(one, [cpu], tmp_path / "tasks.jsonl")[0].perplexity
              for one in (model, tapml.LanguageModel.load(toys.decoder))]
    assert scores[0] != scores[1]
    for run in (lambda: tapml.carve(model, cpu, prompt=[[1, 2]]),
                lambda: tapml.migrate(model, cpu, cpu, "\x01\x02", **options),
                lambda: model.engine(cpu).generate("\x01\x02")):
        with pytest.raises(tapml.UserError, match="the prompt ends before an embedding's position"):
            run()


def test_embeddings_that_do_not_fit(toys, cpu, tmp_path):
    def refused(embeddings, match, folder=toys.decoder):
        with pytest.raises(tapml.UserError, match=match):
            tapml.LanguageModel.load(folder, embeddings=embeddings).engine(cpu)
    for wrong in (toys.rows, [toys.rows], [(toys.rows,)], [(toys.rows, "2")], [(toys.rows, 2.0)],
                  "image.npy"):
        refused(wrong, "no embeddings with positions")
    refused([(toys.rows.astype(np.float64), 0)], "do not fit the model")
    refused([(toys.rows[:, :5], 0)], "do not fit the model")
    refused([(toys.rows, 0), (toys.rows, 1)], "same position")
    refused([(toys.rows, -1)], "outside the model's context")
    refused([(toys.rows, 1000)], "outside the model's context")
    refused([(tmp_path / "absent.npy", 0)], "absent.npy")
    refused([(tmp_path / "absent.npy", -1)], "no valid position")
    refused([(toys.rows, 0)], "takes no embeddings", DEMO)
