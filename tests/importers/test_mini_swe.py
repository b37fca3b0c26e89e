"""The importer of mini-swe-agent."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.importers import recordings

FORMAT = "mini-swe-agent"
Write = Callable[..., Path]
Refused = Callable[[Path], str]

PROMPT = (
    "<pr_description>\nConsider the following PR description:\nThe <b>kettle</b> leaks.\n\n"
    "</pr_description>\n\n<instructions>\nFix it.\n</instructions>"
)
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff --cached"
REFUSAL = "Please always provide EXACTLY ONE action in triple backticks, found 2 actions."
TIMED_OUT = (
    "The last command <command>sleep 99</command> timed out and has been killed.\n"
    "The output of the command was:\n <output>\nz\n</output>\nPlease try another command."
)


def say(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def act(*commands: str, **more: Any) -> dict[str, Any]:
    blocks = "".join(f"\n\n```bash\n{command}\n```" for command in commands)
    return say("assistant", f"THOUGHT: Hm.{blocks}", **more)


def result(output: str, code: int = 0) -> dict[str, Any]:
    return say("user", f"<returncode>{code}</returncode>\n<output>\n{output}</output>")


def response(
    created: int | None = 100,
    name: str = "gen-1",
    usage: tuple[int, int, int, int] = (1000, 100, 600, 30),
) -> dict[str, Any]:
    prompt, completion, cached, reasoning = usage
    return {
        "id": name,
        "model": "google/gemini-3-pro-preview",
        "created": created,
        "finish_reason": "STOP",
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "cost": None,
            "reasoning_tokens": reasoning,
            "cached_tokens": cached,
        },
    }


def run(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A line of a collection."""
    return {
        "instance_id": "kettle__kettle-7",
        "resolved": True,
        "exit_status": "Submitted",
        "model_stats": {"instance_cost": 0.5, "api_calls": 3},
        "limits": {"step_limit": 250, "cost_limit": 3.0},
        "messages": [say("system", "You use a shell."), say("user", PROMPT), *messages],
        **more,
    }


GOOD = run(
    act("ls", response=response(100)),
    result("a.py\n"),
    act("a", "b", response=response(107)),
    say("user", REFUSAL),
    act(SUBMIT, response=response(109)),
    say("user", "diff --git a b\n"),
)


def read(path: Path) -> list[dict[str, Any]]:
    return list(recordings(FORMAT, path))


def calls(recording: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for step in recording["steps"] for call in step["calls"]]


def test_a_run_becomes_steps(write_lines: Write) -> None:
    (recording,) = read(write_lines(GOOD))
    reply = {
        "model": "gemini-3-pro-preview",
        "finish_reason": "stop",
        "usage": {"input": 400, "cache_read": 600, "output": 70, "reasoning": 30},
    }
    assert recording == {
        "schema": "harness/scenario@1",
        "id": "mini-swe-agent/kettle__kettle-7",
        "title": "mini-swe-agent on kettle__kettle-7",
        "source": "mini-swe-agent:runs.jsonl",
        "goal": "The <b>kettle</b> leaks.",
        "tags": ["mini-swe-agent"],
        "tools": ["bash"],
        "steps": [
            {
                "reply": {"text": "THOUGHT: Hm.\n\n```bash\nls\n```", **reply, "ms": 7000},
                "calls": [
                    {
                        "tool": "bash",
                        "args": {"command": "ls"},
                        "result": "a.py\n",
                        "exit_code": 0,
                        "ok": True,
                        "ms": 0,
                    }
                ],
            },
            {
                "reply": {
                    "text": "THOUGHT: Hm.\n\n```bash\na\n```\n\n```bash\nb\n```",
                    **reply,
                    "ms": 2000,
                },
                "calls": [
                    {
                        "tool": "bash",
                        "args": {"unparsed": ["a", "b"]},
                        "result": REFUSAL,
                        "ok": False,
                        "ms": 0,
                    }
                ],
            },
            {
                "reply": {"text": f"THOUGHT: Hm.\n\n```bash\n{SUBMIT}\n```", **reply},
                "calls": [
                    {
                        "tool": "bash",
                        "args": {"command": SUBMIT},
                        "result": "diff --git a b\n",
                        "ok": True,
                    }
                ],
            },
        ],
        "recorded": {"exit_reason": "agent_finished", "outcome": "success"},
    }


