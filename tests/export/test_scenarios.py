"""Recordings back out of a store: whole where their files are, else what the store holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError, StoreError
from harness.export.files import plain, write_scenarios
from harness.export.rebuilt import TAG
from harness.export.scenarios import recordings
from harness.export.stored import episodes, one_episode, preset_of
from harness.files import bundled_scenarios, load
from harness.preset import load_presets
from harness.run import run
from harness.scenario import Scenario
from harness.store.database import Store
from tests.examples import call, scenario, scored, step
from tests.stored import ODD, jsonl, refusal

PRESET = """schema = "harness/preset@1"
guards.max_iterations = {limit}
"""


def stored(folder: Path, *scenarios: Scenario, run_id: str = "one", presets: Any = None) -> Store:
    store = Store(folder / "store.duckdb")
    file = jsonl(folder / f"{run_id}.jsonl", *scenarios)
    run([file], load_presets(presets or ["balanced"]), store, run_id=run_id)
    return store


def test_a_recording_comes_from_its_file_as_it_is(tmp_path: Path) -> None:
    store = stored(tmp_path, ODD, scenario([step(text="a", roles={"judge2": "x"})]))
    made = recordings(store, episodes(store, []))
    assert [r.whole for r in made] == [True, True]
    assert {r.data["id"]: r.data for r in made} == {
        s.id: plain(s) for s in load([tmp_path / "one.jsonl"])
    }


def test_each_recording_once(tmp_path: Path) -> None:
    store = stored(tmp_path, ODD, presets=["balanced", "strict"])
    assert len(recordings(store, episodes(store, []))) == 1


def test_where_the_file_is_gone_the_store_gives_what_it_holds(tmp_path: Path) -> None:
    args = {"b": 1, "a": [None, "x"]}
    steps = [
        step(call("read", args, "text", exit_code=0, ms=20), text="One.\n Two.", ms=900),
        {"user": "Go on.", "reply": {"text": "x", "error": "timeout", "usage": {"input": 3}}},
        step(call("run", {}, ok=False), output="an  output\n", feedback="more", score=0.5),
    ]
    one = scenario(steps, id="gone/one", title="T", limits={"quality": 0.99})
    store = stored(tmp_path, one, presets=["observe"])
    (tmp_path / "one.jsonl").unlink()
    (made,) = recordings(store, episodes(store, []))
    assert (made.whole, made.same_end) == (False, True)
    source = made.data.pop("source")
    assert "lacks steps behind the end" in source
    assert made.data == {
        "schema": "harness/scenario@1",
        "id": "gone/one",
        "title": "T",
        "goal": "Do it.",
        "direction": "higher",
        "tags": [TAG],
        "limits": {"quality": 0.99},
        "steps": [
            {
                "reply": {"text": "One.\n Two.", "ms": 900},
                "calls": [
                    {"tool": "read", "args": args, "result": "text", "ok": True, "exit_code": 0,
                     "ms": 20}
                ],
            },
            {
                "user": "Go on.",
                "reply": {
                    "text": "x",
                    "error": "timeout",
                    "usage": {"input": 3, "cache_read": 0, "cache_write": 0, "output": 0,
                              "reasoning": 0},
                },
            },
            {
                "calls": [{"tool": "run", "ok": False}],
                "output": "an output",
                "feedback": "more",
                "score": 0.5,
            },
        ],
    }  # fmt: skip


def test_a_changed_file_is_not_the_recording(tmp_path: Path) -> None:
    store = stored(tmp_path, scenario(scored(0.1, 0.2), id="a/b"))
    jsonl(tmp_path / "one.jsonl", scenario(scored(0.1, 0.9), id="a/b"))
    (made,) = recordings(store, episodes(store, []))
    assert made.whole is False
    assert [s["score"] for s in made.data["steps"]] == [0.1, 0.2]


def test_a_branch_that_was_taken_comes_back(tmp_path: Path) -> None:
    (found,) = (s for s in load([bundled_scenarios()]) if s.branches)
    store = stored(tmp_path, found, presets=["reflection"])
    (tmp_path / "one.jsonl").unlink()
    (made,) = recordings(store, episodes(store, []))
    assert made.same_end is True
    scores = [[s["score"] for s in steps] for steps in made.data["branches"]["switch_strategy"]]
    assert scores == [[s.score for s in steps] for steps in found.branches["switch_strategy"]]


DONE = {"done": True, "score": 0.9, "reason": "all there", "evidence": ["a.txt"]}
#: Presets under which a judged loop ran, one whose file is gone by then, and what can be said.
#: A store does not hold the judge's words, so ``balanced``, which asks, ends otherwise.
UNDER: dict[str, tuple[list[str], str | None, bool | None]] = {
    "the one that looks at them": (["balanced"], None, False),
    "one that does not": (["mine.toml"], None, True),
    "both": (["balanced", "mine.toml"], None, False),
    "one that is gone": (["mine.toml"], "mine.toml", None),
    "one that is gone beside one that stays": (["mine.toml", "other.toml"], "other.toml", None),
    "one that differs beside one that is gone": (["balanced", "mine.toml"], "mine.toml", False),
}


@pytest.mark.parametrize("name", UNDER)
def test_ending_as_before_is_said_of_all_presets(tmp_path: Path, name: str) -> None:
    presets, gone, expected = UNDER[name]
    for number, file in enumerate(("mine.toml", "other.toml")):
        (tmp_path / file).write_text(PRESET.format(limit=4 - number))
    steps = [step(text=str(n), judge=DONE | {"done": n > 0}) for n in range(5)]
    paths = [str(tmp_path / name) if "." in name else name for name in presets]
    store = stored(tmp_path, scenario(steps), presets=paths)
    (tmp_path / "one.jsonl").unlink()
    if gone is not None:
        (tmp_path / gone).unlink()
    (made,) = recordings(store, episodes(store, []))
    assert (made.whole, made.same_end) == (False, expected)


def test_most_rebuilt_recordings_of_plain_loops_end_as_before(tmp_path: Path) -> None:
    families = ("spin", "repetition", "budgets", "reflection")
    found = [s for s in load([bundled_scenarios()]) if s.family in families]
    store = stored(tmp_path, *found)
    (tmp_path / "one.jsonl").unlink()
    ends = [r.same_end for r in recordings(store, episodes(store, []))]
    assert ends.count(True) >= 0.9 * len(found)
    assert None not in ends


def test_two_contents_under_one_id_fit_no_file(tmp_path: Path) -> None:
    stored(tmp_path, scenario(scored(0.1), id="a/b"))
    store = stored(tmp_path, scenario(scored(0.2), id="a/b"), run_id="two")
    ids = [row["episode_id"] for row in store.rows("FROM episodes")]
    words = refusal(recordings, store, episodes(store, ids))
    assert words.startswith("export: scenario a/b is in the store with different contents (")
    assert len(recordings(store, episodes(store, ["a/b"], run_id="one"))) == 1


def test_which_episodes(tmp_path: Path) -> None:
    stored(tmp_path, ODD, presets=["balanced", "strict"])
    store = stored(tmp_path, ODD, run_id="two", presets=["balanced", "strict"])

    def found(*wanted: str, **more: Any) -> set[tuple[str, str]]:
        return {(row["run_id"], row["preset"]) for row in episodes(store, wanted, **more)}

    assert found() == {("two", "balanced"), ("two", "strict")}
    assert found("odd/one", presets=["strict"]) == {("two", "strict")}
    assert found(run_id="one", presets=["strict"]) == {("one", "strict")}
    row = one_episode(store, "odd/one", "one", "strict")
    assert found(row["episode_id"][:10]) == {("one", "strict")}
    assert "choose one with --preset: balanced, strict" in refusal(
        one_episode, store, "odd/one", None, None
    )
    with pytest.raises(StoreError, match=r"found 'odd/on' \(did you mean 'odd/one'\?\)"):
        episodes(store, ["odd/on"])
    with pytest.raises(StoreError, match="--preset: found 'cost'; choose from: balanced, strict"):
        episodes(store, ["odd/one"], presets=["cost"])


def test_a_preset_that_changed_is_not_the_one_of_then(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(PRESET.format(limit=2))
    store = stored(tmp_path, ODD, presets=[str(file)])
    (row,) = episodes(store, [])
    assert preset_of(store, row).name == "mine"
    file.write_text(PRESET.format(limit=3))
    with pytest.raises(HarnessError, match="preset 'mine' is not where the run found it, or has"):
        preset_of(store, row)
    other = tmp_path / "kept" / "mine.toml"
    other.parent.mkdir()
    other.write_text(PRESET.format(limit=2))
    assert preset_of(store, row, str(other)).guards["max_iterations"].threshold == 2


@pytest.mark.parametrize(
    ("name", "count", "words"),
    [("x.txt", 1, "the file's ending: found '.txt'"), ("x.yaml", 2, "a YAML file holds one")],
)
def test_what_cannot_be_written_leaves_nothing(
    tmp_path: Path, name: str, count: int, words: str
) -> None:
    path = tmp_path / name
    path.write_text("before")
    assert words in refusal(write_scenarios, path, [plain(ODD)] * count)
    assert (path.read_text(), [p.name for p in tmp_path.iterdir()]) == ("before", [name])
