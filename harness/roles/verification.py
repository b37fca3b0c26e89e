"""The verification gate: a verifier that looks at the evidence now and then."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from harness.exits import ExitReason
from harness.judge import ParseFailure, extract
from harness.mechanisms import Verification
from harness.roles._reply import BOOLEAN, COUNT, TEXT, TEXTS, read
from harness.stages import Now, Stage
from harness.verdicts import Condition

_FIELDS = {
    "satisfied": (BOOLEAN, True),
    "reasoning": (TEXT, True),
    "output_files": (TEXTS, False),
    "evidence": (TEXTS, False),
    "next_movements": (TEXTS, False),
    "completed_task_index": (COUNT, False),
}
#: The agent's own action that asks for a verification.
REQUEST_TOOL = "request_verification"
PROMPT = (
    "Is the goal reached, by the evidence? Answer with one JSON object: satisfied (boolean), "
    "reasoning (text), output_files, evidence, next_movements (lists of texts), evidence_ops (list "
    "of {op: add|remove, item}), completed_task_index (number)."
)


class VerificationStage(Stage):
    """Asks the verifier now (a handler or the agent asks), maybe (throttled), or by watchdog."""

    name = "verification"

    def __init__(self, settings: Verification, waiting_tools: Collection[str] = ()) -> None:
        self._settings = settings
        self._waiting_tools = waiting_tools
        self._iterations = 0
        self._last_ms = 0
        self._last_maybe_ms = 0
        self._tokens: int | None = None
        self._evidence: dict[str, None] = {}

    def run(self, now: Now) -> None:
        self._iterations += 1
        elapsed = now.elapsed_ms
        due = self._due(now, elapsed)
        self._last_maybe_ms = elapsed
        if due is None:
            now.note(self.name, "skip", "maybe", "no throttle is due")
            return
        trigger, reason = due
        self._iterations = 0
        self._last_ms = now.elapsed_ms
        self._tokens = _prompt_tokens(now)
        reply = now.ask("verifier", PROMPT, self._settings.model)
        if reply is None:
            now.note(self.name, "abstain", trigger, "no recorded reply")
            return
        self._last_ms = now.elapsed_ms
        now.verified_now = True
        try:
            data = read(reply, _FIELDS)
            self._collect(data, _operations(reply))
        except ParseFailure as failure:
            now.note(self.name, "parse_failure", trigger, str(failure))
            return
        now.answered_end = True
        now.orders.movements = list(data.get("next_movements", ()))
        now.orders.evidence = list(self._evidence)
        satisfied = data["satisfied"]
        now.note(self.name, "run", trigger, reason, "satisfied" if satisfied else "not satisfied")
        if satisfied:
            now.conditions.append(Condition("verified", self.name, ExitReason.VERIFIED, "stop"))

    def _due(self, now: Now, elapsed: int) -> tuple[str, str] | None:
        handler = now.turn.handler or {}
        if handler.get("verify"):
            return "now", handler["verify"]
        if any(call.tool == REQUEST_TOOL for call in now.turn.calls):
            return "request", "the agent asked for it"
        if now.own_end:
            return "request", "the agent declared the end"
        quiet = elapsed - self._last_maybe_ms - self._waited(now)
        if quiet >= self._settings.watchdog_s * 1000:
            return "watchdog", f"{quiet / 1000:g} s since the last look"
        if self._iterations >= self._settings.every:
            return "maybe", f"{self._iterations} iterations"
        since = elapsed - self._last_ms
        if since >= self._settings.after_s * 1000:
            return "maybe", f"{since / 1000:g} s"
        tokens, before = _prompt_tokens(now), self._tokens
        if tokens is not None and before is not None:
            if abs(tokens - before) > self._settings.token_change:
                return "maybe", f"prompt tokens {before} -> {tokens}"
        elif before is None:
            self._tokens = tokens
        return None

    def _waited(self, now: Now) -> int:
        """Time in which a tool that is declared as waiting ran: the watchdog rests."""
        waits = (call.ms or 0 for call in now.turn.calls if call.tool in self._waiting_tools)
        return max(waits, default=0)

    def _collect(self, data: dict[str, Any], operations: list[tuple[str, str]]) -> None:
        self._evidence.update(dict.fromkeys(data.get("evidence", ())))
        for operation, item in operations:
            if operation == "add":
                self._evidence[item] = None
            else:
                self._evidence.pop(item, None)


def _operations(reply: str) -> list[tuple[str, str]]:
    value = extract(reply).get("evidence_ops")
    if value is None:
        return []
    if not isinstance(value, list):
        raise ParseFailure("'evidence_ops' is no list")
    found = []
    for item in value:
        fits = (
            isinstance(item, dict)
            and item.get("op") in ("add", "remove")
            and isinstance(item.get("item"), str)
        )
        if not fits:
            raise ParseFailure("an evidence operation needs op (add, remove) and item")
        found.append((item["op"], item["item"]))
    return found


def _prompt_tokens(now: Now) -> int | None:
    usage = now.turn.reply.usage
    return None if usage is None else usage.input_all
