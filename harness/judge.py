"""The judge: what it is asked, and how strictly its reply is read.

Never fail open: a reply that breaks a rule of the format is a parse failure and decides nothing,
and a claim without evidence does not count.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from harness.text import mended
from harness.trace import Evaluation, Issue, Lesson

SYSTEM_PROMPT = """\
You judge whether an agent's work has reached its goal. Judge by evidence only: output of
commands, files, test results that you can name. The agent's bare claim that it is finished is no
evidence. Answer with one JSON object and nothing else:
done, phase_done (booleans), score (0 to 1), progress (none, some, major), reason (text),
evidence (list of texts), next_action (continue, pause), failure_type (text or null),
issues (list of {description, severity: minor|serious|critical, fixable}),
feedback ({should_record, mistake_pattern, avoid_next_time, suggested_next_strategy}).
done, reason and evidence are required, and phase_done where the task has phases."""

_FENCE = re.compile(r"```[a-zA-Z0-9_-]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_PROGRESS = ("none", "some", "major")
_NEXT = ("continue", "pause")
_SEVERITY = ("minor", "serious", "critical")
#: Evidence that only repeats the claim.
_CLAIM = re.compile(
    r"^\W*(?:(?:i|we|everything|all|it|this|(?:all |the |this )*"
    r"(?:task|work|job|goal|step|item|request)s?)\s*"
    r"(?:(?:is|are|am|was|were|has|have|been|seems?|looks?|now|all|already|fully|completely|"
    r"successfully)\s+)*(?:done|finished|completed?|ready|fine|ok|good)|"
    r"(?:all |successfully )?(?:done|finished|completed?)|yes|true|ok|n/?a|none|null|-+|"
    r"(?:任务|工作|目标|一切|全部|所有(?:任务|工作|步骤)?|都|均|我)*(?:已经?|都|全部)*(?:完成|搞定|做完)了?|"
    r"没问题|无)(?:\s+successfully)?\W*$",
    re.IGNORECASE,
)


class ParseFailure(Exception):  # noqa: N818 - an outcome, not a fault
    """A reply that breaks a rule of the format; the message names the rule."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The declared range of a judge's scores; they are mapped to 0..1."""

    low: float = 0.0
    high: float = 1.0


UNIT = Scale()


def prompt(scale: Scale = UNIT) -> str:
    """The judge's system prompt, with the range that its scores are read in."""
    return SYSTEM_PROMPT.replace("score (0 to 1)", f"score ({scale.low:g} to {scale.high:g})")


def extract(text: str) -> Any:
    """The one JSON object of a reply: alone, fenced, or in prose around one fence.

    Raises:
        ParseFailure: None, several, truncated, a brace outside the fence, or NaN and infinities.
    """
    stripped = text.strip()
    if not stripped:
        raise ParseFailure("empty reply")
    fences = _FENCE.findall(stripped)
    if fences:
        outside = _FENCE.sub("", stripped)
        if len(fences) > 1 or "{" in outside or "}" in outside:
            raise ParseFailure("more than one place that could be the verdict")
        stripped = fences[0].strip()
    try:
        value = json.loads(
            stripped, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_unique
        )
        value = mended(value) if "\\ud" in stripped.lower() else value
    except ValueError as error:
        raise ParseFailure(f"not one JSON object: {error}") from None
    except RecursionError:
        raise ParseFailure("nested too deeply") from None
    if not isinstance(value, dict):
        raise ParseFailure(f"a JSON {type(value).__name__}, not an object")
    return value


