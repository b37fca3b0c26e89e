"""Builders for examples of mechanisms: presets of them alone, and what they noted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from harness.episode import Episode
from harness.guards import Guard
from harness.llm import ScriptedLLM
from harness.mechanisms import Mechanisms
from harness.preset import Preset
from harness.session import Session
from tests.examples import call, run, scenario, turns


def under(guards: dict[str, Guard] | None = None, **mechanisms: Any) -> Preset:
    """A preset of these mechanisms; ``{}`` takes a mechanism's defaults."""
    on = Mechanisms.model_validate(mechanisms)
    return Preset("example", "", observe=False, guards=guards or {}, mechanisms=on)


def replay(steps: Sequence[dict[str, Any]], *, guards: Any = None, **more: Any) -> Episode:
    """Replay steps under mechanisms; what is no mechanism is a field of the scenario."""
    on = {k: more.pop(k) for k in list(more) if k in Mechanisms.model_fields}
    return run(steps, under(guards, **on), **more)


def noted(episode: Episode, mechanism: str) -> list[tuple[int, str, str | None]]:
    """Iteration, event and trigger of everything that a mechanism noted."""
    return [
        (iteration.number, event.event, event.trigger)
        for iteration in episode.iterations
        for event in iteration.events
        if event.mechanism == mechanism
    ]


def asked(episode: Episode, role: str) -> list[int]:
    """The iterations in which a role was asked and answered."""
    return [i.number for i in episode.iterations for r in i.replies if r.role == role]


def end(episode: Episode) -> tuple[str, int]:
    """Exit reason and iteration."""
    return str(episode.exit_reason), episode.exit_iteration


def judged(done: bool = False, evidence: Sequence[str] = ("a.md",), **more: Any) -> str:
    """A judge's reply."""
    return json.dumps({"done": done, "reason": "r", "evidence": list(evidence)} | more)


def perceived(*topics: str, **more: Any) -> str:
    """A reply of the role ``perception``."""
    data = {"topics": list(topics), "summary": f"On {', '.join(topics)}.", "confidence": 0.8}
    return json.dumps(data | more)


def verified(satisfied: bool, **more: Any) -> str:
    """A reply of the role ``verifier``."""
    return json.dumps({"satisfied": satisfied, "reasoning": "r"} | more)


def live(
    replies: dict[str, list[Any]], guards: Any = None, task: dict[str, Any] | None = None, **on: Any
) -> Session:
    """A session whose roles answer from a script, as a live loop would hold it."""
    of = scenario([{"reply": {"text": ""}}], **task or {})
    return Session(of, under(guards, **on), ScriptedLLM(replies), nonce="n0", has_tools=True)


def feed(session: Session, steps: Sequence[dict[str, Any]], **fields: Any) -> list[str]:
    """Take the steps in; the names of the decisions."""
    return [session.step(turn).name for turn in turns(steps, **fields)]


#: A step that reads; a phase that wants one file, two phases; what a judge says of them.
READ = call("read", {"path": "a"}, "text")
FILE = {"id": "f", "kind": "file_exists", "path": "a.md"}
ONE = [{"id": "p", "checks": [FILE]}]
TWO = [*ONE, {"id": "q", "checks": [{"id": "g", "kind": "file_exists", "path": "b.md"}]}]
DONE = judged(True, phase_done=True, score=0.9)
NOT_YET = judged(phase_done=False, score=0.5)
