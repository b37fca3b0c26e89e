"""Presets of any kind over an observed run: swept, derived or replayed, and always the loop's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.guards import guard_class
from harness.loop import run_episode
from harness.mechanisms import Judge, Mechanisms
from harness.preset import Preset
from harness.run import run
from harness.store.database import Store
from harness.tune.corpus import read
from harness.tune.observe import with_readings
from harness.tune.replay import evaluate
from harness.tune.value import measure
from harness.turns import prepare
from tests.examples import call, scenario, step
from tests.stored import jsonl, refusal
from tests.tune.making import told


def g(kind, **settings):
    return guard_class(kind)(**settings)


PRICED = {"model": "gpt-4o-mini", "usage": {"input": 100, "output": 10}, "ms": 500}
STUCK = [
    step(call("run", {"cmd": "make"}, "no rule", exit_code=2), score=s, **PRICED)
    for s in (0.2, 0.3, 0.3, 0.31, 0.3)
]
BETTER = [step(call("read", {"path": str(n)}, "text"), score=0.5 + n / 10, **PRICED)
          for n in range(3)]  # fmt: skip
SCENARIOS = [
    scenario(STUCK, id="one/stuck", recorded={"outcome": "success"}),
    scenario(STUCK, id="one/branched", branches={"switch_strategy": [BETTER]}),
    scenario(STUCK[:2], id="one/short", limits={"stagnation_window": 1, "min_delta": 0.5}),
    scenario(STUCK, id="one/phased", phases=[{"id": "draft", "checks": []}]),
    scenario([STUCK[0], {**STUCK[1], "user": "Go on."}, STUCK[2]], id="one/answered"),
]
BASE = Preset(
    name="base",
    guards={
        "max_rounds": g("max_rounds"),
        "stagnation": g("stagnation", window=1),
        "repeated_error": g("repeated_error"),
    },
)
CANDIDATES = {
    "swept": BASE.guards | {"max_rounds": g("max_rounds", threshold=2)},
    "a pause that may be answered": {"max_rounds": g("max_rounds", threshold=0, on_fire="pause")},
    "another window": {"stagnation": g("stagnation", window=2)},
    "a guard that was not observed": {"spin": g("spin", identity="action", threshold=2)},
    "a combination": {"any": g("any_of", guards=(g("quality", threshold=0.3),))},
    "a switch": {"repeated_error": g("repeated_error", threshold=2, on_fire="switch_strategy")},
    "a nudge": {
        "repeated_error": g("repeated_error", threshold=2, on_fire=("nudge", "stop")),
    },
}
HOW = {
    "swept": ("swept", None),
    "a pause that may be answered": ("swept", None),
    "another window": ("derived", "guard stagnation has other settings than observed"),
    "a guard that was not observed": ("derived", "guard spin was not observed"),
    "a combination": ("derived", "guard any was not observed"),
    "a switch": ("replayed", "guard repeated_error intervenes (on_fire)"),
    "a nudge": ("replayed", "guard repeated_error intervenes (on_fire)"),
    "another mechanism": ("replayed", "its mechanisms differ from those observed"),
    "another wait": ("replayed", "its settings differ from those observed"),
}
PRESETS = [
    *(replace(BASE, name=name, guards=guards) for name, guards in CANDIDATES.items()),
    replace(BASE, name="another mechanism", mechanisms=Mechanisms(triage=True, judge=Judge())),
    replace(BASE, name="another wait", wait_ms=5),
]


@pytest.fixture
def made(tmp_path):
    store = Store(tmp_path / "replay.duckdb")
    path = jsonl(tmp_path / "recordings.jsonl", *SCENARIOS)
    run([path], [BASE], store, run_id="run", observe=True)
    return store, read(store, "run"), path


def cells(corpus, found):
    """What is said of every cell: where and by what it ends, and what it took."""
    table = {}
    for row, preset in enumerate(PRESETS):
        for column, name in enumerate(corpus.scenarios):
            by = int(found.exits.by[row, column])
            reason, guard = found.exits.reasons[by] if by >= 0 else (corpus.end[column], "")
            best = float(found.measured.best[row, column])
            table[preset.name, name] = {
                "iteration": int(found.exits.iteration[row, column]),
                "reason": reason,
                "guard": guard or None,
                "known cost": int(found.measured.cost[row, column]),
                "role cost": int(found.measured.role_cost[row, column]),
                "known tokens": int(found.measured.tokens[row, column]),
                "best": None if best != best else best,
            }
    return table


def expected(corpus):
    tapes = {one.id: one for one in SCENARIOS}
    table = {}
    for preset in PRESETS:
        for name in corpus.scenarios:
            tape = prepare(tapes[name], wait_ms=preset.wait_ms)
            whole = told(run_episode(tape, preset))
            table[preset.name, name] = {
                key: value
                for key, value in whole.items()
                if key not in ("cost", "tokens", "elapsed")
            }
    return table


@pytest.mark.parametrize("workers", [1, 2])
def test_every_cell_is_what_the_loop_says(made, workers):
    store, corpus, _ = made
    seen = []
    found = evaluate(
        store, corpus, PRESETS, BASE, workers=workers, on_progress=lambda *at: seen.append(at)
    )
    assert expected(corpus) == cells(corpus, found)
    assert {p.name: (h.by, h.reason) for p, h in zip(PRESETS, found.how, strict=True)} == HOW
    assert {(5, 5)} == {at for at in seen if at[0] == at[1]}


def test_how_many_cells_were_replayed(made):
    """Of swept presets only the pause that is answered."""
    store, corpus, _ = made
    found = evaluate(store, corpus, PRESETS[:2], BASE)
    assert [how.cells for how in found.how] == [0, 1]
    assert found.exits.swept.sum(axis=1).tolist() == [5, 4]


def test_what_is_swept_is_measured_as_ever(made):
    store, corpus, _ = made
    kept = np.nonzero(~corpus.phased)[0]
    found = evaluate(store, corpus, PRESETS[:1], BASE)
    plain = measure(corpus, found.exits)
    for name in ("early", "lost", "false_stop", "success_low", "success_high"):
        assert (
            getattr(plain, name)[0, kept].tolist()
            == getattr(found.measured, name)[0, kept].tolist()
        )


def test_what_left_its_recording_is_neither_success_nor_failure(made):
    """A branch that reaches 0.7 has lost nothing; what the real run did says nothing of it."""
    store, corpus, _ = made
    row = [preset.name for preset in PRESETS].index("a switch")
    found = evaluate(store, corpus, PRESETS, BASE).measured
    at = corpus.scenarios.index("one/branched")
    told_of = (found.best, found.lost, found.early, found.success_low, found.success_high)
    assert [float(one[row, at]) for one in told_of] == [0.7, 0.0, False, False, True]


def test_readings_are_worked_out_once(made):
    """The second time they come from the store, whatever became of the recordings."""
    store, corpus, path = made
    guard = g("stagnation", window=3)
    from harness.tune.readings import structure

    wanted = {structure(guard): guard}
    first = with_readings(store, corpus, BASE, wanted)
    path.unlink()
    again = with_readings(store, corpus, BASE, wanted, workers=2)
    (one,) = [corpus_.signals[structure(guard)] for corpus_ in (first,)]
    two = again.signals[structure(guard)]
    assert np.array_equal(one.values, two.values, equal_nan=True)
    assert one.measured.all()
    assert two.measured.all()
    count = "SELECT count(*) AS n, count(DISTINCT content_hash) AS d FROM readings"
    assert store.rows(count) == [{"n": 5, "d": 5}]
    other = replace(BASE, mechanisms=Mechanisms(judge=Judge()))
    assert "does not exist" in refusal(with_readings, store, corpus, other, wanted)


def test_recordings_that_are_gone(made):
    """Everything but a preset that is swept needs them."""
    store, corpus, path = made
    path.unlink()
    expected = (
        f"tune: run run: scenarios: {path} does not exist; without them only passive presets over "
        "the observed guards can be judged (none that switch, nudge or delegate, or have other "
        "settings)"
    )
    messages = [refusal(evaluate, store, corpus, [preset], BASE) for preset in PRESETS[2:]]
    assert messages == [expected] * len(PRESETS[2:])


def test_a_recording_that_has_changed(made):
    store, corpus, path = made
    jsonl(path, *SCENARIOS[1:], scenario(STUCK[:1], id="one/stuck"))
    message = refusal(evaluate, store, corpus, PRESETS[-1:], BASE)
    assert "1 of 5 recordings are gone or have changed, among them one/stuck" in message


def test_a_run_without_files(made):
    store, corpus, _ = made
    store.execute("UPDATE runs SET options = '{}'")
    assert "no recordings are known" in refusal(evaluate, store, corpus, PRESETS[-1:], BASE)


def test_no_workers(made):
    store, corpus, _ = made
    message = refusal(evaluate, store, corpus, PRESETS[-1:], BASE, workers=0)
    assert message == "tune: workers must be 1 or more, found 0"


def test_another_base_is_refused(made):
    store, corpus, _ = made
    message = refusal(evaluate, store, corpus, PRESETS[:1], replace(BASE, name="other"))
    assert "is not the one under which run run was observed (base)" in message
