"""Ways in which a judge's reply goes wrong, and a reference that tells what may count as done.

The reference is written apart from the parser: it only asks what SPEC asks.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

#: A reply that says done, and may.
GOOD: dict[str, Any] = {
    "done": True,
    "phase_done": True,
    "score": 0.9,
    "progress": "major",
    "reason": "All rows are valid.",
    "evidence": ["check.py: exit code 0", "report.md"],
    "next_action": "continue",
    "failure_type": None,
    "issues": [{"description": "a comma", "severity": "minor", "fixable": True}],
    "feedback": {"should_record": False},
}
#: Values that are no boolean, no number, no text, no list.
ODD = ["true", "True", "yes", 1, 0, 1.0, None, [], {}, [True], {"done": True}, "", "0.9"]
NAN = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"]
PROSE = [
    "",
    " ",
    "Done.",
    "Everything is finished!",
    "done: true",
    "null",
    "true",
    "[]",
    "全部完成",
]


def _set(key: str, value: Any) -> str:
    return json.dumps(GOOD | {key: value})


def _raw(key: str, literal: str) -> str:
    """A reply in which a value is this literal, which ``json.dumps`` would not write."""
    return json.dumps(GOOD | {key: "@@"}).replace('"@@"', literal)


def _twice(key: str, first: str) -> str:
    return "{" + f'"{key}": {first}, ' + json.dumps(GOOD)[1:]


def string_booleans(rng: random.Random) -> str:
    return _set(rng.choice(["done", "phase_done"]), rng.choice(["true", "false", "True", "yes"]))


def not_finite(rng: random.Random) -> str:
    key = rng.choice(["score", "done", "reason", "progress", "extra"])
    return _raw(key, rng.choice(NAN))


def off_scale(rng: random.Random) -> str:
    far = [
        rng.uniform(1.001, 100),
        rng.randint(2, 100),
        -rng.random() - 1e-6,
        10 ** rng.randint(1, 400),
    ]
    return _set("score", rng.choice(far))


def missing_field(rng: random.Random) -> str:
    gone = rng.choice(["done", "phase_done", "reason", "evidence"])
    return json.dumps({k: v for k, v in GOOD.items() if k != gone})


def decoy_first(rng: random.Random) -> str:
    real = json.dumps(GOOD | {"done": rng.random() < 0.5})
    joint = rng.choice(["\n", " ", "\nMy verdict: ", ",", "\n\n```json\n"])
    return rng.choice([json.dumps(GOOD), '{"done": true}', "{}", "{example}"]) + joint + real


def two_objects(rng: random.Random) -> str:
    one = json.dumps(GOOD)
    forms = ["{}\n{}", "[{}, {}]", "```\n{}\n```\n```\n{}\n```", "{} {}", "```\n{}\n{}\n```"]
    first, second = rng.choice(forms).split("{}", 1)
    return first + one + second.replace("{}", one)


def truncated(rng: random.Random) -> str:
    text = json.dumps(GOOD)
    fenced = rng.random() < 0.3
    cut = text[: rng.randrange(len(text))]
    return f"```json\n{cut}\n```" if fenced else cut


def prose(rng: random.Random) -> str:
    return rng.choice(PROSE) + rng.choice(["", " ", "\n", " It is done, evidence: tests pass."])


def prose_around_a_bare_object(rng: random.Random) -> str:
    before, after = rng.choice([("Verdict: ", ""), ("", " That is all."), ("OK\n", "\nBye")])
    return before + json.dumps(GOOD) + after


def duplicate_key(rng: random.Random) -> str:
    key = rng.choice(list(GOOD))
    return _twice(key, rng.choice(["true", "false", "null", json.dumps(GOOD[key])]))


def wrong_type(rng: random.Random) -> str:
    key = rng.choice(["done", "phase_done", "reason", "evidence", "score", "issues", "feedback"])
    fits: dict[str, Callable[[Any], bool]] = {
        "score": lambda v: v is None or (isinstance(v, int | float) and not isinstance(v, bool)),
        "reason": lambda v: isinstance(v, str),
        "issues": lambda v: v is None or v == [],
        "feedback": lambda v: v is None or isinstance(v, dict),
        "evidence": lambda v: v == [],
    }
    odd = [v for v in ODD if not fits.get(key, lambda _: False)(v)]
    return _set(key, rng.choice(odd))


def no_evidence(rng: random.Random) -> str:
    claims = ["all finished", "Done.", "Everything is complete", "", "  ", "任务已完成",
              "全部完成。", "The task is done", "I have finished", "N/A",
              "task completed successfully"]  # fmt: skip
    return _set("evidence", rng.sample(claims, rng.randint(0, 3)))


def odd_issue(rng: random.Random) -> str:
    issue: Any = dict(GOOD["issues"][0])
    issue[rng.choice(["severity", "fixable", "description"])] = rng.choice(["huge", "yes", 7, None])
    if isinstance(issue["description"], str) and issue["severity"] == "minor":
        issue["fixable"] = "yes"
    return _set("issues", [issue])


FAULTS: tuple[Callable[[random.Random], str], ...] = (
    string_booleans, not_finite, off_scale, missing_field, decoy_first, two_objects, truncated,
    prose, prose_around_a_bare_object, duplicate_key, wrong_type, no_evidence, odd_issue,
)  # fmt: skip


def replies(n: int, seed: int) -> Iterator[tuple[str, str]]:
    """``n`` faulty replies with the names of their faults, the same for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - seeded on purpose
    for number in range(n):
        fault = FAULTS[number % len(FAULTS)]
        yield fault.__name__, fault(rng)


_FENCE = re.compile(r"```\w*\n(.*?)\n```", re.DOTALL)


def may_be_done(text: str) -> bool:
    """Whether done may count: one JSON object with boolean ``done`` true and some evidence."""
    fence = _FENCE.search(text)
    if fence and "{" not in text.replace(fence.group(0), "", 1):
        text = fence.group(1)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict) or value.get("done") is not True:
        return False
    evidence = value.get("evidence")
    return isinstance(evidence, list) and any(isinstance(e, str) and e.strip() for e in evidence)
