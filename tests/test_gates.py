"""Phase gates: facts that code looks at, and that outrank every model."""

from __future__ import annotations

from typing import Any

import pytest

from harness.gates import PhaseGate, RealWorkspace, ScriptedWorkspace, runs_script
from harness.task import Phase
from harness.trace import Turn
from tests.examples import call, step, turns


def shell(command: Any, exit_code: int | None = 0, tool: str = "shell", result: str = "ok", **more):
    return call(tool, {"command": command}, result, exit_code=exit_code, **more)


def ran(spec: dict[str, Any], command: str = "check.py") -> bool:
    return runs_script(turns([step(spec)])[0].calls[0], command)


RUNS = {
    "by its name": shell("check.py"),
    "with an interpreter": shell("python check.py"),
    "with a path": shell("python3 ./tools/check.py"),
    "with an absolute path": shell("/srv/tools/check.py --all"),
    "quoted": shell("python 'tools/check.py' \"data.csv\""),
    "with white space": shell("  python   tools/check.py\t data.csv "),
    "with options of the interpreter": shell("python -u -B check.py"),
    "with a variable": shell("MODE=full python check.py"),
    "with a time limit": shell("timeout 60 python check.py"),
    "after a change of folder": shell("cd tools && python check.py"),
    "into a pipe": shell("python check.py | tail -5"),
    "before another command": shell("python check.py && echo ok"),
    "and give up if it fails": shell("python check.py || exit 1"),
    "on a line of several": shell("set -e\npython check.py\n"),
    "as a list of words": shell(["python", "tools/check.py"]),
    "as the tool itself": call("check.py", {}, "ok", exit_code=0),
    "in other terminals": shell("python check.py", tool="run_command"),
    "as a result shows": shell("make verify", result="+ python tools/check.py\n0 errors"),
}
RUNS_NOT = {
    "an exit code that is not 0": shell("python check.py", 1),
    "no exit code": shell("python check.py", None),
    "a call that failed": shell("python check.py", 0, ok=False),
    "printing it": shell("cat tools/check.py"),
    "listing it": shell("ls tools/check.py"),
    "looking for it": shell("find . -name check.py"),
    "searching in it": shell("grep -n def check.py"),
    "talking about it": shell("echo python check.py"),
    "copying it": shell("cp check.py old_check.py"),
    "making it runnable": shell("chmod +x check.py"),
    "its name in another argument": shell("python other.py --config check.py"),
    "a name that only ends like it": shell("python recheck.py"),
    "a name that only begins like it": shell("python check.pyc"),
    "a failure that is hidden": shell("python check.py || true"),
    "only if another one fails": shell("true || python check.py"),
    "a comment": shell("# python check.py"),
    "a tool that is no terminal": shell("python check.py", tool="write_file"),
    "a result of looking": shell("cat log.txt", result="+ python check.py"),
    "prose in a result": shell("make help", result="then run: python check.py"),
}


@pytest.mark.parametrize("spec", RUNS.values(), ids=RUNS)
def test_it_runs_the_script(spec):
    assert ran(spec)


@pytest.mark.parametrize("spec", RUNS_NOT.values(), ids=RUNS_NOT)
def test_it_does_not_run_the_script(spec):
    assert not ran(spec)


@pytest.mark.parametrize(
    ("expected", "command"),
    [
        (True, "pytest -q tests"),
        (True, "  pytest   -q 'tests'"),
        (False, "pytest tests"),
        (False, "pytest -q tests/unit"),
    ],
)
def test_a_command_of_several_words_stands_as_a_whole(expected, command):
    assert expected == ran(shell(command), "pytest -q tests")


# -- phases ---------------------------------------------------------------------------------------

SCRIPT = {"id": "s", "kind": "script", "command": "check.py"}
FILE = {"id": "f", "kind": "file_exists", "path": "out/a.md"}
GLOB = {"id": "g", "kind": "file_glob_count", "pattern": "out/*.md", "min": 2}
SIGNED = {"id": "u", "kind": "user_confirmation"}
RUN = step(shell("python check.py"))
IDLE = step(text="Thinking.")


def gate(*phases: list[dict[str, Any]], workspace: Any = None) -> PhaseGate:
    """A gate over phases p0, p1, ... with these checks."""
    made = [Phase.model_validate({"id": f"p{n}", "checks": c}) for n, c in enumerate(phases)]
    return PhaseGate(made, workspace or ScriptedWorkspace())


def turn(spec: dict[str, Any]) -> Turn:
    return turns([spec])[0]


def names(missing: tuple[str, ...]) -> list[str]:
    """``phase/check`` of what is missing."""
    return [text.split(":", 1)[0] for text in missing]