def trajectory(line: dict[str, Any]) -> dict[str, Any]:
    """The same run as the agent's own file."""
    messages = []
    for message in line["messages"]:
        kept = {key: value for key, value in message.items() if key != "response"}
        if "response" in message:
            whole = dict(message["response"])
            usage = dict(whole["usage"])
            for group, key in (("prompt", "cached"), ("completion", "reasoning")):
                detail = {f"{key}_tokens": usage.pop(f"{key}_tokens")}
                usage[f"{group}_tokens_details"] = detail
            choice = {"finish_reason": whole.pop("finish_reason")}
            kept["extra"] = {"response": {**whole, "usage": usage, "choices": [choice]}}
        messages.append(kept)
    info = {
        "exit_status": line["exit_status"],
        "model_stats": line["model_stats"],
        "config": {"agent": line["limits"]},
    }
    return {
        "info": info,
        "messages": messages,
        "trajectory_format": "mini-swe-agent-1",
        "instance_id": line["instance_id"],
    }


def test_the_agents_own_file_says_the_same_without_the_outcome(
    write_lines: Write, write_json: Write, tmp_path: Path
) -> None:
    (line,) = read(write_lines(GOOD))
    file = write_json(trajectory(GOOD), "kettle.traj.json")
    (own,) = read(file)
    assert own == {
        **line,
        "source": "mini-swe-agent:kettle.traj.json",
        "recorded": {"exit_reason": "agent_finished"},
    }
    (tmp_path / "more").mkdir()
    write_json(GOOD["messages"], "more/bare.traj.json")
    found = read(tmp_path)
    assert [one["id"].split("/")[1] for one in found] == ["kettle__kettle-7", "bare"]
    assert found[1]["recorded"] == {
        "exit_reason": "agent_finished",
        "exit_reason_source": "inferred",
    }


def test_a_packed_file_is_read_one_run_at_a_time(tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "runs.jsonl.gz"
    path.write_bytes(gzip.compress(f"{json.dumps(GOOD)}\n{{broken\n".encode()))
    found = recordings(FORMAT, path)
    assert next(found)["id"] == "mini-swe-agent/kettle__kettle-7"
    assert "line 2: not JSON" in refused(path)
    path.write_bytes(path.read_bytes()[:-20])
    assert "cannot be unpacked" in refused(path)
    path.write_text("{}\n")
    assert "cannot be unpacked: Not a gzipped file" in refused(path)


LONG = (
    "<returncode>2</returncode>\n<warning>\nToo long.\n</warning><output_head>\nhead\n"
    "</output_head>\n<elided_chars>\n9 characters elided\n</elided_chars>\n<output_tail>\n"
    "tail\n</output_tail>"
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("<returncode>0</returncode>\n<output>\n</output>", ("", 0, True)),
        ("<returncode>1</returncode>\n<output>\nno</output>", ("no", 1, False)),
        ("<returncode>-9</returncode>\n<output>\n</output></output>", ("</output>", -9, False)),
        (LONG, ("head\n[9 characters elided]\ntail", 2, False)),
        ("<returncode>0</returncode>\nhm", ("hm", 0, True)),
        (TIMED_OUT, (TIMED_OUT, None, False)),
    ],
)
def test_results(write_lines: Write, answer: str, expected: tuple[str, int | None, bool]) -> None:
    line = run(act("x"), say("user", answer), act(SUBMIT), say("user", ""))
    (recording,) = read(write_lines(line))
    first, last = calls(recording)
    assert (first["result"], first.get("exit_code"), first["ok"]) == expected
    assert last["ok"]


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("Hm.", {"unparsed": []}),
        ("```bash\nls", {"unparsed": []}),
        ("```python\nls\n```", {"unparsed": []}),
        ("```bash\nls\n```", {"command": "ls"}),
        ("```bash  \n\n a\nb \n```", {"command": "a\nb"}),
        ("```mswea_bash_command\nls\n```\n```bash\nx\n```", {"command": "ls"}),
        ("```bash\na\n```\n```bash\nb\n```", {"unparsed": ["a", "b"]}),
        ("```bash\nls\n```bash\nx\n```", {"command": "ls"}),
        ("x```bash\n" * 200_000, {"unparsed": []}),
    ],
)
def test_commands(write_lines: Write, text: str, args: dict[str, Any]) -> None:
    (recording,) = read(write_lines(run(say("assistant", text))))
    assert [call["args"] for call in calls(recording)] == [args]
    assert not calls(recording)[0]["ok"]  # never answered


@pytest.mark.parametrize(
    ("name", "usage", "expected"),
    [
        ("gen-1", (10, 5, 0, 5), {"input": 10, "reasoning": 5}),
        ("gen-1", (10, 5, 10, 0), {"cache_read": 10, "output": 5}),
        ("portkey-1", (10, 5, 0, 3), {"input": 10, "output": 5, "reasoning": 3}),
        ("x", (10, 5, 0, 6), {"input": 10, "output": 5, "reasoning": 6}),
    ],
)
def test_tokens_do_not_overlap(
    write_lines: Write, name: str, usage: tuple[int, int, int, int], expected: dict[str, int]
) -> None:
    line = run(act("x", response=response(name=name, usage=usage)))
    (recording,) = read(write_lines(line))
    assert recording["steps"][0]["reply"]["usage"] == expected


