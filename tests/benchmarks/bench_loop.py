"""What the loop costs, as ratios measured in one run: python -m tests.benchmarks.bench_loop

The floor is a bare Python loop that does the same outside work with what the full loop found
out: it makes the same OpenTelemetry spans with the SDK's tracer and writes the same rows as
Arrow batches into DuckDB, with no guards and nothing to work out.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import set_span_in_context

from harness import __version__
from harness.files import bundled_scenarios, load
from harness.history import History
from harness.ids import episode_id
from harness.loop import run_episode
from harness.monitor import Monitor
from harness.preset import DEFAULTS, Preset, load_presets
from harness.scenario import Scenario
from harness.store.database import Store
from harness.store.rows import Rows
from harness.store.schema import arrow_schemas, schema_sql, to_arrow
from harness.telemetry import Projector
from harness.trace import Evaluation, Iteration
from harness.turns import Tape, prepare
from harness.worker import BATCH_ITERATIONS

BATCH = BATCH_ITERATIONS


class Keep(SpanProcessor):
    """Keeps finished spans, as a store would."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


def full(tapes: list[Tape], presets: list[Preset], path: Path, repeat: int) -> int:
    """The product: guards, spans and rows in DuckDB."""
    store = Store(path)
    store.create()
    projector = Projector(__version__)
    rows = Rows()
    iterations = 0
    for number in range(repeat):
        run_id = f"run-{number}"
        for tape in tapes:
            rows.add_scenario(tape.scenario)
            for preset in presets:
                episode = run_episode(tape, preset)
                identity = episode_id(run_id, episode.pair_key)
                rows.add_episode(run_id, identity, episode, projector.project(episode, identity, 1))
                if rows.iterations >= BATCH:
                    iterations += rows.iterations
                    store.write(to_arrow(rows))
                    rows = Rows()
    iterations += rows.iterations
    store.write(to_arrow(rows))
    return iterations


def gather(tapes: list[Tape], presets: list[Preset], repeat: int) -> list[tuple[Rows, list[Any]]]:
    """What the floor needs, worked out beforehand: rows, and the spans' names and attributes."""
    projector = Projector(__version__)
    batches: list[tuple[Rows, list[Any]]] = []
    rows, spans = Rows(), []
    for number in range(repeat):
        run_id = f"run-{number}"
        for tape in tapes:
            rows.add_scenario(tape.scenario)
            for preset in presets:
                episode = run_episode(tape, preset)
                identity = episode_id(run_id, episode.pair_key)
                traced = projector.project(episode, identity, 1)
                rows.add_episode(run_id, identity, episode, traced)
                spans.append(_tree(traced.spans))
                if rows.iterations >= BATCH:
                    batches.append((rows, spans))
                    rows, spans = Rows(), []
    batches.append((rows, spans))
    for rows, _ in batches:
        rows.tables["messages"] = list(rows.texts.items())
    return batches


def _tree(spans: Iterable[ReadableSpan]) -> list[tuple[Any, ...]]:
    """Root first, then each iteration before its children: name, parent, attributes, times."""
    ordered = list(spans)[::-1]
    return [
        (s.name, s.parent.span_id if s.parent else None, s.context.span_id,
         dict(s.attributes or {}), s.start_time, s.end_time, list(s.events))
        for s in ordered
    ]  # fmt: skip


def floor(batches: list[tuple[Rows, list[Any]]], path: Path) -> int:
    """The same spans by the SDK's tracer and the same rows by Arrow, and nothing else."""
    keep = Keep()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(keep)
    tracer = provider.get_tracer("floor")
    with duckdb.connect(str(path)) as connection:
        connection.execute(schema_sql())
    encode = json.JSONEncoder(separators=(",", ":")).encode
    schemas = arrow_schemas()
    iterations = 0
    for rows, episodes in batches:
        for spans in episodes:
            contexts: dict[int | None, Context] = {None: Context()}
            open_spans = []
            for name, parent, own, attributes, start, end, events in spans:
                span = tracer.start_span(
                    name, context=contexts[parent], attributes=attributes, start_time=start
                )
                for event in events:
                    span.add_event(event.name, event.attributes, event.timestamp)
                contexts[own] = set_span_in_context(span, Context())
                open_spans.append((span, end))
            for span, end in open_spans:
                span.end(end)
        for span in keep.spans:
            encode(dict(span.attributes or {}))
        keep.spans.clear()
        with duckdb.connect(str(path)) as connection:
            connection.execute("BEGIN")
            for name, content in rows.tables.items():
                if not content:
                    continue
                schema = schemas[name]
                batch = pa.table(
                    [pa.array(c, t) for c, t in zip(zip(*content, strict=True), schema.types,
                                                    strict=True)],
                    schema=schema,
                )  # fmt: skip
                connection.register("batch", batch)
                connection.execute(f"INSERT INTO {name} SELECT * FROM batch")
                connection.unregister("batch")
            connection.execute("COMMIT")
        iterations += rows.iterations
    return iterations


