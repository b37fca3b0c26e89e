"""Spaces: what a file means, what it cannot mean, and that what is written loads again."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.preset import bundled, load_preset
from harness.tune.candidates import candidates
from harness.tune.corpus import Corpus, read
from harness.tune.ends import Evaluator
from harness.tune.presettext import preset_text
from harness.tune.space import Space, read_space
from tests.tune.runs import loops, observed, space

HEAD = 'schema = "harness/space@1"\n'


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Evaluator]:
    store = observed(tmp_path_factory.mktemp("space"), loops(3))
    corpus = read(store, "seen")
    return corpus, Evaluator.of(store, corpus)


def parsed(text: str, folder: Path, seen: tuple[Corpus, Evaluator]) -> Space:
    return read_space(space(folder, HEAD + text), seen[0], seen[1].observed)


# Entry, and the thresholds that it tries; None is off.
ENTRIES: dict[str, tuple[str, list[float | None]]] = {
    "one value": ("patience = 2", [2]),
    "values, by size": ("patience = [3, 1, 2]", [1, 2, 3]),
    "values and off": ("patience = [2, false, 1]", [1, 2, None]),
    "off only": ("patience = false", [None]),
    "as usual, or off": ("spin = [true, false]", [3, None]),
    "a range of whole numbers": ("patience = { from = 1, to = 5, steps = 3 }", [1, 3, 5]),
    "a range": ("quality = { from = 0.5, to = 0.7, steps = 3 }", [0.5, 0.6, 0.7]),
    "observed": ('quality = "observed"', [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
    "observed, thinned": ("quality = { observed = 2 }", [0.3, 0.9]),
    "a table": ("patience = { threshold = [1, 2], off = true }", [None, 1, 2]),
    "other units": (
        "cost_budget = { limit_usd = [0.001, 0.002] }",
        [1_000_000_000, 2_000_000_000],
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_entry(name: str, tmp_path: Path, seen: tuple[Corpus, Evaluator]) -> None:
    entry, expected = ENTRIES[name]
    (variants,) = parsed(f"[guards]\n{entry}", tmp_path, seen).variants.values()
    assert [v.guard.threshold if v.guard else None for v in variants] == expected


def test_structural_settings_multiply(tmp_path: Path, seen: tuple[Corpus, Evaluator]) -> None:
    found = parsed(
        "[guards]\nstagnation = { min_delta = [0.01, 0.02], window = [1, 2, 3], off = true }",
        tmp_path, seen,
    )  # fmt: skip
    tried = candidates(found)
    assert [tried.words(row) for row in range(len(tried))] == [
        "nothing",
        "stagnation 0.01 window=1", "stagnation 0.01 window=2", "stagnation 0.01 window=3",
        "stagnation 0.02 window=1", "stagnation 0.02 window=2", "stagnation 0.02 window=3",
    ]  # fmt: skip
    # Off has no neighbours; the others lie beside whoever is one step away.
    beside = [sorted(row for row in rows if row >= 0) for rows in tried.neighbours.tolist()]
    assert beside == [[], [2, 4], [1, 3, 5], [2, 6], [1, 5], [2, 4, 6], [3, 5]]


def test_the_base_holds_what_does_not_vary(tmp_path: Path, seen: tuple[Corpus, Evaluator]) -> None:
    found = parsed('preset = "reflection"\n[guards]\nmax_rounds = [2, false]', tmp_path, seen)
    guards = [list(preset.guards) for preset in candidates(found).presets()]
    whole = list(load_preset("reflection").guards)
    assert guards == [whole, [name for name in whole if name != "max_rounds"]]


def test_too_many_are_sampled_and_it_says_so(
    tmp_path: Path, seen: tuple[Corpus, Evaluator]
) -> None:
    text = "limit = 40\nseed = 3\n[guards]\n" + "\n".join(
        f"{name} = {{ from = 1, to = 1000, steps = 1000 }}"
        for name in (
            "patience",
            "spin",
            "cycle",
            "max_rounds",
            "monologue",
            "recurrence",
            "tool_spin",
        )
    )
    first, again = (candidates(parsed(text, tmp_path, seen)) for _ in range(2))
    assert first.points.tolist() == again.points.tolist()
    assert len({tuple(point) for point in first.points.tolist()}) == 40
    assert first.told.startswith(f"40 of {1000**7:,} presets")
    assert "sampled with seed 3" in first.told


def test_the_bundled_space_leaves_out_what_is_never_reached(
    seen: tuple[Corpus, Evaluator],
) -> None:
    found = read_space(None, seen[0], seen[1].observed)
    # These loops call no tools, and run for six iterations.
    assert "recurrence" not in found.variants
    steps = [v.guard.threshold for v in found.variants["max_iterations"] if v.guard]
    assert steps == [1, 2, 3, 5, 8]


# Text, and what the one line has to say.
BROKEN: dict[str, tuple[str, list[str]]] = {
    "schema": ('schema = "harness/space@2"', ["schema", "harness/space@1"]),
    "key": (HEAD + "gaurds = {}", ["'gaurds'", "guards"]),
    "toml": ("schema = ", ["not valid TOML"]),
    "nothing varies": (HEAD, ["at least one guard"]),
    "guard": (HEAD + "[guards]\npatiense = 1", ["guards.patiense", "'patience'"]),
    "setting": (HEAD + "[guards]\npatience = { windw = 1 }", ["guards.patience", "windw"]),
    "threshold": (HEAD + "[guards]\npatience = [-1]", ["guards.patience.threshold", "-1"]),
    "empty list": (HEAD + "[guards]\npatience = []", ["guards.patience", "at least one"]),
    "range": (HEAD + "[guards]\npatience = { from = 3, to = 1, steps = 2 }", ["from", "3", "1"]),
    "range keys": (HEAD + "[guards]\npatience = { from = 3, to = 4 }", ["from, to", "steps"]),
    "steps": (HEAD + "[guards]\npatience = { from = 1, to = 4, steps = 1 }", ["steps", "1"]),
    "observed of nothing": (HEAD + '[guards]\ngoal_overlap = "observed"', ["goal_overlap"]),
    "observed setting": (
        HEAD + '[guards]\nstagnation = { min_delta = 0.1, window = "observed" }',
        ["guards.stagnation.window", "only a threshold"],
    ),
    "off": (HEAD + "[guards]\npatience = { threshold = 1, off = 1 }", ["patience.off", "1"]),
    "bare": (HEAD + "[guards]\nstagnation = [0.1]", ["guards.stagnation", "min_delta"]),
    "limit": (HEAD + "limit = 0\n[guards]\npatience = 1", ["limit", "0"]),
    "preset": (HEAD + 'preset = "blanced"\n[guards]\npatience = 1', ["'balanced'"]),
    "combination": (HEAD + "[guards]\nx = { kind = 'any_of', guards = ['a'] }", ["combination"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_space(name: str, tmp_path: Path, seen: tuple[Corpus, Evaluator]) -> None:
    text, said = BROKEN[name]
    path = space(tmp_path, text)
    with pytest.raises(HarnessError) as caught:
        read_space(path, seen[0], seen[1].observed)
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in said), message


@pytest.mark.parametrize("name", sorted(bundled()))
def test_a_written_preset_loads_as_the_same(name: str, tmp_path: Path) -> None:
    preset = load_preset(name)
    path = tmp_path / f"{name}.toml"
    path.write_text(preset_text(preset, title='A "title"', header=["why\nnot"]), "utf-8")
    again = load_preset(str(path))
    assert again.as_data() == preset.as_data()
    assert again.hash == preset.hash
    assert again.title == 'A "title"'


def test_the_observed_preset_comes_back_from_the_store(seen: tuple[Corpus, Evaluator]) -> None:
    assert seen[1].observed.hash == load_preset("observe").hash
    assert math.isinf(seen[1].observed.guards["patience"].threshold)
