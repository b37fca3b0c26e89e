"""What is odd about imported recordings: each rule finds its case and no other."""

from __future__ import annotations

from typing import Any

import pytest

from harness.importers._lint import RULES, Lint
from harness.importers._lint_rules import Subject
from harness.importers._rawfacts import RawFacts, moment, raw_facts

REPLY = {"text": "a", "usage": {"input": 5, "output": 2}, "ms": 900}
GOOD: dict[str, Any] = {"reply": REPLY, "score": 0.5}


def subject(*steps: dict[str, Any], name: str = "a", raw: Any = None, **more: Any) -> Subject:
    recording = {"id": name, "goal": f"Boil {name}.", "steps": list(steps) or [GOOD], **more}
    return Subject(recording, raw_facts(raw), "chat", more.get("secrets", 0))


def found(*subjects: Subject) -> dict[str, tuple[int, tuple[str, ...]]]:
    lint = Lint()
    for one in subjects:
        lint.add(one)
    return {f.code: (f.recordings, f.examples) for f in lint.findings()}


def reply(**more: Any) -> dict[str, Any]:
    return {"reply": {**REPLY, **more}}


def many(times: list[int]) -> list[Subject]:
    return [subject(reply(ms=ms), name=f"r{n}") for n, ms in enumerate(times)]


def scored(*scores: Any) -> list[dict[str, Any]]:
    return [{**GOOD, "score": score} for score in scores]


FAILED = {"reply": {**REPLY, "error": "timeout"}, "score": 0}
LOST = {"reply": REPLY, "calls": [{"tool": "t", "ok": False}], "score": {"passed": 0, "total": 3}}
AT = "2026-01-02T03:04:0"
ORDER = {"messages": [{"id": "m1", "timestamp": f"{AT}5Z"}, {"id": "m2", "timestamp": f"{AT}4Z"}]}
TWICE = {"messages": [{"id": "m1"}, {"id": "m2"}, {"id": "m1"}]}
CASES: list[tuple[str, list[Subject], int, str]] = [
    ("no-content", [subject(tags=["otlp", "content:none"])], 1, "a"),
    ("no-usage", [subject({"reply": {"text": "a"}})], 1, "a"),
    ("usage-in-part", [subject(GOOD, {"reply": {"text": "b"}})], 1, "a step 2"),
    ("zero-usage", [subject(reply(usage={"input": 5, "output": 0}))], 1, "a step 1"),
    ("zero-usage", [subject(reply(usage={"input": 5}))], 1, "a step 1"),
    ("low-usage", [subject(GOOD, reply(text="t" * 41))], 1, "a step 2"),
    ("huge-usage", [subject(GOOD, reply(usage={"output": 10_000_001}))], 1, "a step 2"),
    ("huge-usage", [subject(reply(usage={"input": 10**9, "output": 1}))], 1, "a step 1"),
    ("time-backwards", [subject(raw=ORDER)], 1, "a (1 times)"),
    ("repeated-record", [subject(raw=TWICE)], 1, "a (1 times)"),
    ("crash-scored", [subject(GOOD, FAILED)], 1, "a step 2"),
    ("crash-scored", [subject({**GOOD, "score": {"passed": 1, "total": 3}}, LOST)], 1, "a step 2"),
    ("empty-goal", [subject(goal=" ")], 1, "a"),
    ("empty-step", [subject(GOOD, {"reply": {"usage": {"output": 1}}})], 1, "a step 2"),
    ("duplicate", [subject(), subject(name="b", goal="Boil a.")], 1, "b (as a)"),
    ("time-unit", many([900, 1100, 1000, 1, 1, 1, 950]), 3, "r3"),
    ("score-scale", [subject(*scored(0.8)), subject(*scored(85), name="b"),
                     subject(*scored(0.7), name="c")], 1, "b"),
    ("score-scale", [subject(*scored(0.8, 85))], 1, "a"),
    ("secrets", [subject(secrets=2)], 1, "a (2 times)"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "subjects", "recordings", "example"), CASES)
def test_each_rule_finds_its_case_alone(
    code: str, subjects: list[Subject], recordings: int, example: str
) -> None:
    (only,) = found(*subjects).items()
    assert (only[0], only[1][0], only[1][1][0]) == (code, recordings, example)


@pytest.mark.parametrize(
    "subjects",
    [
        [subject()],
        # Loops repeat themselves; nothing is exported twice here.
        [subject(GOOD, GOOD, GOOD)],
        [subject(name="a"), subject(name="b")],
        [subject(reply(usage={"input": 5, "reasoning": 9}))],
        [subject({**reply(text="", usage={"input": 5}), "calls": [{"tool": "t"}]})],
        [subject(reply(text="t" * 40))],
        [subject(reply(text="t" * 41), tags=["chat", "spread:usage"])],
        # A loop that fails all the time and scores 0 has measured it.
        [subject(FAILED, FAILED)],
        [subject(GOOD, {**GOOD, "score": 0})],
        # Lower is better: a count of errors has no scale.
        [subject(*scored(0.8, 85), direction="lower")],
        [subject(*scored(0.8, 85), score_scale=[0, 100])],
        [subject(*scored(1, 85)), subject(*scored(0), name="b")],
        # One slow recording, and a wide but even spread.
        many([10, 10, 10, 10_000]),
        many([1, 5, 25, 125, 625, 3000]),
        [subject(raw={"messages": [{"timestamp": f"{AT}4Z"}, {"timestamp": f"{AT}4Z"}]})],
        # Spans of a trace are in no order.
        [subject(raw={"spans": ORDER["messages"][::-1] + TWICE["messages"]})],
    ],
)
def test_nothing_is_odd(subjects: list[Subject]) -> None:
    assert found(*subjects) == {}


def test_examples_are_few_and_counts_whole() -> None:
    names = [f"n{number}" for number in range(9)]
    count, examples = found(*(subject(name=name, goal="") for name in names))["empty-goal"]
    assert (count, examples) == (9, ("n0", "n1", "n2"))


def test_every_rule_is_documented_and_has_a_case() -> None:
    assert {code for code, *_ in CASES} == {rule.code for rule in RULES}
    for rule in RULES:
        assert rule.about.endswith(".")
        assert rule.words
        assert rule.fix
        assert (rule.each is None) != (rule.among is None)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1_767_323_045, 1_767_323_045),
        (1_767_323_045.5, 1_767_323_045.5),
        (1_767_323_045_000, 1_767_323_045),
        ("1767323045000000000", 1_767_323_045),
        ("2026-01-02T03:04:05Z", 1_767_323_045),
        ("2026-01-02T03:04:05", 1_767_323_045),
        ("2026-01-02T04:04:05+01:00", 1_767_323_045),
        ("2026-01-02", None),
        ("soon", None),
        ("9" * 40, None),
        (12, None),
        (True, None),
        (None, None),
        (float("nan"), None),
        (10**30, None),
    ],
)
def test_moments(value: Any, seconds: float | None) -> None:
    assert moment(value) == seconds


def test_facts_of_a_record_leave_out_what_the_agent_sent() -> None:
    raw = {
        "created": 1_767_323_045,
        "messages": [{"args": {"created": 1_000_000_000}, "timestamp": f"{AT}7Z"}],
    }
    assert raw_facts(raw) == RawFacts(1_767_323_045, 1_767_323_047)
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert raw_facts(deep) == raw_facts("text") == raw_facts(None) == RawFacts()