def loop_only(tapes: list[Tape], presets: list[Preset], repeat: int) -> int:
    """Tracing off: the loop and its guards, nothing projected."""
    return sum(
        len(run_episode(tape, preset).iterations)
        for _ in range(repeat)
        for tape in tapes
        for preset in presets
    )


def guard_check_us(tapes: list[Tape], preset: Preset, repeat: int) -> float:
    """Microseconds an iteration that a preset's guards take, the history's upkeep not counted."""

    def walk(measure: bool) -> tuple[float, int]:
        count = 0
        start = time.perf_counter()
        for _ in range(repeat):
            for tape, iterations in prepared:
                history = History(
                    direction=tape.scenario.direction, has_tools=tape.has_tools, memo=tape.memo
                )
                monitor = Monitor(preset.guards, tape.scenario.direction)
                for iteration in iterations:
                    history.append(iteration)
                    if measure:
                        monitor.measure(history)
                count += len(iterations)
        return time.perf_counter() - start, count

    prepared = [(tape, _iterations(tape)) for tape in tapes]
    walk(True)
    samples = []
    for _ in range(5):
        bare, count = walk(False)
        measured, _ = walk(True)
        samples.append((measured - bare) / count * 1e6)
    return statistics.median(samples)


def _iterations(tape: Tape) -> list[Iteration]:
    return [
        Iteration(n, turn, Evaluation(turn.score, "measured" if turn.score is not None else None),
                  (turn.reply,), turn.ms)
        for n, turn in enumerate(tape.trunk, 1)
    ]  # fmt: skip


def long_scenario(steps: int) -> Scenario:
    """One long busy episode without an end."""
    return Scenario.model_validate({
        "schema": "harness/scenario@1", "id": f"bench/long-{steps}", "goal": "Keep going.",
        "tools": ["read"],
        "steps": [
            {"reply": {"text": f"Looking at part {i}.", "model": "gpt-4o-mini", "ms": 900,
                       "usage": {"input": 500, "output": 60}},
             "calls": [{"tool": "read", "args": {"path": f"part-{i % 97}.txt"},
                        "result": f"contents number {i} of the part", "ms": 20}],
             "output": f"summary {i} of part {i % 89}", "feedback": f"note {i}",
             "score": round(0.1 + (i % 50) / 100, 3)}
            for i in range(steps)
        ],
    })  # fmt: skip


def timed(work: Callable[[], int]) -> tuple[float, int]:
    gc.collect()
    start = time.perf_counter()
    count = work()
    return time.perf_counter() - start, count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=2, help="times the bundled corpus")
    parser.add_argument("--rounds", type=int, default=5, help="pairs measured")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    tapes = [prepare(scenario) for scenario in load([bundled_scenarios()])]
    presets = load_presets(name for name in DEFAULTS if name != "observe")
    batches = gather(tapes, presets, options.repeat)
    ratios, floors, fulls = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            seconds, count = timed(lambda n=number: floor(batches, Path(folder) / f"floor{n}.db"))
            mine, count2 = timed(
                lambda n=number: full(tapes, presets, Path(folder) / f"full{n}.db", options.repeat)
            )
            assert count == count2, (count, count2)
            floors.append(count / seconds)
            fulls.append(count / mine)
            ratios.append(mine / seconds)
    print(
        f"full loop / floor, time: {statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}); aim at most 1.25"
    )
    print(
        f"  floor {statistics.median(floors):,.0f}, full {statistics.median(fulls):,.0f} "
        "iterations/s"
    )
    rates = []
    for _ in range(options.rounds):
        seconds, count = timed(lambda: loop_only(tapes, presets, options.repeat))
        rates.append(count / seconds)
    print(f"tracing off: {statistics.median(rates):,.0f} iterations/s; aim 25,000")
    for preset in presets:
        print(
            f"guard check, {preset.name} ({len(preset.guards)} guards): "
            f"{guard_check_us(tapes, preset, options.repeat):.1f} us an iteration; aim 10"
        )
    short, long = 200, 4_000
    per: dict[int, float] = {}
    for steps in (short, long):
        tape = [prepare(long_scenario(steps))]
        quiet = load_presets(["observe"])
        times = long // steps
        seconds = min(
            timed(lambda t=tape, q=quiet, n=times: loop_only(t, q, n))[0] for _ in range(4)
        )
        per[steps] = seconds / long
    print(
        f"cost of an iteration in an episode of {long:,} against {short}: "
        f"{per[long] / per[short]:.2f}; aim 1"
    )
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        one, _ = timed(lambda: full(tapes, presets, Path(folder) / "one.db", 1))
        ten, _ = timed(lambda: full(tapes, presets, Path(folder) / "ten.db", 10))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"10 times the episodes: {ten / one:.1f} times the time; aim at most 10.5; peak memory "
        f"{(after - before) / 1024:+.0f} MiB"
    )


if __name__ == "__main__":
    main()
