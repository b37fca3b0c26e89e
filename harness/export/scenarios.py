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
from harness.scenario import Scenario
from harness.store.database import Store
from harness.turns import prepare


@dataclass(frozen=True, slots=True)
class Exported:
    """One recording on its way out.

    Attributes:
        whole: It is the recording that was replayed; otherwise what the store holds of it.
        same_end: Whether a rebuilt one still ends in the same iteration for the same reason under
            the preset that it was rebuilt for; ``None`` where nobody can say.
    """

    data: dict[str, Any]
    whole: bool
    same_end: bool | None


def recordings(store: Store, rows: Sequence[Row]) -> list[Exported]:
    """The recordings behind episodes, each once.

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
    live = _continued(store, list(longest.values()))
    found = originals(store, [row for row in longest.values() if row["episode_id"] not in live])
    return [
        Exported(plain(found[content]), True, None) if content in found else _rebuilt(store, row)
        for content, row in longest.items()
    ]


def _continued(store: Store, rows: Sequence[Row]) -> frozenset[str]:
    """Episodes that a live model went on with: their files hold only the beginning."""
    found = store.rows(
        "SELECT DISTINCT episode_id FROM iterations "
        "WHERE branch = $live AND list_contains($ids, episode_id)",
        {"live": LIVE, "ids": [row["episode_id"] for row in rows]},
    )
    return frozenset(row["episode_id"] for row in found)


def _rebuilt(store: Store, row: Row) -> Exported:
    data = rebuilt(store, row)
    try:
        preset = preset_of(store, row)
        scenario = Scenario.model_validate(data)
    except (HarnessError, ValidationError):
        return Exported(data, False, None)
    tape = prepare(scenario, wait_ms=preset.wait_ms)
    episode = run_episode(tape, preset, observe=row["observe"])
    ended = (episode.exit_reason.value, episode.exit_iteration)
    return Exported(data, False, ended == (row["exit_reason"], row["exit_iteration"]))
