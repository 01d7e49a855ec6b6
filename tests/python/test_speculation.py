"""Speculative decoding from Python."""
import threading

import pytest

import tapml

PROMPT = "And God said, Let there be"


@pytest.fixture(scope="module")
def engine(demo, cpu):
    return demo.engine(cpu)


@pytest.fixture(scope="module")
def plain(engine):
    return engine.generate(PROMPT, max_tokens=24)


def test_plain_decoding_has_no_counts(plain):
    assert plain.speculation is None and len(plain.tokens) == 24


def test_lookup(engine, plain):
    found = engine.generate(PROMPT, max_tokens=24, lookup=2, keep_draft=True)
    assert found.tokens == plain.tokens
    counts = found.speculation
    assert counts.verify_steps + counts.plain_steps >= 1 and counts.stopped_after is None
    assert 0 <= counts.accepted <= counts.proposed


def test_draft_model(demo, cpu, opencl, engine, plain):
    for device in (cpu, opencl):
        draft = demo.engine(device)
        found = engine.generate(PROMPT, max_tokens=24, draft=draft, draft_tokens=3, keep_draft=True)
        assert found.tokens == plain.tokens
        # The same model proposes what the model chooses.
        assert found.speculation.acceptance == 1 and found.speculation.tokens_per_verify > 3
        assert "tokens accepted" in repr(found.speculation)
        # The draft is an engine like any other.
        assert draft.generate(PROMPT, max_tokens=24).tokens == plain.tokens


def test_each_the_draft_of_the_other(demo, cpu, engine, plain):
    other = demo.engine(cpu)
    found = {}

    def write(one, draft):
        found[one] = one.generate(PROMPT, max_tokens=24, draft=draft, keep_draft=True).tokens

    threads = [threading.Thread(target=write, args=pair)
               for pair in ((engine, other), (other, engine))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert list(found.values()) == [plain.tokens, plain.tokens]


def test_what_cannot_be(demo, cpu, engine):
    draft = demo.engine(cpu)
    for options, expected in (({"draft": engine}, "itself"), ({"draft": demo}, "no engine"),
                              ({"draft": draft, "lookup": 2}, "both"), ({"lookup": 65}, "lookup"),
                              ({"lookup": -1}, "lookup"),
                              ({"draft": draft, "draft_tokens": 0}, "tokens"),
                              ({"draft": draft, "draft_tokens": 65}, "tokens")):
        with pytest.raises(tapml.UserError, match=expected):
            engine.generate(PROMPT, **options)
    draft = None
    assert engine.generate(PROMPT, max_tokens=2).speculation is None


def test_a_closed_draft(demo, engine):
    device = tapml.device("cpu")
    draft = demo.engine(device)
    device.close()
    with pytest.raises(tapml.ClosedError):
        engine.generate(PROMPT, draft=draft)
