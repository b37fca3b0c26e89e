"""Which file and line a finding names, and what is made of what a file merely inherits."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.lint import lint
from harness.lint.written import Place, Written

HEAD = 'schema = "harness/preset@1"\n'
FILE = """\
schema = "harness/preset@1"
title = "spin = 3"
extends = "base.toml"

[guards]
# spin = 9
spin = 1
"quoted" = { kind = "spin", threshold = 4 }
dotted.kind = "spin"
dotted.threshold = 5

[guards.table]
kind = "stagnation"
min_delta = 0.5

[mechanisms.judge]
model = "fast"
"""
BASE = HEAD + 'extends = "reflection"\n[guards]\nmax_iterations = 9\nspin = { on = "text" }\n'

PLACES = {
    ("guards", "spin"): ("mine.toml", 7, None),
    ("guards", "quoted", "threshold"): ("mine.toml", 8, None),
    ("guards", "dotted", "threshold"): ("mine.toml", 10, None),
    ("guards", "table"): ("mine.toml", 12, None),
    ("guards", "table", "min_delta"): ("mine.toml", 14, None),
    ("mechanisms", "judge", "model"): ("mine.toml", 17, None),
    ("guards", "max_iterations"): ("base.toml", 4, None),
    ("guards", "spin", "on"): ("base.toml", 5, None),
    ("guards", "quality"): ("base.toml", 2, "reflection"),
    ("guards", "nobody"): ("mine.toml", 5, None),
}


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "base.toml").write_text(BASE, "utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(FILE, "utf-8")
    return str(path)


@pytest.mark.parametrize("key", PLACES)
def test_where_a_key_is_written(mine, key):
    found = Written(mine).place(*key)
    assert (Path(found.file).name, found.line, found.inherited) == PLACES[key]


def test_a_threshold_under_any_of_its_names(mine):
    written = Written(mine)
    found = [
        written.threshold(name, aliases)
        for name, aliases in (("spin", ()), ("table", ("min_delta",)), ("max_iterations", ()))
    ]
    assert [place.line for place in found] == [7, 14, 4]


def test_a_preset_without_a_file_has_no_place():
    assert Written().place("guards", "spin") == Place()


def test_findings_name_the_file_that_writes_the_key(mine):
    found = {one.code: (Path(one.file).name, one.line) for one in lint(mine)}
    assert found["always-fires"] == ("mine.toml", 7)


def test_what_is_merely_inherited_is_a_note(tmp_path):
    """A tight limit over a bundled preset is no mistake, and one line says what it cuts off."""
    path = tmp_path / "tight.toml"
    path.write_text(HEAD + 'extends = "balanced"\n[guards]\nmax_rounds = 3\n', "utf-8")
    found = [(one.code, one.severity, one.key, one.line) for one in lint(str(path))]
    assert found == [
        ("dominated", "note", "guards.max_iterations.threshold", 2),
        ("cut-off", "note", "guards.max_rounds.threshold", 4),
    ]
    message = lint(str(path))[1].message
    assert "spin_text (8)" in message
    assert "evaluator_errors (5)" in message


def test_a_mechanism_that_is_switched_off_makes_its_guards_a_note(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(HEAD + 'extends = "engine"\n[mechanisms]\ncontinuity = false\n', "utf-8")
    found = [(one.code, one.severity, one.key) for one in lint(str(path))]
    assert found == [("unread-setting", "note", "guards.goal_overlap.threshold")]


def test_a_value_of_ones_own_file_is_no_excuse(tmp_path):
    (tmp_path / "base.toml").write_text(HEAD + "[guards]\nstagnation = { window = 9 }\n", "utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(HEAD + 'extends = "base.toml"\n[guards]\nmax_rounds = 3\n', "utf-8")
    (found,) = lint(str(path))
    assert (found.severity, Path(found.file).name, found.line) == ("error", "base.toml", 3)
