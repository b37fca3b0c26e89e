"""Perception: what is going on, in topics and keywords, for the next prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.continuity import content_tokens
from harness.fingerprint import digest
from harness.judge import ParseFailure
from harness.mechanisms import Perception
from harness.roles._reply import BOOLEAN, NUMBER, TEXT, TEXTS, read
from harness.stages import Now, Stage, Ties
from harness.trace import Turn

_FIELDS = {
    "topics": (TEXTS, True),
    "keywords": (TEXTS, False),
    "summary": (TEXT, True),
    "confidence": (NUMBER, True),
    "changed": (BOOLEAN, False),
}
#: Triggers that update at once.
AT_ONCE = ("loop_switch", "forced", "spin_detected")
PROMPT = (
    "Say what this agent is working on now. Answer with one JSON object: topics (list of texts), "
    "keywords (list of texts), summary (one line), confidence (0 to 1), changed (boolean)."
)


@dataclass(frozen=True, slots=True)
class Perceived:
    """What is known about what is going on; readable from hooks.

    ``updated_at_ms`` is loop time; ``previous_hash`` that of the topics before.
    """

    topics: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    summary: str = ""
    confidence: float = 0.0
    changed: bool = False
    epoch: int = 0
    last_trigger: str | None = None
    updated_at_ms: int | None = None
    topics_hash: str = ""
    previous_hash: str = ""


class PerceptionStage(Stage):
    """Updates after actions, on verification, when forced, on spin and when the loop switches."""

    name = "perception"

    def __init__(self, settings: Perception, ties: Ties) -> None:
        self._settings = settings
        self._ties = ties
        self._seen = ""
        self._loop: str | None = None
        self.state = Perceived()

    def run(self, now: Now) -> None:
        trigger, reason = self._trigger(now)
        if trigger == "loop_switch":
            self.state = Perceived(epoch=self.state.epoch + 1, last_trigger=trigger)
            now.note(self.name, "reset", trigger, reason)
        elapsed = now.elapsed_ms
        skipped = None if trigger in AT_ONCE else self._throttled(now.turn, elapsed)
        if skipped:
            now.note(self.name, "skip", trigger, skipped)
            return
        reply = now.ask("perception", PROMPT, self._settings.model)
        if reply is None:
            now.note(self.name, "abstain", trigger, "no recorded reply")
            return
        self._seen = _doing(now.turn)
        try:
            self._update(read(reply, _FIELDS), trigger, elapsed)
        except ParseFailure as failure:
            now.note(self.name, "parse_failure", trigger, str(failure))
            return
        now.note(self.name, "run", trigger, reason, self.state.summary)
        now.orders.sections.append(self._section())

    def _trigger(self, now: Now) -> tuple[str, str]:
        loop = now.turn.loop
        if loop is not None and loop != self._loop:
            before, self._loop = self._loop, loop
            if before is not None or now.number == 1:
                return "loop_switch", f"{before or 'start'} -> {loop}"
        if now.number == 1 and self._ties.init_perception:
            return "loop_switch", self._ties.init_perception
        if now.spinning:
            return "spin_detected", "the spin layers found a loop"
        if now.force_perception:
            return "forced", now.force_perception
        if now.verified_now:
            return "verification", "after a verification"
        return "post_action", "after the turn's actions"

    def _throttled(self, turn: Turn, elapsed: int) -> str | None:
        last = self.state.updated_at_ms
        if last is None:
            return None
        since = elapsed - last
        if since >= self._settings.max_interval_s * 1000:
            return None
        if since < self._settings.min_interval_s * 1000:
            return f"updated {since / 1000:g} s ago"
        return "topics unchanged" if _doing(turn) == self._seen else None

    def _update(self, data: dict[str, object], trigger: str, elapsed: int) -> None:
        topics = tuple(str(t) for t in data["topics"])  # type: ignore[attr-defined]
        hashed = digest("topics", *sorted(topics))
        self.state = Perceived(
            topics=topics,
            keywords=tuple(str(k) for k in data.get("keywords", ())),  # type: ignore[attr-defined]
            summary=str(data["summary"]),
            confidence=float(data["confidence"]),  # type: ignore[arg-type]
            changed=hashed != self.state.topics_hash,
            epoch=self.state.epoch + (hashed != self.state.topics_hash),
            last_trigger=trigger,
            updated_at_ms=elapsed,
            topics_hash=hashed,
            previous_hash=self.state.topics_hash,
        )

    def _section(self) -> str:
        tag = f"perception-{self._ties.nonce}"
        lines = [f"<{tag}>", f"Topics: {', '.join(self.state.topics)}", self.state.summary]
        if self._ties.capabilities:
            best = rank(self._ties.capabilities, (*self.state.topics, *self.state.keywords))
            lines.append(f"Capabilities, best first: {', '.join(best)}")
        return "\n".join([*lines, f"</{tag}>"])


def rank(capabilities: Sequence[str], words: Sequence[str]) -> list[str]:
    """Capabilities by how many content tokens they share with ``words``; ties keep their order."""
    wanted = content_tokens(" ".join(words))
    return sorted(capabilities, key=lambda name: -len(content_tokens(name) & wanted))


def _doing(turn: Turn) -> str:
    """What the turn did, loosely: the kinds of its calls, else its words."""
    tools = sorted({call.tool for call in turn.calls})
    return digest("doing", *tools) if tools else digest("said", turn.reply.text)
