"""Which replies of a recording its replays have played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.episode import Episode
from harness.mechanisms import ROLES
from harness.preset import Preset
from harness.scenario import Scenario
from harness.trace import Turn
from harness.turns import Tape

#: Branch (empty for the trunk) and step from 1.
Place = tuple[str, int]


def can_stay_unplayed(scenario: Scenario) -> bool:
    """Whether there is anything beside the agent's own replies that has to be played."""
    roles = {"judge" for step in scenario.steps if step.judge is not None}
    roles.update(role for step in scenario.steps for role in step.roles)
    return bool(scenario.branches) or bool(roles.difference(scenario.spare))


def unplayed(
    tape: Tape, episodes: Mapping[str, Episode], presets: Mapping[str, Preset]
) -> list[str]:
    """Recorded role replies and branches that no replay of the scenario has played.

    A reply counts where a replay went through its step under a preset that has the role's
    mechanism, unless the scenario calls the role ``spare``. What lies behind the end of the loop
    does not count: to cut that off is what guards are for.

    Args:
        tape: The scenario.
        episodes: Its replays, by preset.
        presets: The presets of those replays.

    Returns:
        One line for each; empty if all were played.
    """
    asking: dict[Place, set[str]] = {}
    played: dict[tuple[Place, str], int] = {}
    for name, episode in episodes.items():
        able = {role for role, by in ROLES.items() if getattr(presets[name].mechanisms, by)}
        for iteration in episode.iterations:
            place = iteration.turn.source
            asking.setdefault(place, set()).update(able)
            for role in able:
                count = sum(reply.role == role for reply in iteration.replies)
                played[place, role] = max(played.get((place, role), 0), count)
    entered = {branch for branch, _ in asking}
    lines = []
    for branch, turns in _lists(tape):
        if branch not in entered:
            lines.append(f"branch {branch} was never entered")
            continue
        for number, turn in enumerate(turns, 1):
            place = (branch, number)
            for role, replies in turn.roles.items():
                missing = len(replies) - played.get((place, role), 0)
                if missing > 0 and role in asking.get(place, set()).difference(tape.scenario.spare):
                    where = f"{branch} step {number}" if branch else f"step {number}"
                    lines.append(
                        f"{where}: {role} was not asked for {missing} of {len(replies)} replies"
                    )
    return lines


def _lists(tape: Tape) -> Iterator[tuple[str, tuple[Turn, ...]]]:
    yield "", tape.trunk
    for kind, branches in tape.branches.items():
        for number, turns in enumerate(branches):
            yield f"{kind}[{number}]", turns
