"""The baseline file: what is written is read back, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.compare.baseline import Side, accept, bless, blessed, of_run
from harness.compare.file import COLUMNS, SCHEMA, read, text_of
from harness.store.database import Store
from tests.compare.conftest import Cli, Make, ended, scored
from tests.stored import refusal

HOSTILE = ["a\tb", "a\nb", "a\rb", "a\r\nb", 'say "a"', "#c", "[red]x[/]", "::error::x", "a|b",
           " a ", "\x1b[31m", "\x00", "ü\u2028\u202e", "=1+1", '"', "'", "\\", ","]  # fmt: skip


def test_round_trip(tmp_path: Path) -> None:
    episodes = [
        ended(),
        ended(repetition=1, best_score=0.1 + 0.2, agreement="false stop"),
        ended("b", best_score=None, cost_pico_usd=None, unknowns=0, replay="censored"),
        ended("c", best_score=-1e-300, cost_pico_usd=2**62),
        *(ended(name, preset) for name in HOSTILE for preset in HOSTILE),
    ]
    path = tmp_path / "base.tsv"
    path.write_bytes(text_of(reversed(episodes)).encode())
    found = read(path)
    assert found == {one.key: one for one in episodes}
    assert list(found) == sorted(found)
    assert text_of(found.values()).encode() == path.read_bytes()


def test_bytes() -> None:
    lines = text_of([ended("b", best_score=None), ended("a", agreement="right")]).split("\n")
    assert lines[0].startswith(f"# {SCHEMA} ")
    assert lines[1:] == [
        "\t".join(COLUMNS),
        "a\tp\t0\tquality_reached\t3\t0.9\t1000\t2\tright\texact\t0123456789ab",
        "b\tp\t0\tquality_reached\t3\t\t1000\t2\t\texact\t0123456789ab",
        "",
    ]


def test_line_ends_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "base.tsv"
    path.write_bytes(text_of([ended()]).replace("\n", "\r\n").encode())
    assert list(read(path).values()) == [ended()]


GOOD = ["a", "p", "0", "quality_reached", "3", "0.9", "1000", "2", "right", "exact", "0123456789ab"]


def _row(**changed: str) -> str:
    return "\t".join(changed.get(name, cell) for name, cell in zip(COLUMNS, GOOD, strict=True))


HEAD = f"# {SCHEMA}\n" + "\t".join(COLUMNS) + "\n"
MALFORMED = {
    "empty": ("", [":1:", SCHEMA]),
    "something else": ("# Readme\n", [":1:", SCHEMA, "'# Readme'"]),
    "another version": (HEAD.replace("@1", "@2"), [":1:", SCHEMA, "@2"]),
    "no columns": (f"# {SCHEMA}\n", [":2:", "scenario, preset"]),
    "other columns": (HEAD.replace("unknowns", "unknown"), [":2:", "unknowns"]),
    "too few": (HEAD + "a\tp\n", [":3:", "11 columns", "found 2"]),
    "too many": (HEAD + _row() + "\tx\n", [":3:", "found 12"]),
    "empty line": (HEAD + _row() + "\n\n" + _row(scenario="b"), [":4:", "found 0"]),
    "conflict": (HEAD + "<<<<<<< HEAD\n" + _row(), [":3:", "found 1"]),
    "twice": (HEAD + _row() + "\n" + _row(iteration="4") + "\n", [":4:", "'a'", "line 3"]),
    "quote left open": (HEAD + '"a\tp\n', [":3:"]),
    "text behind a quote": (HEAD + '"a"b\tp\n', [":3:"]),
    "line of the file": (HEAD + _row(scenario='"a\nb"') + "\n" + _row(iteration="x"), [":5:"]),
    "reason": (HEAD + _row(exit_reason="stagnatoin"), [":3:", "exit_reason", "'stagnation'"]),
    "agreement": (HEAD + _row(agreement="rihgt"), [":3:", "agreement", "'right'"]),
    "replay": (HEAD + _row(replay="exakt"), [":3:", "replay", "'exact'"]),
    "scenario": (HEAD + _row(scenario=""), [":3:", "scenario", "empty"]),
    "preset": (HEAD + _row(preset=""), [":3:", "preset", "empty"]),
    "repetition": (HEAD + _row(repetition="-1"), [":3:", "repetition", "'-1'"]),
    "iteration": (HEAD + _row(iteration="3.5"), [":3:", "iteration", "'3.5'"]),
    "unknowns": (HEAD + _row(unknowns=""), [":3:", "unknowns", "''"]),
    "cost": (HEAD + _row(cost_pico_usd="1_0"), [":3:", "cost_pico_usd", "'1_0'"]),
    "large": (HEAD + _row(cost_pico_usd="9" * 99), [":3:", "cost_pico_usd"]),
    "score": (HEAD + _row(best_score="good"), [":3:", "best_score", "'good'"]),
    "no number": (HEAD + _row(best_score="nan"), [":3:", "best_score", "'nan'"]),
    "infinite": (HEAD + _row(best_score="1e999"), [":3:", "best_score"]),
    "content": (HEAD + _row(content="0123"), [":3:", "content", "12"]),
    "content in capitals": (HEAD + _row(content="0123456789AB"), [":3:", "content"]),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed(tmp_path: Path, case: str) -> None:
    text, words = MALFORMED[case]
    path = tmp_path / "base.tsv"
    path.write_text(text, newline="")
    line = refusal(read, path)
    assert [word for word in ["base.tsv", *words] if word not in line] == [], line


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "base.tsv"
    path.write_bytes(HEAD.encode() + b"\xff\n")
    assert "UTF-8" in refusal(read, path)


def test_same_bytes_from_two_runs_and_two_workers(here: Path, make: Make, harness: Cli) -> None:
    # More than a chunk of scenarios, so that two workers have something to do each.
    loops = [scored(f"made/{n}", 0.1, 0.2 + n / 400, 0.9) for n in range(150)]
    written = []
    for run_id, workers in (("one", 1), ("two", 1), ("three", 2)):
        make(run_id, loops, workers=workers, repetitions=2)
        assert harness("bless", run_id, "--output", f"{run_id}.tsv").code == 0
        written.append((here / f"{run_id}.tsv").read_bytes())
    assert written[0] == written[1] == written[2]
    assert len(read(here / "one.tsv")) == 300


def test_a_run_and_its_file_say_the_same(here: Path, make: Make, harness: Cli) -> None:
    truth = {"verdict": "success", "reasons": ["quality_reached"]}
    make("one", [scored("a", 0.5, 0.9, truth=truth), scored("b", 0.5, priced=False),
                 scored("c", 0.5, 0.4, 0.1, 0.2, direction="lower")])  # fmt: skip
    harness("bless", "one", "--output", "one.tsv")
    stored = of_run(Store(here / "harness.duckdb"), "one")
    assert isinstance(stored, Side)
    assert stored.episodes == read(here / "one.tsv")
    assert stored.directions == {"a": "higher", "b": "higher", "c": "lower"}
    assert [one.agreement for one in stored.episodes.values()] == ["right", None, None]


def test_older_store(here: Path, make: Make) -> None:
    make("one", [scored("a", 0.5, 0.9)])
    store = Store(here / "harness.duckdb")
    store.execute("DROP TABLE baselines")
    store.execute("DELETE FROM store_meta WHERE key = 'schema'")
    assert blessed(store) == {}
    assert accept(store, "one").name == "one"
    assert bless(store, "one", "good") is None
    assert blessed(store) == {"good": "one"}
