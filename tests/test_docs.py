"""Committed documentation is what the code says now."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.app import TOPICS
from harness.cli.main import app
from harness.docs import PAGES, page, refresh

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_committed_page_is_current(name: str) -> None:
    path = DOCS / name
    assert path.is_file(), f"{path} is missing; write it: python -m harness.docs"
    current = path.read_text("utf-8") == page(PAGES[name], app)
    assert current, f"{path} is out of date; refresh it: python -m harness.docs"


def test_every_topic_has_a_page() -> None:
    assert sorted(PAGES.values()) == sorted(TOPICS)


def test_refresh_writes_every_page(tmp_path: Path) -> None:
    refresh(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(PAGES)


def test_every_verb_option_and_guard_is_explained() -> None:
    cli = page("cli", app)
    for verb in ("run", "show", "list", "exits", "validate", "import", "sql", "docs"):
        assert f"## harness {verb}\n" in cli
    # A row without a meaning teaches nobody anything.
    assert "|  |" not in cli
    from harness.guards import catalogue

    guards = page("guards", app)
    assert all(f"## {kind}\n" in guards for kind in catalogue())
