"""Episodes as rows: the second projection of the typed trace, beside the spans."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from harness.episode import Episode
from harness.fingerprint import digest
from harness.preset import Preset
from harness.scenario import Scenario
from harness.telemetry import Traced
from harness.trace import Iteration, Reply
from harness.verdicts import Condition, Decision

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
Row = tuple[Any, ...]
#: Tables whose rows belong to one episode, in the order in which they are written.
EPISODE_TABLES = (
    "episodes", "iterations", "guard_series", "calls", "llm_calls", "checks",
    "mechanism_events", "lessons", "spans", "continuations",
)  # fmt: skip
#: Tables whose rows are shared and written once, with the column that identifies them.
SHARED_TABLES = {
    "presets": "preset_hash",
    "scenarios": "content_hash",
    "messages": "hash",
}


@dataclass(slots=True)
class Rows:
    """Rows waiting to be written, by table."""

    tables: dict[str, list[Row]] = field(
        default_factory=lambda: {name: [] for name in (*EPISODE_TABLES, *SHARED_TABLES)}
    )
    texts: dict[int, str] = field(default_factory=dict)
    iterations: int = 0

    def add_scenario(self, scenario: Scenario) -> None:
        """The scenario that the next episodes replay."""
        self.tables["scenarios"].append(
            (
                scenario.content_hash,
                scenario.id,
                scenario.family,
                scenario.title,
                scenario.source,
                scenario.goal,
                scenario.direction,
                scenario.tags,
                len(scenario.steps),
                scenario.truth.model_dump_json() if scenario.truth else None,
                scenario.recorded.model_dump_json(exclude_defaults=True),
                scenario.limits.model_dump_json(exclude_defaults=True),
            )
        )

    def add_preset(self, preset: Preset) -> None:
        """A preset that episodes ran under."""
        data = _encode(_finite(preset.as_data()))
        self.tables["presets"].append((preset.hash, preset.name, preset.title, data))

    def add_episode(self, run_id: str, episode_id: str, episode: Episode, traced: Traced) -> None:
        """One episode with everything below it."""
        tables = self.tables
        key = (run_id, episode_id)
        totals = _totals(reply for it in episode.iterations for reply in it.replies)
        tables["episodes"].append(
            (
                run_id, episode_id, episode.pair_key, episode.scenario, episode.preset,
                episode.family, _model(episode), episode.repetition, episode.observe,
                episode.status, episode.exit_reason.value, episode.exit_group, episode.exit_guard,
                episode.exit_reason_source, episode.message, episode.exit_iteration,
                episode.exit_iteration - 1, episode.best_score, episode.best_iteration,
                episode.final_score, episode.score_history, *totals, episode.elapsed[-1],
                sum(len(it.turn.calls) for it in episode.iterations), episode.needs_human,
                episode.replay, episode.diverged_at, episode.unrecorded_calls,
                episode.drifted_calls, sum(sum(series.unknown) for series in episode.series),
                episode.outcome, f"{traced.trace_id:032x}", episode.content_hash,
                episode.preset_hash, self._text(episode.best_result), _warnings(episode),
                episode.prompt_assumed, episode.summary,
            )
        )  # fmt: skip
        for at, iteration in enumerate(episode.iterations):
            self._iteration(key, episode, iteration, at, traced.iteration_span_ids[at])
        tables["guard_series"].extend(
            (
                *key, series.guard, series.kind, series.settings, float(series.threshold),
                series.comparison, series.on_fire,
                [None if s != s else float(s) for s in series.signals],
                series.fired, series.unknown,
            )
            for series in episode.series
        )  # fmt: skip
        tables["spans"].extend((*key, *span_row(span)) for span in traced.spans)
        if (live := episode.continued) is not None:
            tables["continuations"].append((*key, live.at, live.cause, live.model))
        self.iterations += len(episode.iterations)

    def _iteration(
        self, key: tuple[str, str], episode: Episode, iteration: Iteration, at: int, span_id: int
    ) -> None:
        turn, evaluation, decision = iteration.turn, iteration.evaluation, episode.decisions[at]
        text = self._text
        number = iteration.number
        self.tables["iterations"].append(
            (
                *key, number, iteration.phase, *turn.source, decision.name, decision.path,
                decision.exit.value if decision.exit else None, evaluation.score,
                evaluation.score_source, episode.best[at], conditions_json(decision),
                *_totals(iteration.replies), iteration.ms, episode.elapsed[at],
                text(turn.reply.text), text(turn.output.text if turn.output else None),
                text(turn.feedback.text if turn.feedback else None),
                text(turn.plan.text if turn.plan else None),
                text(turn.user), text(turn.nudge), f"{span_id:016x}", iteration.overlap,
                text(iteration.work_order),
            )
        )  # fmt: skip
        for n, call in enumerate(turn.calls, 1):
            prints = call.prints
            self.tables["calls"].append(
                (
                    *key, number, n, call.tool, text(call.args),
                    None if call.result is None else text(call.result), call.ok, call.exit_code,
                    call.ms, call.waits, call.transient, prints["action"], prints.get("args"),
                    prints.get("args+result"), prints.get("args+normalised result"), call.error,
                )
            )  # fmt: skip
        for n, reply in enumerate(iteration.replies, 1):
            self.tables["llm_calls"].append(
                (
                    *key, number, n, reply.role, reply.model, *_totals((reply,)), reply.ms,
                    reply.finish_reason,
                    evaluation.parsed if reply.role == "judge" and not reply.error else None,
                    None, reply.error,
                )
            )  # fmt: skip
        self.tables["checks"].extend(
            (*key, number, c.phase, c.check, c.kind, c.passed, c.detail) for c in iteration.checks
        )
        self.tables["mechanism_events"].extend(
            (*key, number, e.mechanism, e.event, e.trigger, e.reason, e.result)
            for e in iteration.events
        )
        lesson = evaluation.lesson
        if lesson is not None:
            self.tables["lessons"].append(
                (*key, number, evaluation.reason, evaluation.progress, lesson.mistake,
                 lesson.avoid, lesson.next_strategy)
            )  # fmt: skip

    def _text(self, text: str | None) -> int | None:
        """Hash of a text, which is kept for ``messages``; NULL where there is none."""
        if text is None:
            return None
        hashed = text_hash(text)
        self.texts[hashed] = text
        return hashed


@lru_cache(maxsize=16_384)
def text_hash(text: str) -> int:
    """64-bit content hash of a text, its key in ``messages``."""
    return int(digest("message", text), 16)


def _totals(replies: Iterable[Reply]) -> tuple[int | None, ...]:
    """Five token counts and the cost over ``replies``; NULL where a part is unknown."""
    input_, read, write, output, reasoning, cost = 0, 0, 0, 0, 0, 0
    tokens_known = cost_known = True
    for reply in replies:
        usage = reply.usage
        if usage is None:
            tokens_known = False
        else:
            input_ += usage.input
            read += usage.cache_read
            write += usage.cache_write
            output += usage.output
            reasoning += usage.reasoning
        if reply.cost is None:
            cost_known = False
        else:
            cost += reply.cost
    tokens = (input_, read, write, output, reasoning) if tokens_known else (None,) * 5
    return (*tokens, cost if cost_known else None)


def _finite(value: Any) -> Any:
    """Plain data as JSON can hold it: an infinite threshold is written ``"inf"``, as in TOML."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _warnings(episode: Episode) -> int:
    """Warnings and nudges, which end nothing."""
    return sum(
        condition.action in ("warn", "nudge") and condition.state == "true"
        for decision in episode.decisions
        for condition in decision.conditions
    )


def _model(episode: Episode) -> str | None:
    for iteration in episode.iterations:
        if iteration.turn.reply.model:
            return iteration.turn.reply.model
    return None


@lru_cache(maxsize=4096)
def conditions_json(decision: Decision) -> str:
    """All conditions of a decision as a JSON list, the winner marked."""
    return _encode([_condition(c, c is decision.winner) for c in decision.conditions])


def _condition(condition: Condition, won: bool) -> dict[str, Any]:
    return {
        "kind": condition.kind,
        "name": condition.name,
        "reason": condition.reason.value,
        "action": condition.action,
        "state": condition.state,
        "won": won,
    }


def span_row(span: ReadableSpan) -> Row:
    """One span as it would be exported."""
    context = cast("SpanContext", span.context)
    events = [
        {"name": e.name, "time_ns": e.timestamp, "attributes": dict(e.attributes or {})}
        for e in span.events
    ]
    return (
        f"{context.trace_id:032x}",
        f"{context.span_id:016x}",
        f"{span.parent.span_id:016x}" if span.parent else None,
        span.name,
        span.kind.name,
        span.start_time,
        span.end_time,
        span.status.status_code.name,
        _encode(dict(span.attributes or {})),
        _encode(events) if events else "[]",
    )
