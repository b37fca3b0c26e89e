"""What the pages read: figures of the library, kept until the store changes.

Each read opens the store for a moment and closes it, so a run can write in between.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st

from harness import figures
from harness.figures import Chosen
from harness.labels import stops
from harness.store.database import Store

T = TypeVar("T")
#: A run that writes lets readers in after each batch.
WAIT_S = 30.0
#: How often an open page looks whether the store has changed.
FOLLOW_S = 4
Stamp = tuple[int, ...]


def path() -> Path:
    """The store's file; ``harness dashboard`` sets the variable."""
    return Path(os.environ.get("HARNESS_STORE", "harness.duckdb"))


def store() -> Store:
    """The store."""
    return Store(path(), wait_s=WAIT_S)


def stamp() -> Stamp:
    """Changes whenever the store does; part of every cache key."""
    found: list[int] = []
    for file in (path(), path().with_name(path().name + ".wal")):
        try:
            state = file.stat()
        except OSError:
            found += [0, 0]
        else:
            found += [state.st_mtime_ns, state.st_size]
    return tuple(found)


@st.cache_data(show_spinner="…", show_time=True, max_entries=400)
def _kept(
    name: str, file: str, at: Stamp, key: str, _do: Callable[..., Any], _asked: tuple[Any, ...]
) -> Any:
    arguments, more = _asked
    return _do(Store(file, wait_s=WAIT_S), *arguments, **more)


def read(do: Callable[..., T], *arguments: Any, **more: Any) -> T:
    """What a function of the library says of the store: ``read(figures.exits, chosen())``."""
    name = f"{do.__module__}.{do.__qualname__}"
    key = repr((arguments, sorted(more.items())))
    found: T = _kept(name, str(path()), stamp(), key, do, (arguments, more))
    return found


@st.cache_data(show_spinner="…", show_time=True, max_entries=100)
def _made(name: str, key: str, _do: Callable[..., Any], _arguments: tuple[Any, ...]) -> Any:
    return _do(*_arguments)


def made(do: Callable[..., T], *arguments: Any) -> T:
    """What a function of the library says without a store."""
    found: T = _made(f"{do.__module__}.{do.__qualname__}", repr(arguments), do, arguments)
    return found


def ready() -> bool:
    """Whether there is anything to show."""
    return path().exists() and bool(read(figures.runs)["episodes"].sum())


@st.fragment(run_every=FOLLOW_S)
def follow() -> None:
    """Show the page anew when the store has changed."""
    now = stamp()
    before = st.session_state.get("_stamp")
    st.session_state["_stamp"] = now
    if before is not None and before != now:
        st.rerun()


def chosen() -> Chosen:
    """What the filters leave."""
    found: Chosen = st.session_state["_chosen"]
    return found


def work(run: str) -> str:
    """Changes whenever a run or readers' labels do, and not with what tuning writes besides."""
    rows = read(figures.runs)
    own = rows[rows["run_id"] == run][["episodes", "state", "created_ms"]].to_dict("records")
    return repr((own, sorted(read(stops).items())))


def run_id() -> str:
    """The one run that pages about a single run show: the newest of those chosen."""
    return str(chosen().runs[0])
