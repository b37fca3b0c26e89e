"""Steps in the making: what a log of events tells in order, as the steps of a scenario."""

from __future__ import annotations

import json
from typing import Any

from harness.importers._base import SCHEMA
from harness.text import mended


class Steps:
    """Takes the events of one run in order.

    Time stamps are of the moment an event was there. So a reply took as long as since the event
    before it, a call as long as from its request to its result, and a person's message came after
    idle time.

    Attributes:
        goal: The first thing a person said, unless it was set before.
        steps: As a scenario has them.
        at: When the newest event was there, in ms.
    """

    def __init__(self, goal: str | None = None) -> None:
        self.goal = goal
        self.steps: list[dict[str, Any]] = []
        self._before: list[tuple[str, str]] = []
        self._interrupted = False
        self._idle = 0
        self.at: int | None = None
        self._open: dict[str, tuple[dict[str, Any], int | None]] = {}

    def said(self, text: str, at: int | None = None) -> None:
        """A person's message; the first is the goal."""
        if self.steps:
            self._idle += self._gap(at) or 0
        self.passed(at)
        if self.goal is None:
            self.goal = text
        elif self.steps or text != self.goal:
            self._before.append(("user", text))

    def nudged(self, text: str, at: int | None = None) -> None:
        """A message of the framework."""
        self._before.append(("nudge", text))
        self.passed(at)

    def interrupted(self, at: int | None = None) -> None:
        """A person cut the agent off."""
        self._interrupted = True
        self.passed(at)

    def passed(self, at: int | None) -> None:
        """Something happened that is no part of a step."""
        if at is not None and (self.at is None or at > self.at):
            self.at = at

    def replied(self, reply: dict[str, Any], at: int | None = None) -> dict[str, Any]:
        """A reply of the model begins a step, which is returned."""
        step: dict[str, Any] = {}
        for kind in ("user", "nudge"):
            if texts := [text for key, text in self._before if key == kind]:
                step[kind] = "\n\n".join(texts)
        if self._interrupted and self.steps:
            step["interrupted"] = True
        if self._idle:
            step["idle_ms"] = self._idle
        gap = self._gap(at)
        if "ms" not in reply and gap is not None:
            reply["ms"] = gap
        if reply:
            step["reply"] = reply
        self._before, self._interrupted, self._idle = [], False, 0
        self.passed(at)
        self.steps.append(step)
        return step

    def called(
        self, call_id: str | None, call: dict[str, Any], at: int | None = None
    ) -> dict[str, Any]:
        """A call of the newest step, or of one of its own where there is none."""
        if not self.steps:
            self.replied({}, at)
        self.steps[-1].setdefault("calls", []).append(call)
        self.waits(call_id, call, at)
        return call

    def waits(self, call_id: str | None, call: dict[str, Any], at: int | None = None) -> None:
        """A call that stands in its step already waits for its result."""
        if call_id is not None:
            self._open[call_id] = (call, at)
        self.passed(at)

    def answered(self, call_id: str | None, result: dict[str, Any], at: int | None = None) -> bool:
        """What came back from a call (``result``, ``ok``, ``exit_code``, ``ms``), by its id.

        Returns:
            Whether a call with that id was open.
        """
        call, since = self._open.pop(call_id, (None, None)) if call_id is not None else (None, None)
        if call is not None:
            # What failed before it was carried out stays so, and a time that is known is kept.
            kept = {"ok": False} if call.get("ok") is False else {}
            call.update({**result, **kept, **({"ms": call["ms"]} if "ms" in call else {})})
            if "ms" not in call and at is not None and since is not None and at >= since:
                call["ms"] = at - since
        self.passed(at)
        return call is not None

    def tools(self) -> list[str]:
        """The names that were called."""
        return sorted({call["tool"] for step in self.steps for call in step.get("calls", ())})

    def _gap(self, at: int | None) -> int | None:
        return None if at is None or self.at is None or at < self.at else at - self.at


def arguments(raw: Any) -> dict[str, Any]:
    """Arguments of a call, as a scenario has them: what is no JSON object makes a failed call."""
    value = raw
    if isinstance(raw, str):
        try:
            value = mended(json.loads(raw)) if raw.strip() else {}
        except (ValueError, RecursionError):
            value = raw
    if value is None or value == {}:
        return {}
    try:
        json.dumps(value, allow_nan=False)  # Python reads NaN and 1e999, which no JSON can hold
    except (ValueError, RecursionError):
        value = "no JSON"
    if isinstance(value, dict):
        return {"args": value}
    return {"args": {"unparsed": raw if isinstance(raw, str) else value}, "ok": False}


def joined(content: Any) -> str:
    """The text of a content: itself, or of its parts; other parts by their kind."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    texts = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            text = part.get("text")
            kind = part.get("type")
            texts.append(text if isinstance(text, str) else f"[{kind or 'part'}]")
    return "\n".join(texts)


def plain_model(name: str) -> str:
    """A model's name without the vendors before it (``openrouter/google/...``)."""
    return name.rpartition("/")[2]


def recording(
    name: str, title: str, source: str, found: Steps, recorded: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """A scenario of these steps; ``tools`` are the names that were called unless given."""
    tools = more.pop("tools", None) or found.tools()
    made = {
        "schema": SCHEMA,
        "id": name,
        "title": title,
        "source": source,
        "goal": found.goal or "",
        "steps": found.steps,
        **more,
    }
    if tools:
        made["tools"] = tools
    if recorded:
        made["recorded"] = recorded
    return made
