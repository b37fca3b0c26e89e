"""Answering from a recording: which mode does what, drift, and what is not recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from harness import HarnessError, load_preset, prepare, run_episode
from harness.errors import ReplayMiss
from harness.record import MODES, Recorder, RecordingTransport, cassette, recording
from tests.openai_server import KEY, call, say, serving
from tests.record.agents import REPLIES, SECRET, START, TOOLS, agent, ask, recorded, result

NOWHERE = "http://127.0.0.1:9/v1"


def client(recorder: Recorder | None = None, url: str = NOWHERE, **options: Any) -> openai.OpenAI:
    http = recorder and httpx2.Client(transport=RecordingTransport(recorder))
    return openai.OpenAI(
        **{"base_url": url, "api_key": KEY, "max_retries": 0, "http_client": http, **options}
    )


def record(path: Path, *replies: Any, run: Callable[[openai.OpenAI], object] = agent) -> None:
    with serving(*replies) as server, recording(path), server.client() as asking:
        run(asking)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A recording of the small agent."""
    found = tmp_path / "a.jsonl"
    record(found, *REPLIES)
    return found


@pytest.mark.parametrize(
    ("mode", "there", "asked", "episodes"),
    [
        ("none", True, 0, 1),
        ("once", True, 0, 1),
        ("once", False, 3, 1),
        ("new_episodes", True, 0, 1),
        ("new_episodes", False, 3, 1),
        ("all", True, 3, 2),
        ("all", False, 3, 1),
    ],
)
def test_modes(path: Path, mode: str, there: bool, asked: int, episodes: int) -> None:
    if not there:
        path.unlink()
    with serving(*REPLIES) as server, cassette(path, mode) as tape, server.client() as asking:
        assert agent(asking)[-1]["content"] == "It is open."
    assert len(server.requests) == asked == tape.tally.recorded
    assert (tape.tally.calls, tape.tally.answered) == (3, 3 - asked)
    assert len(recorded(path)) == episodes


def test_a_cassette_replays_unless_told_otherwise(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARNESS_RECORD_MODE", raising=False)
    with cassette(path) as tape, client() as asking:
        agent(asking)
    assert tape.tally.answered == 3
    monkeypatch.setenv("HARNESS_RECORD_MODE", "all")
    with serving(*REPLIES) as server, cassette(path) as tape, server.client() as asking:
        agent(asking)
    assert tape.tally.recorded == 3


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"a\.jsonl: there is none, and mode none never asks"):
        Recorder(tmp_path / "a.jsonl", mode="none")
    with pytest.raises(HarnessError, match=rf"found 'nine'.*{', '.join(sorted(MODES))}"):
        Recorder(tmp_path / "a.jsonl", mode="nine")
    for mode in ("all", "once", "new_episodes"):
        with pytest.raises(HarnessError, match=r"a\.txt: its name must end in \.jsonl"):
            Recorder(tmp_path / "a.txt", mode=mode)
        (tmp_path / "c.jsonl").mkdir(exist_ok=True)
        with pytest.raises(HarnessError, match=r"c\.jsonl: is a folder; name a file"):
            Recorder(tmp_path / "c.jsonl", mode=mode)
    (tmp_path / "b.jsonl").write_text("{}\n")
    with pytest.raises(HarnessError, match=r"b\.jsonl:1: scenario"):
        Recorder(tmp_path / "b.jsonl", mode="none")


def test_drift_is_answered_and_told(path: Path) -> None:
    tape = Recorder(path, mode="none")
    with client(tape) as asking:
        first = ask(asking, START, tools=TOOLS)
        call_id = first["tool_calls"][0]["id"]
        second = ask(asking, [*START, first, result("closed 9", call_id)], tools=TOOLS)
    assert [c["function"]["arguments"] for c in second["tool_calls"]] == [
        '{"at":"key"}', '{"at":"mat"}',
    ]  # fmt: skip
    (drift,) = tape.tally.drifted
    assert ": request 2: a tool's result differs from character 8 on: recorded" in drift
    assert "asked 'closed 9'" in drift


