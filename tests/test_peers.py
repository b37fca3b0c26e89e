"""Peer presets: for each a loop that the peer's rule catches, and work that it leaves alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import pytest

from harness.docs import page
from harness.preset import DEFAULTS, bundled, load_preset
from tests.examples import call, run, scored, step

PEERS = [name for name, path in bundled().items() if path.parent.name == "peers"]
READ = call("read", {"path": "a"}, "text")
REFUSED = call("edit", {"path": "a"}, "no match for the old text", ok=False)
DONE = step(text="Done.", finish_reason="stop")
SENTENCE = "I will look at the log file now. "


def acts(letters: str, result: str | None = "ok", **more: Any) -> list[dict[str, Any]]:
    """One turn with one call for each letter; without a result every call has its own."""
    return [
        step(call(letter, {}, f"line {n}" if result is None else result), **more)
        for n, letter in enumerate(letters)
    ]


def busy(turns: int) -> list[dict[str, Any]]:
    """Turns that read one file after another."""
    return [step(call("read", {"path": str(n)}, f"text {n}")) for n in range(turns)]


def wrote(*files: str) -> dict[str, Any]:
    return step(call("write", {"path": files[-1]}, "ok"), writes=list(files))


@dataclass(frozen=True)
class Expected:
    """What the peer would have done: its action in an iteration, and the reason given."""

    peer: str
    steps: list[dict[str, Any]]
    at: int
    reason: str
    action: str = "stop"
    fields: dict[str, Any] = field(default_factory=dict)


NUDGED = "nudge"
CATCHES = {
    "openhands: the same step": Expected("openhands-2026-08", acts("aaaaaa"), 4, "spin"),
    "openhands: two steps in turns": Expected(
        "openhands-2026-08", acts("abababab"), 6, "oscillation"
    ),
    "openhands: a refusal is nudged": Expected(
        "openhands-2026-08", 5 * [step(REFUSED)], 3, "repeated_error", NUDGED
    ),
    "openhands: and then it is stuck": Expected(
        "openhands-2026-08", [step(REFUSED, text=t) for t in "abcde"], 4, "repeated_error"
    ),
    "openhands: talk": Expected(
        "openhands-2026-08", [step(text=t) for t in "abcd"], 3, "monologue", fields={"tools": ["a"]}
    ),
    "openhands v0: a refusal": Expected(
        "openhands-v0-2025-11", 5 * [step(REFUSED)], 3, "repeated_error"
    ),
    "openhands v0: equal talk": Expected(
        "openhands-v0-2025-11", 4 * [step(text="Hm.")], 3, "monologue", fields={"tools": ["a"]}
    ),
    "gemini: the same call, whatever comes back": Expected(
        "gemini-cli-2026-08", acts(12 * "a", None), 5, "spin", NUDGED
    ),
    "gemini: second strike": Expected("gemini-cli-2026-08", acts(12 * "a", None), 10, "spin"),
    "gemini: a cycle of three": Expected(
        "gemini-cli-2026-08", acts(12 * "abc"), 15, "cycle", NUDGED
    ),
    "gemini: a cycle of three, second strike": Expected(
        "gemini-cli-2026-08", acts(12 * "abc"), 30, "cycle"
    ),
    "gemini: a passage": Expected(
        "gemini-cli-2026-08", 2 * [step(text=10 * SENTENCE)], 2, "repetition"
    ),
    "opencode: three in one message": Expected(
        "opencode-2026-09", [step(READ), step(*3 * [READ])], 2, "spin", "pause"
    ),
    "roo: the fourth call": Expected("roo-code-2026-04", acts("aaaaa", None), 4, "spin", "pause"),
    "roo: three mistakes": Expected(
        "roo-code-2026-04", 3 * [step(REFUSED), step(REFUSED)], 3, "repeated_error", "pause"
    ),
    "deepagents: three calls": Expected(
        "deepagents-2026-08", acts("aaaa", None), 3, "spin", NUDGED
    ),
    "deepagents: two calls in turns": Expected(
        "deepagents-2026-08", acts("abababab"), 6, "oscillation", NUDGED
    ),
    "deepagents: equal results of one tool": Expected(
        "deepagents-2026-08",
        [step(call("find", {"q": q}, "nothing")) for q in "abcd"],
        3,
        "spin",
        NUDGED,
    ),
    "llmkube: five in ten": Expected(
        "llmkube-2026-08", acts("abacadaeafag", None), 9, "repetition", NUDGED
    ),
    "llmkube: the same again": Expected("llmkube-2026-08", acts("aaaaaaa", None), 6, "repetition"),
    "llmkube: no edit for 16 turns": Expected(
        "llmkube-2026-08", [wrote("a"), *busy(20)], 17, "no_progress"
    ),
    "llmkube: fifty turns": Expected("llmkube-2026-08", busy(60), 50, "max_iterations"),
    "hermes: notice": Expected("hermes", acts("aaaaaa"), 3, "spin", NUDGED),
    "hermes: halt": Expected("hermes", acts("aaaaaa"), 5, "spin"),
    "hermes: a cycle of four": Expected("hermes", acts(6 * "abcd"), 20, "cycle"),
    "hermes: a tool that fails": Expected(
        "hermes",
        [step(call("get", {"n": n}, f"error {n}", ok=False)) for n in range(10)],
        8,
        "repeated_error",
    ),
    "openrouter: blocked": Expected(
        "openrouter-2026-08", acts("axbcaydxa", None), 9, "spin", NUDGED
    ),
    "openrouter: stopped": Expected(
        "openrouter-2026-08",
        [s for n in range(7) for s in (*acts("a", str(n)), *busy(n + 1)[-1:])],
        11,
        "spin",
    ),
    "gptme: a nudge": Expected("gptme-2026-08", 6 * [step(READ, REFUSED)], 3, "spin", NUDGED),
    "gptme: after two nudges": Expected("gptme-2026-08", 6 * [step(READ, REFUSED)], 5, "spin"),
    "autocontext: clear": Expected("autocontext-2026-08", scored(0.5, 0.93), 2, "quality_reached"),
    "autocontext: confirmed": Expected(
        "autocontext-2026-08", scored(0.5, 0.905, 0.91), 3, "quality_reached"
    ),
    "autocontext: plateau": Expected(
        "autocontext-2026-08", scored(0.5, 0.505, 0.5, 0.9), 3, "stagnation"
    ),
    "autocontext: rounds": Expected(
        "autocontext-2026-08", scored(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), 5, "max_iterations"
    ),
    "autocontext: unchanged": Expected("autocontext-2026-08", 3 * [step(output="x")], 2, "spin"),
    "ralph: no changed file": Expected("ralph-2026-07", [wrote("a"), *busy(5)], 4, "no_progress"),
    "ralph: the same error": Expected("ralph-2026-07", 6 * [step(REFUSED)], 5, "repeated_error"),
    "langgraph: no step left for the tools": Expected(
        "langgraph-25", busy(20), 13, "max_iterations"
    ),
    "langgraph: ten thousand steps": Expected(
        "langgraph-2026-08", busy(5010), 5004, "max_iterations"
    ),
    "openai-agents: ten turns": Expected("openai-agents", busy(12), 10, "max_iterations"),
    "pydantic-ai: fifty requests": Expected("pydantic-ai-2026-08", busy(60), 50, "max_iterations"),
    "smolagents: twenty steps": Expected("smolagents", busy(25), 20, "max_iterations"),
    "stella: steered": Expected("stella-2026-08", acts("aaaa"), 3, "spin", NUDGED),
    "stella: aborted": Expected("stella-2026-08", acts("aaaa"), 4, "spin"),
    "stella: the same output": Expected(
        "stella-2026-08", [step(call("find", {"q": q}, "nothing")) for q in range(9)], 7, "spin"
    ),
    "autogen: either of two": Expected("autogen", busy(25), 20, "max_iterations"),
    "autogen: both of two": Expected(
        "autogen",
        [step(usage={"input": 20_000, "output": 1}) for _ in range(12)],
        10,
        "token_budget",
    ),
    "loopbrake: over the line": Expected("loopbrake", busy(30), 27, "max_iterations", "pause"),
    "rule of thumb: three calls": Expected(
        "three-identical-or-20-steps", acts("xaaaa", None), 4, "spin"
    ),
    "rule of thumb: twenty steps": Expected(
        "three-identical-or-20-steps", busy(25), 20, "max_iterations"
    ),
}
TOOLS = {"tools": ["read"]}
LEAVES_ALONE: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "openhands: another thought": (
        "openhands-2026-08", [step(READ, text=f"Try {n}.") for n in range(6)]
    ),
    "openhands: only a process number moves": ("openhands-2026-08", acts(8 * "a", None)),
    "openhands: a command that ran and failed": (
        "openhands-2026-08", [step(call("run", {}, f"{n} failed", exit_code=1)) for n in range(8)]
    ),
    "openhands v0: other words": ("openhands-v0-2025-11", [step(text=t) for t in "abcd"]),
    "gemini: a person speaks in between": (
        "gemini-cli-2026-08", [*acts("aaaa"), *acts("a", user="Again."), *acts("aaa")]
    ),
    "opencode: the same call in every message": ("opencode-2026-09", acts(9 * "a")),
    "roo: three": ("roo-code-2026-04", acts("aaabaaab")),
    "roo: tests that fail": (
        "roo-code-2026-04", [step(call("run", {"n": n}, "1 failed", exit_code=1)) for n in range(6)]
    ),
    "deepagents: twice": ("deepagents-2026-08", acts("aabbaabb", None)),
    "llmkube: no workspace recorded": ("llmkube-2026-08", busy(30)),
    "llmkube: four in ten": ("llmkube-2026-08", acts("abcabcabcabd" * 2, None)),
    "hermes: other results": ("hermes", acts(9 * "a", None)),
    "openrouter: other arguments": ("openrouter-2026-08", busy(20)),
    "openrouter: many equal calls in one round": ("openrouter-2026-08", [step(*9 * [READ])]),
    "gptme: another number of equal calls": (
        "gptme-2026-08", [step(READ), step(READ, READ), step(READ)]
    ),
    "autocontext: just above, once": ("autocontext-2026-08", scored(0.5, 0.905, 0.7)),
    "autocontext: a fall is a change": ("autocontext-2026-08", scored(0.7, 0.6, 0.5, 0.4)),
    "ralph: changed files": ("ralph-2026-07", [wrote(f"a@{n}") for n in range(8)]),
    "langgraph: finished in its last step": ("langgraph-25", [*busy(12), DONE]),
    "langgraph: many": ("langgraph-2026-08", busy(100)),
    "openai-agents: finished in the tenth turn": ("openai-agents", [*busy(9), DONE]),
    "pydantic-ai: finished in the last request": ("pydantic-ai-2026-08", [*busy(49), DONE]),
    "smolagents: finished in the last step": ("smolagents", [*busy(19), DONE]),
    "stella: other results": ("stella-2026-08", acts(9 * "a", None)),
    "autogen: many tokens, few messages": (
        "autogen", [step(usage={"input": 200_000, "output": 1}) for _ in range(5)]
    ),
    "loopbrake: as long as the line": ("loopbrake", [*busy(26), DONE]),
    "rule of thumb: two in a row": ("three-identical-or-20-steps", acts("aabaabaab")),
}  # fmt: skip


def acted(peer: str, steps: list[dict[str, Any]], **more: Any) -> list[tuple[int, str, str]]:
    """Everything that the preset's guards did: iteration, reason, action."""
    episode = run(steps, load_preset(f"peer-{peer}"), **more)
    return [
        (number, str(condition.reason), condition.action)
        for number, decision in enumerate(episode.decisions, 1)
        for condition in decision.conditions
        if condition.state == "true" and condition.action != "observe"
        and condition.kind != "agent_finished"
    ]  # fmt: skip


