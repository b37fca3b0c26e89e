"""Inner pytest runs: a user's project with scenarios and presets, tried as the user would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

#: Improves twice, then hardly: with `min_delta` 0.02 it stagnates in iteration 4.
DRAFT = """\
# The draft stops improving.
schema: harness/scenario@1
id: mine/draft
goal: Write the release note.
tags: [drafts]
steps:
  - {reply: {text: one}, score: 0.5}
  - {reply: {text: two}, score: 0.7}
  - {reply: {text: three}, score: 0.71}   # hardly better
  - {reply: {text: four}, score: 0.715}
  - {reply: {text: five}, score: 0.716}
expect:
  mine: {exit_reason: stagnation, iteration: 4}  # two small gains
"""
PRESET = """\
schema = "harness/preset@1"
[guards]
max_rounds = 9
stagnation = { window = 2, min_delta = 0.02 }
"""


class Project:
    """A user's project: files, and pytest called in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def write(self, name: str, text: str) -> Path:
        """A file with its folders."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def read(self, name: str) -> str:
        return (self.path / name).read_text("utf-8")

    def loosen(self, min_delta: float) -> None:
        """Change the threshold that everything here hangs on."""
        self.write("presets/mine.toml", PRESET.replace("0.02", str(min_delta)))

    def run(self, *options: str) -> pytest.RunResult:
        """Pytest in this process."""
        return self.pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)


def line(name: str, *scores: float, expect: dict | None = None, **more) -> str:
    """One line of a ``.jsonl`` file: a loop with these scores."""
    steps = [{"reply": {"text": f"{name} {n}"}, "score": s} for n, s in enumerate(scores)]
    head = {"schema": "harness/scenario@1", "id": name, "goal": "Do it.", "steps": steps}
    return json.dumps(head | ({"expect": expect} if expect else {}) | more) + "\n"
