"""From a recording that ended badly to the shortest one that ends the same way, as a test."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.errors import HarnessError
from harness.exits import ExitReason
from harness.expect import observed
from harness.export.files import line_of, plain
from harness.fingerprint import digest
from harness.minimise.ddmin import ddmin
from harness.minimise.ending import Ending, Trial, ending_of, replayed
from harness.minimise.shorten import shortened
from harness.minimise.tree import Group, Path, groups, members, without
from harness.personal import Personal, renumbered
from harness.preset import Preset
from harness.redact import Redactor
from harness.scenario import Scenario

#: Replays that one recording may cost; a few hundred are usual.
BUDGET = 3000
#: What says nothing about a replay, or nothing that holds of a part of the recording.
_ABOUT = ("title", "source", "tags", "truth", "expect", "spare")


@dataclass(frozen=True, slots=True)
class Size:
    """How much a recording holds; ``bytes`` as a line of JSON."""

    steps: int
    calls: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Minimised:
    """A short recording with what was done to get it.

    Attributes:
        data: The scenario, with its expectation.
        iteration: In which it ends.
        minimal: No step and no part can be left out; false where the budget was spent.
        replaced: Personal details that were replaced: different values by kind.
        left: Kinds that were left, because replacing them changes the ending.
    """

    data: dict[str, Any]
    ending: Ending
    iteration: int
    before: Size
    after: Size
    replays: int
    minimal: bool
    replaced: Mapping[str, int] = field(default_factory=dict)
    left: tuple[str, ...] = ()


def minimise(
    scenario: Scenario,
    preset: Preset,
    *,
    keep_text: bool = False,
    budget: int = BUDGET,
    on_replay: Callable[[int, int], None] | None = None,
) -> Minimised:
    """The shortest recording that ends the same way under the same preset.

    The same way means: status, exit reason with its group and source, guard, decision, action,
    replay label and whether a person is needed. The iteration may be an earlier one.

    Args:
        scenario: The recording.
        preset: Its thresholds stay as they are.
        keep_text: Texts are neither shortened nor freed of personal details; secrets go always.
        budget: Replays that may be made; when they are spent, what was reached by then is the
            result. Secrets and personal details are taken out of it all the same, for which a
            few more may be needed.
        on_replay: Called with replays made and the budget.

    Raises:
        HarnessError: Nothing decided in this replay, so there is no ending to keep; or the
            recording cannot be shared without its secrets.
    """
    episode = replayed(scenario, preset)
    where = f"{scenario.id} under {preset.name}"
    if episode.exit_reason is ExitReason.RECORDING_EXHAUSTED:
        raise HarnessError(
            f"minimise: {where}: {episode.message}; without a decision there is no ending to keep"
        )
    wanted = ending_of(episode)
    trial = Trial(preset, wanted, budget, on_replay)
    data = {key: value for key, value in plain(scenario).items() if key not in _ABOUT}
    data = _pruned(_cut(data, episode.exit_iteration, trial), trial)
    data = renumbered(Redactor().value(data))
    if not trial.surely(data):
        raise HarnessError(f"minimise: {where}: ends differently once its secrets are taken out")
    personal = Personal()
    left: tuple[str, ...] = ()
    if keep_text:
        data = _pruned(data, trial)
    else:
        data, personal, left = _freed(data, trial)
        data = _to_the_end(data, trial)
    return _as_test(scenario, preset, data, trial, wanted, personal, left)


def _cut(data: dict[str, Any], iterations: int, trial: Trial) -> dict[str, Any]:
    """Without the steps behind the end, where they do not matter."""
    short = data | {"steps": data["steps"][:iterations]}
    return short if trial(short) else data


def _pruned(data: dict[str, Any], trial: Trial) -> dict[str, Any]:
    """Without any part that the ending does not need; again and again until nothing more goes."""
    while True:
        before = line_of(data)
        done: set[Group] = set()
        while (group := next((g for g in groups(data) if g not in done), None)) is not None:
            done.add(group)
            data = _with_needed(data, group, trial)
        if line_of(data) == before:
            return data


def _with_needed(data: dict[str, Any], group: Group, trial: Trial) -> dict[str, Any]:
    """With those parts of one kind that the ending needs."""
    every = members(data, group)

    def with_only(kept: Sequence[Path]) -> dict[str, Any]:
        chosen = set(kept)
        made: dict[str, Any] = without(data, [path for path in every if path not in chosen])
        return made

    return with_only(ddmin(every, lambda kept: trial(with_only(kept))))


def _to_the_end(data: dict[str, Any], trial: Trial) -> dict[str, Any]:
    """Texts shortened and parts left out in turn; shorter texts may make parts needless."""
    while True:
        before = line_of(data)
        data = _pruned(shortened(data, trial), trial)
        if line_of(data) == before:
            return data


def _freed(data: dict[str, Any], trial: Trial) -> tuple[dict[str, Any], Personal, tuple[str, ...]]:
    """Without personal details; kinds whose replacement changes the ending stay."""
    personal = Personal()
    made = personal.scenario(data)
    if trial.surely(made):
        return made, personal, ()
    kinds = sorted(personal.found)
    left = ddmin(kinds, lambda kept: trial.surely(Personal(leave=kept).scenario(data)))
    personal = Personal(leave=left)
    return personal.scenario(data), personal, tuple(left)


def _as_test(
    scenario: Scenario,
    preset: Preset,
    data: dict[str, Any],
    trial: Trial,
    wanted: Ending,
    personal: Personal,
    left: tuple[str, ...],
) -> Minimised:
    """The recording as a scenario that says how it has to end."""
    name = personal.text(scenario.id)
    reason = wanted.reason.value
    head = {
        "schema": data["schema"],
        "id": _id(name, scenario, preset, reason),
        "title": f"{preset.name}: {reason.replace('_', ' ')}",
        "source": f"minimised from {name} (content {scenario.content_hash}) under {preset.name}",
    }
    made = head | {key: value for key, value in data.items() if key not in head}
    episode = replayed(Scenario.model_validate(made), preset)
    found = ending_of(episode)
    if found != wanted:
        raise HarnessError(
            f"minimise: {scenario.id} under {preset.name}: ends differently under another name: "
            f"{episode.message}"
        )
    expected = observed(episode).model_dump(mode="json")
    made["expect"] = {preset.name: expected}
    return Minimised(
        data=made,
        ending=found,
        iteration=episode.exit_iteration,
        before=_size(plain(scenario)),
        after=_size(made),
        replays=trial.replays,
        minimal=not trial.spent,
        replaced=personal.found,
        left=left,
    )


def _id(name: str, scenario: Scenario, preset: Preset, reason: str) -> str:
    """An id that no other test of the same folder has, and always the same one.

    Words are not enough: they get cut, and one loop is recorded night after night.
    """
    words = [_slug(name.removeprefix("regression/"))[:60], preset.name, reason]
    unlike = digest("regression", scenario.content_hash, preset.name)[:6]
    return f"regression/{'-'.join(filter(None, map(_slug, words)))}-{unlike}"


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.casefold()).strip("-")


def _size(data: Mapping[str, Any]) -> Size:
    lists = [
        data["steps"],
        *(steps for each in data.get("branches", {}).values() for steps in each),
    ]
    calls = sum(len(step.get("calls", ())) for steps in lists for step in steps)
    return Size(sum(map(len, lists)), calls, len(line_of(data).encode()))
