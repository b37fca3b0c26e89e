"""The reference agent: every mechanism through one guard, recorded, replayed alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openai
import pytest

from harness import HarnessError, load, load_preset, prepare, run_episode
from harness.agent import Agent, Outcome
from harness.agent_tools import Tool
from harness.openai_llm import OpenAILLM
from harness.preset import Preset
from harness.scenario import Scenario
from harness.verdicts import Decision
from tests.openai_server import Server, call, say, serving

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
VERDICT = {"done": False, "reason": "not yet", "evidence": []}
#: What a role's prompt begins with.
ROLES = {
    "You judge": "judge",
    "Is this agent spinning": "spin_judge",
}


def add(a: int, b: int) -> int:
    return a + b


ADD = Tool("add", "Add two numbers.", SCHEMA, add)


def role_of(body: dict[str, Any]) -> str:
    system = body["messages"][0]["content"]
    if body.get("tools"):
        return "actor"
    return next((role for start, role in ROLES.items() if system.startswith(start)), system[:40])


def agent(server: Server, preset: str | Preset = "balanced", **options: Any) -> Agent:
    found = load_preset(preset) if isinstance(preset, str) else preset
    llm = OpenAILLM.for_preset(server.client(), found)
    return Agent(llm, "gpt-4o-mini", [ADD], **{"preset": found, **options})


def told(decisions: Sequence[Decision]) -> list[tuple[Any, ...]]:
    return [(d.name, d.path, d.exit, d.ends, d.winner, d.conditions) for d in decisions]


def replay(outcome: Outcome, preset: str | Preset) -> None:
    """The recording decides as the live loop did, iteration by iteration."""
    found = load_preset(preset) if isinstance(preset, str) else preset
    again = run_episode(prepare(Scenario.model_validate(outcome.recording)), found)
    live = outcome.episode
    assert told(again.decisions) == told(live.decisions)
    assert again.series == live.series
    assert (again.exit_reason, again.exit_guard, again.status, again.message) == (
        live.exit_reason, live.exit_guard, live.status, live.message,
    )  # fmt: skip
    assert (again.best_result, again.needs_human) == (live.best_result, live.needs_human)


def acting(*turns: dict[str, Any], verdict: Any = VERDICT) -> Any:
    """A script: turns in order for the actor, one verdict for the judge, nonsense for others."""
    left = list(turns)

    def script(body: dict[str, Any]) -> dict[str, Any]:
        role = role_of(body)
        if role == "actor":
            return left.pop(0) if len(left) > 1 else left[0]
        if role == "judge":
            return say(json.dumps(verdict))
        return say("{}")

    return script


def test_it_works_and_stops_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    script = acting(say("I add.", call("add", {"a": 2, "b": 3})), say("It is 5."))
    with serving(script=script) as server:
        outcome = agent(server, record_to=path, score=lambda t: 0.8 if "5" in t else None).run(
            "How much is 2 + 3?"
        )
    assert outcome.result == "It is 5."
    assert outcome.episode.exit_reason == "agent_finished"
    replay(outcome, "balanced")
    (found,) = load([path])
    assert (found.steps[0].calls[0].result, found.steps[0].calls[0].ok) == ("5", True)
    judged = found.steps[0].judge
    assert isinstance(judged, dict)
    assert judged["model"] == "gpt-4o"
    assert judged["usage"]["output"] == 15


def test_the_judge_ends_it(tmp_path: Path) -> None:
    verdict = {"done": True, "reason": "the sum is right", "evidence": ["add returned 5"]}
    with serving(script=acting(say("I add.", call("add", {"a": 2, "b": 3})), verdict=verdict)) as s:
        outcome = agent(s).run("How much is 2 + 3?")
    assert (outcome.episode.exit_reason, outcome.episode.exit_iteration) == ("completed", 1)
    replay(outcome, "balanced")


@pytest.mark.parametrize("preset", ["balanced", "cost", "engine", "strict", "fast", "reflection"])
def test_whatever_guards_it_the_recording_decides_alike(preset: str) -> None:
    with serving(script=acting(say("Again.", call("add", {"a": 2, "b": 3})))) as server:
        outcome = agent(server, preset, task={"limits": {"max_iterations": 12}}).run("Add.")
    assert outcome.episode.exit_group in ("stuck", "limit", "paused")
    replay(outcome, preset)


def test_the_work_order_reaches_the_prompt_and_does_not_pile_up() -> None:
    script = acting(say("", call("add", {"a": 1, "b": 1})), say("", call("add", {"a": 1, "b": 2})))
    with serving(script=script) as server:
        agent(server, "engine", task={"limits": {"max_iterations": 3}}).run("Add.")
        acted = [body["messages"] for body in server.requests if body.get("tools")]
    for number, messages in enumerate(acted, 1):
        orders = [m["content"] for m in messages if "Work order" in (m["content"] or "")]
        assert len(orders) == 1
        assert orders[0].startswith(f"Work order: iteration {number} of 3")
        assert messages[-1]["content"] == orders[0]


def test_a_batch_over_budget_does_not_run() -> None:
    ran: list[int] = []
    tool = Tool("add", "Add.", SCHEMA, lambda a, b: ran.append(a) or a + b)
    batch = [call("add", {"a": n, "b": n}, f"c{n}") for n in range(4)]
    script = acting(say("All.", *batch), say("One.", batch[0]), say("Two.", batch[1]))
    with serving(script=script) as server:
        llm = OpenAILLM(server.client(), only=[])
        task = {"limits": {"tool_budget": 2}}
        outcome = Agent(llm, "gpt-4o-mini", [tool], task=task).run("Add.")
        told_back = [m for m in server.requests[1]["messages"] if m["role"] == "tool"]
    assert ran == [0, 1]
    assert len(told_back) == 4
    assert "4 calls asked for, 2 left" in told_back[0]["content"]
    assert outcome.episode.exit_reason == "tool_budget"
    assert [len(it.turn.calls) for it in outcome.episode.iterations] == [0, 1, 1]
    replay(outcome, "balanced")


def test_what_fails_is_told_to_the_model() -> None:
    calls = [call("sub", {"a": 1}, "c1"), call("add", "{oops", "c2"), call("add", {"a": 1}, "c3"),
             call("add", {"a": "x", "b": 1}, "c4")]  # fmt: skip
    with serving(script=acting(say("", *calls), say("I give up."))) as server:
        agent(server).run("Add.")
        results = [m["content"] for m in server.requests[-2]["messages"] if m["role"] == "tool"]
    assert results[0] == "unknown tool 'sub'; there are: add"
    assert results[1] == "the arguments are not one JSON object"
    assert results[2].startswith("TypeError: ")
    assert results[3].startswith("TypeError: ")


def test_a_pause_asks_a_person_and_goes_on() -> None:
    asked: list[str] = []

    def person(episode: Any) -> str | None:
        asked.append(episode.exit_reason.value)
        return "The first one, please continue." if len(asked) == 1 else None

    question = say("There are two. Which of the two do you want?")
    script = acting(question, say("", call("add", {"a": 2, "b": 3})), say("It is 5."))
    with serving(script=script) as server:
        outcome = agent(server, ask_user=person).run("Add the two numbers.")
        heard = server.requests[-2]["messages"]
    assert asked == ["awaiting_user"]
    assert {"role": "user", "content": "The first one, please continue."} in heard
    assert outcome.episode.exit_reason == "agent_finished"
    replay(outcome, "balanced")


def test_a_provider_that_fails_pauses_it() -> None:
    with serving(script=lambda _: say("overloaded", status=503)) as server:
        outcome = agent(server).run("Add.")
    assert (outcome.episode.exit_reason, outcome.episode.status) == ("infrastructure", "paused")
    assert outcome.result is None
    replay(outcome, "balanced")


def test_roles_that_fail_do_not_take_it_down() -> None:
    def script(body: dict[str, Any]) -> dict[str, Any]:
        if role_of(body) != "actor":
            return say("overloaded", status=503)
        number = len(body["messages"])
        return say(f"Turn {number}.", call("add", {"a": number, "b": 1}))

    with serving(script=script) as server:
        outcome = agent(server).run("Add.")
    assert (outcome.episode.exit_reason, outcome.episode.exit_guard) == (
        "infrastructure", "evaluator_errors",
    )  # fmt: skip
    replay(outcome, "balanced")


def test_without_tools_it_refines() -> None:
    scores = iter([0.2, 0.4, 0.9])
    with serving(script=lambda _: say("A draft.")) as server:
        llm = OpenAILLM(server.client(), only=[])
        outcome = Agent(llm, "m", preset="balanced", score=lambda _: next(scores)).run("Write.")
    assert (outcome.episode.exit_reason, outcome.episode.exit_iteration) == ("quality_reached", 3)
    replay(outcome, "balanced")


def test_what_it_writes_holds_no_secret(tmp_path: Path) -> None:
    secret = "sk-" + "Ab1" * 8
    tool = Tool("env", "Show the environment.", {"type": "object"}, lambda: f"KEY={secret}")
    with serving(script=acting(say("", call("env")), say(f"It is {secret}."))) as server:
        llm = OpenAILLM.for_preset(server.client(), load_preset("balanced"))
        Agent(llm, "m", [tool], record_to=tmp_path / "a.jsonl").run(f"Is {secret} set?")
    text = (tmp_path / "a.jsonl").read_text()
    assert secret not in text
    assert text.count("[redacted api_key ") == 3
    assert len(list(load([tmp_path / "a.jsonl"]))) == 1


def test_each_run_has_its_own_line(tmp_path: Path) -> None:
    with serving(script=lambda _: say("It is 5.")) as server:
        for _ in range(2):
            made = agent(server, record_to=tmp_path / "a.jsonl")
            made.run("Add.")
            made.run("Add.")
    assert len(list(load([tmp_path / "a.jsonl"]))) == 4


def test_the_client_is_anything_that_speaks_the_protocol() -> None:
    def nobody() -> openai.OpenAI:
        return openai.OpenAI(base_url="http://127.0.0.1:1/v1", api_key="none", max_retries=0)

    outcome = Agent(OpenAILLM(nobody()), "m", [ADD]).run("Add.")
    assert outcome.episode.exit_reason == "infrastructure"
    with pytest.raises(HarnessError, match="preset"):
        Agent(OpenAILLM(nobody()), "m", [ADD], preset="no-such-preset").run("Add.")
