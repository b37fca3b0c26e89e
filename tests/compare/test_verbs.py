"""``harness compare`` and ``harness bless`` on real stores: exit codes, reasons, refusals."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from harness.compare.baseline import bless
from harness.files import bundled_scenarios
from harness.preset import load_presets
from harness.run import run
from harness.store.database import Store
from tests.compare.conftest import PRESET, Cli, Make, scored
from tests.stored import jsonl

LOOPS = [scored("a", 0.5, 0.6, 0.7, 0.8, 0.9), scored("b", 0.5, 0.9)]


def reasons(result) -> list[str]:
    return [line for line in result.err.splitlines() if not line.startswith("note: ")]


def test_equal(make: Make, harness: Cli) -> None:
    make("base", LOOPS)
    make("new", LOOPS)
    result = harness("compare", "base", "new")
    assert (result.code, result.err) == (0, "")
    assert "no regression: 2 pairs, 0 differ" in result.out


def test_known_difference(make: Make, harness: Cli) -> None:
    make("base", LOOPS)
    make("new", LOOPS, rounds=2)
    result = harness("compare", "base", "new")
    line = (
        "regression: a under small: max_rounds in 4 -> max_rounds in 3 (cost $0.0008 -> $0.0006, "
        "best score 0.8 -> 0.7)"
    )
    assert (result.code, reasons(result)) == (1, [line])
    assert harness("compare", "base", "new", "-t", "iteration=1", "-t", "best_score=0.1").code == 0
    assert harness("compare", "base", "base", "--tolerance", "cost=5%").code == 0


def test_truth_decides(make: Make, harness: Cli) -> None:
    truth = {"verdict": "success", "reasons": ["quality_reached"]}
    loops = [scored("a", 0.5, 0.6, 0.7, 0.8, 0.9, truth=truth)]
    make("base", loops)
    make("new", loops, rounds=9)
    result = harness("compare", "base", "new")
    assert (result.code, result.err) == (0, "")
    assert "better a" in result.out
    assert harness("compare", "new", "base").code == 1


NOT_MEASURABLE = {
    "scenario missing": (LOOPS[:1], {}, "scenario b is missing in the candidate under small"),
    "nothing in common": ([scored("c", 0.9)], {}, "no episode of the base has a counterpart"),
    "preset missing": (LOOPS, {"presets": ("other",)}, "preset small is missing"),
    "another recording": ([LOOPS[0], scored("b", 0.5, 0.95)], {}, "b under small: another"),
    "cost lost": ([LOOPS[0], scored("b", 0.5, 0.9, priced=False)], {},
                  "b under small: cost $0.0004 -> ?"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_MEASURABLE)
def test_not_measurable(make: Make, harness: Cli, case: str) -> None:
    loops, more, words = NOT_MEASURABLE[case]
    make("base", LOOPS)
    make("new", loops, **more)
    result = harness("compare", "base", "new")
    assert result.code == 2
    assert all(line.startswith("not measurable: ") for line in reasons(result))
    assert words in result.err


def test_run_broken_off(here: Path, make: Make, harness: Cli) -> None:
    make("base", LOOPS)
    make("new", LOOPS)
    store = Store(here / "harness.duckdb")
    store.execute("UPDATE runs SET state = 'failed' WHERE run_id = 'new'")
    result = harness("compare", "base", "new")
    assert (result.code, reasons(result)) == (
        2, ["not measurable: candidate new: the run is failed, not complete"]
    )  # fmt: skip
    assert "'new' is failed, not complete" in harness("bless", "new").refusal()


def test_run_without_episodes(here: Path, make: Make, harness: Cli) -> None:
    make("base", LOOPS)
    make("new", LOOPS)
    Store(here / "harness.duckdb").execute("DELETE FROM episodes WHERE run_id = 'new'")
    for names in (("base", "new"), ("new", "base"), ("new", "new")):
        result = harness("compare", *names)
        assert result.code == 2
        assert "new: holds no episode" in result.err
    assert "'new' holds no episode" in harness("bless", "new").refusal()


def test_a_regression_wins_over_a_gap(make: Make, harness: Cli) -> None:
    make("base", LOOPS)
    make("new", LOOPS[:1], rounds=2)
    result = harness("compare", "base", "new")
    assert result.code == 1
    assert [line.split(":")[0] for line in reasons(result)] == ["regression", "not measurable"]


def test_new_scenarios_are_counted(make: Make, harness: Cli) -> None:
    make("base", LOOPS)
    make("new", [*LOOPS, scored("c", 0.1)])
    result = harness("compare", "base", "new")
    assert result.code == 0
    assert "note: new in the candidate, by scenario and preset: 1" in result.err
    assert "new: 1" in result.out


def test_repetitions(make: Make, harness: Cli) -> None:
    make("base", LOOPS, repetitions=3)
    make("new", LOOPS, repetitions=2)
    result = harness("compare", "base", "new")
    assert result.code == 0
    assert "4 pairs" in result.out
    assert "repetitions differ for 2 of 2" in result.err


def test_presets(make: Make, harness: Cli) -> None:
    make("base", LOOPS, presets=("small", "other"))
    make("new", LOOPS)
    assert harness("compare", "base", "new").code == 2
    assert harness("compare", "base", "new", "-p", "small").code == 0
    assert harness("compare", "base", "new", "-p", "other").code == 2
    assert "'smal'" in harness("compare", "base", "new", "-p", "smal").refusal()


def test_other_store_name_and_file(here: Path, make: Make, harness: Cli) -> None:
    make("base", LOOPS, store="old.duckdb")
    make("new", LOOPS)
    assert harness("compare", "base", "new", "--base-store", "old.duckdb").code == 0
    assert harness("bless", "base", "--store", "old.duckdb", "--name", "good").code == 0
    assert harness("compare", "good", "new", "--base-store", "old.duckdb").code == 0
    assert harness("bless", "base", "--store", "old.duckdb", "-o", "base.tsv").code == 0
    assert harness("compare", "base.tsv", "new").code == 0
    assert harness("compare", "base.tsv", "base.tsv", "--store", "none.duckdb").code == 0


def test_a_file_leaves_the_direction_to_the_run(here: Path, make: Make, harness: Cli) -> None:
    def losses(last: float):
        return [scored("a", 0.9, 0.8, last, direction="lower")]

    make("base", losses(0.5), quality=0.1)
    harness("bless", "base", "-o", "base.tsv")
    worse = (here / "base.tsv").read_text().replace("\t0.5\t", "\t0.4\t")
    (here / "base.tsv").write_text(worse)
    result = harness("compare", "base.tsv", "base")
    assert (result.code, reasons(result)) == (
        1, ["regression: a under small: best score 0.4 -> 0.5"]
    )  # fmt: skip
    assert "higher is taken as better" in harness("compare", "base.tsv", "base.tsv").err


def test_bless(here: Path, make: Make, harness: Cli) -> None:
    make("one", LOOPS)
    make("two", [LOOPS[0], scored("c", 0.9)], rounds=2)
    assert harness("bless", "one", "-o", "base.tsv").out.splitlines() == [
        "baseline is now run one", "base.tsv: 2 episodes; new"
    ]  # fmt: skip
    assert harness("bless", "one", "-o", "base.tsv").out.splitlines()[1] == (
        "base.tsv: 2 episodes; 0 changed, 0 new, 0 gone"
    )
    result = harness("bless", "two", "-o", "base.tsv", "--json")
    assert result.lines == [{
        "name": "baseline", "run_id": "two", "before": "one", "store": "harness.duckdb",
        "episodes": 2, "output": "base.tsv", "counts": {"changed": 1, "new": 1, "gone": 1},
    }]  # fmt: skip
    assert harness("compare", "baseline", "two").code == 0
    assert {path.name for path in here.glob("base.tsv*")} == {"base.tsv"}


def test_bless_mends_a_broken_file_and_spares_others(here: Path, make: Make, harness: Cli) -> None:
    make("one", LOOPS)
    harness("bless", "one", "-o", "base.tsv")
    whole = (here / "base.tsv").read_text()
    (here / "base.tsv").write_text(whole + "<<<<<<< HEAD\n")
    assert "base.tsv:5" in harness("compare", "base.tsv", "one").refusal()
    assert "replaced what was broken" in harness("bless", "one", "-o", "base.tsv").err
    assert (here / "base.tsv").read_text() == whole
    (here / "notes.md").write_text("mine\n")
    assert "no baseline" in harness("bless", "one", "-o", "notes.md").refusal()
    assert (here / "notes.md").read_text() == "mine\n"


def test_bless_some_presets(here: Path, make: Make, harness: Cli) -> None:
    make("one", LOOPS, presets=("small", "other"))
    harness("bless", "one", "-o", "base.tsv", "-p", "small")
    assert "other" not in (here / "base.tsv").read_text()
    assert harness("compare", "base.tsv", "one").code == 0


REFUSED = {
    "base": ("compare bsae one", ["BASE", "'bsae'", "'base'", "harness.duckdb"]),
    "candidate": ("compare base noe", ["CANDIDATE", "'noe'", "'one'"]),
    "store": ("compare base one --store no.duckdb", ["no.duckdb", "not exist"]),
    "base store": ("compare base one --base-store no.duckdb", ["no.duckdb", "not exist"]),
    "folder": ("compare . one", ["BASE", "'.'"]),
    "no baseline": ("compare one.jsonl one", ["one.jsonl:1", "harness/baseline@1"]),
    "tolerance": ("compare base one -t cots=1", ["'cots'", "'cost'"]),
    "alpha": ("compare base one --alpha 0", ["--alpha", "0"]),
    "both to stdout": ("compare base one --json --markdown -", ["--json", "--markdown"]),
    "markdown": ("compare base one --markdown no/x.md", ["--markdown", "no"]),
    "run": ("bless noe", ["'noe'", "'one'"]),
    "name": ("bless one --name one", ["--name", "'one'", "run"]),
    "empty name": ("bless one --name ''", ["--name", "empty"]),
    "output": ("bless one -o no/x.tsv", ["--output", "no"]),
    "output is a folder": ("bless one -o .", ["--output", "folder"]),
    "preset": ("bless one -o x.tsv -p smal", ["--preset", "'smal'", "'small'"]),
    "preset for nothing": ("bless one -p small", ["--preset", "--output"]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, blessed as ``base``."""
    folder = tmp_path_factory.mktemp("blessed")
    (folder / "small.toml").write_text(PRESET.format(quality=0.85, rounds=3))
    store = Store(folder / "harness.duckdb")
    source = jsonl(folder / "one.jsonl", *LOOPS)
    run([source], load_presets([str(folder / "small.toml")]), store, run_id="one")
    bless(store, "one", "base")
    return folder


