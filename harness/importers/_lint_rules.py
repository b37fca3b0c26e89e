"""The rules of the import lint: what can be odd about a recording, and about several.

A rule's docstring is its documentation. A rule about one recording answers with the place, empty
for the whole of it; ``None`` is nothing odd. A rule about several answers with their ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from statistics import median
from typing import Any

from harness.importers._rawfacts import RawFacts

#: Importers of spans give this tag where nothing of what was said and done was captured.
NO_CONTENT = "content:none"
#: No model answers with more tokens, or is asked with more, in one reply.
MOST_OUTPUT = 10_000_000
MOST_INPUT = 100_000_000
#: No tokens are so long, in characters; words of English have four to five.
_LONGEST_TOKEN = 20
#: Importers give this tag where a reply's tokens are a share of a total.
_SHARES = "spread:usage"
#: Two groups of times that are this far apart, with a gap between them, differ in their unit.
_THOUSANDFOLD = (300, 3_000)
_GAP = 100
_PARTS = ("calls", "output", "plan", "feedback", "judge", "writes", "user", "nudge", "roles")


@dataclass(frozen=True, slots=True)
class Subject:
    """One recording to look at.

    Attributes:
        recording: As it is written.
        raw: Of the source's own record.
        importer: That read it.
        secrets: How many were taken out.
    """

    recording: dict[str, Any]
    raw: RawFacts
    importer: str
    secrets: int

    @property
    def steps(self) -> list[dict[str, Any]]:
        """Of the recording."""
        steps: list[dict[str, Any]] = self.recording["steps"]
        return steps

    def usages(self) -> Iterator[dict[str, int] | None]:
        """Tokens of each step's reply."""
        for step in self.steps:
            yield step.get("reply", {}).get("usage")


@dataclass(frozen=True, slots=True)
class Brief:
    """What is remembered of a recording.

    Attributes:
        id: Of the recording.
        importer: That read it.
        digest: Of goal and steps; empty where nothing was said or done.
        ms: Median time of its replies, where known.
        shares: It has scores between 0 and 1.
        points: It has scores above 10, up to 100.
    """

    id: str
    importer: str
    digest: bytes
    ms: float | None
    shares: bool
    points: bool


def brief(subject: Subject) -> Brief:
    """What rules about several recordings need of one."""
    recording, steps = subject.recording, subject.steps
    times = [step["reply"]["ms"] for step in steps if step.get("reply", {}).get("ms")]
    scores: list[float] = []
    if recording.get("direction") != "lower" and "score_scale" not in recording:
        scores = [s["score"] for s in steps if isinstance(s.get("score"), int | float)]
    spoken = any(step.get("calls") or step.get("output") or _text(step) for step in steps)
    content = json.dumps([recording.get("goal"), steps], sort_keys=True).encode()
    return Brief(
        id=recording["id"],
        importer=subject.importer,
        digest=blake2b(content, digest_size=12).digest() if spoken else b"",
        ms=median(times) if times else None,
        shares=any(0 < score < 1 for score in scores),
        points=any(10 < score <= 100 for score in scores),
    )


def _text(step: dict[str, Any]) -> str:
    text: str = step.get("reply", {}).get("text", "")
    return text


def _spoken(usage: dict[str, int]) -> int:
    return usage.get("output", 0) + usage.get("reasoning", 0)


def _first(odd: Iterable[bool]) -> str | None:
    return next((f"step {number}" for number, one in enumerate(odd, 1) if one), None)


def no_content(subject: Subject) -> str | None:
    """No text, no arguments and no results were captured, so that guards cannot compare them."""
    return "" if NO_CONTENT in subject.recording.get("tags", ()) else None


def no_usage(subject: Subject) -> str | None:
    """No reply tells its tokens, so that budgets of tokens and cost cannot be tried on it."""
    return "" if all(usage is None for usage in subject.usages()) else None


def usage_in_part(subject: Subject) -> str | None:
    """Some replies tell their tokens and others do not, so that sums are lower bounds."""
    known = [usage is not None for usage in subject.usages()]
    return _first(not one for one in known) if any(known) else None


def zero_usage(subject: Subject) -> str | None:
    """A reply has a text and 0 output tokens: the source writes 0 for "unknown"."""
    pairs = zip(subject.steps, subject.usages(), strict=True)
    return _first(bool(_text(s)) and u is not None and not _spoken(u) for s, u in pairs)


