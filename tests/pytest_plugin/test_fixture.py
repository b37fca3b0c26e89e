"""The fixture ``replay``, its marker, and where episodes are stored."""

from __future__ import annotations

import pytest

from harness.store.database import Store
from tests.projects import line

RISES = (0.5, 0.7, 0.71, 0.715, 0.716)


def test_replay_gives_the_typed_episode(project):
    project.write("test_own.py", """
def test_it_stops_in_time(replay):
    episode = replay("scenarios/draft.yaml", "mine")
    assert episode.exit_reason == "stagnation"
    assert episode.exit_iteration == 4
    assert replay.episodes == [episode]
""")  # fmt: skip
    project.run("test_own.py").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "scenario",
    [
        '"../scenarios/draft.yaml"',
        '"scenarios/draft.yaml"',
        'Path("scenarios/draft.yaml")',
        '"many.jsonl::a/two"',
        "STEPS",
        "Scenario.model_validate(STEPS)",
    ],
)
def test_scenarios_by_file_mapping_and_object(project, scenario):
    project.write("tests/many.jsonl", line("a/one", 0.1) + line("a/two", *RISES))
    project.write("tests/test_own.py", f"""
from pathlib import Path
from harness import Scenario

STEPS = {{"schema": "harness/scenario@1", "id": "a", "goal": "g",
         "steps": [{{"score": s}} for s in (0.5, 0.7, 0.71, 0.715)]}}

def test_it(replay):
    assert replay({scenario}, "mine").exit_iteration == 4
""")  # fmt: skip
    project.run("tests").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('replay("none.yaml", "mine")', "*none.yaml does not exist"),
        ('replay("many.jsonl", "mine")', "*many.jsonl holds 2; name one: *many.jsonl::a/one"),
        ('replay("many.jsonl::a/tow", "mine")', "*many.jsonl: found 'a/tow' *a/two*"),
        ('replay({"id": "a"}, "mine")', "*replay: scenario.*: is required*"),
        ('replay("scenarios/draft.yaml", "mime")', "*preset: found 'mime' (did you mean 'mine'?)*"),
        ('replay("scenarios/draft.yaml")', "*replay: needs a preset: *"),
    ],
)
def test_what_cannot_be_replayed_says_why(project, call, words):
    project.write("many.jsonl", line("a/one", 0.1) + line("a/two", 0.1))
    project.write("test_own.py", f"def test_it(replay):\n    {call}\n")
    result = project.run("test_own.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *Error: {words}"])


def test_a_failing_test_shows_what_was_replayed(project):
    project.write("test_own.py", """
def test_it(replay):
    assert replay("scenarios/draft.yaml", "mine").exit_iteration == 5
""")  # fmt: skip
    result = project.run("test_own.py")
    result.stdout.fnmatch_lines([
        "*Captured harness call*",
        "mine/draft under mine: stagnation after 4 iterations: guard stagnation*",
        "  open it: harness show scenarios/draft.yaml --preset presets/mine.toml",
    ])  # fmt: skip


def test_the_marker_names_presets_and_repetitions(project):
    project.write("test_own.py", """
import pytest

@pytest.mark.harness(presets=["mine", "observe"], repetitions=2)
def test_it(replay):
    assert replay("scenarios/draft.yaml").preset == replay.preset.name
""")  # fmt: skip
    result = project.run("test_own.py", "-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([
        "*::test_it[[]mine[]] PASSED*", "*::test_it[[]mine-2[]] PASSED*",
        "*::test_it[[]observe[]] PASSED*", "*::test_it[[]observe-2[]] PASSED*",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("preset=['mine']", "*marker harness: found 'preset' (did you mean 'presets'?)*"),
        ("'mine'", "*marker harness: takes keywords: presets, repetitions, store"),
        ("presets=['mine'], repetitions=0", "*repetitions must be 1 or more, found 0"),
    ],
)
def test_a_marker_that_is_wrong_says_so(project, arguments, words):
    project.write("test_own.py", f"""
import pytest

@pytest.mark.harness({arguments})
def test_it(replay): pass
""")  # fmt: skip
    result = project.run("test_own.py")
    assert result.ret != 0
    result.stdout.fnmatch_lines([f"*{words}*"])


def test_without_the_harness_in_sight_nothing_heavy_is_imported(project):
    project.write("test_own.py", """
import sys

def test_it():
    heavy = {"duckdb", "pydantic", "pyarrow", "opentelemetry", "harness.preset"}
    assert heavy.isdisjoint(sys.modules)
""")  # fmt: skip
    project.pytester.runpytest_subprocess(
        "test_own.py", "-p", "no:logfire", "-p", "no:langsmith_plugin"
    ).assert_outcomes(passed=1)


# -- stores ------------------------------------------------------------------------------------


def episodes(project, store: str) -> list[tuple]:
    rows = Store(project.path / store).rows(
        "SELECT e.run_id, scenario, preset, repetition, exit_iteration, state "
        "FROM episodes e JOIN runs USING (run_id) ORDER BY ALL"
    )
    return [tuple(row.values()) for row in rows]


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_every_episode_goes_into_one_run(project, workers):
    project.write("scenarios/two.yaml", project.read("scenarios/draft.yaml").replace("/dr", "/2"))
    result = project.run("--harness-store", "runs.duckdb", "--harness-run", "nightly", workers)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["run nightly is in runs.duckdb"])
    assert episodes(project, "runs.duckdb") == [
        ("nightly", "mine/2aft", "mine", 0, 4, "complete"),
        ("nightly", "mine/draft", "mine", 0, 4, "complete"),
    ]


def test_the_failure_names_the_stored_episode(project):
    project.loosen(0.3)
    result = project.run("--harness-store", "runs.duckdb", "--harness-run", "nightly")
    result.stdout.fnmatch_lines([
        "open it:   harness show mine/draft --preset mine --run nightly --store runs.duckdb"
    ])  # fmt: skip


def test_a_run_is_not_added_to(project):
    options = ("--harness-store", "runs.duckdb", "--harness-run", "nightly")
    project.run(*options)
    result = project.run(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*has a run 'nightly' already; choose another --harness-run"])


def test_the_marker_can_name_a_store(project):
    project.write("test_own.py", """
import pytest

@pytest.mark.harness(presets="mine", repetitions=2, store="own.duckdb")
def test_it(replay):
    replay("scenarios/draft.yaml")
    replay("scenarios/draft.yaml")
""")  # fmt: skip
    project.run("test_own.py", "--harness-run", "r").assert_outcomes(passed=2)
    assert [row[1:5] for row in episodes(project, "own.duckdb")] == [
        ("mine/draft", "mine", 0, 4),
        ("mine/draft", "mine", 1, 4),
    ]


def test_settings_of_the_configuration_file(project):
    project.write("rules/own.toml", project.read("presets/mine.toml"))
    project.write("scenarios/draft.yaml", project.read("scenarios/draft.yaml").replace(
        "  mine:", "  observe: {exit_reason: recording_exhausted}\n  own:"))  # fmt: skip
    project.write("pytest.ini", """
[pytest]
harness_preset = own
harness_preset_paths = rules
harness_store = runs.duckdb
harness_run = nightly
""")  # fmt: skip
    project.run().assert_outcomes(passed=1)
    assert [row[:3] for row in episodes(project, "runs.duckdb")] == [
        ("nightly", "mine/draft", "own")
    ]


def test_two_files_of_one_preset_are_refused(project):
    project.write("more/mine.toml", project.read("presets/mine.toml"))
    result = project.run("--harness-preset-path", "presets", "--harness-preset-path", "more")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*preset 'mine': two files have it: *presets*more*"])
