"""Named queries, kept as SQL."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

#: Queries by reader: the command line, tuning, choosing a preset, and dashboard and report.
_FILES = ("queries", "tune", "choose", "figures", "episode")


@cache
def _queries() -> dict[str, str]:
    folder = files("harness.store")
    text = "\n".join(folder.joinpath(f"{name}.sql").read_text("utf-8") for name in _FILES)
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return {
        name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def query(name: str) -> str:
    """The SQL of a named query of these files."""
    return _queries()[name]
