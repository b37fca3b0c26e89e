"""Where a recording ends or is left, a live model goes on; what it did replays alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.agent_tools import Tool
from harness.continuing import Continuation
from harness.episode import Episode
from harness.files import load
from harness.guards.max_iterations import MaxIterations
from harness.guards.monologue import Monologue
from harness.guards.no_progress import NoProgress
from harness.guards.spin import Spin
from harness.loop import run_episode
from harness.preset import Preset, load_preset
from harness.scenario import Scenario
from harness.spending import Allowance
from harness.turns import prepare
from harness.verdicts import Decision
from tests.examples import PRICED, call, preset, scenario, step
from tests.openai_server import Server, say, serving
from tests.openai_server import call as asks

#: Its guards end nothing that these recordings hold.
PATIENT = preset(max_iterations=MaxIterations(threshold=6))
READ = call("read", {"path": "a.txt"}, "alpha", ms=5)
ENDS = scenario(
    [step(READ, text="I read.", ms=10), step(text="I think.", ms=10, user="And then?")],
    id="made/ends", tools=["read"], recorded={"exit_reason": "max_iterations"},
)  # fmt: skip
CANNOT = (
    "tool 'read' cannot be run here: no function was given for it, and no identical call is "
    "recorded"
)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def live(server: Server, path: Path, **options: Any) -> Continuation:
    return Continuation(server.client(), PRICED, record_to=path, **options)


def go_on(going: Continuation, recording: Scenario, under: Preset) -> Episode:
    tape = prepare(recording, wait_ms=under.wait_ms)
    return going(tape, under, run_episode(tape, under))


def told(decisions: Sequence[Decision]) -> list[tuple[Any, ...]]:
    return [(d.name, d.path, d.exit, d.ends, d.winner, d.conditions) for d in decisions]


def replays(path: Path, under: Preset, episode: Episode) -> Scenario:
    """The file's one recording decides as the loop did when it was live."""
    (found,) = load([path])
    again = run_episode(prepare(found, wait_ms=under.wait_ms), under)
    assert told(again.decisions) == told(episode.decisions)
    assert again.series == episode.series
    assert (again.exit_reason, again.exit_guard, again.status, again.best_result) == (
        episode.exit_reason, episode.exit_guard, episode.status, episode.best_result,
    )  # fmt: skip
    assert (again.elapsed, again.cost_pico_usd) == (episode.elapsed, episode.cost_pico_usd)
    assert again.drifted_calls == 0
    return found


def test_a_recording_that_ends_undecided_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    replies = (say("I read it again.", asks("read", {"path": "a.txt"})), say("It says alpha."))
    with serving(*replies) as server:
        episode = go_on(live(server, path), ENDS, PATIENT)
        first = server.requests[0]
    assert (episode.exit_reason, episode.exit_iteration) == ("agent_finished", 4)
    assert episode.continued is not None
    assert (episode.continued.at, episode.continued.cause, episode.continued.model) == (
        3, "recording_exhausted", PRICED,
    )  # fmt: skip
    assert (episode.replay, episode.diverged_at) == ("diverged", 2)
    assert [it.turn.source for it in episode.iterations] == [
        ("", 1), ("", 2), ("live", 1), ("live", 2),
    ]  # fmt: skip
    assert (episode.scenario, episode.content_hash) == ("made/ends", ENDS.content_hash)
    assert [m["role"] for m in first["messages"]] == [
        "system", "user", "assistant", "tool", "user", "assistant", "user",
    ]  # fmt: skip
    assert [tool["function"]["name"] for tool in first["tools"]] == ["read"]

    found = replays(path, PATIENT, episode)
    assert found.id == "made/ends@example"
    assert found.tags == ["continued-live"]
    assert found.source == f"made/ends; from iteration 3 on live: {PRICED}"
    assert found.recorded.exit_reason == "agent_finished"
    assert [c.result for c in found.steps[2].calls] == ["alpha"]
    assert (
        found.steps[2].nudge == "Go on. Improve the result, or show evidence that it is finished."
    )


