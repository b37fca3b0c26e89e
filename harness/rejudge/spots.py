"""Which iterations of a recording are judged, and how a judgement is written down there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.errors import HarnessError
from harness.recorded import by_source
from harness.scenario import Scenario, Step

TAG = "rejudged"


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """One iteration that is to be judged; compared by identity.

    Attributes:
        branch: Where it stands, as ``Turn.source`` names it; ``""`` is the trunk.
        number: Of the step there, from 1.
    """

    scenario: Scenario
    branch: str
    number: int

    @property
    def steps(self) -> Sequence[Step]:
        """The steps of its branch up to this one: nothing that came later."""
        return steps_of(self.scenario)[self.branch][: self.number]

    @property
    def step(self) -> Step:
        """The step that is judged."""
        return steps_of(self.scenario)[self.branch][self.number - 1]

    @property
    def where(self) -> str:
        """In words."""
        branch = f" of {self.branch}" if self.branch else ""
        return f"{self.scenario.id} iteration {self.number}{branch}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was said of one iteration.

    Attributes:
        keys: Keys of its step: ``judge`` or ``score``; none where it stays unknown.
        error: Why a user's function came to nothing, with file and line.
    """

    keys: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


class Judge(Protocol):
    """Judges iterations; called by several threads where several were asked for."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What makes its judgements its own; work that another one began is not gone on with."""
        ...

    def lacks(self, step: Step) -> bool:
        """Whether a step lacks what this judge gives."""
        ...

    def key(self, spot: Spot) -> str:
        """Hash of all that a judgement depends on."""
        ...

    def judge(self, spot: Spot) -> Judgement | None:
        """The judgement; ``None`` where no further call may be made.

        Raises:
            Unreachable: Nobody can judge just now.
        """
        ...


class Unreachable(HarnessError):  # noqa: N818 - an outcome, not a fault
    """The judge cannot be reached; what was judged is kept, the rest can be gone on with."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which iterations are judged.

    Attributes:
        every: Each n-th of the trunk and of each branch.
        last: Only the last of the trunk and of each branch.
        again: Also those that have what the judge gives.
    """

    every: int = 1
    last: bool = False
    again: bool = False

    def spots(self, scenario: Scenario, judge: Judge) -> Iterator[Spot]:
        """The iterations of a recording that are to be judged, in order."""
        for branch, steps in steps_of(scenario).items():
            numbers: Iterable[int] = range(self.every, len(steps) + 1, self.every)
            if self.last:
                numbers = [len(steps)] if steps else []
            for number in numbers:
                if self.again or judge.lacks(steps[number - 1]):
                    yield Spot(scenario, branch, number)


def steps_of(scenario: Scenario) -> dict[str, list[Step]]:
    """Its lists of steps under the names that ``Turn.source`` gives them."""
    found = {"": scenario.steps}
    for kind, lists in scenario.branches.items():
        found |= {f"{kind}[{n}]": steps for n, steps in enumerate(lists)}
    return found


def has_verdict(step: Step) -> bool:
    """Whether a judge's reply is recorded there."""
    return step.judge is not None or "judge" in step.roles


def judged(scenario: Scenario, found: Mapping[Spot, Judgement]) -> dict[str, Any]:
    """The recording with these judgements in it.

    Args:
        scenario: As it was.
        found: By iteration.
    """
    data = plain(scenario)
    lists = by_source(data)
    for spot, judgement in found.items():
        step = lists[spot.branch][spot.number - 1]
        if "judge" in judgement.keys:
            _without_judge(step)
        step |= judgement.keys
    if any(judgement.keys for judgement in found.values()):
        data["tags"] = [*dict.fromkeys([*scenario.tags, TAG])]
    return data


def bare(scenario: Scenario) -> dict[str, Any]:
    """A recording without anything that a judge could have added: tells whether two are one."""
    data = plain(scenario)
    data.pop("tags", None)
    for steps in by_source(data).values():
        for step in steps:
            step.pop("score", None)
            _without_judge(step)
    return data


def plain(scenario: Scenario) -> dict[str, Any]:
    """A scenario as plain data."""
    return scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _without_judge(step: dict[str, Any]) -> None:
    step.pop("judge", None)
    roles = step.get("roles", {})
    roles.pop("judge", None)
    if not roles:
        step.pop("roles", None)
