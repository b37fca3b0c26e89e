"""What readers say of stops: right, false or late; kept in the store, for score and tuning.

A label belongs to a stop and not to an episode: the scenario's content, the exit reason and the
iteration. So it holds for every preset and every run that stops there again. It says more than
that: a stop before a false one is false too, one after a late one is late (view ``labelled``).
"""

from __future__ import annotations

import time
from typing import Any, Literal

from harness.errors import HarnessError, choices
from harness.store.database import Store

Label = Literal["right", "false", "late"]
LABELS: tuple[Label, ...] = ("right", "false", "late")
#: A note is a line, not an essay.
MOST_NOTE = 2_000


def set_label(store: Store, episode_id: str, label: str, note: str = "") -> None:
    """Label the stop of an episode; a second label replaces the first.

    Raises:
        HarnessError: No such label or episode, or nothing that stopped it.
    """
    if label not in LABELS:
        raise HarnessError(f"label: {choices(label, LABELS)}")
    stop = _stop(store, episode_id)
    # A store that an older harness made has no place for labels yet.
    store.create()
    store.execute(
        "INSERT OR REPLACE INTO labels VALUES ($content, $reason, $iteration, $label, $note, "
        "$scenario, $now)",
        stop | {"label": label, "note": note[:MOST_NOTE], "now": time.time_ns() // 1_000_000},
    )


def clear_label(store: Store, episode_id: str) -> None:
    """Take the label of an episode's stop away, if it has one."""
    if not has_labels(store):
        return
    stop = _stop(store, episode_id)
    del stop["scenario"]
    store.execute(
        "DELETE FROM labels WHERE content_hash = $content AND exit_reason = $reason "
        "AND exit_iteration = $iteration",
        stop,
    )


def label_of(store: Store, episode_id: str) -> dict[str, Any] | None:
    """The label of an episode's stop with its note, whichever episode it was given to."""
    if not has_labels(store):
        return None
    found = store.rows(
        "SELECT l.label, l.note, l.labelled_ms FROM episodes e "
        "JOIN labels l USING (content_hash, exit_reason, exit_iteration) WHERE e.episode_id = ?",
        [episode_id],
    )
    return found[0] if found else None


def stops(store: Store) -> dict[str, tuple[int, int]]:
    """By content hash: up to which iteration a stop is false, and from which on it is not.

    0 where no stop was called false, or none right or late.
    """
    if not has_labels(store):
        return {}
    rows = store.rows("SELECT content_hash, false_until, due_by FROM labelled")
    return {r["content_hash"]: (r["false_until"] or 0, r["due_by"] or 0) for r in rows}


def has_labels(store: Store) -> bool:
    """Whether the store has the table; one that an older harness made gets it when written to."""
    (found,) = store.rows("SELECT count(*) AS n FROM duckdb_tables() WHERE table_name = 'labels'")
    return bool(found["n"])


def _stop(store: Store, episode_id: str) -> dict[str, Any]:
    found = store.rows(
        "SELECT content_hash AS content, exit_reason AS reason, exit_iteration AS iteration, "
        "scenario, exit_guard IS NOT NULL AND NOT observe AS decided "
        "FROM episodes WHERE episode_id = ? LIMIT 1",
        [episode_id],
    )
    if not found:
        raise HarnessError(f"label: no episode {episode_id!r} in store {store.path}")
    stop = found[0]
    if not stop.pop("decided"):
        raise HarnessError(
            f"label: episode {episode_id} was not stopped: {stop['reason']}; only a stop can be "
            "right, false or late"
        )
    return stop
