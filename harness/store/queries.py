"""Named queries, kept as SQL."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


@cache
def _queries() -> dict[str, str]:
    text = files("harness.store").joinpath("queries.sql").read_text("utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return {
        name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def query(name: str) -> str:
    """The SQL of a named query of ``queries.sql``."""
    return _queries()[name]
