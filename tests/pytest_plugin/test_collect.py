"""Scenario files as test items, in real inner pytest runs."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from tests.projects import DRAFT, PRESET, line

STAGNATES = {"mine": {"exit_reason": "stagnation", "iteration": 4}}
RISES = (0.5, 0.7, 0.71, 0.715, 0.716)


def items(result) -> list[str]:
    """Node ids that a `--collect-only -q` run lists."""
    return [found for found in result.outlines if "::" in found]


def test_one_item_for_each_preset(project):
    project.write("scenarios/draft.yaml", DRAFT + "  observe: {exit_reason: agent_finished}\n")
    assert items(project.run("--collect-only", "-q")) == [
        "scenarios/draft.yaml::mine",
        "scenarios/draft.yaml::observe",
    ]


def test_scenarios_of_one_file_are_told_apart_by_their_ids(project):
    project.write(
        "scenarios/many.jsonl",
        line("a/one", *RISES, expect=STAGNATES) + line("a/two", 0.1)
        + line("a/three", *RISES, expect=STAGNATES),
    )  # fmt: skip
    assert items(project.run("--collect-only", "-q", "scenarios/many.jsonl")) == [
        "scenarios/many.jsonl::a/one::mine",
        "scenarios/many.jsonl::a/three::mine",
    ]
    result = project.run("scenarios/many.jsonl::a/three::mine")
    result.assert_outcomes(passed=1)


def test_members_of_a_generated_family(project):
    project.write(
        "scenarios/family.yaml",
        "schema: harness/scenario@1\nid: made/plateau\ngoal: Do it.\n"
        "generate: {process: plateau, n: 3, seed: 7}\n"
        "expect:\n  observe: {exit_reason: recording_exhausted, iteration: 12}\n",
    )
    result = project.run("scenarios/family.yaml", "-v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*family.yaml::made/plateau-002::observe PASSED*"])


def test_other_files_are_left_alone(project):
    project.write("data/other.yaml", "a: 1\n")
    project.write("package.json", '{"name": "x"}')
    project.write("data/rows.jsonl", '{"a": 1}\n')
    assert items(project.run("--collect-only", "-q")) == ["scenarios/draft.yaml::mine"]


def test_a_failure_says_what_was_expected_what_was_seen_and_how_to_look(project):
    project.loosen(0.3)
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "scenarios/draft.yaml:13: mine/draft under mine: expected stagnation in iteration 4, *",
        "  exit reason  stagnation  stagnation",
        "  iteration             4           3",
        "  guard       fires at  1  2     3",
        "  stagnation  < 0.3     [?]  [?]  0.2[*]",
        "  iteration 3: stagnation -> stagnation (stop) decided",
        "open it:   harness show scenarios/draft.yaml --preset presets/mine.toml",
        "accept it: pytest scenarios/draft.yaml::mine --harness-update",
        "*= harness =*",
        "mine  1 ended: stagnation 1",
        "changed: 1 end otherwise than expected",
    ])  # fmt: skip


def test_a_reason_that_no_guard_of_the_preset_gives_is_called_that(project):
    project.write("scenarios/draft.yaml", DRAFT.replace("stagnation, iteration: 4", "spin"))
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["preset mine has no guard for spin: spin or tool_spin"])


def test_an_expectation_of_an_unknown_preset_is_an_error_and_names_the_choices(project):
    project.write("scenarios/draft.yaml", DRAFT.replace("  mine:", "  mime:"))
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([
        "*draft.yaml:13: expect: preset: found 'mime' (did you mean 'mine'?)*file mime.toml in *"
    ])  # fmt: skip


def test_a_preset_that_is_broken_is_an_error(project):
    project.write("presets/mine.toml", PRESET.replace("stagnation", "stagnatoin"))
    result = project.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["scenarios/draft.yaml:13: expect: preset *stagnatoin*stagnation*"])


def test_a_broken_file_is_one_error_and_the_rest_runs(project):
    project.write("scenarios/broken.yaml", DRAFT.replace("goal:", "gaol:").replace("e/d", "e/b"))
    project.write("scenarios/not.yaml", "schema: harness/scenario@1\nsteps: [")
    result = project.run()
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines([
        "*broken.yaml:4: scenario.gaol: unknown key*goal*",
        "*not.yaml:2: not valid YAML*",
    ])  # fmt: skip


def test_a_broken_line_is_one_error_and_the_rest_of_the_file_runs(project):
    project.write(
        "scenarios/many.jsonl",
        line("a/one", *RISES, expect=STAGNATES)
        + '{"schema": "harness/scenario@1", "expect": {}}\n'
        + line("a/two", *RISES, expect=STAGNATES),
    )
    result = project.run("scenarios/many.jsonl", "-v")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*many.jsonl::line 2 ERROR*"])


def test_an_id_that_is_used_twice_names_both_places(project):
    project.write("scenarios/again.yaml", DRAFT)
    result = project.run()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*id 'mine/draft' is already used at *again.yaml:1"])


def test_selecting_by_name_tag_marker_and_preset(project):
    project.write("scenarios/draft.yaml", DRAFT + "  observe: {exit_reason: agent_finished}\n")
    project.write("test_own.py", "def test_own(): pass\n")
    cases = {
        ("-k", "observe"): 1,
        ("-k", "drafts"): 2,
        ("-m", "harness"): 2,
        ("-m", "not harness"): 1,
        ("--harness-preset", "mine", "scenarios"): 1,
    }
    found = {chosen: len(items(project.run("--collect-only", "-q", *chosen))) for chosen in cases}
    assert found == cases


def test_last_failed_runs_what_failed_last(project):
    project.write("scenarios/draft.yaml", DRAFT + "  observe: {exit_reason: recording_exhausted}\n")
    project.loosen(0.3)
    project.pytester.runpytest_inprocess().assert_outcomes(failed=1, passed=1)
    project.pytester.runpytest_inprocess("--lf").assert_outcomes(failed=1)
    project.loosen(0.02)
    project.pytester.runpytest_inprocess("--lf").assert_outcomes(passed=1)


def test_junit_holds_the_failure_and_the_figures(project):
    project.loosen(0.3)
    project.run("--junit-xml=report.xml", "-o", "junit_family=xunit1")
    case = next(ET.parse(project.path / "report.xml").iter("testcase"))  # noqa: S314 - our own
    figures = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert {k: figures[k] for k in figures if k != "harness_change"} == {
        "harness_scenario": "mine/draft",
        "harness_preset": "mine",
        "harness_exit_reason": "stagnation",
        "harness_exit_iteration": "3",
        "harness_best_score": "0.71",
        "harness_cost_pico_usd": "None",
        "harness_replay": "exact",
    }
    assert "observed stagnation in iteration 3" in case.find("failure").text


def test_two_workers_find_and_say_the_same(project):
    project.write("scenarios/draft.yaml", DRAFT + "  observe: {exit_reason: agent_finished}\n")
    project.write("scenarios/broken.yaml", "schema: harness/scenario@1\nsteps: [")
    project.loosen(0.3)
    alone, several = project.run("-n0"), project.run("-n2")
    for result in (alone, several):
        result.assert_outcomes(failed=2, errors=1)
        result.stdout.fnmatch_lines(["changed: 2 end otherwise than expected"])
    summaries = [
        [found for found in result.outlines if " ended: " in found or "under mine" in found]
        for result in (alone, several)
    ]
    assert summaries[0][-3:] == summaries[1][-3:]


def test_hostile_names_are_shown_and_do_nothing(project):
    name = "a/\u001b[31m <b>[red] | `x`\u202e"
    project.write("scenarios/many.jsonl", line(name, 0.1, 0.1, 0.1, 0.1, expect=STAGNATES))
    result = project.run("scenarios/many.jsonl")
    result.assert_outcomes(failed=1)
    assert "\u001b[31m <b>" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*a/\\u001b[[]31m <b>[[]red]*under mine: expected*"])


def test_on_github_the_change_is_annotated_where_it_is_expected(project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    project.loosen(0.3)
    result = project.run()
    where = "title=A loop ends otherwise than expected,file=scenarios/draft.yaml,line=13"
    words = "mine/draft under mine: expected stagnation in iteration 4, observed stagnation in*3"
    result.stderr.fnmatch_lines([f"::error {where}::{words}"])


def test_a_scenario_that_expects_nothing_is_pointed_at(project):
    project.write("scenarios/draft.yaml", DRAFT.partition("expect:")[0])
    result = project.run()
    result.assert_outcomes()
    result.stdout.fnmatch_lines(["1 scenario expects nothing yet; add it with: pytest --harness-*"])
