"""A function of the user's as the judge: what it gets to see, and what it may answer."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.errors import HarnessError
from harness.fingerprint import digest
from harness.judge import UNIT
from harness.rejudge.spots import Judgement, Spot, has_verdict
from harness.scenario import Scenario, Step
from harness.usercode import raised, shown
from harness.validation import problem

_ANSWERS = "a number, {passed, total}, a verdict (dict) or None"


@dataclass(frozen=True, slots=True)
class Moment:
    """One iteration of a recording as a function gets to see it: nothing that came later.

    Attributes:
        scenario: Id of the recording.
        iteration: From 1; in a branch it counts from the branch's beginning.
        steps: The steps so far, as in the scenario format; the last one is judged.
        score_scale: The range in which a number is read, where the recording declares one.
    """

    scenario: str
    goal: str
    iteration: int
    steps: tuple[Step, ...]
    score_scale: tuple[float, float] | None

    @property
    def step(self) -> Step:
        """The step that is judged."""
        return self.steps[-1]


class FunctionJudge:
    """Asks a function: ``function(moment)``.

    It returns a number (the score), ``{"passed": 3, "total": 4}``, a verdict as a dict (``done``,
    ``reason``, ``evidence`` and the rest of a judge's reply), or ``None`` where it cannot tell.
    What it raises is reported with file and line; that iteration stays unknown.

    Args:
        function: Called once for each iteration.
        name: How it is told from others.

    Raises:
        HarnessError: The function is asynchronous, and nobody would wait for its answer.
    """

    def __init__(self, function: Callable[[Moment], Any], name: str = "function") -> None:
        called = getattr(function, "__call__", None)  # noqa: B004 - of objects, what is called
        if any(map(inspect.iscoroutinefunction, (function, called))):
            raise HarnessError(
                f"rejudge: --function: {name} is asynchronous; name a plain function, which may "
                "call asyncio.run"
            )
        self._function, self._name = function, name
        found = inspect.unwrap(function)
        code = getattr(found, "__code__", None)
        self._file = Path(code.co_filename) if code is not None else None
        self._line = code.co_firstlineno if code is not None else None

    @property
    def about(self) -> Mapping[str, Any]:
        """Its name, and a hash of the file that it stands in."""
        source = self._file.read_bytes() if self._file and self._file.is_file() else b""
        return {
            "function": self._name,
            "source": digest("source", source.decode("utf-8", "replace")),
        }

    def lacks(self, step: Step) -> bool:
        """Whether a step has neither a score nor a verdict: what comes back may be either."""
        return step.score is None and not has_verdict(step)

    def key(self, spot: Spot) -> str:
        """Hash of the recording, and of where in it."""
        return digest("judgement", spot.scenario.content_hash, spot.branch, str(spot.number))

    def judge(self, spot: Spot) -> Judgement:
        """What the function returns, as keys of the step."""
        scenario = spot.scenario
        scale = scenario.score_scale
        moment = Moment(
            scenario.id, scenario.goal, spot.number, tuple(spot.steps),
            (scale[0], scale[1]) if scale else None,
        )  # fmt: skip
        try:
            answer = self._function(moment)
        except (Exception, SystemExit) as error:
            return Judgement(error=f"{spot.where}: {raised(error, self._file)}")
        try:
            return Judgement(_keys(answer, scenario))
        except (ValueError, TypeError, RecursionError) as error:
            words = problem(error) if isinstance(error, ValidationError) else f" {error}"
            place = f"{shown(self._file)}:{self._line}" if self._file is not None else self._name
            return Judgement(error=f"{spot.where}: {place}: returned{words}")


def _keys(answer: Any, scenario: Scenario) -> dict[str, Any]:
    """An answer as keys of a step.

    Raises:
        ValueError, TypeError: It is none of those that are allowed.
    """
    if answer is None:
        return {}
    if isinstance(answer, Mapping) and set(answer) == {"passed", "total"}:
        keys: dict[str, Any] = {"score": dict(answer)}
    elif isinstance(answer, Mapping):
        keys = {"judge": json.loads(json.dumps(dict(answer), allow_nan=False))}
    elif isinstance(answer, Real) and not isinstance(answer, bool):
        keys = {"score": _number(answer)}
    else:
        raise TypeError(f"{answer!r:.80}; expected {_ANSWERS}")
    if scenario.score_scale is None:
        _within(keys.get("score", keys.get("judge", {}).get("score")))
    head = {"schema": "harness/scenario@1", "id": "x", "goal": "x"}
    # As a whole scenario, so that the declared scale is looked at as well.
    Scenario.model_validate({**head, "score_scale": scenario.score_scale, "steps": [keys]})
    return keys


def _number(answer: Real) -> float:
    """A number as a score.

    Raises:
        ValueError: It is too large for one.
    """
    try:
        return float(answer)
    except OverflowError:
        # Not said as it is: Python refuses to write thousands of digits.
        raise ValueError("a number that is too large for a score") from None


def _within(score: Any) -> None:
    """Refuse a score of no declared scale that a judge's reply could not have either.

    Raises:
        ValueError: It lies outside 0 to 1.
    """
    number = isinstance(score, int | float) and not isinstance(score, bool)
    if number and not UNIT.low <= score <= UNIT.high:
        raise ValueError(
            f"{score!r:.40}, which lies outside {UNIT.low:g} to {UNIT.high:g}; declare score_scale "
            "in the recording"
        )
