"""Rules as classifiers: the measures, the bundled labels, a user's own labels."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.tune.classifiers import NESTED, classify
from harness.tune.labelled import KINDS, bundled, read_labelled
from harness.tune.roc import auc, auc_interval, point, points

SCORED = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=40)


def by_pairs(scores, truth):
    """The definition: how often a positive beats a negative, ties counting half."""
    high = [s for s, yes in zip(scores, truth, strict=True) if yes]
    low = [s for s, yes in zip(scores, truth, strict=True) if not yes]
    wins = sum((h > n) + (h == n) / 2 for h in high for n in low)
    return wins / (len(high) * len(low)) if high and low else float("nan")


@given(SCORED)
def test_the_area_is_the_chance_that_a_positive_beats_a_negative(pairs):
    scores, truth = zip(*pairs, strict=True)
    assert auc(scores, truth) == pytest.approx(by_pairs(scores, truth), nan_ok=True)


@given(SCORED)
def test_the_area_lies_under_the_points(pairs):
    scores, truth = zip(*pairs, strict=True)
    curve = points(scores, truth)
    area = auc(scores, truth)
    if area == area:
        x = [0.0, *(p.false_alarms for p in curve)]
        y = [0.0, *(p.recall for p in curve)]
        assert np.trapezoid(y, x) == pytest.approx(area)


def test_counts():
    found = point("rule", [True, True, False, False, True], [True, False, True, False, True])
    assert (found.tp, found.fp, found.fn, found.tn) == (2, 1, 1, 1)
    assert (found.recall, found.precision, found.false_alarms) == (2 / 3, 2 / 3, 1 / 2)
    assert found.recall_interval == pytest.approx((0.0943, 0.9916), abs=1e-4)


def test_the_interval_of_an_area():
    # Hanley and McNeil (1982), table: 58 normal, 51 abnormal, area 0.893, standard error 0.032.
    low, high = auc_interval(0.893, 51, 58)
    assert (low, high) == pytest.approx((0.893 - 1.96 * 0.032, 0.893 + 1.96 * 0.032), abs=0.025)
    assert low < 0.893 - 1.96 * 0.032
    # Certainty is not had from ten examples.
    low, high = auc_interval(1.0, 5, 5)
    assert (low < 0.8, high) == (True, 1.0)
    assert auc_interval(float("nan"), 0, 5) == (0.0, 1.0)


# Bundled labels


@pytest.mark.parametrize("kind", KINDS)
def test_bundled_labels(kind):
    examples = [example for example in bundled() if example.kind == kind]
    assert len(examples) >= 40
    labels = Counter(str(e.data.get("label", e.data.get("same"))) for e in examples)
    assert min(labels.values()) >= 9
    assert sum(bool(e.hard) for e in examples) >= 15
    texts = [json.dumps(e.data, ensure_ascii=False) for e in examples]
    assert len(set(texts)) == len(texts)
    assert sum(any("\u4e00" <= c <= "\u9fff" for c in text) for text in texts) >= 5


def summary():
    """Recall and false alarms of the setting that presets use, by classifier."""
    return {
        f"{r.kind} {r.positive}": (r.operating[0].tp, r.operating[0].fn, r.operating[0].fp,
                                   r.operating[0].tn)
        for r in classify(bundled())
    }  # fmt: skip


def test_what_the_bundled_settings_do_on_the_bundled_labels():
    """As measured; docs/tuning-more.md tells what it means. A change of a phrase list shows."""
    assert summary() == {
        "triage blocked": (4, 9, 1, 47),
        "triage awaiting_user": (8, 5, 3, 45),
        "triage infrastructure": (8, 1, 1, 51),
        "similarity same": (11, 9, 10, 13),
        "spin same": (14, 6, 0, 22),
        "continuity same": (11, 12, 8, 14),
    }


def test_identities_are_nested():
    """What a finer one calls the same, a coarser one does too; so they are points of one curve."""
    (roc,) = classify(bundled(), "spin")
    found = {p.name: p for p in roc.operating}
    recalls = [found[name].recall for name in NESTED]
    alarms = [found[name].false_alarms for name in NESTED]
    assert recalls == sorted(recalls, reverse=True)
    assert alarms == sorted(alarms, reverse=True)
    for name in NESTED:
        at = next(p for p in roc.curve if p.threshold == found[name].threshold)
        assert (at.tp, at.fp) == (found[name].tp, found[name].fp)


def test_errors_are_shown_and_counted():
    for roc in classify(bundled()):
        first = roc.operating[0]
        assert sum(e.missed for e in roc.errors) == first.fn
        assert sum(not e.missed for e in roc.errors) == first.fp
        assert sum(bool(e.hard) for e in roc.errors) == len(roc.errors) - roc.plain.fn - (
            roc.plain.fp
        )
        assert (roc.low <= roc.auc <= roc.high, list(roc.frame())) == (
            True, ["threshold", "recall", "false_alarms", "precision"],
        )  # fmt: skip


# A user's own


def written(tmp_path, *lines):
    path = tmp_path / "labels.jsonl"
    text = "\n".join(li if isinstance(li, str) else json.dumps(li) for li in lines)
    path.write_text(text, "utf-8")
    return path


def test_own_labels_are_told_apart_by_their_keys(tmp_path):
    call = {"tool": "read", "args": {"path": "a"}, "result": "text"}
    path = written(
        tmp_path,
        {"text": "I am blocked here.", "label": "blocked"},
        {"text": "Done.", "label": "none"},
        "",
        {"a": "Too long.", "b": "Too long.", "same": True},
        {"a": call, "b": {**call, "result": "other"}, "same": False},
        {"message": "Go on.", "goal": "Write it.", "label": "same"},
    )
    examples = read_labelled(path)
    assert [e.kind for e in examples] == [
        "triage", "triage", "similarity", "spin", "continuity",
    ]  # fmt: skip
    found = {(r.kind, r.positive): r for r in classify(examples)}
    assert found["triage", "blocked"].auc == 1.0
    assert found["spin", "same"].operating[0].tn == 1
    assert [r.kind for r in classify(examples, "spin")] == ["spin"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", ":1: not valid JSON"),
        ("[]", ":1: must be an object"),
        ({"text": "x"}, "keys of one kind"),
        ({"text": "x", "label": "blokked"}, "did you mean 'blocked'"),
        ({"text": 3, "label": "none"}, "text: must be a str"),
        ({"a": "x", "b": "y", "same": "yes"}, "same: must be a bool"),
        ({"a": {}, "b": {}, "same": True}, "must name their tool"),
        ({"a": "x", "b": {"tool": "y"}, "same": True}, "b: must be a str"),
        ("", "holds no examples"),
    ],
)
def test_labels_that_cannot_be_used(tmp_path, line, words):
    with pytest.raises(HarnessError, match=words) as caught:
        read_labelled(written(tmp_path, line))
    assert "\n" not in str(caught.value)


def test_refusals(tmp_path):
    with pytest.raises(HarnessError, match="cannot be read"):
        read_labelled(tmp_path / "none.jsonl")
    with pytest.raises(HarnessError, match="did you mean 'spin'"):
        classify(bundled(), "spim")
    with pytest.raises(HarnessError, match="no examples of spin"):
        classify([], "spin")
