#!/usr/bin/env python3
"""Writes what transformers makes of chat templates.

  templates/templates.json      the templates of templates_source.py, by name
  templates/conversations.json  its conversations, by name
  templates/chats.jsonl         apply_chat_template of each template on each conversation: template, conversation,
                                text, or null where it raises an exception
  templates/constructs.jsonl    short templates (template_constructs.py) in the environment of transformers: template,
                                text or null

The clock of strftime_now is at TIME, in UTC.
Usage: make_templates.py [--published | --archives FILE...]     Needs transformers and jinja2.
  --published  takes the templates of published models that the packages axolotl and trl contain instead (pip downloads
               them), which are not stored here: for a copy of this folder
  --archives   the same for the .jinja files of any wheels or source archives
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

import template_constructs
import templates_source

HERE = pathlib.Path(__file__).resolve().parent / "templates"
TIME = 1736942400  # 15 January 2025, 12:00
PACKAGES = ["axolotl==0.19.0", "trl==1.16.0"]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(TIME, tz)


def write_lines(name, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (HERE / name).write_text(text, encoding="utf-8")


def in_archive(path):
    """The .jinja files of a wheel or a source archive, by name."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name).decode("utf-8") for name in archive.namelist() if name.endswith(".jinja")}
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read().decode("utf-8")
                for member in archive.getmembers() if member.name.endswith(".jinja")}


def in_packages():
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, *PACKAGES]
        subprocess.run(command, check=True)
        return {name: text for path in sorted(pathlib.Path(folder).glob("*.whl")) for name, text in in_archive(path).items()}


def chats(templates):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(BPE()), **TOKENS)
    for name, template in templates.items():
        for conversation, chat in templates_source.CONVERSATIONS.items():
            try:
                text = tokenizer.apply_chat_template(
                    chat["messages"],
                    tools=chat.get("tools"),
                    documents=chat.get("documents"),
                    chat_template=template,
                    tokenize=False,
                    add_generation_prompt=chat.get("add_generation_prompt", True),
                    **chat.get("variables", {}),
                )
            except Exception:
                text = None
            yield {"template": name, "conversation": conversation, "text": text}


def constructs():
    for template in template_constructs.TEMPLATES:
        try:
            text = chat_template_utils._compile_jinja_template(template).render(**template_constructs.VARIABLES)
            text.encode("utf-8")  # a lone surrogate is an error
        except Exception:
            text = None
        yield {"template": template, "text": text}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--archives", nargs="+", type=pathlib.Path, default=[])
    options = parser.parse_args()
    templates = in_packages() if options.published else templates_source.TEMPLATES
    if options.archives:
        templates = {name: text for path in options.archives for name, text in in_archive(path).items()}
    os.environ["TZ"] = "UTC"
    time.tzset()
    chat_template_utils.datetime = Clock
    HERE.mkdir(exist_ok=True)
    files = {"templates.json": templates, "conversations.json": templates_source.CONVERSATIONS,
             "variables.json": template_constructs.VARIABLES}
    for name, value in files.items():
        (HERE / name).write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    rows = list(chats(templates))
    write_lines("chats.jsonl", rows)
    short = list(constructs())
    write_lines("constructs.jsonl", short)
    print(f"{len(rows)} chats, {sum(row['text'] is None for row in rows)} refused; "
          f"{len(short)} constructs, {sum(row['text'] is None for row in short)} refused")


if __name__ == "__main__":
    main()
