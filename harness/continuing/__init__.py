"""Closing the loop: where a recording ends or is left, a live model goes on.

A replay can only tell what was recorded. Where nothing was decided when the recording ended, or
where the preset took another course (a switch or a delegation without a branch, a nudge that the
recorded agent never read), the same guards go on around a real agent: ``harness.agent``. What it
says is recorded as it goes; that recording replays with the same decisions.

::

    live = Continuation(openai.OpenAI(), "gpt-4o-mini", record_to="continued.jsonl")
    episode = live(prepare(scenario), preset, run_episode(prepare(scenario), preset))
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import recorded
from harness.agent import Agent, told_next
from harness.agent_tools import Tool
from harness.continuing.clean import CleanGuard
from harness.continuing.metered import Metered
from harness.continuing.talk import conversation
from harness.continuing.tools import offered
from harness.episode import Continued, Episode
from harness.exits import ExitReason
from harness.fingerprint import digest
from harness.live import LoopGuard
from harness.loop import log_ending, run_episode
from harness.openai_llm import Client
from harness.preset import Preset
from harness.redact import Redactor
from harness.scenario import Scenario
from harness.spending import Allowance
from harness.trace import Iteration
from harness.turns import Tape, prepare

#: Live iterations of one episode, whatever its guards say.
MOST_LIVE = 30
#: So many failed calls of the actor in a row: the model cannot be reached.
MOST_FAILURES = 3
#: Name of the branch in which the live iterations of a stored episode stand.
BRANCH = "live"
TAG = "continued-live"
#: The longest id that the scenario format takes.
MAX_ID = 300
#: Keys of a scenario that speak about the recorded run or its replay, not about its task.
_OF_THE_RUN = ("steps", "branches", "generate", "recorded", "truth", "expect")


class Continuation:
    """Goes on with recordings that a replay could not decide.

    Args:
        client: An ``openai.OpenAI``, for any server that speaks its protocol.
        model: Acts.
        judge_model: Answers judge, verifier and the other roles; left out: ``model``.
        tools: What can really be run. Other tools that are declared or were called are offered
            too: an identical recorded call lends its result, else the call fails and says why.
        record_to: A ``.jsonl`` file; the line of an episode, ``SCENARIO@PRESET``, is brought up to
            date after each live iteration. Secrets are taken out of what is made live before it
            is guarded, recorded or stored; only the model itself and its tools see them.
        allowance: What all episodes together may cost; left out: no limit.
        most_live: Live iterations of one episode, whatever its guards say.
        settings: Sent with each request: ``max_tokens``, ``temperature`` ...; ``None`` leaves one
            out that would be sent.

    Attributes:
        continued: Episodes so far that went on live.
        left: Episodes that would have, but for the allowance.
        answered: Calls so far that brought a reply.
        failure: Why the last of the others brought none.
    """

    def __init__(
        self,
        client: Client,
        model: str,
        *,
        record_to: str | Path,
        judge_model: str | None = None,
        tools: Sequence[Tool] = (),
        allowance: Allowance | None = None,
        most_live: int = MOST_LIVE,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.allowance = allowance or Allowance()
        self.continued = self.left = self.answered = 0
        self.failure: str | None = None
        self._client, self._judge_model = client, judge_model or model
        self._tools, self.record_to, self._most_live = tuple(tools), Path(record_to), most_live
        self._settings = dict(settings or {})
        self._redactor = Redactor()
        # A server repeats the key that it refuses.
        self._redactor.learn(os.environ)

    def __call__(self, tape: Tape, preset: Preset, episode: Episode) -> Episode:
        """The episode as it ends with the live model; as it was, where a replay decides it.

        Args:
            tape: The recording.
            preset: What guards it; not one that only observes.
            episode: The replay of the recording under the preset.
        """
        found = _leaves(episode)
        if found is None:
            return episode
        kept, cause = episode.iterations[: found[0]], found[1]
        tools = offered(
            tape.scenario,
            (call for it in kept for call in it.turn.calls),
            (call for turn in tape.trunk for call in turn.calls),
            self._tools,
        )
        original = self._cut(tape.scenario, preset, episode, len(kept))
        recording = self._redactor.value(original)
        replayed = run_episode(
            prepare(Scenario.model_validate(recording), wait_ms=preset.wait_ms), preset
        )
        if replayed.decisions[-1].ends:
            # With the user's tools declared as well, or without secrets, a guard decides before the
            # recording is left.
            return episode
        if self.allowance.stopped is not None:
            self.left += 1
            return episode
        classes = dict.fromkeys(preset.models, self._judge_model)
        llm = Metered.for_preset(
            self._client, preset, allowance=self.allowance, redactor=self._redactor,
            models=classes, settings=self._settings,
        )  # fmt: skip
        guard = CleanGuard.restore(
            {"recording": recording}, preset=preset, llm=llm, redactor=self._redactor
        )
        agent = Agent(
            llm, self.model, tools, preset=preset, record_to=self.record_to,
            settings=self._settings,
        )  # fmt: skip
        said = told_next(guard.session.course.decisions[-1], called=bool(kept[-1].turn.calls))
        agent.go_on(guard, conversation(original, kept), said, more=self._more(len(kept)))
        self.continued += 1
        self.answered += llm.answered
        self.failure = llm.failure or self.failure
        ended = self._ended(guard, tape.scenario, episode, Continued(len(kept) + 1, cause, ""))
        ended = replace(
            ended, unrecorded_calls=replayed.unrecorded_calls, drifted_calls=replayed.drifted_calls
        )
        log_ending(ended)
        return ended

    def _cut(
        self, scenario: Scenario, preset: Preset, episode: Episode, length: int
    ) -> dict[str, Any]:
        """What was recorded up to where the replay leaves it, as a scenario of its own."""
        data = scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        lists, steps = recorded.by_source(data), []
        for iteration in episode.iterations[:length]:
            branch, at = iteration.turn.source
            step = dict(lists[branch][at - 1])
            if iteration.turn.writes is not None:
                step["writes"] = sorted(iteration.turn.writes)
            steps.append(step)
        head = {key: value for key, value in data.items() if key not in _OF_THE_RUN} | {
            "id": _name(scenario.id, preset.name, episode.repetition),
            "source": f"{scenario.source or scenario.id}; from iteration {length + 1} on live: "
            f"{self.model}",
            "tags": [*dict.fromkeys([*scenario.tags, TAG])],
        }
        if self._tools:
            called: dict[str, Any] = {
                c.tool: {} for it in episode.iterations[:length] for c in it.turn.calls
            }
            mine = {tool.name: dict(tool.properties) for tool in self._tools}
            head["tools"] = mine | (data.get("tools") or called)
        decisions = episode.decisions[:length]
        return recorded.assembled(head, steps, decisions, observe=False)

    def _more(self, kept: int) -> Callable[[LoopGuard], bool]:
        """Whether one more live turn may be taken."""

        def more(guard: LoopGuard) -> bool:
            live = guard.session.course.iterations[kept:]
            newest = live[-MOST_FAILURES:]
            failing = len(newest) == MOST_FAILURES and all(it.turn.reply.error for it in newest)
            return self.allowance.stopped is None and len(live) < self._most_live and not failing

        return more

    def _ended(
        self, guard: LoopGuard, scenario: Scenario, episode: Episode, continued: Continued
    ) -> Episode:
        """The loop as an episode of the recording that it went on with."""
        found = guard.episode()
        first = continued.at
        iterations = (
            *episode.iterations[: first - 1],
            *(_marked(it, first) for it in found.iterations[first - 1 :]),
        )
        message, summary = found.message, found.summary
        if found.exit_reason is ExitReason.RECORDING_EXHAUSTED:
            message = self._undecided(found, first)
            summary = summary.replace(found.message, message, 1)
        return replace(
            found,
            scenario=episode.scenario,
            family=episode.family,
            goal=episode.goal,
            content_hash=episode.content_hash,
            pair_key=episode.pair_key,
            repetition=episode.repetition,
            iterations=iterations,
            message=message,
            summary=summary,
            replay="diverged",
            diverged_at=first - 1,
            outcome=scenario.recorded.outcome,
            continued=replace(continued, model=self.model),
        )

    def _undecided(self, found: Episode, first: int) -> str:
        live = found.exit_iteration - first + 1
        newest = found.iterations[-1].turn.reply
        cause = self.allowance.stopped
        if cause is None:
            cause = f"{live} live iterations are the most that are made"
            if live < self._most_live:
                cause = f"the model cannot be reached: {newest.error}"
        return f"nothing decided after {live} live iterations: {cause}"


def _leaves(episode: Episode) -> tuple[int, str] | None:
    """After which iteration the recording is left, and why; ``None`` where a replay decides."""
    at = episode.diverged_at
    if at is not None and at < episode.exit_iteration:
        winner = episode.decisions[at - 1].winner
        action = winner.action if winner is not None else ""
        return at, action if action in recorded.BRANCHING else "nudge"
    if episode.exit_reason is not ExitReason.RECORDING_EXHAUSTED:
        return None
    return episode.exit_iteration, ExitReason.RECORDING_EXHAUSTED.value


def _name(scenario: str, preset: str, repetition: int) -> str:
    """Id of what is recorded: one for each preset and repetition, within what an id may have."""
    ending = f"@{preset}" + (f"#{repetition}" if repetition else "")
    if len(scenario) + len(ending) <= MAX_ID:
        return scenario + ending
    whole = digest("continued", scenario, ending)
    return f"{scenario[: MAX_ID - len(whole) - 1]}~{whole}"


def _marked(iteration: Iteration, first: int) -> Iteration:
    source = (BRANCH, iteration.number - first + 1)
    return replace(iteration, turn=replace(iteration.turn, source=source))