@pytest.mark.parametrize("case", CATCHES.values(), ids=CATCHES)
def test_a_loop_that_the_peer_catches(case):
    done = [one for one in acted(case.peer, case.steps, **case.fields) if one[2] == case.action]
    assert done
    assert (case.at, case.reason, case.action) == done[0]


@pytest.mark.parametrize("name", LEAVES_ALONE)
def test_work_that_the_peer_leaves_alone(name):
    peer, steps = LEAVES_ALONE[name]
    assert acted(peer, steps, **TOOLS) == []


def test_every_peer_has_examples_of_both_kinds():
    caught = {f"peer-{case.peer}" for case in CATCHES.values()}
    left_alone = {f"peer-{peer}" for peer, _ in LEAVES_ALONE.values()}
    assert caught == left_alone == set(PEERS)


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_preset_names_its_source_and_what_differs(name):
    text = bundled()[name].read_text("utf-8")
    remarks = " ".join(line[1:].strip() for line in text.splitlines() if line.startswith("#"))
    assert name.startswith("peer-")
    assert load_preset(name).title
    assert len(remarks) > 60


def test_peers_come_after_the_presets_of_the_harness():
    names = list(bundled())
    assert names[-len(PEERS) :] == PEERS
    assert not set(DEFAULTS) & set(PEERS)
    from harness.cli.main import app

    shown = page("presets", app)
    assert shown.index("## strict") < shown.index(f"## {PEERS[0]}")
    assert "Left out:" in shown


def test_the_example_of_a_step_line_is_worked_out_right():
    text = bundled()["peer-loopbrake"].read_text("utf-8")
    table = re.findall(r"^# {5}([\d ]+)$", text, re.MULTILINE)
    lengths = [int(number) for row in table for number in row.split()]
    place = ceil((len(lengths) + 1) * 0.95)
    line = load_preset("peer-loopbrake").guards["max_iterations"].threshold
    assert (len(lengths), place) == (39, 38)
    assert sorted(lengths)[place - 1] == line
