"""Scenarios made by chance, for checks: they hold together what recordings hold one at a time."""

from __future__ import annotations

import json
import random
from typing import Any

from harness.scenario import SCHEMA, Scenario

_LONG = "a result of more than forty characters, which stands for itself"
#: Alphabets are tiny on purpose: repeats, swings, plateaus and equal errors turn up by chance.
_CALLS: tuple[dict[str, Any], ...] = (
    {"tool": "read", "args": {"path": "a"}, "result": "text", "ms": 5},
    {"tool": "read", "args": {"path": "a", "n": None}, "result": _LONG, "ms": 9},
    {"tool": "read", "args": {"path": "b", "n": 2}, "result": "text"},
    {"tool": "run", "args": {"cmd": "make"}, "result": "pid 71: ok", "ms": 700},
    {"tool": "run", "args": {"cmd": "make"}, "result": "pid 72: ok", "ms": 800},
    {"tool": "run", "args": {"cmd": "make"}, "result": "3 of 9", "ms": 800},
    {"tool": "run", "args": None, "result": "make: *** Error 2", "exit_code": 2, "ms": 30},
    {"tool": "run", "args": {}, "result": "trace\nKeyError: 'a'", "ok": False, "ms": 30},
    {"tool": "fetch", "args": {"url": "x"}, "result": "HTTP 503 Service Unavailable",
     "ok": False, "ms": 90},
    {"tool": "poll", "args": {"id": 1}, "result": "queued", "ms": 10},
    {"tool": "poll", "args": {"id": 1}, "result": "still running", "ms": 61_000},
)  # fmt: skip
_USAGE = {"input": 100, "cache_read": 50, "output": 10}
_REPLIES: tuple[dict[str, Any], ...] = (
    {"text": "Hm.", "ms": 400},
    {"text": "I will look at the log file now.", "ms": 900, "finish_reason": "stop"},
    {"text": 3 * "I will look at the log file now. ", "ms": 1000},
    {"text": "Next.", "ms": 1000, "model": "gpt-4o-mini", "usage": _USAGE},
    {"ms": 1000, "model": "no-such-model", "usage": {"input": 7, "output": 3, "reasoning": 1}},
)
_TEXTS = (None, None, "Draft one.", "Draft two.", "Draft two!", _LONG)
_SCORES = (None, None, 0.14, 0.16, 0.18, 0.5, 0.85, 0.9)
_WRITES = (None, None, ["a@1"], ["a@2"], ["a@1", "b"])
_JUDGES = (
    None,
    {"done": False, "reason": "not yet", "evidence": ["2 of 9 pass"], "progress": "some"},
    {"done": False, "reason": "no", "evidence": [], "progress": "none"},
    "no braces here",
    {"error": "timeout"},
)


def made_scenarios(n: int = 30, seed: int = 0) -> list[Scenario]:
    """Scenarios drawn by chance; the same seed draws the same ones.

    Steps have several parallel calls, failures that pass and that stay, scores in both
    directions, drafts that come back, a judge that cannot be understood, and a person who speaks.

    Args:
        n: How many.
        seed: Of the drawing.
    """
    return [_scenario(number, random.Random(f"{seed} {number}")) for number in range(1, n + 1)]  # noqa: S311


def _scenario(number: int, rng: random.Random) -> Scenario:
    kept = {
        "judged": rng.random() < 0.3,
        "scored": rng.random() < 0.6,
        "writes": rng.random() < 0.3,
    }
    return Scenario.model_validate({
        "schema": SCHEMA,
        "id": f"made/{number:03}",
        "goal": "Look at the log file and draft a note.",
        "direction": rng.choice(["higher", "lower"]),
        "tools": rng.choice([None, ["read", "run", "fetch", "poll"], {"poll": {"waits": True}}]),
        "steps": [_step(rng, **kept) for _ in range(rng.randrange(4, 13))],
    })  # fmt: skip


def _step(rng: random.Random, *, judged: bool, scored: bool, writes: bool) -> dict[str, Any]:
    judge = rng.choice(_JUDGES) if judged else None
    if isinstance(judge, dict) and "error" not in judge:
        judge = json.dumps(judge)
    return {
        "reply": rng.choice(_REPLIES),
        "calls": [dict(rng.choice(_CALLS)) for _ in range(rng.choice([0, 1, 1, 2, 3]))],
        "user": rng.choice([None] * 7 + ["Please go on with the log file."]),
        "idle_ms": rng.choice([0, 0, 500]),
        "output": rng.choice(_TEXTS),
        "feedback": rng.choice(_TEXTS),
        "score": rng.choice(_SCORES) if scored else None,
        "judge": judge,
        "writes": rng.choice(_WRITES) if writes else None,
    }
