"""A small agent that uses every mechanism of the guards: to start from, and to test with.

``Agent(OpenAILLM(openai.OpenAI()), "gpt-4o", [Tool("add", ...)]).run("How much is 2 + 3?")``
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from harness.agent_tools import Tool, run_call
from harness.clock import Clock, RealClock
from harness.episode import Episode
from harness.episode_file import EpisodeFile
from harness.live import LoopGuard
from harness.openai_llm import Answer, OpenAILLM
from harness.preset import Preset
from harness.recorded import counts
from harness.redact import Redactor
from harness.verdicts import Decision

SYSTEM_PROMPT = "You solve the task with the tools. When it is solved, answer without a tool call."
OTHER_WAY = "What you have tried does not work. Take a different approach."
GO_ON = "Go on. Improve the result, or show evidence that it is finished."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a loop ended: ``result`` is empty where a person has to look first."""

    episode: Episode
    result: str | None
    recording: Mapping[str, Any]


class Agent:
    """A loop that acts, is guarded, and records as it goes.

    Args:
        llm: Gives the agent's turns, and answers judge, verifier and the other roles.
        model: Name of the model that acts.
        tools: What it can do.
        preset: What guards the loop.
        task: Further keys of the task: ``limits``, ``phases``, ``completion_marker`` ...
        ask_user: Asked when the loop pauses; ``None`` as an answer ends it.
        score: Measures a turn's text from outside.
        record_to: A ``.jsonl`` file, brought up to date after each iteration, without secrets.
        settings: Sent with each of the agent's own requests: ``max_tokens``, ``temperature`` ...
        name: Id of the recording, ``family/name``; left out: a new one for each run.
        clock: Tells how long a tool took.
    """

    def __init__(
        self,
        llm: OpenAILLM,
        model: str,
        tools: Sequence[Tool] = (),
        *,
        preset: str | Preset = "balanced",
        task: Mapping[str, Any] | None = None,
        ask_user: Callable[[Episode], str | None] | None = None,
        score: Callable[[str], float | None] | None = None,
        record_to: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        name: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._llm, self._model, self._preset = llm, model, preset
        self._tools = {tool.name: tool for tool in tools}
        self._task = {**(task or {}), "tools": {tool.name: dict(tool.properties) for tool in tools}}
        self._ask_user, self._score = ask_user or (lambda _: None), score or (lambda _: None)
        self._file = EpisodeFile(record_to) if record_to else None
        self._redactor = Redactor()
        offered = {"tools": [tool.spec() for tool in tools]} if tools else {}
        self._settings = {**offered, **(settings or {})}
        self._name, self._clock = name, clock or RealClock()

    def run(self, goal: str) -> Outcome:
        """Work on a goal until a guard decides or the agent stops by itself.

        Args:
            goal: The task in words.

        Raises:
            HarnessError: A preset or task that cannot be used, or ``on_limit = "raise"``.
        """
        name = self._name or f"agent/{uuid4().hex[:8]}"
        guard = LoopGuard(self._preset, goal=goal, task=self._task, llm=self._llm, name=name)
        self.go_on(guard, [_message("system", SYSTEM_PROMPT), _message("user", goal)], {})
        return Outcome(guard.episode(), guard.result, guard.recording())

    def go_on(
        self,
        guard: LoopGuard,
        talk: list[Mapping[str, Any]],
        said: Mapping[str, str],
        *,
        more: Callable[[LoopGuard], bool] = lambda _: True,
    ) -> None:
        """Go on with a loop until a guard decides or the agent stops by itself.

        Args:
            guard: The loop as it stands, not ended.
            talk: The conversation so far, as the server takes it; what is said is added.
            said: What the agent is told before its next turn: ``user``, ``nudge``.
            more: Asked before each turn; a no leaves the loop as it stands, with nothing decided.
        """
        while more(guard):
            talk += [_message("user", text) for text in said.values()]
            # Behind the conversation and not kept in it, so that prompts stay cached.
            order = guard.work_order(said.get("user"))
            prompt = [*talk, _message("user", order)] if order else talk
            answer = self._llm.complete(prompt, role="actor", model=self._model, **self._settings)
            calls, refusal = self._run(guard, answer, talk)
            reply = answer.reply
            stopped = self._tools and not answer.calls and reply.finish_reason == "stop"
            finish = "tool_calls" if answer.calls else reply.finish_reason
            decision = guard.observe(
                text=reply.text, calls=calls, model=reply.model, usage=counts(reply.usage),
                finish_reason=finish, ms=reply.ms, error=reply.error,
                score=self._score(reply.text), last=bool(stopped), **said,
            )  # fmt: skip
            self._save(guard)
            if decision.ends:
                message = self._ask_user(guard.episode())
                if message is None or guard.episode().status != "paused":
                    break
                guard.resume(message)
                said = {"user": message}
            elif stopped:
                break
            else:
                said = told_next(decision, called=bool(calls), refusal=refusal)

    def _run(self, guard: LoopGuard, answer: Answer, talk: list[Any]) -> tuple[list[Any], Any]:
        """Run a batch, whole or not at all; what did not run is told and not recorded as run."""
        if answer.message is not None:
            talk.append(answer.message)
        asked = answer.calls
        refusal = guard.allows(calls=len(asked)) if asked else None
        done = [] if refusal else [run_call(call, self._tools, self._clock) for call in asked]
        results = [refusal.message] * len(asked) if refusal else [d["result"] for d in done]
        for call, result in zip(asked, results, strict=True):
            talk.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return done, refusal.message if refusal else None

    def _save(self, guard: LoopGuard) -> None:
        if self._file is not None:
            found = self._redactor.value(guard.recording())
            self._file.put(found["id"], json.dumps(found))


def _message(role: str, content: str) -> Mapping[str, Any]:
    return {"role": role, "content": content}


def told_next(decision: Decision, *, called: bool, refusal: str | None = None) -> dict[str, str]:
    """What an agent is told before its next turn, as keys of that step.

    Args:
        decision: On its last turn.
        called: Whether that turn had calls; one without is asked to go on.
        refusal: Why a batch of calls did not run.
    """
    hints = [*hints_of(decision), *([refusal] if refusal else [])]
    hints = hints or ([] if called else [GO_ON])
    return {"nudge": "\n".join(hints)} if hints else {}


def hints_of(decision: Decision) -> list[str]:
    """What guards want said to the agent before its next turn."""
    nudges = [c for c in decision.conditions if c.action == "nudge" and c.state == "true"]
    hints = [f"Warning ({c.name}): {c.reason.value.replace('_', ' ')}." for c in nudges]
    return [OTHER_WAY, *hints] if decision.name in ("switch_strategy", "delegate") else hints
