"""Rules that read texts, taken as classifiers: what they say of labelled examples.

Four of them: text triage, near repetition, the identity of calls (spin), and the overlap of a
person's message with the goal. The bundled examples are small and hard on purpose, so figures show
where a rule errs and not how often it will; your own labels show that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from harness.continuity import is_complete, judge_continuity, overlap
from harness.errors import HarnessError, choices
from harness.fingerprint import DEFAULT_IDENTITY
from harness.guards.repetition import Repetition
from harness.guards.spin import Spin
from harness.history import History
from harness.mechanisms import Continuity
from harness.scenario import Scenario
from harness.trace import Evaluation, Iteration, Reply, Turn
from harness.triage import CLASSES, triage
from harness.tune.labelled import KINDS, Example
from harness.tune.roc import Point, auc, auc_interval, point, points
from harness.turns import prepare

#: Identities of a call, the coarsest first; each following one tells apart all that the one
#: before it does.
NESTED = ("action", "normalised", "args+normalised result", "args+result")
#: Others, which do not stand in that order.
ASIDE = ("args", "result")


@dataclass(frozen=True, slots=True)
class Error:
    """An example that the bundled setting gets wrong."""

    missed: bool
    shown: str
    hard: str


@dataclass(frozen=True)
class Roc:
    """How well one rule tells one class from the rest.

    Attributes:
        kind: The classifier.
        positive: The class that counts as positive.
        positives: Examples of it.
        negatives: Other examples.
        auc: Area under the curve; for a yes or no, the mean of recall and 1 - false alarms.
        low: Lower end of its 95 % interval, examples taken as independent.
        high: Upper end.
        curve: The points of the curve, strictest threshold first.
        operating: Where the bundled settings stand; the first is what presets use.
        plain: The first of them on the examples that nobody calls hard.
        errors: Examples that the first of them gets wrong.
    """

    kind: str
    positive: str
    positives: int
    negatives: int
    auc: float
    low: float
    high: float
    curve: tuple[Point, ...]
    operating: tuple[Point, ...]
    plain: Point
    errors: tuple[Error, ...]

    def frame(self) -> pd.DataFrame:
        """One row a point of the curve: threshold, recall, false_alarms, precision."""
        rows = [(p.threshold, p.recall, p.false_alarms, p.precision) for p in self.curve]
        return pd.DataFrame(rows, columns=["threshold", "recall", "false_alarms", "precision"])


def classify(examples: Sequence[Example], kind: str | None = None) -> list[Roc]:
    """What the rules say of labelled examples.

    Args:
        examples: Bundled ones, your own, or both.
        kind: Only this classifier; all that have examples where left out.

    Raises:
        HarnessError: No such kind, or none of its examples.
    """
    if kind is not None and kind not in KINDS:
        raise HarnessError(f"classifiers: kind: {choices(kind, KINDS)}")
    found: list[Roc] = []
    for name, rate in _RATERS.items():
        chosen = [example for example in examples if example.kind == name]
        if chosen and kind in (None, name):
            found += rate(chosen)
    if not found:
        raise HarnessError(f"classifiers: no examples of {kind or ', '.join(KINDS)}")
    return found


def _roc(
    examples: Sequence[Example],
    positive: str,
    truth: Sequence[bool],
    scores: Sequence[float],
    rules: Mapping[str, tuple[float, Sequence[bool]]],
) -> Roc:
    area = auc(scores, truth)
    positives = sum(truth)
    low, high = auc_interval(area, positives, len(truth) - positives)
    name, (at, first) = next(iter(rules.items()))
    easy = [number for number, example in enumerate(examples) if not example.hard]
    errors = [
        Error(is_it, _shown(example), example.hard)
        for example, is_it, said in zip(examples, truth, first, strict=True)
        if is_it != said
    ]
    return Roc(
        examples[0].kind,
        positive,
        positives,
        len(truth) - positives,
        area,
        low,
        high,
        points(scores, truth),
        tuple(point(rule, said, truth, line) for rule, (line, said) in rules.items()),
        point(name, [first[n] for n in easy], [truth[n] for n in easy], at),
        tuple(errors),
    )


def _shown(example: Example) -> str:
    if example.kind in ("similarity", "spin"):
        return f"{example.data['a']} | {example.data['b']}"
    return str(example.data.get("text", example.data.get("message")))


def _triage(examples: Sequence[Example]) -> list[Roc]:
    said = []
    for example in examples:
        turn = Turn(reply=Reply("actor", example.data["text"]))
        hits = triage(turn, outage_nearby=bool(example.data.get("outage")))
        said.append({hit.kind for hit in hits})
    found = []
    for name in CLASSES:
        truth = [example.data["label"] == name for example in examples]
        hit = [name in kinds for kinds in said]
        rules = {"phrase lists": (1.0, hit)}
        found.append(_roc(examples, name, truth, [float(h) for h in hit], rules))
    return found


def _similarity(examples: Sequence[Example]) -> list[Roc]:
    guard = Repetition(on=("output",))
    scores = []
    for example in examples:
        history = _after(*({"output": example.data[key]} for key in ("a", "b")))
        scores.append(guard.signal(history))
    line = guard.threshold
    said = [score >= line for score in scores]
    equal = [score >= 1 for score in scores]
    truth = [example.data["same"] for example in examples]
    rules = {f"similarity >= {line:g}": (line, said), "equal texts": (1.0, equal)}
    return [_roc(examples, "same", truth, scores, rules)]


def _after(*steps: Mapping[str, object]) -> History:
    """What has happened after two iterations, as a guard sees it in a loop."""
    data = {
        "schema": "harness/scenario@1", "id": "labelled/pair", "goal": "Tell apart.",
        "steps": [{"reply": {"text": ""}, **step} for step in steps],
    }  # fmt: skip
    tape = prepare(Scenario.model_validate(data))
    history = History(direction="higher", has_tools=tape.has_tools)
    for number, turn in enumerate(tape.trunk, 1):
        history.append(Iteration(number, turn, Evaluation(), (turn.reply,), turn.ms))
    return history


def _spin(examples: Sequence[Example]) -> list[Roc]:
    alike: dict[str, list[bool]] = {identity: [] for identity in (*NESTED, *ASIDE)}
    for example in examples:
        history = _after(*({"calls": [example.data[key]]} for key in ("a", "b")))
        for identity, said in alike.items():
            said.append(Spin(identity=identity).signal(history) >= 2)  # type: ignore[arg-type]
    scores = [float(sum(votes)) for votes in zip(*(alike[n] for n in NESTED), strict=True)]
    truth = [example.data["same"] for example in examples]
    order = (DEFAULT_IDENTITY, *(name for name in alike if name != DEFAULT_IDENTITY))
    rules = {name: (_level(name), alike[name]) for name in order}
    return [_roc(examples, "same", truth, scores, rules)]


def _level(identity: str) -> float:
    """How many of the nested identities, the coarsest first, this one implies."""
    return NESTED.index(identity) + 1.0 if identity in NESTED else math.nan


def _continuity(examples: Sequence[Example]) -> list[Roc]:
    settings = Continuity()
    scores, rules = [], []
    complete = []
    for example in examples:
        message, goal = example.data["message"], example.data["goal"]
        scores.append(overlap(message, goal))
        complete.append(is_complete(message))
        answer = judge_continuity(
            message, goal, interrupted=True, settings=settings, ask=lambda: None
        )
        rules.append(answer.verdict)
    above, below = settings.same_above, settings.new_below
    said = {
        "all rules: same": (math.nan, [verdict == "same" for verdict in rules]),
        "all rules: not new": (math.nan, [verdict != "new" for verdict in rules]),
        f"overlap > {above:g}": (above, [score > above for score in scores]),
        f"not overlap < {below:g}, complete": (
            below,
            [not (score < below and c) for score, c in zip(scores, complete, strict=True)],
        ),
    }
    truth = [example.data["label"] == "same" for example in examples]
    return [_roc(examples, "same", truth, scores, said)]


_RATERS: Mapping[str, Callable[[Sequence[Example]], list[Roc]]] = {
    "triage": _triage,
    "similarity": _similarity,
    "spin": _spin,
    "continuity": _continuity,
}
