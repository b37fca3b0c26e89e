"""Recorded replies that no replay plays are a failure, unless they stand ready."""

from __future__ import annotations

import pytest

from harness.files import load
from harness.loop import run_episode
from harness.played import unplayed
from harness.preset import load_preset
from harness.turns import prepare

JUDGED = """\
schema: harness/scenario@1
id: mine/judged
goal: Fix the test.
steps:
  - reply: {text: I looked at the failing test.}
    judge: '{"done": false, "reason": "not yet", "progress": "some"}'
  - reply: {text: Please tell me which database I should use?}
    judge: '{"done": false, "reason": "not yet", "progress": "some"}'
expect:
  PRESET: {exit_reason: REASON}
"""


def judged(preset: str, reason: str) -> str:
    return JUDGED.replace("PRESET", preset).replace("REASON", reason)


def test_a_reply_that_is_not_asked_for_any_more(project):
    """Triage settles the second turn, so the judge is not asked."""
    project.write("scenarios/judged.yaml", judged("engine", "awaiting_user"))
    result = project.run("scenarios/judged.yaml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([
        "scenarios/judged.yaml:*: mine/judged: recorded replies were not played under engine:",
        "  step 2: judge was not asked for 1 of 1 replies",
    ])  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        judged("engine", "awaiting_user") + "spare: [judge]\n",
        # A preset without a judge has nobody to ask.
        judged("reflection", "recording_exhausted"),
    ],
)
def test_what_stands_ready_or_belongs_to_nobody_is_no_failure(project, text):
    project.write("scenarios/judged.yaml", text)
    project.run("scenarios/judged.yaml").assert_outcomes(passed=2 - ("spare" in text))


def test_a_branch_that_is_never_entered(project):
    project.write(
        "scenarios/branch.yaml",
        "schema: harness/scenario@1\nid: mine/branch\ngoal: Do it.\nsteps: [{reply: {text: a}}]\n"
        "branches: {switch_strategy: [[{reply: {text: b}}]]}\n"
        "expect: {observe: {exit_reason: recording_exhausted}}\n",
    )
    result = project.run("scenarios/branch.yaml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["  branch switch_strategy[[]0[]] was never entered"])


def test_what_lies_behind_the_end_does_not_count(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(judged("engine", "max_iterations") + "limits: {max_iterations: 1}\n", "utf-8")
    scenario = next(load([file]))
    tape, preset = prepare(scenario), load_preset("engine")
    assert unplayed(tape, {"engine": run_episode(tape, preset)}, {"engine": preset}) == []