def test_what_somebody_says_otherwise_is_drift(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def talk(asking: openai.OpenAI, said: str = "The red one.") -> None:
        first = ask(asking, START)
        ask(asking, [*START, first, {"role": "user", "content": said}])

    record(path, say("Which?"), say("Done."), run=talk)
    for said, drifts in (("The red one.", 0), ("The blue one.", 1)):
        tape = Recorder(path, mode="none")
        with client(tape) as asking:
            talk(asking, said)
        assert len(tape.tally.drifted) == drifts


@pytest.mark.parametrize(
    ("system", "extra", "words"),
    [
        ("Work.", {}, []),
        ("Work hard.", {}, ["system prompt"]),
        ("Work.", {"tools": TOOLS}, ["tools"]),
        ("Work.", {"temperature": 1}, ["settings"]),
        ("Work.", {"extra_body": {"model": "other"}}, ["model"]),
        ("Rest.", {"tools": TOOLS, "seed": 3}, ["system prompt, tools, settings"]),
        ("Work.", {"user": "me", "metadata": {"a": "b"}}, []),
    ],
)
def test_what_is_asked_otherwise_is_drift(
    tmp_path: Path, system: str, extra: dict[str, Any], words: list[str]
) -> None:
    path = tmp_path / "a.jsonl"
    record(path, say("Done."), run=lambda asking: ask(asking, START))
    tape = Recorder(path, mode="none")
    with client(tape) as asking:
        assert ask(asking, [{**START[0], "content": system}, START[1]], **extra)["content"]
    (found,) = recorded(path)
    where = f"{found.id}: request 1: other than recorded: "
    assert (tape.tally.answered, tape.tally.drifted) == (1, [where + each for each in words])
    episode = run_episode(prepare(found), load_preset("balanced"))
    assert episode.drifted_calls == 0  # a guard's replay asks nobody for the agent's turns


def test_a_recording_without_hashes_is_no_drift(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for step in lines[0]["steps"]:
        step["reply"].pop("request_hash")
    lines[0]["steps"][0]["reply"]["request_hash"] = "0123456789abcdef"  # of another origin
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with cassette(path) as tape, client() as asking:
        agent(asking)
    assert (tape.tally.answered, tape.tally.drifted) == (3, [])


def test_secrets_are_no_drift(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def run(asking: openai.OpenAI) -> None:
        key = {"role": "system", "content": f"Use the key {SECRET}."}
        start = [key, {"role": "user", "content": f"Log in with {SECRET}"}]
        first = ask(asking, start)
        ask(asking, [*start, first, result(f"token {SECRET}9", first["tool_calls"][0]["id"])])

    record(path, say("", call("look")), say("Done."), run=run)
    tape = Recorder(path, mode="none")
    with client(tape) as asking:
        run(asking)
    assert (tape.tally.answered, tape.tally.drifted) == (2, [])


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (lambda asking: agent(asking, "Open the dour."),
         "does not hold an episode with this goal; nearest is recorded/"),
        (lambda asking: agent(asking, "Open the dour."),
         "which differs from character 12 on: recorded 'Open the door.', asked 'Open the dour.'"),
        (lambda asking: [agent(asking), agent(asking)],
         "holds an episode with this goal 1 times, and all are played"),
        (lambda asking: ask(asking, [*agent(asking), {"role": "user", "content": "And now?"}]),
         " has 3 replies, and this is request 4"),
        (lambda asking: ask(asking, START, extra_headers={"x-harness-episode": "first"}),
         "does not hold episode 'first'; nearest is recorded/"),
    ],
)  # fmt: skip
def test_a_miss_names_the_nearest_recording_and_the_difference(
    path: Path, run: Callable[[openai.OpenAI], object], words: str
) -> None:
    tape = Recorder(path, mode="none")
    with client(tape, max_retries=2) as asking, pytest.raises(openai.NotFoundError) as caught:
        run(asking)
    assert words in str(caught.value.body["message"])  # type: ignore[index]
    assert tape.tally.missed[0] in str(caught.value)
    assert len(tape.tally.missed) == 1


def test_a_miss_that_the_program_hides_raises_at_the_end(path: Path) -> None:
    with pytest.raises(ReplayMiss, match="does not hold an episode"), cassette(path, "none"):
        httpx2.post(f"{NOWHERE}/chat/completions", json={"messages": []})


def test_what_is_recorded_is_answered_and_the_rest_goes_on_in_place(path: Path) -> None:
    def longer(asking: openai.OpenAI) -> Any:
        talk = agent(asking)
        return ask(asking, [*talk, {"role": "user", "content": "Close it."}])

    (before,) = recorded(path)
    script = [say("Closed."), say("no", status=500)]
    with serving(*script) as server, cassette(path, "new_episodes") as tape:
        with server.client() as asking:
            assert longer(asking)["content"] == "Closed."
        with server.client() as asking, pytest.raises(openai.APIError):
            agent(asking, "Something else.")
    assert (tape.tally.answered, tape.tally.recorded) == (3, 2)
    other, after = sorted(recorded(path), key=lambda each: len(each.steps))
    assert (other.goal, after.id, after.goal) == ("Something else.", before.id, before.goal)
    assert after.steps[:3] == before.steps
    assert (after.steps[3].user, after.steps[3].reply.text) == ("Close it.", "Closed.")
    with cassette(path) as tape, client() as asking:
        assert longer(asking)["content"] == "Closed."


def test_the_same_task_takes_its_recordings_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record(path, say("One."), say("Two."), run=lambda asking: [ask(asking, START) for _ in "ab"])
    with cassette(path), client() as asking:
        assert [ask(asking, START)["content"] for _ in "ab"] == ["One.", "Two."]


def test_failed_calls_fail_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def run(asking: openai.OpenAI) -> list[str]:
        told = []
        for goal in ("Slow.", "Torn.", "Late."):
            messages: Any = [{"role": "user", "content": goal}]
            url = NOWHERE if goal == "Late." else str(asking.base_url)
            try:
                each = asking.with_options(base_url=url)
                list(each.chat.completions.create(model="m", messages=messages, stream=True))
            except openai.APIError as error:
                told.append(f"{type(error).__name__}: {error.message}")
        return told

    told: list[list[str]] = []
    script = [say("slow down", status=429), say("half of it", torn=True)]
    record(path, *script, run=lambda asking: told.append(run(asking)))
    with cassette(path), client() as asking:
        assert run(asking) == told[0]
    assert [line.partition(":")[0] for line in told[0]] == [
        "RateLimitError", "APIError", "APIConnectionError",
    ]  # fmt: skip


def test_a_client_that_tries_again_gets_the_same_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    slow = say("slow", status=503)
    record(path, slow, slow, say("Fine."), run=_retrying)
    assert [s.reply.error for s in recorded(path)[0].steps] == ["HTTP 503: slow", None]
    with cassette(path), client() as asking:
        assert _retrying(asking) == "Fine."


def _retrying(asking: openai.OpenAI) -> str:
    with pytest.raises(openai.InternalServerError):
        ask(asking.with_options(max_retries=1), START)
    return str(ask(asking, START)["content"])


def test_a_scenario_written_by_hand_answers_too(tmp_path: Path) -> None:
    path = tmp_path / "door.yaml"
    path.write_text(
        "schema: harness/scenario@1\nid: door/open\ngoal: Open the door.\n"
        "steps: [{reply: {text: Done.}}]\n"
    )
    with cassette(path), client() as asking:
        assert ask(asking, START)["content"] == "Done."
    with cassette(path), client() as asking:
        header = {"x-harness-episode": "door/open"}
        other = [{"role": "user", "content": json.dumps({"any": "thing"})}]
        assert ask(asking, other, extra_headers=header)["content"] == "Done."
