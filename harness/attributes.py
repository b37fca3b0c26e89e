"""What spans say of an episode: attributes and evaluation results, as plain values."""

from __future__ import annotations

import math
from collections.abc import Iterator

from harness import conventions as names
from harness.episode import Episode, Series
from harness.guards import catalogue
from harness.trace import Call, Iteration, Reply

Value = str | bool | int | float | tuple[str, ...]
Attributes = dict[str, Value]


def reply_attributes(reply: Reply) -> Attributes:
    """Attributes of a model call."""
    attributes: Attributes = {
        names.OPERATION: names.CHAT,
        names.ROLE: reply.role,
        names.TIME_KNOWN: reply.ms is not None,
    }
    if reply.model is not None:
        attributes[names.REQUEST_MODEL] = reply.model
    if reply.finish_reason is not None:
        attributes[names.FINISH_REASONS] = (reply.finish_reason,)
    usage = reply.usage
    if usage is not None:
        attributes[names.INPUT_TOKENS] = usage.input_all
        attributes[names.OUTPUT_TOKENS] = usage.output_all
        attributes[names.CACHE_READ_TOKENS] = usage.cache_read
        attributes[names.CACHE_WRITE_TOKENS] = usage.cache_write
        attributes[names.REASONING_TOKENS] = usage.reasoning
    if reply.cost is not None:
        attributes[names.COST] = reply.cost
    if reply.error is not None:
        attributes[names.ERROR_TYPE] = reply.error
    return attributes


def call_attributes(call: Call) -> Attributes:
    """Attributes of a tool call."""
    attributes: Attributes = {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL_NAME: call.tool,
        names.TOOL_TYPE: "function",
        names.CALL_OK: call.ok,
        names.TIME_KNOWN: call.ms is not None,
    }
    if call.exit_code is not None:
        attributes[names.CALL_EXIT_CODE] = call.exit_code
    return attributes


def iteration_attributes(episode: Episode, iteration: Iteration, at: int) -> Attributes:
    """Attributes of an iteration: its decision, and what each guard measured."""
    decision = episode.decisions[at]
    prefix = names.ITERATION
    attributes: Attributes = {
        prefix + "number": iteration.number,
        prefix + "decision": decision.name,
        prefix + "path": decision.path,
        names.TIME_KNOWN: iteration.ms is not None,
    }
    if decision.exit is not None:
        attributes[prefix + "exit_reason"] = decision.exit.value
    if iteration.overlap is not None:
        attributes[prefix + "overlap"] = iteration.overlap
    if iteration.events:
        attributes[names.MECHANISMS] = tuple(
            f"{e.mechanism}: {e.event}" + (f" ({e.trigger})" if e.trigger else "")
            for e in iteration.events
        )
    if iteration.checks:
        attributes[names.CHECKS] = tuple(
            f"{c.phase}/{c.check}: {'holds' if c.passed else 'missing'}" for c in iteration.checks
        )
    if iteration.phase is not None:
        attributes[prefix + "phase"] = iteration.phase
    if iteration.evaluation.score is not None:
        attributes[prefix + "score"] = iteration.evaluation.score
        attributes[prefix + "score_source"] = iteration.evaluation.score_source or ""
    best, elapsed = episode.best[at], episode.elapsed[at]
    if best is not None:
        attributes[prefix + "best_score"] = best
    if elapsed is not None:
        attributes[prefix + "elapsed_ms"] = elapsed
    held = [c for c in decision.conditions if c.state != "unknown"]
    if held:
        attributes[prefix + "conditions"] = tuple(
            f"{c.name}={c.reason.value}:{c.action}:{c.state}" for c in held
        )
    return attributes | _readings(episode, at)


