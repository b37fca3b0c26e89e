"""The importer of mini-swe-agent: messages of 2.x."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.importers import mini_swe, recordings
from harness.importers._head import head_of
from tests.importers.event_runs import calls, observed

FORMAT = "mini-swe-agent"
Imported = Callable[..., dict[str, Any]]
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
TASK = {
    "role": "user",
    "content": "Please solve this issue: It leaks.\n\nYou can execute bash commands",
}
USAGE = {"prompt_tokens": 90, "completion_tokens": 20, "total_tokens": 110,
         "prompt_tokens_details": {"cached_tokens": 40}}  # fmt: skip
COUNTS = {"input": 50, "cache_read": 40, "output": 20}


def response(text: str | None, *raw: str) -> dict[str, Any]:
    asked = [{"id": "x", "function": {"name": "bash", "arguments": one}} for one in raw]
    message = {"role": "assistant", "content": text, "tool_calls": asked}
    choice = {"finish_reason": "tool_calls", "message": message}
    return {"id": "r", "model": "vendor/m-1", "choices": [choice], "usage": USAGE}


def act(second: float, *commands: str, ids: bool = True) -> dict[str, Any]:
    actions = [{"command": c, **({"tool_call_id": f"c{n}"} if ids else {})}
               for n, c in enumerate(commands, 1)]  # fmt: skip
    extra = {"actions": actions, "response": response("Hm."), "timestamp": second}
    return {"role": "assistant", "content": "Hm.", "extra": extra}


def seen(second: float, output: str, call: str | None = "c1", **more: Any) -> dict[str, Any]:
    about = {"raw_output": output, "returncode": 0, "timestamp": second, "exception_info": ""}
    role = {"role": "tool", "tool_call_id": call} if call else {"role": "user"}
    return {**role, "content": f"<output>{output[:9]}</output>", "extra": {**about, **more}}


def told(text: str, kind: str | None = None, **extra: Any) -> dict[str, Any]:
    about = {"interrupt_type": kind, **extra} if kind else extra
    return {"role": "user", "content": text, "extra": about}


def ends(status: str, content: str = "", **extra: Any) -> dict[str, Any]:
    about = {"exit_status": status, "submission": content, **extra}
    return {"role": "exit", "content": content, "extra": about}


def run(*messages: dict[str, Any], **config: Any) -> dict[str, Any]:
    last = messages[-1].get("extra", {})
    info = {"model_stats": {"api_calls": 9, "instance_cost": 0.5}, "config": {"agent": config},
            "mini_version": "2.4.6", "exit_status": last.get("exit_status", "")}  # fmt: skip
    system = {"role": "system", "content": "You use a shell."}
    return {"info": info, "messages": [system, TASK, *messages],
            "trajectory_format": "mini-swe-agent-1.1"}  # fmt: skip


@pytest.fixture
def imported(write_json: Callable[..., Path]) -> Imported:
    def imported(*messages: dict[str, Any], **config: Any) -> dict[str, Any]:
        path = write_json(run(*messages, **config), "kettle.traj.json")
        assert mini_swe.fits(head_of(path))
        (found,) = recordings(FORMAT, path)
        assert observed(found) == len(found["steps"])
        return found

    return imported


REPLY = {"text": "Hm.", "model": "m-1", "finish_reason": "tool_calls", "usage": COUNTS}


def test_a_run_becomes_steps(imported: Imported) -> None:
    found = imported(
        act(100.0, "ls", "cat a"), seen(103.0, "a.py"), seen(103.0, "no", "c2", returncode=1),
        act(105.5, SUBMIT), ends("Submitted", "the work"),
    )  # fmt: skip
    assert found == {
        "schema": "harness/scenario@1",
        "id": "mini-swe-agent/kettle",
        "title": "mini-swe-agent on kettle",
        "source": "mini-swe-agent:kettle.traj.json",
        "goal": "It leaks.",
        "tags": ["mini-swe-agent", "spread:ms"],
        "tools": ["bash"],
        "steps": [
            {
                "reply": REPLY,
                "calls": [
                    {"tool": "bash", "args": {"command": "ls"}, "result": "a.py"}
                    | {"ok": True, "exit_code": 0, "ms": 1500},
                    {"tool": "bash", "args": {"command": "cat a"}, "result": "no"}
                    | {"ok": False, "exit_code": 1, "ms": 1500},
                ],
            },
            {
                "reply": {**REPLY, "ms": 2500},
                "calls": [
                    {"tool": "bash", "args": {"command": SUBMIT}, "ok": True, "result": "the work"}
                ],
            },
        ],
        "recorded": {"exit_reason": "agent_finished"},
    }


LONG = "x" * 10_000


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (seen(2, "a"), {"result": "a", "ok": True, "exit_code": 0}),
        (seen(2, "a", returncode=-9), {"result": "a", "ok": False, "exit_code": -9}),
        (seen(2, ""), {"result": "", "ok": True, "exit_code": 0}),
        # What the agent saw of it.
        (seen(2, LONG), {"result": "<output>xxxxxxxxx</output>", "ok": True, "exit_code": 0}),
        (seen(2, "", returncode=-1, exception_info="timed out"),
         {"result": "<output></output>", "ok": False}),
        (None, {"ok": False}),
    ],
)  # fmt: skip
def test_results(
    imported: Imported, result: dict[str, Any] | None, expected: dict[str, Any]
) -> None:
    found = imported(act(1, "x"), *([result] if result else []), ends("LimitsExceeded"))
    (call,) = calls(found)
    call.pop("ms", None)
    assert call == {"tool": "bash", "args": {"command": "x"}, **expected}


def test_commands_in_the_text_are_answered_in_order(imported: Imported) -> None:
    found = imported(act(1, "x", ids=False), seen(2, "a", None), ends("LimitsExceeded"))
    assert [call["result"] for call in calls(found)] == ["a"]


def test_a_reply_the_agent_refused_is_a_step(imported: Imported) -> None:
    refusal = told("Use bash.", "FormatError", response=response("Hm.", "{broken", "{}"))
    found = imported(act(1, "x"), seen(2, "a"), refusal, act(9, "y"), seen(10, "b"), ends("x"))
    assert found["steps"][1] == {
        "reply": REPLY,
        "calls": [{"tool": "bash", "args": {"unparsed": ["{broken", "{}"]}, "ok": False}
                  | {"result": "Use bash."}],
    }  # fmt: skip
    # When the refusal came is not told.
    assert [step["reply"].get("ms") for step in found["steps"]] == [None, None, None]


@pytest.mark.parametrize("kept", ["repr of a response", None])
def test_a_refusal_whose_reply_was_not_kept(imported: Imported, kept: str | None) -> None:
    (step,) = imported(told("Use bash.", "FormatError", response=kept), ends("x"))["steps"]
    args: dict[str, list[str]] = {"unparsed": []}
    assert step == {
        "calls": [{"tool": "bash", "args": args, "ok": False, "result": "Use bash."}]
    }  # fmt: skip


def test_the_responses_api(imported: Imported) -> None:
    said = {"type": "message", "content": [{"type": "output_text", "text": "Hm."}]}
    asked = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
    usage = {"input_tokens": 90, "output_tokens": 20, "total_tokens": 110,
             "input_tokens_details": {"cached_tokens": 40}}  # fmt: skip
    actions = [{"command": "ls", "tool_call_id": "c1"}]
    reply = {"object": "response", "model": "m-1", "output": [said, asked], "usage": usage,
             "status": "incomplete", "extra": {"actions": actions, "timestamp": 1.0}}  # fmt: skip
    extra = seen(2.0, "a")["extra"]
    result = {"type": "function_call_output", "call_id": "c1", "output": "a", "extra": extra}
    refused = {k: v for k, v in reply.items() if k != "extra"}
    found = imported(reply, result, told("No.", "FormatError", response=refused), ends("x"))
    expected = {**REPLY, "finish_reason": "length"}
    assert [step["reply"] for step in found["steps"]] == [expected, expected]
    assert [call["result"] for call in calls(found)] == ["a", "No."]
    assert calls(found)[1]["args"] == {"unparsed": ["{}"]}


def test_a_person_is_heard(imported: Imported) -> None:
    not_run: dict[str, Any] = {"returncode": -1, "exception_info": "action was not executed"}
    found = imported(
        act(1, "rm -r x"), seen(2, "", **not_run), told("Do not.", "UserRejection"),
        told("User command: ls", actions=[{"command": "ls"}]), seen(4, "a.py", None),
        act(5, SUBMIT), seen(6, "", **not_run), told("And the tea?", "UserNewTask"),
        act(7, SUBMIT), seen(8, "", **not_run), ends("Submitted", "all"),
    )  # fmt: skip
    assert [step.get("user") for step in found["steps"]] == [
        None, "Do not.\n\nUser command: ls\n\n<output>a.py</output>", "And the tea?",
    ]  # fmt: skip
    assert [(call["ok"], call["result"]) for call in calls(found)] == [
        (False, "<output></output>"), (True, "<output></output>"), (True, "all"),
    ]  # fmt: skip


def test_what_is_handed_in_by_another_command(imported: Imported) -> None:
    found = imported(act(1, "make", "cat done.txt"), ends("Submitted", "all"))
    assert [(call.get("ok"), call.get("result")) for call in calls(found)] == [
        (None, None), (True, "all"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("last", "config", "expected"),
    [
        (ends("Submitted"), {}, {"exit_reason": "agent_finished"}),
        (ends("LimitsExceeded"), {"step_limit": 9, "cost_limit": 3.0},
         {"exit_reason": "max_iterations", "limits": {"max_iterations": 9}}),
        (ends("LimitsExceeded"), {"step_limit": 0, "cost_limit": 0.5},
         {"exit_reason": "cost_budget", "limits": {"cost_budget_usd": 0.5}}),
        (ends("TimeExceeded"), {"wall_time_limit_seconds": 60},
         {"exit_reason": "time_budget", "limits": {"time_budget_s": 60}}),
        (ends("TimeExceeded"), {}, {"exit_reason": "time_budget"}),
        (ends("RepeatedFormatError"), {}, {"exit_reason": "repeated_error"}),
        (ends("AuthenticationError", exception_str="no key"), {}, {"exit_reason": "error"}),
        (ends("Odd"), {}, {}),
        (seen(2, "a"), {}, {}),
    ],
)  # fmt: skip
def test_how_it_ended(
    imported: Imported, last: dict[str, Any], config: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert imported(act(1, "x"), last, **config)["recorded"] == expected


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([ends("Submitted")], "key 'messages' holds no assistant message"),
        ([{"role": "asistant"}], "message 3: key 'role': found 'asistant' (did you mean"),
        ([{"content": "x"}], "message 3: key 'role' is missing"),
        ([act(1, "x"), seen(2, "a", "c9")], "message 4: a result must answer an open call; "),
        ([{**act(1), "extra": {"actions": [{}]}}], "message 3: key 'command' is missing"),
        ([{"role": "user", "extra": 5}, act(1)], "message 3: key 'extra' must be an object"),
    ],
)
def test_refused(
    write_json: Callable[..., Path],
    refused: Callable[[Path], str],
    messages: list[dict[str, Any]],
    words: str,
) -> None:
    assert words in refused(write_json(run(*messages), "x.traj.json"))
