"""The file of recordings while it grows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.collect.lines import Lines

ONE, TWO, THREE = (json.dumps({"id": name}) for name in ("one", "two", "three"))


def test_open_lines_are_replaced_and_finished_ones_stay(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.jsonl"
    file = Lines(path)
    file.write()
    assert not path.exists()
    for name, line in (("one", ONE), ("two", "a longer line"), ("three", THREE)):
        file.put(name, line)
        file.write()
    file.put("two", TWO)
    file.finish("two")
    file.write()
    assert path.read_text() == f"{TWO}\n{ONE}\n{THREE}\n"
    file.drop("one")
    file.drop("one")
    file.put("three", "3")
    file.write()
    assert path.read_text() == f"{TWO}\n3\n"


@pytest.mark.parametrize(
    ("before", "kept", "ids"),
    [
        (f"{ONE}\n", f"{ONE}\n", {"one"}),
        (ONE, f"{ONE}\n", {"one"}),  # as people write it
        (f'{ONE}\n{{"id": "two", "ste', f"{ONE}\n", {"one"}),  # killed while it was written
        (f"{ONE}\n\nno JSON\n[]\n", f"{ONE}\n\nno JSON\n[]\n", {"one"}),
        ("", "", set()),
    ],
)
def test_what_is_there_already_stays(tmp_path: Path, before: str, kept: str, ids: set[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(before)
    file = Lines(path)
    assert set(file.ids) == ids
    file.put("three", THREE)
    file.write()
    assert path.read_text() == f"{kept}{THREE}\n"


@pytest.mark.parametrize(
    ("others", "left"),
    [
        (f"{ONE}\n{TWO}\n{THREE}\n", f"{ONE}\n{THREE}\n"),  # somebody added a line
        (None, ""),  # somebody took it away
        (f"{THREE}\n", f"{THREE}\n"),
    ],
)
def test_somebody_else_changes_the_file(tmp_path: Path, others: str | None, left: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{ONE}\n")
    file = Lines(path)
    file.put("two", TWO)
    file.write()
    if others is None:
        path.unlink()
    else:
        path.write_text(others)
    file.put("two", '{"id": "two", "more": 1}')
    file.write()
    assert path.read_text() == left + '{"id": "two", "more": 1}\n'


@pytest.mark.parametrize("before", [f"{ONE}\n", None])
def test_a_link_stays_one(tmp_path: Path, before: str | None) -> None:
    path, link = tmp_path / "a.jsonl", tmp_path / "link.jsonl"
    if before is not None:
        path.write_text(before)
    link.symlink_to(path)
    file = Lines(link)
    file.put("two", TWO)
    file.write()
    with path.open("a") as other:
        other.write(f"{THREE}\n")
    file.put("two", TWO)
    file.write()
    assert link.is_symlink()
    assert path.read_text() == f"{before or ''}{THREE}\n{TWO}\n"
