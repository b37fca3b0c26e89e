"""One pair at a time: what counts as worse, better, lost."""

from __future__ import annotations

from decimal import Decimal

import pytest

from harness.compare.changes import Tolerance, classify, parse_tolerances, sentence, shown
from tests.compare.conftest import ended
from tests.stored import refusal

OTHER = {"content": "ba9876543210"}
STOPPED = {"exit_reason": "stagnation", "iteration": 4}

# Base, candidate, tolerances, and: class, worse, better, lost.
CASES = {
    "same": ({}, {}, [], "same", "", "", ""),
    "exit reason": ({}, {"exit_reason": "max_rounds"}, [], "regression", "exit_reason", "", ""),
    "later": ({}, {"iteration": 4}, [], "regression", "iteration", "", ""),
    "earlier": ({}, {"iteration": 2}, [], "regression", "iteration", "", ""),
    "later, accepted": ({}, {"iteration": 4}, ["iteration=1"], "changed", "", "", ""),
    "earlier, accepted": ({}, {"iteration": 2}, ["iteration=34%"], "changed", "", "", ""),
    "too much later": ({}, {"iteration": 5}, ["iteration=1"], "regression", "iteration", "", ""),
    "reason has no tolerance": ({}, {"exit_reason": "max_rounds"}, ["iteration=9"], "regression",
                                "exit_reason", "", ""),
    "now right": (STOPPED | {"agreement": "false stop"}, {"agreement": "right"}, [],
                  "improvement", "", "exit_reason iteration", ""),
    "right before": (STOPPED | {"agreement": "right"}, {"agreement": "right"}, [], "regression",
                     "exit_reason iteration", "", ""),
    "wrong as before": (STOPPED | {"agreement": "late"}, {"agreement": "missed"}, [],
                        "regression", "exit_reason iteration", "", ""),
    "no truth before": (STOPPED, {"agreement": "right"}, [], "regression",
                        "exit_reason iteration", "", ""),
    "not judged before": (STOPPED | {"agreement": "unknown"}, {"agreement": "right"}, [],
                          "regression", "exit_reason iteration", "", ""),
    "right by going on, which costs": (
        {"agreement": "false stop", "iteration": 2}, {"agreement": "right", "cost_pico_usd": 2000},
        [], "improvement", "", "iteration", ""),
    "right by stopping, which forgoes": (
        {"agreement": "late", "iteration": 4}, {"agreement": "right", "best_score": 0.8}, [],
        "improvement", "", "iteration", ""),
    "right, but dearer though shorter": (
        {"agreement": "late", "iteration": 4}, {"agreement": "right", "cost_pico_usd": 1001}, [],
        "regression", "cost", "iteration", ""),
    "dearer": ({}, {"cost_pico_usd": 1001}, [], "regression", "cost", "", ""),
    "cheaper": ({}, {"cost_pico_usd": 999}, [], "improvement", "", "cost", ""),
    "dearer, accepted": ({}, {"cost_pico_usd": 1050}, ["cost=5%"], "changed", "", "", ""),
    "too dear": ({}, {"cost_pico_usd": 1051}, ["cost=5%"], "regression", "cost", "", ""),
    "both parts": ({}, {"cost_pico_usd": 1060}, ["cost=0.00000000001+5%"], "changed", "", "", ""),
    "beyond both": ({}, {"cost_pico_usd": 1061}, ["cost=0.00000000001+5%"], "regression", "cost",
                    "", ""),
    "large money is exact": ({"cost_pico_usd": 2**62}, {"cost_pico_usd": 2**62 + 1}, [],
                             "regression", "cost", "", ""),
    "cost lost": ({}, {"cost_pico_usd": None}, [], "lost", "", "", "cost"),
    "cost found": ({"cost_pico_usd": None}, {}, [], "changed", "", "", ""),
    "cost never known": ({"cost_pico_usd": None}, {"cost_pico_usd": None}, [], "same", "", "", ""),
    "worse score": ({}, {"best_score": 0.8}, [], "regression", "best_score", "", ""),
    "better score": ({}, {"best_score": 0.95}, [], "improvement", "", "best_score", ""),
    "score in decimals": ({"best_score": 0.67}, {"best_score": 0.66}, ["best_score=0.01"],
                          "changed", "", "", ""),
    "score lost": ({}, {"best_score": None}, [], "lost", "", "", "best_score"),
    "worse and lost": ({}, {"best_score": None, "unknowns": 3}, [], "regression", "unknowns", "",
                       "best_score"),
    "more unknown": ({}, {"unknowns": 3}, [], "regression", "unknowns", "", ""),
    "less unknown": ({}, {"unknowns": 0}, [], "improvement", "", "unknowns", ""),
    "left its recording": ({}, {"replay": "diverged"}, [], "changed", "", "", ""),
    "another recording": ({}, STOPPED | OTHER | {"cost_pico_usd": 5000}, [], "changed", "", "", ""),
    "another recording, lost": ({}, OTHER | {"cost_pico_usd": None}, [], "lost", "", "", "cost"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_classify(case: str) -> None:
    base, candidate, tolerances, *expected = CASES[case]
    change = classify(ended(**base), ended(**candidate), "higher", parse_tolerances(tolerances))
    found = [" ".join(metrics) for metrics in (change.worse, change.better, change.lost)]
    assert [change.verdict, *found] == expected


def test_lower_scores_may_be_better() -> None:
    change = classify(ended(best_score=0.5), ended(best_score=0.6), "lower", {})
    assert change.worse == ("best_score",)


def test_most_important_first() -> None:
    candidates = [
        {"cost_pico_usd": 1500},
        {"cost_pico_usd": None},
        {"iteration": 9},
        {"cost_pico_usd": 500},
        {"exit_reason": "verified"},
        {},
        {"exit_reason": "max_rounds"},
        {"unknowns": 7},
    ]
    changes = [classify(ended(), ended(**c), "higher", {}) for c in candidates]
    order = sorted(range(len(changes)), key=lambda i: changes[i].weight)
    assert order == [6, 4, 2, 0, 7, 1, 3, 5]


TOLERANCES = {
    "iteration=1": ("iteration", 1, 0),
    "best_score=0.01": ("best_score", "0.01", 0),
    "cost=5%": ("cost", 0, "0.05"),
    "cost=0.001+5%": ("cost", 10**9, "0.05"),
    "cost = 5% + 0.001": ("cost", 10**9, "0.05"),
    "success=0.02": ("success", "0.02", 0),
    "unknowns=0": ("unknowns", 0, 0),
    "iteration=1e1": ("iteration", 10, 0),
}


@pytest.mark.parametrize("text", TOLERANCES)
def test_tolerance(text: str) -> None:
    metric, absolute, relative = TOLERANCES[text]
    assert parse_tolerances([text]) == {metric: Tolerance(Decimal(absolute), Decimal(relative))}


BAD = {
    "costs=1": ["'costs'", "'cost'", "iteration"],
    "=1": ["''", "cost"],
    "": ["''", "cost"],
    "cost": ["'cost'", "cost=0.001+5%"],
    "cost=": ["'cost='"],
    "cost=a": ["'cost=a'"],
    "cost=-1": ["'cost=-1'"],
    "cost=nan": ["'cost=nan'"],
    "cost=inf": ["'cost=inf'"],
    "cost=1+2": ["'cost=1+2'"],
    "cost=1%+2%": ["'cost=1%+2%'"],
    "cost=%": ["'cost=%'"],
    "cost=1+5%+": ["'cost=1+5%+'"],
    "cost=1e99": ["'cost=1e99'"],
}


@pytest.mark.parametrize("text", BAD)
def test_no_tolerance(text: str) -> None:
    line = refusal(parse_tolerances, [text])
    assert [word for word in ["--tolerance", *BAD[text]] if word not in line] == []


def test_tolerance_twice() -> None:
    assert "cost is given twice" in refusal(parse_tolerances, ["cost=1", "cost=5%"])


def test_sentence() -> None:
    base = ended("reflection/plateau", "reflection", exit_reason="stagnation", iteration=4,
                 cost_pico_usd=800_000_000)  # fmt: skip
    after = {"exit_reason": "max_rounds", "iteration": 6, "cost_pico_usd": 1_200_000_000}
    change = classify(base, ended("reflection/plateau", "reflection", **after), "higher", {})
    assert sentence(change, change.worse) == (
        "reflection/plateau under reflection: stagnation in 4 -> max_rounds in 6 "
        "(cost $0.0008 -> $0.0012)"
    )
    dearer = classify(ended(), ended(cost_pico_usd=1001, unknowns=3), "higher", {})
    assert sentence(dearer, dearer.worse) == (
        "a under p: cost $0.000000001000 -> $0.000000001001, unknowns 2 -> 3"
    )


SHOWN = {
    ("cost", 10**9, 2 * 10**9): ("$0.0010", "$0.0020"),
    ("cost", 10**9, 10**9 + 10**5): ("$0.0010000", "$0.0010001"),
    ("cost", None, 10**12): ("?", "$1.0000"),
    ("best_score", 0.5, 0.75): ("0.5", "0.75"),
    ("best_score", 0.3, 0.1 + 0.2): ("0.29999999999999999", "0.30000000000000004"),
    ("iteration", 999, 1000): ("999", "1,000"),
    ("exit_reason", "spin", "cycle"): ("spin", "cycle"),
}


@pytest.mark.parametrize("values", SHOWN)
def test_values_can_be_told_apart(values) -> None:
    assert shown(*values) == SHOWN[values]
