"""Checks a guard against the metamorphic relations of ``harness.testing.relations``."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping

from harness.errors import HarnessError, choices
from harness.guards import Guard
from harness.preset import Preset
from harness.scenario import Scenario
from harness.testing._pairs import Pair
from harness.testing._subject import preset_of, scenarios_of, traced
from harness.testing.relations import RELATIONS, Relation


def check_metamorphic(
    subject: Guard | Preset | str,
    scenarios: Iterable[Scenario] | None = None,
    *,
    relations: Collection[str] | None = None,
    exclude: Collection[str] = (),
    seed: int = 0,
) -> dict[str, int]:
    """Check what must hold between a recording and a changed one.

    The relations are listed in ``RELATIONS`` and in ``docs/your-own-guard.md``. Each changes a
    recording in a way that a guard must not notice, or must notice in a known way. A guard class
    declares what it means to break: ``exempt = {"cut_prefix": "a share over the episode"}``.

    Args:
        subject: A guard, a preset (each of its guards is checked), or a preset's name or file.
        scenarios: What is changed; left out: the hand-written scenarios that come with
            the harness, and ``made_scenarios()``.
        relations: Names of the relations to check; left out: all.
        exclude: Names of relations to leave out.
        seed: Of the changes that are drawn; the same seed makes the same changes.

    Returns:
        How many changed recordings each relation was checked on. Zero says that no scenario
        holds what it changes.

    Raises:
        AssertionError: A relation is broken; names guard, scenario, relation, iteration, and the
            signal before and after.
        HarnessError: An unknown relation or preset, or no scenario.
    """
    chosen = _chosen(relations, exclude)
    preset = preset_of(subject)
    for guard in preset.guards.values():
        _exempt(guard)
    counts = dict.fromkeys((relation.name for relation in chosen), 0)
    for scenario in scenarios_of(scenarios):
        trace = traced(scenario, preset)
        for relation in chosen:
            # Drawn for each scenario, so that leaving one out changes nothing in the others.
            rng = random.Random(f"{seed} {relation.name} {scenario.id}")  # noqa: S311 - no secret
            for pair in relation.pairs(trace, preset, rng):
                counts[relation.name] += 1
                for name, guard in preset.guards.items():
                    if not relation.spared(guard) and relation.name not in _exempt(guard):
                        _check(name, guard, relation, pair)
    return counts


def _check(name: str, guard: Guard, relation: Relation, pair: Pair) -> None:
    before = pair.before.readings(guard)[pair.cut :]
    before = before[: len(before) - pair.spare]
    after = pair.after.readings(guard)
    for at, (one, other) in enumerate(zip(before, after, strict=False)):
        if not relation.kept(guard, pair, one, other, (before[0], after[0])):
            raise AssertionError(
                f"{name} on scenario {pair.before.scenario.id}: {relation.name} changed the "
                f"signal in iteration {at + 1 + pair.cut} from {one} to {other} "
                f"({relation.holds})"
            )


def _chosen(relations: Collection[str] | None, exclude: Collection[str]) -> list[Relation]:
    names = [relation.name for relation in RELATIONS]
    for name in (*(relations or ()), *exclude):
        _known(name, names)
    wanted = names if relations is None else relations
    return [r for r in RELATIONS if r.name in wanted and r.name not in exclude]


def _known(name: str, names: list[str]) -> None:
    if name not in names:
        raise HarnessError(f"relation: {choices(name, names)}")


def _exempt(guard: Guard) -> Mapping[str, str]:
    """What a guard's class declares not to hold, and why; of joined guards all of it."""
    found: dict[str, str] = dict(guard.exempt)
    for part in getattr(guard, "guards", ()):
        found.update(_exempt(part))
    for name in found:
        _known(name, [relation.name for relation in RELATIONS])
    return found