def _no_constant(name: str) -> float:
    raise ParseFailure(f"{name} is no JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ParseFailure(f"{digits:.40} is no finite number")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ParseFailure("a key stands twice")
    return found


def parse(
    reply: str | Mapping[str, Any], *, has_phases: bool, scale: Scale = Scale()
) -> Evaluation:
    """Read a judge's reply.

    Args:
        reply: Its raw text, or an object where the recording holds one.
        has_phases: ``phase_done`` is then required, and is ignored otherwise.
        scale: The declared range of its scores.

    Raises:
        ParseFailure: It breaks a rule of the format.
    """
    text = reply if isinstance(reply, str) else json.dumps(reply)
    outcome = _parsed(text, has_phases, scale)
    if isinstance(outcome, str):
        raise ParseFailure(outcome)
    return outcome


@lru_cache(maxsize=8192)
def _parsed(text: str, has_phases: bool, scale: Scale) -> Evaluation | str:
    try:
        return _read(extract(text), has_phases, scale)
    except ParseFailure as failure:
        return str(failure)


def _read(data: dict[str, Any], has_phases: bool, scale: Scale) -> Evaluation:
    required = ["done", "reason", "evidence", *(["phase_done"] if has_phases else [])]
    for key in required:
        if key not in data:
            raise ParseFailure(f"required field {key!r} is missing")
    done = _boolean(data, "done", required=True)
    phase_done = _boolean(data, "phase_done", required=has_phases)
    reason = data["reason"]
    if not isinstance(reason, str):
        raise ParseFailure("'reason' is no text")
    evidence = _texts(data["evidence"])
    feedback = data.get("feedback")
    failure_type = data.get("failure_type")
    if failure_type is not None and not isinstance(failure_type, str):
        raise ParseFailure("'failure_type' is neither text nor null")
    named = tuple(item for item in evidence if not _CLAIM.match(item))
    score = _score(data.get("score"), scale)
    return Evaluation(
        score=score if named else None,
        score_source="judge" if named and score is not None else None,
        parsed=True,
        done=done and bool(named),
        phase_done=bool(phase_done) and bool(named) if has_phases else None,
        claimed=bool(done or (has_phases and phase_done)) and not named,
        progress=_choice(data, "progress", _PROGRESS),
        reason=reason,
        evidence=named,
        next_action=_choice(data, "next_action", _NEXT),
        failure_type=failure_type or None,
        issues=_issues(data.get("issues")),
        lesson=_lesson(feedback),
    )


def _boolean(data: dict[str, Any], key: str, *, required: bool) -> bool | None:
    value = data.get(key)
    if value is None and not required:
        return None
    if not isinstance(value, bool):
        raise ParseFailure(f"{key!r} is no boolean: {value!r:.40}")
    return value


def _choice(data: dict[str, Any], key: str, allowed: tuple[str, ...]) -> Any:
    value = data.get(key)
    if value is None:
        return None
    if value not in allowed:
        raise ParseFailure(f"{key!r} must be one of {', '.join(allowed)}: {value!r:.40}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ParseFailure("'evidence' is no list of texts")
    return tuple(item.strip() for item in value if item.strip())


def _score(value: Any, scale: Scale) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParseFailure(f"'score' is no number: {value!r:.40}")
    if not scale.low <= value <= scale.high:
        raise ParseFailure(f"'score' {value!r:.40} lies outside {scale.low:g} to {scale.high:g}")
    return round((value - scale.low) / (scale.high - scale.low), 9)


def _issues(value: Any) -> tuple[Issue, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise ParseFailure("'issues' is no list")
    found = []
    for item in value:
        if not isinstance(item, dict) or not isinstance(item.get("description"), str):
            raise ParseFailure("an issue has no description")
        severity = item.get("severity")
        if severity not in _SEVERITY or not isinstance(item.get("fixable"), bool):
            raise ParseFailure("an issue lacks severity or fixable")
        found.append(Issue(item["description"], severity, item["fixable"]))
    return tuple(found)


def _lesson(value: Any) -> Lesson | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ParseFailure("'feedback' is no object")
    if not isinstance(value.get("should_record", False), bool):
        raise ParseFailure("'feedback.should_record' is no boolean")
    texts = []
    for key in ("mistake_pattern", "avoid_next_time", "suggested_next_strategy"):
        text = value.get(key)
        if text is not None and not isinstance(text, str):
            raise ParseFailure(f"'feedback.{key}' is no text")
        texts.append(text or None)
    return Lesson(*texts) if value.get("should_record") and any(texts) else None
