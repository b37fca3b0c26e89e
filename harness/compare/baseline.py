"""One side of a comparison: a run, a blessed name or a committed text file; and blessing."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from harness.compare.file import Ended, Key, read
from harness.errors import HarnessError, choices
from harness.store.database import Store
from harness.store.queries import query
from harness.store.runs import known_run


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison.

    Attributes:
        name: What the user called it.
        episodes: By key, sorted.
        directions: Of scores, by scenario; a text file does not know them.
        incomplete: State of a run that did not end well; ``None`` where all is there.
    """

    name: str
    episodes: dict[Key, Ended]
    directions: dict[str, str] = field(default_factory=dict)
    incomplete: str | None = None


def side(role: str, name: str, store_path: Path) -> Side:
    """What a user named: an existing file, else a run, else a blessed name.

    Args:
        role: ``BASE`` or ``CANDIDATE``, for the error message.
        name: What was named.
        store_path: Where runs and names are looked up.

    Raises:
        HarnessError: Nothing of that name, or a file that is no baseline.
    """
    if Path(name).is_file():
        return Side(name, read(Path(name)))
    store = Store(store_path)
    runs = [str(row["run_id"]) for row in store.rows(query("runs"))]
    names = blessed(store)
    run_id = name if name in runs else names.get(name)
    if run_id is None:
        raise HarnessError(
            f"compare: {role}: neither a file nor in store {store_path}: "
            f"{choices(name, [*runs, *names])}"
        )
    return of_run(store, run_id, name)


def of_run(store: Store, run_id: str, name: str | None = None) -> Side:
    """A run of the store, by its id."""
    (found,) = store.rows("SELECT state FROM runs WHERE run_id = ?", [run_id])
    state = str(found["state"])
    directions: dict[str, str] = {}
    episodes = []
    for row in store.rows(query("endings"), {"run": run_id}):
        directions[row["scenario"]] = row.pop("direction")
        episodes.append(Ended(**row))
    return Side(
        name or run_id,
        {one.key: one for one in sorted(episodes, key=lambda e: e.key)},
        directions,
        None if state == "complete" else state,
    )


def blessed(store: Store) -> dict[str, str]:
    """Run ids by blessed name; none in a store that an older harness has made."""
    if not store.rows(query("has_baselines"))[0]["n"]:
        return {}
    return {row["name"]: row["run_id"] for row in store.rows(query("baselines"))}


def accept(store: Store, run_id: str) -> Side:
    """The run, if it may become a baseline.

    Raises:
        HarnessError: No such run, not complete, or without episodes.
    """
    found = of_run(store, known_run(store, run_id))
    if found.incomplete:
        raise HarnessError(
            f"bless: run {run_id!r} is {found.incomplete}, not complete; go on with it: "
            f"harness run --resume {run_id}"
        )
    if not found.episodes:
        raise HarnessError(f"bless: run {run_id!r} holds no episode")
    return found


def bless(store: Store, run_id: str, name: str) -> str | None:
    """Give a run a name in the store.

    Returns:
        The run that had the name until now; ``None`` if it is new.

    Raises:
        HarnessError: The name is empty or a run's id.
    """
    if not name.strip():
        raise HarnessError("bless: --name: is empty")
    if any(row["run_id"] == name for row in store.rows(query("runs"))):
        raise HarnessError(f"bless: --name: {name!r} is the id of a run; choose another")
    before = blessed(store).get(name)
    store.create()  # A store of an older harness gets the table now.
    now = time.time_ns() // 1_000_000
    store.execute("INSERT OR REPLACE INTO baselines VALUES (?, ?, ?)", [name, run_id, now])
    return before
