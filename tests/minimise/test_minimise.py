"""The shortest recording that ends the same way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.exits import ExitReason
from harness.export.files import plain, write_scenarios
from harness.files import bundled_scenarios, load, load_one
from harness.guards import Guard, guard_class
from harness.minimise import Minimised, minimise
from harness.minimise.ending import ending_of, replayed
from harness.preset import DEFAULTS, Preset, load_preset
from harness.scenario import Scenario
from tests.examples import call, preset, scenario, step


def guard(kind: str, threshold: float, **settings: Any) -> Guard:
    return guard_class(kind)(threshold=threshold, **settings)


def again(made: Minimised) -> Scenario:
    return Scenario.model_validate(made.data)


SPIN = preset(spin=guard("spin", 3))
LOOP = [
    step(call("read", {"path": "a"}, "first " * 50), text="I read the file.", ms=5),
    step(call("write", {"path": "b"}, "ok"), user="Go on.", score=0.4),
    *[
        step(call("run", {"cmd": "make all"}, "error: no rule " * 40, ok=False), text=f"Try {n}.")
        for n in range(5)
    ],
]


def test_a_loop_is_reduced_to_the_calls_that_repeat() -> None:
    made = minimise(scenario(LOOP, id="night/build", tools=["run"], tags=["x"]), SPIN)
    assert made.data == {
        "schema": "harness/scenario@1",
        "id": "regression/night-build-example-spin-9445a6",
        "title": "example: spin",
        "source": made.data["source"],
        "goal": "Do it.",
        "steps": [{"calls": [{"tool": "run"}]}] * 3,
        "expect": {"example": {"exit_reason": "spin", "iteration": 3}},
    }
    assert made.data["source"].startswith("minimised from night/build (content ")
    assert (made.before.steps, made.after.steps, made.minimal) == (7, 3, True)
    assert (made.iteration, made.ending.guard, made.ending.replay) == (3, "spin", "exact")


def test_the_same_recording_gives_the_same_file() -> None:
    secret = step(call("run", {"key": "sk-abcdefgh12345678ijkl"}, "mail jane@acme.io"))
    recording = scenario([secret] * 4)
    assert minimise(recording, SPIN, keep_text=True).data == (
        minimise(recording, SPIN, keep_text=True).data
    )


@pytest.mark.parametrize("kept", [True, False])
def test_personal_details_and_secrets(kept: bool) -> None:
    """Texts that the ending needs: near repetition of long outputs."""
    words = (
        "Dear jane.doe@acme.io, your token=ghp_abcdefghijklmnopqrstuvwxyz0123456789AB is ready. "
    )
    under = preset(repetition=guard("repetition", 0.9, on=("output",)))
    recording = scenario([step(output=words * 3 + f"Number {n}.") for n in range(3)])
    made = minimise(recording, under, keep_text=kept)
    text = str(made.data)
    assert ("jane.doe@acme.io" in text) is kept
    assert "ghp_" not in text
    assert made.ending.guard == "repetition"


def test_equal_texts_stay_equal_and_different_ones_different() -> None:
    long = "The same beginning of a very long text, word for word, up to here: "
    under = preset(spin=guard("spin", 3, on="output"))
    recording = scenario([step(output=long + end) for end in ("a", "b", "c", "c", "c")])
    outputs = [s["output"] for s in minimise(recording, under).data["steps"]]
    assert len(set(outputs)) == 1
    under = preset(max_iterations=guard("max_iterations", 3))
    data = minimise(recording, under).data
    assert data["steps"] == [{}, {}, {}]


def test_limits_of_the_task_stay_where_they_decide() -> None:
    limits = {"max_iterations": 2, "time_budget_s": 90.0}
    under = preset(max_iterations=guard("max_iterations", 9))
    made = minimise(scenario([step(text=f"{n}") for n in range(5)], limits=limits), under)
    assert made.data["limits"] == {"max_iterations": 2}
    assert made.data["steps"] == [{}, {}]


def test_a_branch_that_was_taken_stays() -> None:
    under = load_preset("reflection")
    found = next(s for s in load([bundled_scenarios()]) if "switch_strategy" in s.branches)
    made = minimise(found, under)
    assert ending_of(replayed(again(made), under)) == ending_of(replayed(found, under))
    assert ("branches" in made.data) is any(
        i.turn.source[0] for i in replayed(again(made), under).iterations
    )


def test_nothing_decided_is_nothing_to_keep() -> None:
    with pytest.raises(HarnessError, match="without a decision there is no ending to keep"):
        minimise(scenario([step(text="a")]), SPIN)


def test_a_spent_budget_is_said_and_what_was_reached_still_ends_the_same() -> None:
    made = minimise(scenario(LOOP), SPIN, budget=3)
    assert (made.minimal, made.replays) == (False, 3)
    assert replayed(again(made), SPIN).exit_guard == "spin"


SHARED = [
    step(call("read", {"path": f"/home/ameyer/{n}"}, f"{n} for alice@corp.com"), text=f"Read {n}.")
    for n in range(20)
] + [step(call("read", {"path": "/home/ameyer/x"}, "err ghp_" + "a1B2" * 9, ok=False))] * 3


@pytest.mark.parametrize("budget", [1, 2, 20])
def test_a_spent_budget_leaves_nobodys_details(budget: int) -> None:
    found = scenario(SHARED, id="night/shared", goal="Mail alice@corp.com.")
    made = minimise(found, SPIN, budget=budget)
    text = str(made.data)
    assert [word for word in ("alice", "corp.com", "ameyer", "ghp_") if word in text] == []
    assert (made.minimal, made.left) == (False, ())
    assert dict(made.replaced).keys() >= {"email", "user"}
    # Without secrets, and without details: one replay for each.
    assert budget <= made.replays <= budget + 2


def ids(*asked: tuple[Scenario, Preset]) -> list[str]:
    return [minimise(found, under).data["id"] for found, under in asked]


ALIKE: dict[str, list[tuple[Scenario, Preset]]] = {
    "two presets": [(scenario(LOOP, id="a/1"), load_preset(p)) for p in ("balanced", "strict")],
    "two families": [(scenario(LOOP, id=f"{family}/1"), SPIN) for family in "ab"],
    "two nights": [(scenario(LOOP[n:], id="a/1"), SPIN) for n in (0, 1)],
    "long": [(scenario(LOOP, id=f"a/{'long ' * 40}{n}"), SPIN) for n in (0, 1)],
    "no letters": [(scenario(LOOP, id=name), SPIN) for name in ("夜/一", "夜/二")],
}


@pytest.mark.parametrize("name", ALIKE)
def test_tests_of_one_folder_have_ids_of_their_own(name: str) -> None:
    made = ids(*ALIKE[name])
    assert len(set(made)) == len(made)
    assert made == ids(*ALIKE[name])
    assert max(map(len, made)) < 120


def test_a_test_that_is_minimised_again_keeps_its_words() -> None:
    made = minimise(scenario(LOOP, id="night/build"), SPIN)
    (name,) = ids((again(made), SPIN))
    assert name.startswith("regression/night-build-example-spin-")


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    made = minimise(scenario(LOOP), SPIN, budget=500, on_replay=lambda *at: told.append(at))
    assert told == [(n, 500) for n in range(1, made.replays + 1)]


def cases(every: int) -> Iterator[tuple[Scenario, Preset]]:
    """Every so many of the bundled scenarios under the bundled presets that decide something."""
    number = 0
    for found in load([bundled_scenarios()]):
        for name in dict.fromkeys([*DEFAULTS, *found.expect]):
            number += 1
            if number % every == 0:
                yield found, load_preset(name)


def decides(found: Scenario, under: Preset) -> bool:
    return replayed(found, under).exit_reason is not ExitReason.RECORDING_EXHAUSTED


def holds(found: Scenario, under: Preset) -> bool:
    """Minimised, written and read it ends the same way, and no step of it can go."""
    before = ending_of(replayed(found, under))
    made = minimise(found, under)
    short = again(made)
    expected = short.expect[under.name]
    episode = replayed(short, under)
    assert ending_of(episode) == made.ending == before
    assert (episode.exit_reason, episode.exit_iteration) == (
        expected.exit_reason,
        expected.iteration,
    )
    assert made.after.steps <= made.before.steps
    assert made.left == ()
    data = plain(short)
    for at in range(len(data["steps"])):
        rest = data | {"steps": data["steps"][:at] + data["steps"][at + 1 :]}
        if rest["steps"]:
            assert ending_of(replayed(Scenario.model_validate(rest), under)) != before
    return made.minimal


@pytest.mark.parametrize("every", [23, pytest.param(4, marks=pytest.mark.slow)])
def test_bundled_scenarios_end_the_same_way(every: int) -> None:
    decided = [(found, under) for found, under in cases(every) if decides(found, under)]
    assert len(decided) > 500 / every
    assert all(holds(found, under) for found, under in decided)


tiny = st.lists(
    st.builds(
        lambda tool, path, ok, text, score: step(
            call(tool, {"path": path}, f"{path} {text}", ok=ok), text=text, score=score
        ),
        st.sampled_from("ab"), st.sampled_from("xy"), st.booleans(),
        st.sampled_from(["go", "mail me@acme.io", ""]), st.sampled_from([None, 0.2, 0.5, 0.9]),
    ),
    min_size=2, max_size=9,
)  # fmt: skip


@settings(max_examples=40)
@given(tiny, st.sampled_from(["balanced", "strict", "reflection"]))
def test_random_recordings_end_the_same_way(steps: list[dict[str, Any]], name: str) -> None:
    found, under = scenario(steps, limits={"max_iterations": 7}), load_preset(name)
    if decides(found, under):
        assert holds(found, under)


def test_the_file_is_read_as_it_was_made(tmp_path: Any) -> None:
    made = minimise(scenario(LOOP), SPIN)
    write_scenarios(tmp_path / "one.yaml", [made.data])
    assert load_one(tmp_path / "one.yaml") == again(made)