LEAVES = {
    "nudge": (
        preset(monologue=Monologue(threshold=2, on_fire="nudge"), **PATIENT.guards),
        [step(READ), step(text="Hm."), step(text="Hmm."), step(READ)],
        3, "monologue",
    ),
    "switch_strategy": (
        preset(spin=Spin(threshold=2, on_fire="switch_strategy"), **PATIENT.guards),
        [step(READ), step(READ), step(READ)],
        2, "What you have tried does not work.",
    ),
    "delegate": (
        preset(no_progress=NoProgress(threshold=1, on_fire="delegate"), **PATIENT.guards),
        [step(READ), step(READ), step(READ)],
        2, "What you have tried does not work.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("cause", LEAVES)
def test_a_recording_that_the_preset_leaves_goes_on_from_there(cause: str, tmp_path: Path) -> None:
    under, steps, at, hint = LEAVES[cause]
    path = tmp_path / "made.jsonl"
    recording = scenario(steps, id="made/left", tools=["read"])
    assert run_episode(prepare(recording), under).diverged_at == at
    with serving(say("", asks("read", {"path": "b.txt"})), say("Done so far.")) as server:
        episode = go_on(live(server, path), recording, under)
        heard = server.requests[0]["messages"][-1]["content"]
    assert episode.continued is not None
    assert (episode.continued.at, episode.continued.cause) == (at + 1, cause)
    assert hint in heard
    assert (episode.exit_reason, episode.exit_iteration) == ("agent_finished", at + 2)
    replays(path, under, episode)


@pytest.mark.parametrize(
    ("under", "steps", "reason"),
    [
        (PATIENT, [step(READ)] * 7, "max_iterations"),
        (PATIENT, [step(READ), step(text="Done.", finish_reason="stop")], "agent_finished"),
    ],
)
def test_what_a_replay_decides_never_goes_live(
    under: Preset, steps: list[Any], reason: str, tmp_path: Path
) -> None:
    recording = scenario(steps, tools=["read"])
    tape = prepare(recording)
    replayed = run_episode(tape, under)
    with serving() as server:
        going = live(server, tmp_path / "made.jsonl")
        assert going(tape, under, replayed) is replayed
        assert server.requests == []
    assert (replayed.exit_reason, replayed.continued) == (reason, None)
    assert not (tmp_path / "made.jsonl").exists()


def test_a_call_is_run_by_a_function_or_has_a_recorded_result_or_fails(tmp_path: Path) -> None:
    read = [
        call("read", {"path": "a"}, "old"),
        call("read", {"path": "a"}, "new"),
        call("read", {"path": "gone"}, "no such file", ok=False),
    ]
    recording = scenario([step(*read), step(call("list", None, "a b"))], tools=["read", "list"])
    own = Tool("write", "Write.", SCHEMA, lambda path: f"wrote {path}", {"effect": "external"})
    asked = [
        asks("write", {"path": "c"}, "1"), asks("read", {"path": "a", "mode": None}, "2"),
        asks("read", {"path": "gone"}, "3"), asks("read", {"path": "z"}, "4"), asks("fly", {}, "5"),
        asks("list", {}, "6"),
    ]  # fmt: skip
    path = tmp_path / "made.jsonl"
    with serving(say("", *asked), say("That is all.")) as server:
        episode = go_on(live(server, path, tools=[own]), recording, PATIENT)
    made = [(c.tool, c.result, c.ok) for c in episode.iterations[2].turn.calls]
    assert made == [
        ("write", "wrote c", True),
        ("read", "new", True),
        ("read", "no such file", False),
        ("read", CANNOT, False),
        ("fly", "unknown tool 'fly'; there are: write, read, list", False),
        ("list", "a b", True),
    ]  # fmt: skip
    found = replays(path, PATIENT, episode)
    assert found.tools is not None
    assert (list(found.tools), found.tools["write"].effect) == (
        ["write", "read", "list"], "external",
    )  # fmt: skip


def test_a_live_judge_ends_it(tmp_path: Path) -> None:
    verdict = {"done": True, "reason": "read", "evidence": ["a.txt: alpha"]}

    def script(body: dict[str, Any]) -> dict[str, Any]:
        if body["model"] == "gpt-4o":
            return say(json.dumps(verdict))
        return say("I read.", asks("read", {"path": "a.txt"}))

    under = load_preset("balanced")
    path = tmp_path / "made.jsonl"
    with serving(script=script) as server:
        episode = go_on(live(server, path, judge_model="gpt-4o"), ENDS, under)
    assert (episode.exit_reason, episode.exit_iteration) == ("completed", 3)
    assert [r.role for r in episode.iterations[2].replies] == ["actor", "judge"]
    found = replays(path, under, episode)
    assert isinstance(found.steps[2].judge, dict)
    assert found.steps[2].judge["model"] == "gpt-4o"
    assert (found.steps[0].judge, episode.unrecorded_calls) == (None, 2)


@pytest.mark.parametrize("name", ["balanced", "engine", "strict", "fast", "cost", "reflection"])
def test_whatever_guards_it_the_recording_decides_alike(name: str, tmp_path: Path) -> None:
    numbers = iter(range(100))

    def script(body: dict[str, Any]) -> dict[str, Any]:
        if body.get("tools"):
            return say("Again.", asks("read", {"path": f"{next(numbers) % 2}.txt"}))
        return say("{}")

    under = load_preset(name)
    steps = [step(READ, ms=10, writes=["a.txt"]), step(call("list"), text="Look.", ms=10)]
    recording = scenario(
        steps, id="made/writes", tools=["read"], limits={"max_iterations": 12},
        recorded={"exit_reason": "max_iterations", "outcome": "failure"},
    )  # fmt: skip
    path = tmp_path / "made.jsonl"
    with serving(script=script) as server:
        episode = go_on(live(server, path), recording, under)
    assert episode.continued is not None
    assert episode.exit_group in ("stuck", "limit", "paused")
    assert (episode.outcome, episode.needs_human) == ("failure", True)
    replays(path, under, episode)


SECRETS = {
    "openai": "sk-proj-" + "aB3x" * 10,
    "github": "ghp_" + "a1B2" * 9,
    "url_credentials": "https://me:hunter22x@example.org/x",
    "pem": "-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----",
    "of the environment": "no-known-shape-of-a-key",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_the_model_and_its_tools_see_secrets_and_nobody_else(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", SECRETS["of the environment"])
    secret, given = SECRETS[kind], []

    def fetch(key: str) -> str:
        given.append(key)
        return f"with {key}: beta"

    def script(body: dict[str, Any]) -> dict[str, Any]:
        if not body.get("tools"):
            return say(json.dumps({"done": False, "reason": f"used {secret}", "evidence": ["b"]}))
        return say(f"I use {secret}.", asks("fetch", {"key": secret}))

    own = Tool("fetch", "Fetch.", SCHEMA, fetch)
    under, path = load_preset("balanced"), tmp_path / "made.jsonl"
    # The recording holds the same call: with it the live ones make a spin.
    recording = scenario(
        [step(call("fetch", {"key": secret}, f"with {secret}: beta", ms=1), ms=1,
              text=f"I use {secret}.")], id="made/leaks",
    )  # fmt: skip
    with serving(script=script) as server:
        episode = go_on(live(server, path, tools=[own]), recording, under)
        actor = [body for body in server.requests if body.get("tools")]
        judge = [body for body in server.requests if not body.get("tools")]
    assert (episode.exit_reason, episode.exit_iteration) == ("spin", 3)
    assert given == [secret] * 2
    assert all(m["content"] == f"with {secret}: beta"
               for m in actor[-1]["messages"] if m["role"] == "tool")  # fmt: skip
    assert secret not in repr(judge)
    assert repr(secret)[1:-1] not in repr(episode.iterations[1:])
    assert repr(secret)[1:-1] not in path.read_text()
    replays(path, under, episode)


STOPS: dict[str, tuple[dict[str, Any], int, str]] = {
    "calls": (
        {"allowance": Allowance(calls=2)}, 2, "the limit of 2 calls is reached",
    ),
    # One call costs 100 prompt tokens, 64 of them cached, and 20 tokens of output.
    "budget": ({"allowance": Allowance(budget=1)}, 1, "the budget of $1e-12 is reached"),
    "most": ({"most_live": 3}, 3, "3 live iterations are the most that are made"),
}  # fmt: skip


@pytest.mark.parametrize("name", STOPS)
def test_an_endless_loop_ends(name: str, tmp_path: Path) -> None:
    options, made, why = STOPS[name]
    numbers = iter(range(100))
    under = preset(spin=Spin(threshold=50))
    path = tmp_path / "made.jsonl"

    def script(_: dict[str, Any]) -> dict[str, Any]:
        return say("On.", asks("read", {"path": f"{next(numbers)}"}))

    with serving(script=script) as server:
        going = live(server, path, **options)
        episode = go_on(going, ENDS, under)
        assert len(server.requests) == made
        if name != "most":
            assert go_on(going, ENDS, under).continued is None
            assert (going.continued, going.left) == (1, 1)
            assert len(server.requests) == made
    assert episode.message == f"nothing decided after {made} live iterations: {why}"
    assert (episode.exit_reason, episode.status) == ("recording_exhausted", "undecided")
    assert f"{episode.status}: {episode.message}." in episode.summary
    assert going.allowance.spent == made * (36 * 150_000 + 64 * 75_000 + 20 * 600_000)
    replays(path, under, episode)


def test_a_model_that_cannot_be_reached_is_given_up(tmp_path: Path) -> None:
    under = preset(spin=Spin(threshold=50))
    with serving(script=lambda _: say("overloaded", status=503)) as server:
        going = live(server, tmp_path / "made.jsonl")
        episode = go_on(going, ENDS, under)
        assert len(server.requests) == 3
        assert (going.allowance.made, going.answered) == (3, 0)
        assert going.failure is not None
        assert going.failure.startswith("HTTP 503")
    assert episode.message.startswith(
        "nothing decided after 3 live iterations: the model cannot be reached: HTTP 503"
    )
    replays(tmp_path / "made.jsonl", under, episode)


def test_a_reply_of_unknown_cost_ends_a_budget(tmp_path: Path) -> None:
    usage = {"completion_tokens": 3}
    with serving(script=lambda _: say("On.", asks("read"), usage=usage)) as server:
        going = live(server, tmp_path / "made.jsonl", allowance=Allowance(budget=10**12))
        episode = go_on(going, ENDS, preset(spin=Spin(threshold=50)))
    assert (going.allowance.made, going.allowance.unpriced, going.allowance.spent) == (1, 1, 0)
    assert "the cost of a call is unknown" in episode.message


@pytest.mark.parametrize("name", ["made/" + "x" * 290, "made/" + "y" * 295])
def test_a_long_id_stays_an_id(name: str, tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    recording = scenario([step(READ)], id=name, tools=["read"])
    with serving(say("It says alpha.")) as server:
        episode = go_on(live(server, path), recording, PATIENT)
    assert episode.scenario == name
    found = replays(path, PATIENT, episode)
    assert (len(found.id), found.family) == (300, "made")


def test_episodes_of_several_presets_stand_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    with serving(script=lambda _: say("It says alpha.")) as server:
        going = live(server, path)
        for name in ("one", "two"):
            go_on(going, ENDS, preset(name=name, **PATIENT.guards))
    assert [found.id for found in load([path])] == ["made/ends@one", "made/ends@two"]
