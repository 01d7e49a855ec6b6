"""`tapml serve` with the `openai` package: what it sends is served, and what is served it reads.

Run by `make test-torch`, whose environment has the package. TAPML_PROGRAM is the program.
"""

import contextlib
import json
import os
import pathlib
import subprocess

import openai
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
QUESTION = [{"role": "user", "content": "Emma was"}]


@contextlib.contextmanager
def served(*options):
    command = [os.environ["TAPML_PROGRAM"], "serve", ROOT / "models/demo", "--listen", "127.0.0.1:0", *options]
    server = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    address = server.stdout.readline().removeprefix("serving at ").strip()
    assert address, "the server did not start"
    yield openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0)
    server.terminate()
    assert server.wait(20) == 0


@pytest.fixture(scope="module")
def client():
    with served("--chat-template", ROOT / "examples/chat/plain.jinja") as one:
        yield one


def test_models(client):
    assert [model.id for model in client.models.list()] == ["demo"]
    assert client.models.retrieve("demo").id == "demo"


def test_a_stream_has_the_text_of_the_whole_answer(client):
    options = {"model": "demo", "messages": QUESTION, "max_tokens": 20, "temperature": 0}
    whole = client.chat.completions.create(**options)
    assert whole.usage.completion_tokens == 20 and whole.choices[0].finish_reason == "length"
    pieces = list(client.chat.completions.create(**options, stream=True, stream_options={"include_usage": True}))
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices) == \
        whole.choices[0].message.content
    assert pieces[-1].usage == whole.usage.model_copy(update={
        "prompt_tokens_details": pieces[-1].usage.prompt_tokens_details})


def test_choices_probabilities_and_bias(client):
    answer = client.chat.completions.create(model="demo", messages=QUESTION, max_tokens=4, n=3, seed=1, logprobs=True,
                                            top_logprobs=2)
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    for choice in answer.choices:
        assert "".join(token.token for token in choice.logprobs.content) == choice.message.content
        assert all(len(token.top_logprobs) == 2 for token in choice.logprobs.content)
    first = client.completions.create(model="demo", prompt="Emma was", max_tokens=1, temperature=0, logprobs=1)
    same = client.completions.create(model="demo", prompt=["Emma was", "Emma was"], max_tokens=1, temperature=0)
    assert [choice.text for choice in same.choices] == 2 * [first.choices[0].text]


def test_a_schema_constrains_an_answer(client):
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 10},
                                               "rich": {"type": "boolean"}},
              "required": ["name", "rich"], "additionalProperties": False}
    answer = client.chat.completions.create(
        model="demo", messages=QUESTION, temperature=1.2, seed=3,
        response_format={"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": schema}})
    person = json.loads(answer.choices[0].message.content)
    assert set(person) == {"name", "rich"} and isinstance(person["rich"], bool)
    assert answer.choices[0].finish_reason == "stop"


def test_a_call_that_must_be_made(tmp_path):
    template = tmp_path / "tools.jinja"
    template.write_text("{% if tools %}<tool_call></tool_call> {{ tools | tojson }}{% endif %}"
                        "{% for message in messages %}{{ message.content }}{% endfor %}")
    tools = [{"type": "function", "function": {"name": "age_of", "parameters": {
        "type": "object", "properties": {"years": {"enum": [20, 21]}}, "required": ["years"],
        "additionalProperties": False}}}]
    with served("--chat-template", template) as client:
        answer = client.chat.completions.create(model="demo", messages=QUESTION, tools=tools, max_tokens=200,
                                                tool_choice="required", parallel_tool_calls=False)
    [call] = answer.choices[0].message.tool_calls
    assert call.function.name == "age_of" and json.loads(call.function.arguments)["years"] in (20, 21)


def test_errors_are_the_packages(client):
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="other", messages=QUESTION)
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as long:
        client.chat.completions.create(model="demo", messages=[{"role": "user", "content": "was " * 1000}])
    assert long.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as wrong:
        client.chat.completions.create(model="demo", messages=QUESTION, temperature=-1)
    assert wrong.value.param == "temperature"


def test_speculation_changes_no_answer(client):
    template = ("--chat-template", ROOT / "examples/chat/plain.jinja")
    options = [{"temperature": 0}, {"temperature": 0.8, "seed": 3, "stop": ["e "]}, {"temperature": 0.8, "seed": 4, "n": 2}]

    def answers(one):
        made = [one.chat.completions.create(model="demo", messages=QUESTION, max_tokens=24, **more) for more in options]
        return [[(choice.message.content, choice.finish_reason) for choice in answer.choices] for answer in made]
    with served(*template, "--draft", ROOT / "models/demo", "--keep-draft") as drafted:
        assert answers(drafted) == answers(client)
    with served(*template, "--lookup", "2", "--keep-draft") as looked_up:
        assert answers(looked_up) == answers(client)
