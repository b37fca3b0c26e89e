"""Episodes of a store, and the recordings and presets that they were made from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from harness.errors import HarnessError, PresetError, ScenarioError, StoreError, choices
from harness.files import find, parse, read_raw
from harness.preset import Preset, bundled, load_preset
from harness.scenario import Scenario
from harness.store.database import Store
from harness.store.queries import query
from harness.store.runs import chosen_run, known_run

Row = dict[str, Any]


def episodes(
    store: Store, wanted: Sequence[str], *, run_id: str | None = None, presets: Sequence[str] = ()
) -> list[Row]:
    """Episodes by id (or its beginning) or by the scenario's id; of none named, a whole run.

    Args:
        store: Where to look.
        wanted: What the user wrote.
        run_id: Only of this run. Left out: of what is named by a scenario's id, and of nothing
            named, the latest run that has it.
        presets: Only under these.

    Raises:
        StoreError: Something wanted is not there.
    """
    if run_id is not None:
        known_run(store, run_id)
    if not wanted:
        run = chosen_run(store, run_id)
        key = {"run": run, "presets": list(presets), "reasons": []}
        ids = [row["episode_id"] for row in store.rows(query("episodes"), key)]
        if not ids or presets:
            _known_presets(store, run, presets)
        return _rows(store, ids)
    found: dict[str, Row] = {}
    for name in wanted:
        for row in _named(store, name, run_id, presets):
            found[row["episode_id"]] = row
    return list(found.values())


def _known_presets(store: Store, run_id: str, presets: Sequence[str]) -> None:
    """Refuse presets that a run does not have.

    Raises:
        StoreError: Names them; or the run is empty.
    """
    found = store.rows("SELECT DISTINCT preset FROM episodes WHERE run_id = ?", [run_id])
    has = {row["preset"] for row in found}
    if not has:
        raise StoreError(f"store {store.path}: run {run_id} has no episodes")
    for name in presets:
        if name not in has:
            raise StoreError(f"run {run_id}: --preset: {choices(name, has)}")


def _named(store: Store, name: str, run_id: str | None, presets: Sequence[str]) -> list[Row]:
    key = {"wanted": name, "preset": None, "run": run_id}
    rows = store.rows(query("find_episode"), key) if name else []
    if not rows:
        everything = {"run": chosen_run(store, run_id), "presets": [], "reasons": []}
        known = {row["scenario"] for row in store.rows(query("episodes"), everything)}
        raise StoreError(f"store {store.path}: no such episode or scenario: {choices(name, known)}")
    under = [row for row in rows if not presets or row["preset"] in presets]
    if not under:
        has = {row["preset"] for row in rows}
        raise StoreError(f"{name}: --preset: {choices(', '.join(presets), has)}")
    by_id = [row for row in under if row["scenario"] != name]
    return by_id or [row for row in under if row["run_id"] == under[0]["run_id"]]


def one_episode(store: Store, name: str, run_id: str | None, preset: str | None) -> Row:
    """The one episode that is meant.

    Raises:
        HarnessError: None, or several; names what to add.
    """
    if not name:
        raise HarnessError("an episode id or a scenario's id is needed, found ''")
    found = episodes(store, [name], run_id=run_id, presets=[preset] if preset else [])
    first = found[0]
    presets = sorted({row["preset"] for row in found})
    if len({row["scenario"] for row in found}) > 1:
        ids = ", ".join(row["episode_id"] for row in found[:8])
        raise HarnessError(f"{name!r} begins several episode ids: {ids}")
    if len(presets) > 1:
        raise HarnessError(
            f"{name} ran under several presets; choose one with --preset: {', '.join(presets)}"
        )
    return first


def _rows(store: Store, ids: Sequence[str]) -> list[Row]:
    return store.rows(
        "SELECT e.*, r.created_ms FROM episodes e JOIN runs r USING (run_id) "
        "WHERE list_contains($ids, e.episode_id) ORDER BY e.scenario, e.preset, e.repetition",
        {"ids": list(ids)},
    )


def options_of(store: Store, run_id: str) -> dict[str, Any]:
    """What a run was made with: paths, presets and so on; empty where it names nothing."""
    found = store.rows("SELECT options FROM runs WHERE run_id = ?", [run_id])
    options: dict[str, Any] = json.loads(found[0]["options"]) if found else {}
    return options


def originals(store: Store, rows: Collection[Row]) -> dict[str, Scenario]:
    """The recordings behind episodes, as far as the files of their runs still hold them.

    Args:
        store: Knows where the runs found their files.
        rows: The episodes.

    Returns:
        By content hash: what has changed since is not there.
    """
    found: dict[str, Scenario] = {}
    for run_id in dict.fromkeys(row["run_id"] for row in rows):
        wanted = {row["content_hash"] for row in rows if row["run_id"] == run_id} - set(found)
        names = {row["scenario"] for row in rows if row["run_id"] == run_id}
        for path in options_of(store, run_id).get("paths", []):
            if wanted:
                for scenario in _of_path(path, names):
                    if scenario.content_hash in wanted:
                        found[scenario.content_hash] = scenario
                        wanted.discard(scenario.content_hash)
    return found


def _of_path(path: str, names: Collection[str]) -> Iterator[Scenario]:
    """Scenarios of a file or folder by id; a file that is gone or broken has none."""
    try:
        for raw in read_raw(find([path])):
            try:
                yield from (scenario for scenario in parse(raw) if scenario.id in names)
            except ScenarioError:
                continue  # it has changed since the run, which is all that is asked here
    except ScenarioError:
        return


def preset_of(store: Store, row: Row, named: str | None = None) -> Preset:
    """The preset that an episode ran under, as it was then.

    Args:
        store: Knows from which file the run took it.
        row: The episode.
        named: A name or ``.toml`` file that the user gave.

    Raises:
        HarnessError: It is gone or has changed since.
    """
    name, sources = row["preset"], options_of(store, row["run_id"]).get("presets", [])
    tried = [named] if named is not None and named.endswith(".toml") else [*sources, name]
    for source in tried:
        if not source.endswith(".toml") and source not in bundled():
            continue
        try:
            preset = load_preset(source)
        except PresetError:
            continue  # another of them may be the one
        if preset.hash == row["preset_hash"]:
            return preset
    raise HarnessError(
        f"episode {row['episode_id']}: preset {name!r} is not where the run found it, or has "
        f"changed since (looked at: {', '.join(tried)}); name its file with --preset, or run the "
        "scenario again"
    )
