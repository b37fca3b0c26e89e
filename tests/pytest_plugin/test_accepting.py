"""Accepting what was observed: only the expectation changes, and never on a server."""

from __future__ import annotations

import difflib
import sys

import pytest

from tests.projects import DRAFT, PRESET, line

RISES = (0.5, 0.7, 0.71, 0.715, 0.716)
AT_3 = DRAFT.replace("iteration: 4", "iteration: 3")
OBSERVED = "\nexpect:\n  observe: {exit_reason: recording_exhausted, iteration: 5}\n"


def changed(before: str, after: str) -> list[str]:
    """Lines that a diff of the two shows."""
    found = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [found for found in found if found[0] in "+-" and found[:3] not in ("+++", "---")]


def test_update_changes_the_expectation_and_nothing_else(project):
    project.loosen(0.3)
    result = project.run("--harness-update")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*draft.yaml A *", "1 expectation written: *draft.yaml"])
    assert changed(DRAFT, project.read("scenarios/draft.yaml")) == [
        "-  mine: {exit_reason: stagnation, iteration: 4}  # two small gains",
        "+  mine: {exit_reason: stagnation, iteration: 3}  # two small gains",
    ]
    project.run().assert_outcomes(passed=1)


def test_update_where_all_holds_touches_no_file(project):
    before = (project.path / "scenarios/draft.yaml").stat().st_mtime_ns
    project.run("--harness-update").assert_outcomes(passed=1)
    assert (project.path / "scenarios/draft.yaml").stat().st_mtime_ns == before


def test_update_with_two_workers(project):
    project.loosen(0.3)
    project.write(
        "scenarios/many.jsonl",
        "".join(
            line(f"a/{n}", *RISES, expect={"mine": {"exit_reason": "stagnation", "iteration": 4}})
            for n in range(5)
        ),
    )
    result = project.run("--harness-update", "-n2")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["6 expectations written: *draft.yaml, *many.jsonl"])
    assert project.read("scenarios/draft.yaml") == AT_3
    project.run("-n2").assert_outcomes(passed=6)


def test_an_expectation_without_iteration_stays_without(project):
    text = DRAFT.replace("stagnation, iteration: 4", "spin")
    project.write("scenarios/draft.yaml", text)
    project.run("--harness-update")
    assert project.read("scenarios/draft.yaml") == text.replace("spin", "stagnation")


def test_new_only_adds_what_is_missing_and_lets_the_rest_fail(project):
    project.loosen(0.3)
    project.write("scenarios/new.yaml", DRAFT.replace("/draft", "/new").partition("\nexpect")[0])
    chosen = ("--harness-preset", "mine", "--harness-preset", "observe")
    result = project.run("--harness-update-new-only", *chosen)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 failed*3 accepted*"])
    assert project.read("scenarios/draft.yaml") == (
        DRAFT + "  observe: {exit_reason: recording_exhausted, iteration: 5}\n"
    )
    assert project.read("scenarios/new.yaml").partition("\nexpect")[2] == (
        ":\n  mine: {exit_reason: stagnation, iteration: 3}\n"
        "  observe: {exit_reason: recording_exhausted, iteration: 5}\n"
    )


def test_members_of_a_family_that_end_differently_are_left_alone(project):
    text = (
        "schema: harness/scenario@1\nid: made/converge\ngoal: Do it.\n"
        "generate: {process: converge, n: 6, seed: 7}\n"
        "expect:\n  reflection: {exit_reason: quality_reached, iteration: 9}\n"
    )
    project.write("scenarios/family.yaml", text)
    result = project.run("scenarios/family.yaml", "--harness-update")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["not written: *family.yaml:1: expect.reflection: the members *"])
    assert project.read("scenarios/family.yaml") == text
    result = review(project, "a\n")
    result.stdout.fnmatch_lines(["not written: *family.yaml:1: expect.reflection: the members *"])
    assert project.read("scenarios/family.yaml") == text


