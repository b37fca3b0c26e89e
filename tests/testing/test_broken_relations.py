"""Guards that break a relation, or differ in a live loop: each is caught by its check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest

from harness import ExitReason, Guard, HarnessError
from harness.history import UNKNOWN, History
from harness.testing import check_guard, check_laws, check_metamorphic, check_parity

broken = dataclass(frozen=True, kw_only=True)


class Base(Guard):
    reason: ClassVar[ExitReason] = ExitReason.NO_PROGRESS
    measures: ClassVar[str] = "something"


@broken
class FirstCall(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        calls = history.now.turn.calls
        return len(calls[0].tool) if calls else 0


@broken
class IdSums(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        return sum(sum(map(ord, call.args)) % 7 for call in history.now.turn.calls)


@broken
class ToolNames(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        return sum(call.tool == "read" for call in history.now.turn.calls)


@broken
class RawResults(Base):
    """Counts equal results word for word, and says so nowhere."""

    threshold: float = 3

    def signal(self, history: History) -> float:
        items = history.trail("call", "args+result").items
        return items.count(items[-1]) if items else UNKNOWN


@broken
class Nudged(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        return 0 if history.now.turn.nudge else 1


@broken
class ZeroScore(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        return history.now.evaluation.score or 0


@broken
class NoDirection(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        score = history.now.evaluation.score
        return UNKNOWN if score is None else round(max(history.scores) - score, 9)


@broken
class SurelyTokens(Base):
    """A lower bound that is told as exact."""

    threshold: float = 3
    reason: ClassVar[ExitReason] = ExitReason.TOKEN_BUDGET

    def signal(self, history: History) -> float:
        return history.tokens_total


@broken
class Spender(Base):
    threshold: float = 3

    def signal(self, history: History) -> float:
        return history.tokens_total

    def known(self, history: History) -> bool:
        return history.tokens_known


@broken
class FailedShare(Base):
    """Stops when so large a share of all calls failed."""

    threshold: float = 0.5

    def signal(self, history: History) -> float:
        failed = history.trail("call", "error").items
        return len(failed) / history.calls if history.calls else UNKNOWN


@broken
class DeclaredShare(FailedShare):
    exempt: ClassVar[Mapping[str, str]] = {"cut_prefix": "a share over the whole episode"}


RELATIONS = {
    "shuffle_parallel_calls": FirstCall(),
    "rename_ids": IdSums(),
    "rename_tools": ToolNames(),
    "shift_timestamps": RawResults(),
    "insert_nudge": Nudged(),
    "drop_scores": ZeroScore(),
    "mirror_scores": NoDirection(),
    "drop_usage": SurelyTokens(),
    "spend_more": Spender(),
    "cut_prefix": FailedShare(),
}


@pytest.mark.parametrize(("relation", "guard"), RELATIONS.items(), ids=list(RELATIONS))
def test_a_broken_relation_is_named(relation, guard):
    words = (
        rf"^{guard.kind()} on scenario \S+: {relation} changed the signal in iteration \d+ from "
    )
    with pytest.raises(AssertionError, match=words):
        check_metamorphic(guard, relations=[relation])
    check_metamorphic(guard, relations=["respell_arguments", "append_suffix"])


def test_what_a_class_declares_may_change():
    check_metamorphic(DeclaredShare())
    check_metamorphic(FailedShare(), exclude=["cut_prefix"])


@broken
class Misspelt(Base):
    threshold: float = 3
    exempt: ClassVar[Mapping[str, str]] = {"cut_prefx": "?"}

    def signal(self, history: History) -> float:
        return 0


@pytest.mark.parametrize(
    ("guard", "options"),
    [
        (Misspelt(), {}),
        (Nudged(), {"exclude": ["cut_prefx"]}),
        (Nudged(), {"relations": ["cut_prefx"]}),
    ],
)
def test_unknown_relations_are_refused(guard, options):
    with pytest.raises(HarnessError, match=r"relation: found 'cut_prefx' \(did you mean 'cut_pref"):
        check_metamorphic(guard, **options)


@broken
class Position(Base):
    """Reads where a step stands in its file, which a live loop cannot know."""

    threshold: float = 99

    def signal(self, history: History) -> float:
        return history.now.turn.source[1]


def test_a_live_loop_that_measures_otherwise_is_named():
    words = r"only-position on scenario \S+: parity: position is \(1, 'quiet'\) in iteration 1"
    with pytest.raises(AssertionError, match=words):
        check_parity(Position())


def test_a_check_of_nothing_does_not_pass():
    for check in (check_laws, check_metamorphic, check_parity, check_guard):
        with pytest.raises(HarnessError, match="at least one scenario"):
            check(DeclaredShare(), [])


def test_a_good_guard_passes_everything():
    check_guard(DeclaredShare())
