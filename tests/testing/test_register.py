"""Users' guards by kind: registered in this process, or offered by an installed package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from harness import ExitReason, Guard, LoopGuard, Preset, load_preset, register
from harness.decide import decide, rank
from harness.errors import PresetError
from harness.guards import catalogue, guard_class, lent
from harness.history import History
from harness.verdicts import Condition
from tests.testing.test_page import FILES

SCENARIO = {
    "schema": "harness/scenario@1",
    "goal": "Export the report.",
    "steps": [{"reply": {"text": "I cannot open it.", "ms": 5}}] * 6,
}


class Quiet(Guard):
    reason: ClassVar[ExitReason] = ExitReason.SPIN
    measures: ClassVar[str] = "nothing"

    def signal(self, history: History) -> float:
        return 1


@dataclass(frozen=True, kw_only=True)
class Echo(Quiet):
    """Stops when told."""

    threshold: float = 1


@dataclass(frozen=True, kw_only=True)
class Spin(Quiet):
    """Has the name of a guard of the harness."""


@dataclass(frozen=True, kw_only=True)
class Vague(Guard):
    measures: ClassVar[str] = "nothing"

    def signal(self, history: History) -> float:
        return 1


@dataclass(frozen=True, kw_only=True)
class Empty(Guard):
    reason: ClassVar[ExitReason] = ExitReason.SPIN


def another_echo() -> type[Guard]:
    @dataclass(frozen=True, kw_only=True)
    class Echo(Quiet):
        """Another one of that name."""

    return Echo


def own_toml(folder: Path) -> str:
    path = folder / "own.toml"
    path.write_text(
        'schema = "harness/preset@1"\n[guards]\nmine = { kind = "echo", threshold = 2 }\n'
    )
    return str(path)


def test_a_registered_guard_is_known_by_its_kind(tmp_path):
    with pytest.raises(PresetError, match=r"own\.toml: guards\.mine: guard kind: found 'echo'"):
        load_preset(own_toml(tmp_path))
    assert "echo" not in catalogue()
    with lent(Echo):
        assert (Echo, Echo) == (guard_class("echo"), catalogue()["echo"])
        assert Echo(threshold=2) == load_preset(own_toml(tmp_path)).guards["mine"]
        assert register(Echo) is Echo
        with pytest.raises(PresetError, match=r"kind 'echo' of .*another_echo.* is taken by"):
            register(another_echo())
    assert "echo" not in catalogue()


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (Spin, r"kind 'spin' of \S+\.Spin is taken by harness\.guards\.spin\.Spin"),
        (Quiet, r"Quiet must be decorated with @dataclass\(frozen=True, kw_only=True\)"),
        (Vague, r"Vague\.reason must be one of harness\.ExitReason"),
        (Empty, r"Empty must define: signal"),
        (str, r"must be a class derived from harness\.Guard, found <class 'str'>"),
        (Echo(), r"must be a class derived from harness\.Guard, found Echo\("),
    ],
)
def test_what_cannot_be_registered(cls, words):
    with pytest.raises(PresetError, match=f"^register: .*{words}"):
        register(cls)


def test_registering_a_guard_of_the_harness_changes_nothing():
    before = dict(catalogue())
    for cls in before.values():
        assert register(cls) is cls
    assert before == catalogue()


def test_an_object_needs_no_registration():
    guard = LoopGuard(Preset(guards={"mine": Echo()}), goal="g")
    assert guard.observe(text="x").exit == "spin"
    assert guard.message.startswith("spin after 1 iteration: guard mine, nothing is 1")
    again = LoopGuard.restore(guard.state(), preset=Preset(guards={"mine": Echo()}))
    assert guard.decision == again.decision


@pytest.mark.parametrize(
    ("reason", "before", "behind"),
    [
        ("quality_reached", "verified", "quality"),
        ("blocked", "unfixable", "blocked"),
        ("token_budget", "cost_budget", "token_budget"),
        ("spin", "cycle", "tool_spin"),
        ("repetition", "stagnation", "text_loop"),
        ("no_progress", "agent_finished", "no_progress"),
        ("error", "no_progress", "any_of"),
    ],
)
def test_its_place_in_the_chain_follows_from_its_reason(reason, before, behind):
    place = rank("echo", ExitReason(reason))
    assert rank(behind) < place < rank(before)
    own = Condition("echo", "mine", ExitReason(reason), "stop")
    for other, winner in ((behind, behind), (before, "echo")):
        pair = [own, Condition(other, other, ExitReason.ERROR, "stop")]
        assert winner == decide(pair).winner.kind == decide(pair[::-1]).winner.kind


@pytest.mark.parametrize("reason", ExitReason)
def test_every_reason_has_a_place(reason):
    assert decide([Condition("echo", "mine", reason, "stop")]).exit == reason


def test_a_success_of_ones_own_is_vetoed_by_an_open_check():
    @dataclass(frozen=True, kw_only=True)
    class Good(Echo):
        reason: ClassVar[ExitReason] = ExitReason.VERIFIED

    check = {"id": "file", "kind": "file_exists", "path": "note.md"}
    task = {"phases": [{"id": "draft", "checks": [check]}]}
    guard = LoopGuard(Preset(guards={"good": Good()}), goal="g", task=task)
    decision = guard.observe(text="Done.")
    assert (decision.ends, decision.conditions[0].state) == (False, "vetoed")
    assert guard.observe(text="Done.", writes=["note.md"]).exit == "verified"


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def installed(tmp_path: Path) -> Run:
    """Runs ``python ...`` beside an installed package with these entry points."""
    site = tmp_path / "site"
    info = site / "refusals-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "refusals.py").write_text(FILES["refusals.py"])
    (site / "broken.py").write_text("import no_such_module\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: refusals\nVersion: 1.0\n")
    (tmp_path / "ours.toml").write_text(FILES["ours.toml"])
    (tmp_path / "many.jsonl").write_text(
        "".join(json.dumps({**SCENARIO, "id": f"own/{n}"}) + "\n" for n in range(250))
    )

    def run(*arguments: str, points: str = "refusal_run = refusals:RefusalRun"):
        (info / "entry_points.txt").write_text(f"[harness.guards]\n{points}\n")
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(site), "COLUMNS": "120"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


CLI = ("-c", "from harness.cli.main import main; main()")


def test_an_installed_guard_runs_in_worker_processes(installed):
    done = installed(*CLI, "run", "many.jsonl", "-p", "ours.toml", "--workers", "2")
    assert done.returncode == 0, done.stderr
    (row,) = [line.split() for line in done.stdout.splitlines() if line.startswith("no_progress")]
    assert row == ["no_progress", "250"]
    shown = installed(*CLI, "show", "own/7", "--preset", "ours")
    assert "guard refusal_run, trailing replies that say it cannot be done is 4 (>= 4)" in (
        " ".join(shown.stdout.split())
    )


def test_listings_and_docs_show_an_installed_guard(installed):
    listed = installed(*CLI, "list", "guards")
    assert [line for line in listed.stdout.splitlines() if line.startswith("refusal_run")]
    manual = installed(*CLI, "docs", "guards").stdout
    assert "## refusal_run\n\nStops when this many replies running say that it cannot" in manual


def test_only_the_guard_that_is_asked_for_is_imported(installed):
    points = "refusal_run = refusals:RefusalRun\nother = broken:Other"
    code = "import harness; print(harness.load_preset('ours.toml').guards['refusal_run'].kind())"
    assert installed("-c", code, points=points).stdout == "refusal_run\n"


BROKEN = {
    "own = broken:Own": "'own' (broken:Own) of package refusals: ModuleNotFoundError: No module "
    "named 'no_such_module'",
    "own = refusals:Own": "'own' (refusals:Own) of package refusals: AttributeError: module "
    "'refusals' has no attribute 'Own'",
    "own = refusals:WORDS": "'own' (refusals:WORDS) of package refusals: must be a class derived "
    "from harness.Guard, found ('i cannot', ",
    "own = refusals:RefusalRun": "'own' (refusals:RefusalRun) of package refusals: "
    "refusals.RefusalRun has the kind 'refusal_run'; name the entry point so",
    "spin = refusals:RefusalRun": "'spin' (refusals:RefusalRun) of package refusals: a guard of "
    "the harness has this kind",
}


@pytest.mark.parametrize(("points", "words"), BROKEN.items(), ids=list(BROKEN))
def test_a_broken_entry_point_is_named_in_one_line(points, words, installed):
    done = installed(*CLI, "list", "guards", points=points)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"entry point {words}" in line
