"""The tables behind a tuned preset, from a stored run to the terminal and to JSON."""

from __future__ import annotations

import json

import pytest

from harness.cli import evidence
from harness.errors import HarnessError
from harness.preset import load_preset
from harness.run import run
from harness.store.database import Store
from tests.examples import PRICED, call, scenario, step
from tests.stored import jsonl

WORK = [call("read", {"path": str(n)}, f"text of file {n}, which is long enough") for n in range(9)]


def looping(number: int, *, stuck: bool):
    """Four reads and, if it is stuck, the last of them three times more."""
    # Runs with the same readings would be taken for copies of one.
    used = {"model": PRICED, "usage": {"input": 100 + number, "output": 10}}
    calls = [*WORK[:4], *(3 * [WORK[3]] if stuck else [])]
    steps = [step(one, text=f"Look {n}.", **used) for n, one in enumerate(calls)]
    steps.append(step(text="Done.", finish_reason="stop", **used))
    outcome = "failure" if stuck else "success"
    return scenario(
        steps, id=f"made/{number}", goal=f"Read {number}.", tools=["read"],
        recorded={"outcome": outcome, "exit_reason": "agent_finished"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence")
    made = [looping(n, stuck=n % 4 == 0) for n in range(28)]
    path = folder / "own.toml"
    path.write_text(
        'schema = "harness/preset@1"\ntitle = "own"\n[guards]\nspin = 3\n'
        'max_iterations = { threshold = 6, on_fire = "stop" }\n',
        "utf-8",
    )
    store = folder / "store.duckdb"
    scenarios = jsonl(folder / "made.jsonl", *made)
    run([scenarios], [load_preset(str(path))], Store(store), observe=True)
    return store, str(path)


def shown(capsys, verb, *args, **more):
    """What a verb prints: lines of at most 80 columns, and the records of its JSON."""
    verb(*args, **more, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    verb(*args, **more, as_json=True)
    return lines, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_calibration_of_a_guard(stored, capsys):
    store, _ = stored
    lines, records = shown(capsys, evidence.calibration, store, None, "spin", alpha=0.05)
    assert [r["guard"] for r in records] == ["steps", "spin"]
    # 21 good runs of five steps whose action never repeats; the stuck ones repeat it.
    found = records[1]
    assert (found["good"], found["line"], found["threshold"], found["early"]) == (21, 1, 2, 7)
    assert found["saved"] == sum(3 * ((100 + n) * 150_000 + 10 * 600_000) for n in range(0, 28, 4))
    assert lines[2].split() == ["spin", "1", "2", "0/21", "13.3%", "7/28", "21", "$0.0005"]


def test_calibration_of_all_guards_and_of_a_preset(stored, capsys):
    store, own = stored
    _, records = shown(capsys, evidence.calibration, store, None, "all", alpha=0.1, by="run")
    assert [r["guard"] for r in records] == ["steps", "max_iterations", "spin"]
    lines, (path,) = shown(capsys, evidence.calibration, store, None, own, alpha=0.05)
    assert (path["thresholds"], path["stopped"]) == ({"spin": 3, "max_iterations": 6}, 0)
    assert "own" in "".join(lines)


def test_attribution(stored, capsys):
    store, own = stored
    lines, records = shown(capsys, evidence.attribution, store, None, own)
    iterations = {
        r["guard"]: r
        for r in records
        if r["type"] == "attribution" and r["measure"] == "iterations"
    }
    # Spin ends the seven stuck ones after 6 of 8; so would the limit.
    assert {n: (r["alone"], r["left_out"], r["share"]) for n, r in iterations.items()} == {
        "spin": (14, 0, 7),
        "max_iterations": (14, 0, 7),
    }
    after = [r for r in records if r["type"] == "runner_up"]
    assert len(after) == 7
    assert {(r["guard"], r["next_guard"]) for r in after} == {("max_iterations", "spin")}
    assert any(line.startswith("all ") for line in lines)


def test_curves(stored, capsys):
    store, own = stored
    lines, records = shown(capsys, evidence.exit_curves, store, None, own)
    last = {r["cause"]: r["share"] for r in records}
    assert last == pytest.approx({"agent_finished": 0.75, "limit": 0.25})
    assert lines[0].split() == ["iteration", "running", "agent_finished", "limit"]


def test_classifiers(tmp_path, capsys):
    lines, records = shown(capsys, evidence.classifiers, None)
    assert [r["kind"] for r in records] == [*3 * ["triage"], "similarity", "spin", "continuity"]
    assert all(r["errors"] for r in records)
    labels = tmp_path / "mine.jsonl"
    labels.write_text('{"text": "I am blocked here.", "label": "blocked"}\n', "utf-8")
    lines, records = shown(capsys, evidence.classifiers, labels)
    assert (records[0]["auc"], records[0]["operating"][0]["recall"]) == (None, 1.0)
    assert lines[1].split()[:4] == ["blocked", "phrase", "lists", "100%"]


@pytest.mark.parametrize(
    ("what", "words"), [("spim", "did you mean 'spin'"), ("balanced", "intervenes")]
)
def test_refusals(stored, what, words):
    with pytest.raises(HarnessError, match=words) as caught:
        evidence.calibration(stored[0], None, what, alpha=0.05, as_json=False)
    assert "\n" not in str(caught.value)


def test_too_few_good_runs_is_one_line(stored):
    with pytest.raises(HarnessError, match="21 good tasks, 99 needed for a limit"):
        evidence.calibration(stored[0], None, "spin", alpha=0.01, as_json=False)
