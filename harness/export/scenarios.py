"""Recordings of stored episodes: from their files where these are still the same, else rebuilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from harness.errors import HarnessError
from harness.export.files import plain
from harness.export.rebuilt import LIVE, rebuilt
from harness.export.stored import Row, originals, preset_of
from harness.loop import run_episode
from harness.personal import renumbered
from harness.redact import Redactor
from harness.scenario import Scenario
from harness.store.database import Store
from harness.turns import prepare


@dataclass(frozen=True, slots=True)
class Exported:
    """One recording on its way out.

    Attributes:
        whole: It is the recording that was replayed; otherwise what the store holds of it.
        same_end: Whether one that is not as it was replayed (rebuilt, or without its secrets) still
            ends in the same iteration for the same reason under all presets that it was exported
            of; ``None`` where nobody can say.
        secrets: How often a secret was taken out.
    """

    data: dict[str, Any]
    whole: bool
    same_end: bool | None
    secrets: int


def recordings(store: Store, rows: Sequence[Row]) -> list[Exported]:
    """The recordings behind episodes, each once and without secrets.

    Args:
        store: Where the episodes are.
        rows: The episodes; of several that replayed the same recording, one is looked at.

    Raises:
        HarnessError: Two of them are different recordings under one id, which no file can hold.
    """
    longest: dict[str, Row] = {}
    for row in rows:
        before = longest.get(row["content_hash"])
        if before is None or row["exit_iteration"] > before["exit_iteration"]:
            longest[row["content_hash"]] = row
    names: dict[str, str] = {}
    for content, row in longest.items():
        other = names.setdefault(row["scenario"], content)
        if other != content:
            raise HarnessError(
                f"export: scenario {row['scenario']} is in the store with different contents "
                f"({other}, {content}); choose one with --run or by its episode's id"
            )
    live = _continued(store, rows)
    found = originals(store, [row for row in longest.values() if row["episode_id"] not in live])
    made = []
    for content, row in longest.items():
        replays = [each for each in rows if each["content_hash"] == content]
        if content in found:
            replays = [each for each in replays if each["episode_id"] not in live]
            made.append(_exported(store, plain(found[content]), replays, whole=True))
        else:
            made.append(_exported(store, rebuilt(store, row), replays, whole=False))
    return made


def _continued(store: Store, rows: Sequence[Row]) -> frozenset[str]:
    """Episodes that a live model went on with: their files hold only the beginning."""
    found = store.rows(
        "SELECT DISTINCT episode_id FROM iterations "
        "WHERE branch = $live AND list_contains($ids, episode_id)",
        {"live": LIVE, "ids": [row["episode_id"] for row in rows]},
    )
    return frozenset(row["episode_id"] for row in found)


def _exported(store: Store, data: dict[str, Any], rows: Sequence[Row], *, whole: bool) -> Exported:
    redactor = Redactor()
    clean = redactor.value(data)
    if redactor.removed:
        # The same episode has to give the same file.
        clean = renumbered(clean)
    same = None if whole and not redactor.removed else _same_end(store, clean, rows)
    return Exported(clean, whole, same, redactor.removed)


def _same_end(store: Store, data: dict[str, Any], rows: Sequence[Row]) -> bool | None:
    """Whether a recording ends as these episodes did: no where one of them differs."""
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError:
        return None
    under = {(row["preset_hash"], row["observe"]): row for row in rows}
    ends = [_ends_as(store, scenario, row) for row in under.values()]
    return False if False in ends else None if None in ends else True


def _ends_as(store: Store, scenario: Scenario, row: Row) -> bool | None:
    try:
        preset = preset_of(store, row)
        tape = prepare(scenario, wait_ms=preset.wait_ms)
        episode = run_episode(tape, preset, observe=row["observe"])
    except HarnessError:
        return None
    ended = (episode.exit_reason.value, episode.exit_iteration)
    return ended == (row["exit_reason"], row["exit_iteration"])