def test_time_is_known_only_where_a_request_is_stamped_at_its_start(write_lines: Write) -> None:
    stamps = [(5, "gen-1"), (9, "gen-2"), (8, "gen-3"), (9, "x"), (12, "gen-4"), (None, "gen-5")]
    acts = [act("x", response=response(created, name)) for created, name in stamps]
    (recording,) = read(write_lines(run(*acts)))
    times = [step["reply"].get("ms") for step in recording["steps"]]
    assert times == [4000, None, None, None, None, None]
    assert [call.get("ms") for call in calls(recording)] == [0, None, None, None, None, None]


def test_a_person_between_the_steps_is_heard(write_lines: Write) -> None:
    messages = [act("x"), result(""), say("user", "Faster."), act("y"), result(""), say("user", "")]
    (recording,) = read(write_lines(run(*messages, exit_status=None)))
    assert [step.get("user") for step in recording["steps"]] == [None, "Faster."]


@pytest.mark.parametrize(
    ("status", "stats", "expected"),
    [
        ("Submitted", (1, 0.1), {"exit_reason": "agent_finished"}),
        (
            "LimitsExceeded",
            (250, 0.1),
            {"exit_reason": "max_iterations", "limits": {"max_iterations": 250}},
        ),
        (
            "LimitsExceeded",
            (9, 3.01),
            {"exit_reason": "cost_budget", "limits": {"cost_budget_usd": 3.0}},
        ),
        (
            "LimitsExceeded",
            (250, 3.0),
            {
                "exit_reason": "max_iterations",
                "limits": {"max_iterations": 250, "cost_budget_usd": 3.0},
            },
        ),
        ("LimitsExceeded", (9, 0.1), {}),
        ("LimitsExceeded", None, {}),
        ("RuntimeError", (250, 9.0), {}),
        (None, (250, 9.0), {}),
    ],
)
def test_exit_reason_comes_from_the_status_and_not_from_the_tests(
    write_lines: Write, status: str | None, stats: tuple[int, float] | None, expected: object
) -> None:
    counts = stats and {"api_calls": stats[0], "instance_cost": stats[1]}
    for resolved, outcome in ((True, "success"), (False, "failure"), (None, None)):
        line = run(act("x"), result(""), exit_status=status, model_stats=counts, resolved=resolved)
        (recording,) = read(write_lines(line))
        recorded = recording["recorded"]
        assert recorded.pop("outcome", None) == outcome
        assert recorded == expected


@pytest.mark.parametrize(
    ("prompt", "goal"),
    [
        ("Please solve this issue: It leaks.\n\nYou can execute bash commands and", "It leaks."),
        ("<pr_description>\nx </pr_description> y\n</pr_description>", "x </pr_description> y"),
        (" Make tea. ", "Make tea."),
    ],
)
def test_the_goal_is_the_task(write_lines: Write, prompt: str, goal: str) -> None:
    line = run(messages=[say("user", prompt), act("x")])
    (recording,) = read(write_lines(line))
    assert recording["goal"] == goal


def test_ids_stay_unique(write_lines: Write) -> None:
    ids = [recording["id"] for recording in read(write_lines(GOOD, GOOD))]
    assert ids == [f"mini-swe-agent/kettle__kettle-7{end}" for end in ("", "-2")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"id": 1}, "key 'messages' is missing; found keys: 'id'"),
        (7, "expected an object with key 'messages', found 7"),
        (run(resolved="yes"), "holds no assistant message"),
        (run(act("x"), resolved="yes"), "key 'resolved' must be true or false, found 'yes'"),
        (run(say("asistant", "x")), "message 3: key 'role': found 'asistant' (did you mean"),
        (run({"role": "assistant", "content": []}), "message 3: key 'content' must be a text"),
        (run(act("x"), trajectory_format="mini-swe-agent-9"), "key 'trajectory_format': found"),
        (
            run(act("x", response=response(usage=(1, 1, 2, 0)))),
            "message 3, usage: key 'cached_tokens' must be at most 'prompt_tokens', found 2",
        ),
        (run(act("x", response=response(usage=(-1, 1, 0, 0)))), "'prompt_tokens' must be 0 to"),
    ],
)
def test_another_shape_is_refused(
    write_lines: Write, refused: Refused, line: Any, words: str
) -> None:
    message = refused(write_lines(GOOD, line))
    assert "line 2" in message
    assert words in message


def test_broken_files_are_refused(tmp_path: Path, write_json: Write, refused: Refused) -> None:
    assert "the folder holds no *.traj.json file" in refused(tmp_path)
    assert "cannot be read: No such file" in refused(tmp_path / "absent.traj.json")
    assert "key 'messages' is missing" in refused(write_json({}, "x.traj.json"))
