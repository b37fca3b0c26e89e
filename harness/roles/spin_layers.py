"""Spin in two layers: a run of equal action types, then a judge who reads the arguments."""

from __future__ import annotations

from harness.exits import ExitReason
from harness.judge import ParseFailure
from harness.mechanisms import SpinLayers
from harness.roles._reply import BOOLEAN, COUNT, TEXT, TEXTS, read
from harness.stages import Now, Stage
from harness.verdicts import Condition

_FIELDS = {
    "is_spinning": (BOOLEAN, True),
    "reason": (TEXT, True),
    "suggestions": (TEXTS, False),
    "next_actions": (TEXTS, False),
    "action_type": (TEXT, False),
    "consecutive_count": (COUNT, False),
}
#: How many of the last actions layer 2 reads.
ACTIONS_READ = 5
PROMPT = (
    "Is this agent spinning? The same tool with other arguments and other work is no loop; the "
    "same arguments are one; a slow change depends on progress. Answer with one JSON object: "
    "is_spinning (boolean), reason (text), suggestions, next_actions (lists of texts), action_type "
    "(text), consecutive_count (number)."
)


class SpinStage(Stage):
    """Warns on a spin; the warning that reaches the limit, over the whole episode, stops."""

    name = "spin_layers"

    def __init__(self, settings: SpinLayers) -> None:
        self._settings = settings
        self._kinds: list[str] = []
        self._arguments: list[tuple[str, str]] = []
        self.warnings = 0

    def run(self, now: Now) -> None:
        kind = now.turn.moves.get("action")
        arguments = now.turn.moves.get("args")
        if kind is None or arguments is None:
            return
        self._kinds = [*self._kinds, kind] if self._kinds[-1:] == [kind] else [kind]
        shown = "; ".join(f"{call.tool} {call.args}" for call in now.turn.calls)
        self._arguments = [*self._arguments, (arguments, shown)][-max(
            ACTIONS_READ, self._settings.run):]  # fmt: skip
        if len(self._kinds) < self._settings.run:
            return
        now.note(self.name, "layer_1", "run", f"{len(self._kinds)} equal action types in a row")
        spinning, reason, suggestions = self._layer_two(now)
        if not spinning:
            now.note(self.name, "no_spin", "layer_2", reason)
            return
        self.warnings += 1
        now.spinning = True
        now.warnings = self.warnings
        now.note(self.name, "warning", "layer_2", reason,
                 f"warning {self.warnings} of {self._settings.max_warnings}")  # fmt: skip
        lines = ["You are repeating yourself:", reason, *(f"- {s}" for s in suggestions)]
        now.orders.sections.append("\n".join(lines))
        last = self.warnings >= self._settings.max_warnings
        now.conditions.append(
            Condition(self.name, self.name, ExitReason.SPIN, "stop" if last else "warn")
        )

    def _layer_two(self, now: Now) -> tuple[bool, str, list[str]]:
        actions = [shown for _, shown in self._arguments[-ACTIONS_READ:]]
        reply = now.ask("spin_judge", "\n".join([PROMPT, *actions]), self._settings.model)
        if reply is not None:
            try:
                data = read(reply, _FIELDS)
                return data["is_spinning"], data["reason"], data.get("suggestions", [])
            except ParseFailure as failure:
                now.note(self.name, "parse_failure", "layer_2", str(failure))
        last = [arguments for arguments, _ in self._arguments[-self._settings.run :]]
        same = len(set(last)) == 1
        words = "the same arguments" if same else "other arguments"
        return same, f"no judge answered; by rule: {words} {len(last)} times in a row", []