def _readings(episode: Episode, at: int) -> Attributes:
    """What each guard measured, and which of them fired or could not judge."""
    attributes: Attributes = {}
    fired, unknown = [], []
    for series in episode.series:
        signal = series.signals[at]
        if signal == signal:
            attributes[names.SIGNAL + series.guard] = float(signal)
        if series.fired[at]:
            fired.append(series.guard)
        elif series.unknown[at]:
            unknown.append(series.guard)
    if fired:
        attributes[names.FIRED] = tuple(fired)
    if unknown:
        attributes[names.UNKNOWN] = tuple(unknown)
    return attributes


def episode_attributes(episode: Episode, episode_id: str) -> Attributes:
    """Attributes of an episode: how it ended, and each guard's threshold."""
    attributes: Attributes = {
        names.OPERATION: names.INVOKE_AGENT,
        names.AGENT_NAME: episode.scenario,
        names.CONVERSATION_ID: episode_id,
    }
    for field in (
        "scenario", "preset", "family", "status", "exit_guard", "exit_reason_source", "message",
        "best_score", "best_iteration", "needs_human", "replay", "diverged_at",
        "unrecorded_calls", "prompt_assumed", "outcome", "pair_key", "observe", "exit_iteration",
    ):  # fmt: skip
        value = getattr(episode, field)
        if value is not None:
            attributes[names.EPISODE + field] = value
    # Which way a score is better decides how a threshold reads.
    attributes[names.DIRECTION] = episode.direction
    attributes[names.EPISODE + "exit_reason"] = episode.exit_reason.value
    attributes[names.EPISODE + "exit_group"] = episode.exit_group
    if episode.continued is not None:
        attributes[names.EPISODE + "continued_at"] = episode.continued.at
        attributes[names.EPISODE + "continued_by"] = episode.continued.model
    for series in episode.series:
        # An infinite threshold never fires, and JSON cannot write it.
        if math.isfinite(series.threshold):
            attributes[names.THRESHOLD + series.guard] = float(series.threshold)
    return attributes


def iteration_results(episode: Episode, at: int) -> Iterator[Attributes]:
    """What was found of one iteration: its score, and the guards that fired.

    Every other reading is an attribute of the iteration's span.
    """
    score = episode.iterations[at].evaluation.score
    if score is not None:
        yield {names.EVALUATION_NAME: "score", names.EVALUATION_SCORE: score}
    for series in episode.series:
        if series.fired[at]:
            yield _verdict(series, at)


def episode_results(episode: Episode) -> Iterator[Attributes]:
    """What was found of an episode: how it ended, and each guard's last verdict."""
    yield {
        names.EVALUATION_NAME: "exit",
        names.EVALUATION_LABEL: episode.exit_reason.value,
        names.EVALUATION_EXPLANATION: episode.message,
    }
    if episode.iterations:
        for series in episode.series:
            yield _verdict(series, len(episode.iterations) - 1)


def _verdict(series: Series, at: int) -> Attributes:
    """One guard's reading against its threshold, as an evaluation result."""
    signal, fired = series.signals[at], series.fired[at]
    label = "fired" if fired else "unknown" if series.unknown[at] else "held"
    found: Attributes = {
        names.EVALUATION_NAME: series.guard,
        names.EVALUATION_LABEL: label,
        names.EVALUATION_EXPLANATION: _words(series, signal, label),
        names.VERDICT_FIRED: fired,
        names.VERDICT_COMPARISON: series.comparison,
    }
    if math.isfinite(signal):
        found[names.EVALUATION_SCORE] = float(signal)
    # An infinite threshold never fires, and JSON cannot write it.
    if math.isfinite(series.threshold):
        found[names.VERDICT_THRESHOLD] = float(series.threshold)
    return found


def _words(series: Series, signal: float, label: str) -> str:
    """A verdict in words: what is measured, the reading, and where it fires."""
    guard = catalogue().get(series.kind)
    measures = series.kind if guard is None else guard.measures
    shown = format if guard is None else guard.shown
    reading = "not measured" if signal != signal else shown(signal)
    limit = f"{series.comparison} {shown(series.threshold)}"
    return f"{label}: {measures} is {reading} (fires at {limit})"
