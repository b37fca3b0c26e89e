"""What it means that two episodes end the same way, and asking that of a changed recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from harness.episode import Episode
from harness.exits import ExitReason, Group
from harness.export.files import line_of
from harness.fingerprint import digest
from harness.loop import run_episode
from harness.preset import Preset
from harness.scenario import Scenario
from harness.turns import prepare


@dataclass(frozen=True, slots=True)
class Ending:
    """How an episode ends, the iteration left aside.

    What else was true beside the winning condition is not part of it: it may go with the steps
    that made it true.
    """

    status: str
    reason: ExitReason
    group: Group
    source: str
    guard: str | None
    decision: str
    path: int
    action: str | None
    replay: str
    needs_human: bool


def ending_of(episode: Episode) -> Ending:
    """How an episode ends."""
    last = episode.decisions[-1]
    return Ending(
        status=episode.status,
        reason=episode.exit_reason,
        group=episode.exit_group,
        source=episode.exit_reason_source,
        guard=episode.exit_guard,
        decision=last.name,
        path=last.path,
        action=last.winner.action if last.winner is not None else None,
        replay=episode.replay,
        needs_human=episode.needs_human,
    )


def replayed(scenario: Scenario, preset: Preset) -> Episode:
    """One replay; nothing is stored."""
    return run_episode(prepare(scenario, wait_ms=preset.wait_ms), preset)


class Trial:
    """Asks of changed recordings whether they still end the same way, within a budget.

    Args:
        preset: Under which they are replayed.
        wanted: The ending that is to stay.
        budget: Replays that may be made; after them every answer of a call is no.
        on_replay: Called with replays made and the budget.
    """

    def __init__(
        self,
        preset: Preset,
        wanted: Ending,
        budget: int,
        on_replay: Callable[[int, int], None] | None = None,
    ) -> None:
        self._preset = preset
        self._wanted = wanted
        self._budget = budget
        self._on_replay = on_replay
        self._known: dict[str, bool] = {}
        self.replays = 0
        #: Whether an answer was refused because the budget was spent.
        self.spent = False

    def __call__(self, data: Mapping[str, Any]) -> bool:
        """Whether the recording is possible and ends as wanted; no where nobody may ask."""
        key = _key(data)
        if key not in self._known and self.replays >= self._budget:
            self.spent = True
            return False
        return self._answer(key, data)

    def surely(self, data: Mapping[str, Any]) -> bool:
        """The same without regard to the budget: for what a file must not be written without."""
        return self._answer(_key(data), data)

    def _answer(self, key: str, data: Mapping[str, Any]) -> bool:
        if key not in self._known:
            self._known[key] = self._ask(data)
        return self._known[key]

    def _ask(self, data: Mapping[str, Any]) -> bool:
        try:
            scenario = Scenario.model_validate(data)
        except ValidationError:
            return False
        self.replays += 1
        if self._on_replay is not None:
            self._on_replay(self.replays, self._budget)
        return ending_of(replayed(scenario, self._preset)) == self._wanted


def _key(data: Mapping[str, Any]) -> str:
    return digest("trial", line_of(data))