@pytest.mark.parametrize("case", REFUSED)
def test_refused(harness: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.chdir(folder)
    command, words = REFUSED[case]
    line = harness(*shlex.split(command)).refusal()
    assert [word for word in words if word not in line] == [], line


def test_tighter_stagnation(here: Path, harness: Cli) -> None:
    """The regressions are the scenarios whose exit moves, no more and no less."""
    (here / "reflection.toml").write_text(
        'schema = "harness/preset@1"\ntitle = "Tighter"\nextends = "reflection"\n'
        "[guards]\nstagnation = { window = 2, min_delta = 0.05 }\n"
    )
    scenarios = [bundled_scenarios() / name for name in ("reflection", "healthy", "budgets")]
    store = Store(here / "harness.duckdb")
    run(scenarios, load_presets(["reflection"]), store, run_id="loose")
    run(scenarios, load_presets([str(here / "reflection.toml")]), store, run_id="tight")
    moved = {
        row["scenario"]
        for row in store.rows(
            "SELECT b.scenario FROM episodes b JOIN episodes c USING (scenario, preset) "
            "WHERE b.run_id = 'loose' AND c.run_id = 'tight' "
            "AND (b.exit_reason, b.exit_iteration) <> (c.exit_reason, c.exit_iteration)"
        )
    }
    result = harness("compare", "loose", "tight", "--json")
    pairs = [line for line in result.lines if line["type"] == "pair"]
    better = {p["scenario"] for p in pairs if p["class"] == "improvement"}
    worse = {p["scenario"] for p in pairs if p["class"] == "regression"}
    assert result.code == 1
    assert worse
    assert worse | better == moved
    right = {
        row["scenario"] for row in store.rows(
            "SELECT c.scenario FROM agreement b JOIN agreement c USING (scenario, preset) "
            "WHERE b.run_id = 'loose' AND c.run_id = 'tight' AND c.agreement = 'right' "
            "AND b.agreement NOT IN ('right', 'unknown')"
        )
    }  # fmt: skip
    assert better == moved & right