@pytest.mark.parametrize(
    ("check", "closes", "leaves_open"),
    [
        (SCRIPT, RUN, step(shell("python check.py", 1))),
        (FILE, step(writes=["out/a.md@7f"]), step(writes=["out/b.md", "a.md"])),
        (GLOB, step(writes=["out/a.md", "out/b.md"]), step(writes=["out/a.md", "out/sub/b.md"])),
        (
            SIGNED,
            step(confirms=[{"phase": "p0", "check": "u"}]),
            step(confirms=[{"phase": "p1", "check": "u"}, {"phase": "p0", "check": "v"}]),
        ),
    ],
    ids=["script", "file_exists", "file_glob_count", "user_confirmation"],
)
def test_the_four_kinds(check, closes, leaves_open):
    opened, closed = gate([check]), gate([check])
    opened.observe(turn(leaves_open))
    closed.observe(turn(closes))
    assert names(opened.look().missing) == [f"p0/{check['id']}"]
    assert closed.look().missing == ()
    assert [r.passed for r in (*opened.look().results, *closed.look().results)] == [False, True]


@pytest.mark.parametrize(
    ("scope", "same", "later", "next_phase"),
    [
        ("iteration", True, False, False),
        ("phase", True, True, False),
        ("episode", True, True, True),
    ],
)
def test_the_scope_of_a_script(scope, same, later, next_phase):
    check = SCRIPT | {"scope": scope}
    found = gate([FILE], [check])
    found.observe(turn(RUN))
    if next_phase is not None:
        found.advance()
        found.observe(turn(IDLE))
        assert next_phase == (found.look().missing == ())
    inside = gate([check])
    inside.observe(turn(RUN))
    assert same == (inside.look().missing == ())
    inside.observe(turn(IDLE))
    assert later == (inside.look().missing == ())


def test_scripts_and_confirmations_are_settled_when_their_phase_is_advanced():
    found = gate([SCRIPT, SIGNED, FILE], [GLOB])
    found.observe(turn(RUN | {"confirms": [{"phase": "p0", "check": "u"}], "writes": ["out/a.md"]}))
    assert found.look().missing == ()
    found.advance()
    found.observe(turn(IDLE | {"writes": []}))
    assert (found.phase, found.on_last) == ("p1", True)
    # The file of the first phase is looked at again at the end; it has gone.
    assert names(found.open_checks()) == ["p0/f", "p1/g"]


def test_the_last_phase_stays_the_last():
    found = gate([FILE])
    found.advance()
    assert (found.phase, found.on_last) == ("p0", True)


def test_without_phases_nothing_is_open():
    found = gate()
    assert (found.phase, found.has_phases, found.open_checks()) == (None, False, ())


def test_the_reason_names_what_is_missing():
    missing = gate([SCRIPT, FILE, GLOB, SIGNED]).look().missing
    assert missing == (
        "p0/s: a successful run of check.py in this iteration",
        "p0/f: file out/a.md",
        "p0/g: 0 of 2 files out/*.md",
        "p0/u: a confirmation by the user",
    )


# -- workspaces -----------------------------------------------------------------------------------

FILES = ["a.md", "out/b.md", "out/c.txt", "out/deep/d.md"]
EXISTS = [
    (True, "a.md"),
    (True, "./a.md"),
    (True, "out/deep/d.md"),
    (True, "out"),
    (False, "out/a.md"),
    (False, "A.md"),
    (False, "ou"),
]
COUNTS = [
    (1, "*.md"),
    (1, "out/*.md"),
    (2, "out/*.*"),
    (3, "**/*.md"),
    (1, "out/**/d.md"),
    (1, "out/?.txt"),
    (0, "*.csv"),
]


@pytest.fixture(params=["scripted", "real"])
def workspace(request, tmp_path):
    if request.param == "scripted":
        made = ScriptedWorkspace()
        made.update([f"{path}@h{n}" for n, path in enumerate(FILES)])
        return made
    for path in FILES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    return RealWorkspace(tmp_path)


@pytest.mark.parametrize(("expected", "path"), EXISTS)
def test_files_exist(expected, path, workspace):
    assert expected == workspace.exists(path)


@pytest.mark.parametrize(("expected", "pattern"), COUNTS)
def test_files_are_counted(expected, pattern, workspace):
    assert expected == workspace.count(pattern)


def test_absolute_paths_are_taken_as_given(tmp_path):
    (tmp_path / "a.md").write_text("x")
    elsewhere = RealWorkspace("/nowhere")
    assert elsewhere.exists(str(tmp_path / "a.md"))
    assert elsewhere.count(str(tmp_path / "*.md")) == 1


def test_a_gate_over_real_files(tmp_path):
    found = gate([FILE, GLOB], workspace=RealWorkspace(tmp_path))
    assert names(found.look().missing) == ["p0/f", "p0/g"]
    (tmp_path / "out").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "out" / name).write_text("x")
    # What a turn claims to have written makes no difference here.
    found.observe(turn(IDLE | {"writes": []}))
    assert found.look().missing == ()