def low_usage(subject: Subject) -> str | None:
    """A reply has a text of more than 20 characters for each output token it tells."""
    if _SHARES in subject.recording.get("tags", ()):
        return None
    pairs = zip(subject.steps, subject.usages(), strict=True)
    return _first(0 < _spoken(u or {}) * _LONGEST_TOKEN < len(_text(s)) for s, u in pairs)


def huge_usage(subject: Subject) -> str | None:
    """A reply has more than 10 million output tokens, or 100 million input tokens."""
    known = ((u, _spoken(u)) if u else ({}, 0) for u in subject.usages())
    return _first(out > MOST_OUTPUT or sum(u.values()) - out > MOST_INPUT for u, out in known)


def time_backwards(subject: Subject) -> str | None:
    """A message of the source's record is earlier than the one before it."""
    return f"({subject.raw.backwards} times)" if subject.raw.backwards else None


def repeated_record(subject: Subject) -> str | None:
    """A message or step of the source's record has the id of one before it."""
    return f"({subject.raw.repeated} times)" if subject.raw.repeated else None


def crash_scored(subject: Subject) -> str | None:
    """A step that failed has the score 0 while others have more, so that 0 is no measurement."""
    scores = [_score(step) for step in subject.steps]
    pairs = zip(subject.steps, scores, strict=True)
    return _first(score == 0 and _failed(step) for step, score in pairs) if any(scores) else None


def _score(step: dict[str, Any]) -> float | None:
    score = step.get("score")
    return score["passed"] if isinstance(score, dict) else score


def _failed(step: dict[str, Any]) -> bool:
    calls = step.get("calls") or ()
    failed = [call.get("ok") is False or call.get("exit_code", 0) != 0 for call in calls]
    return "error" in step.get("reply", {}) or (bool(failed) and all(failed))


def empty_goal(subject: Subject) -> str | None:
    """There is no goal, so that what asks whether it is reached cannot be tried on it."""
    return None if (subject.recording.get("goal") or "").strip() else ""


def empty_step(subject: Subject) -> str | None:
    """A step holds nothing: no text, no call, no output, no score, no error."""
    return _first(
        not _text(step)
        and "error" not in step.get("reply", {})
        and "score" not in step
        and not any(step.get(part) for part in _PARTS)
        for step in subject.steps
    )


def secrets(subject: Subject) -> str | None:
    """Keys, tokens or passwords stood in it; placeholders stand there now."""
    return f"({subject.secrets} times)" if subject.secrets else None


def duplicate(briefs: Sequence[Brief]) -> list[str]:
    """A recording has the same goal, replies, calls and results as one before it."""
    seen: dict[bytes, str] = {}
    found = []
    for one in briefs:
        if one.digest in seen:
            found.append(f"{one.id} (as {seen[one.digest]})")
        elif one.digest:
            seen[one.digest] = one.id
    return found


def time_unit(briefs: Sequence[Brief]) -> list[str]:
    """Replies take about 1,000 times as long as in other recordings of the source."""
    found: list[str] = []
    for own in _by_importer(briefs):
        times = sorted((one.ms, one.id) for one in own if one.ms is not None)
        # Two on either side at least: one that stands alone is only slow.
        jumps = [(times[n][0] / times[n - 1][0], n) for n in range(2, len(times) - 1)]
        jump, at = max(jumps, default=(0.0, 0))
        if jump < _GAP:
            continue
        short, long = times[:at], times[at:]
        apart = median(ms for ms, _ in long) / median(ms for ms, _ in short)
        if _THOUSANDFOLD[0] <= apart <= _THOUSANDFOLD[1]:
            found += [name for _, name in min(short, long, key=len)]
    return found


def score_scale(briefs: Sequence[Brief]) -> list[str]:
    """Some scores of the source are shares (0 to 1) and others are points (to 100)."""
    found: list[str] = []
    for own in _by_importer(briefs):
        shares = [one.id for one in own if one.shares and not one.points]
        points = [one.id for one in own if one.points and not one.shares]
        found += [one.id for one in own if one.shares and one.points]
        if shares and points:
            found += shares if len(shares) < len(points) else points
    return found


def _by_importer(briefs: Sequence[Brief]) -> Iterator[list[Brief]]:
    for importer in dict.fromkeys(one.importer for one in briefs):
        yield [one for one in briefs if one.importer == importer]
