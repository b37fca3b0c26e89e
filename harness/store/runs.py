"""Which run is meant."""

from __future__ import annotations

from harness.errors import StoreError, choices
from harness.store.database import Store
from harness.store.queries import query


def latest_run(store: Store) -> str:
    """Id of the newest run.

    Raises:
        StoreError: The store holds none.
    """
    found = store.rows(query("latest_run"))
    if not found:
        raise StoreError(f"store {store.path}: holds no run yet; make one with: harness run")
    return str(found[0]["run_id"])


def known_run(store: Store, run_id: str) -> str:
    """``run_id``, if the store holds it.

    Raises:
        StoreError: It does not; names the runs that it holds.
    """
    runs = [row["run_id"] for row in store.rows(query("runs"))]
    if run_id not in runs:
        raise StoreError(f"store {store.path}: run: {choices(run_id, runs)}")
    return run_id


def chosen_run(store: Store, run_id: str | None) -> str:
    """The run that was named, or the newest one."""
    return latest_run(store) if run_id is None else known_run(store, run_id)
