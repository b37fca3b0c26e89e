"""Reflection: thinking about the last action, on five levels; only the upper three ask a model."""

from __future__ import annotations

import json

from harness.judge import ParseFailure
from harness.mechanisms import Reflection
from harness.roles._reply import BOOLEAN, TEXT, TEXTS, read
from harness.stages import Now, Stage

LEVELS = ("none", "minimal", "standard", "deep", "critical")
_ASKING = LEVELS[2:]
_FIELDS = {
    "effective": (BOOLEAN, False),
    "what_changed": (TEXT, False),
    "change_strategy": (BOOLEAN, False),
    "suggestions": (TEXTS, True),
}
PROMPT = (
    "Reflect on the last action. Was it effective? What changed? Should the strategy change? "
    "Answer with one JSON object: effective, change_strategy (booleans), what_changed (text), "
    "suggestions (list of texts); or with the suggestions alone, one a line."
)


class ReflectionStage(Stage):
    """Chooses a level and, from standard on, asks for suggestions.

    Precedence: a level set by the handler, a failed action (critical), a key action (deep), a
    spin (standard), else minimal.
    """

    name = "reflection"

    def __init__(self, settings: Reflection) -> None:
        self._model = settings.model

    def run(self, now: Now) -> None:
        level, reason = _level(now)
        if level not in _ASKING:
            now.note(self.name, "skip" if level == "none" else "run", level, reason)
            return
        reply = now.ask("reflection", f"Level: {level}. {PROMPT}{_given(now)}", self._model)
        if reply is None:
            now.note(self.name, "abstain", level, "no recorded reply")
            return
        try:
            suggestions = _suggestions(reply)
        except ParseFailure as failure:
            now.note(self.name, "parse_failure", level, str(failure))
            return
        for suggestion in suggestions:
            now.note(self.name, "suggestion", level, reason, suggestion)
        now.note(self.name, "run", level, reason, f"{len(suggestions)} suggestions")
        now.orders.sections.append("\n".join(["Reflection:", *(f"- {s}" for s in suggestions)]))


def _level(now: Now) -> tuple[str, str]:
    handler = now.turn.handler or {}
    order = handler.get("reflection")
    if order:
        return order["level"], "set by the handler"
    calls = now.turn.calls
    if any(not call.ok for call in calls):
        return "critical", "an action failed"
    if any(call.key for call in calls):
        return "deep", "a key action"
    if now.spinning:
        return "standard", "the spin layers found a loop"
    return "minimal", "nothing special"


def _given(now: Now) -> str:
    """What the handler wants to be thought about."""
    order = (now.turn.handler or {}).get("reflection")
    return f"\n{json.dumps(order['data'], sort_keys=True)}" if order and order["data"] else ""


def _suggestions(reply: str) -> list[str]:
    if "{" in reply:
        data = read(reply, _FIELDS)
        found: list[str] = data["suggestions"]
        return found
    lines = [line.strip(" -*\t") for line in reply.splitlines()]
    return [line for line in lines if line]