def test_members_of_a_family_that_agree_share_what_is_written(project):
    text = (
        "schema: harness/scenario@1\nid: made/plateau\ngoal: Do it.\n"
        "generate: {process: plateau, n: 3, seed: 7}\n"
        "expect:\n  observe: {exit_reason: recording_exhausted, iteration: 9}\n"
    )
    project.write("scenarios/family.yaml", text)
    project.run("scenarios/family.yaml", "--harness-update")
    assert project.read("scenarios/family.yaml") == text.replace("9", "12")


@pytest.mark.parametrize(
    "option", ["--harness-update", "--harness-update-new-only", "--harness-review"]
)
def test_nothing_is_rewritten_in_ci(project, monkeypatch, option):
    project.loosen(0.3)
    monkeypatch.setenv("CI", "true")
    result = project.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: harness: {option} rewrites *refused in CI (CI is set)*"])
    assert project.read("scenarios/draft.yaml") == DRAFT


def test_two_ways_of_accepting_exclude_each_other(project):
    result = project.run("--harness-update", "--harness-review")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--harness-update and --harness-review exclude each other*"])


def test_a_file_that_cannot_be_written_is_said(project, monkeypatch):
    project.loosen(0.3)
    project.write("conftest.py", (
        "import pathlib\n"
        "def pytest_runtest_teardown(item):\n"
        "    item.path.write_text(item.path.read_text().replace('iteration: 4', 'iteration: 5'))\n"
    ))  # fmt: skip
    result = project.run("--harness-update")
    result.stdout.fnmatch_lines(["not written: *expect.mine: changed since it was read*"])


# -- review ------------------------------------------------------------------------------------


def review(project, answers: str):
    """A review in a process of its own, with these answers on standard input."""
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--harness-review")
    return project.pytester.run(*command, stdin=answers.encode())


TWO = DRAFT + "  observe: {exit_reason: agent_finished, iteration: 5}\n"


@pytest.mark.parametrize(
    ("answers", "written"),
    [
        ("y\nn\n", {"mine"}),
        ("n\ny\n", {"observe"}),
        ("a\n", {"mine", "observe"}),
        ("q\n", set()),
        ("what?\ny\nq\n", {"mine"}),
        ("", set()),
    ],
)
def test_review_asks_about_each(project, answers, written):
    project.loosen(0.3)
    project.write("scenarios/draft.yaml", TWO)
    result = review(project, answers)
    assert result.ret == 1  # what is accepted holds from the next run on
    result.stdout.fnmatch_lines([
        "2 to review: y accepts, n leaves it, a accepts all, q stops",
        "scenarios/draft.yaml:13",
        "  mine/draft under mine: expected stagnation in iteration 4, observed stagnation in *3",
    ])  # fmt: skip
    wanted = TWO
    if "mine" in written:
        wanted = wanted.replace("iteration: 4", "iteration: 3")
    if "observe" in written:
        wanted = wanted.replace("agent_finished", "recording_exhausted")
    assert project.read("scenarios/draft.yaml") == wanted


def test_review_offers_what_is_missing(project):
    text = DRAFT.partition("expect")[0]
    project.write("scenarios/draft.yaml", text)
    command = (sys.executable, "-m", "pytest", "--harness-review", "--harness-preset=observe")
    result = project.pytester.run(*command, stdin=b"y\n")
    result.stdout.fnmatch_lines(["*under observe: nothing expected yet, observed recording_*"])
    assert project.read("scenarios/draft.yaml") == text.rstrip("\n") + OBSERVED


def test_nothing_to_review_asks_nothing(project):
    result = review(project, "")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*to review*")


def test_a_preset_that_inherits(project):
    """What the trial of a new user does: a preset that extends a bundled one."""
    extended = PRESET.replace("[guards]", 'extends = "reflection"\n[guards]')
    project.write("presets/mine.toml", extended)
    project.run().assert_outcomes(passed=1)
