"""Random corpora and presets for the laws of tuning, from a seed.

Seeded rather than drawn by Hypothesis: one corpus is judged under many presets, and its store is
written once.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any, Literal, get_args, get_origin, get_type_hints

from harness.episode import Episode
from harness.guards import Guard, catalogue
from harness.loop import run_episode
from harness.mechanisms import Continuity, Judge, Mechanisms, SpinLayers, Verification
from harness.preset import Preset
from harness.run import begin, complete
from harness.scenario import Scenario
from harness.store.database import Store
from harness.tune.corpus import Corpus, read
from harness.tune.sweep import Exits
from harness.turns import Tape, prepare
from harness.worker import Buffer
from tests import traces
from tests.examples import scenario, step

#: All kinds that need nothing but settings; combinations are made of these.
PLAIN = [kind for kind, cls in catalogue().items() if "guards" not in cls.__dataclass_fields__]
THRESHOLDS = [0, 0.02, 0.1, 0.5, 0.85, 1, 2, 3, 4, 150, 2000, 62_000, 21_000_000, 2.5, -1]
THRESHOLDS += [math.inf, -math.inf]
_VERDICTS: list[Any] = [
    {"done": False, "reason": "More to do.", "evidence": ["a"], "score": 0.4, "progress": "none"},
    {"done": False, "reason": "More to do.", "evidence": [], "score": 0.7},
    {"done": True, "reason": "All there.", "evidence": ["tests pass"], "score": 0.9},
    {"done": False, "reason": "Stuck.", "evidence": ["x"], "next_action": "pause"},
    {"done": False, "reason": "No key.", "evidence": ["x"], "failure_type": "blocked"},
    {"done": False, "reason": "Small.", "evidence": ["x"],
     "issues": [{"description": "a comma", "severity": "minor", "fixable": True}]},
    {"done": False, "reason": "Lost.", "evidence": ["x"],
     "issues": [{"description": "gone", "severity": "serious", "fixable": False}]},
    {"done": False, "phase_done": True, "reason": "Next.", "evidence": ["x"]},
]  # fmt: skip
_REPLY = {"model": "gpt-4o-mini", "usage": {"input": 40, "output": 4}, "ms": 30}
_SAID = [
    "I am blocked: I cannot continue without the password.",
    "Which one do you want? Please choose.",
    "Work goes on.",
    "TASK COMPLETE",
]
_LIMITS: list[dict[str, Any]] = [
    {}, {}, {"max_rounds": 2}, {"patience": 2}, {"stagnation_window": 1, "min_delta": 0.1},
    {"quality": 0.5, "max_iterations": 3}, {"time_budget_s": 2, "spin": 2}, {"tool_budget": 2},
    {"oscillation": 3, "parse_failures": 1, "cost_budget_usd": 0.00002, "token_budget": 200},
]  # fmt: skip
_MECHANISMS = [
    Mechanisms(),
    Mechanisms(),
    Mechanisms(triage=True),
    Mechanisms(triage=True, judge=Judge()),
    Mechanisms(judge=Judge(), gates=True, work_order=True),
    Mechanisms(structured_issues=True, judge=Judge()),
    Mechanisms(spin_layers=SpinLayers(run=2), continuity=Continuity()),
    Mechanisms(verification=Verification(every=2), triage=True),
]


def guard(rng: Random, kind: str) -> Guard:
    """A guard of this kind with any settings."""
    cls = catalogue()[kind]
    hints = get_type_hints(cls)
    names = [f.name for f in fields(cls) if f.name not in ("threshold", "on_fire")]
    while True:
        values = {name: _value(rng, hints[name]) for name in names}
        try:
            return cls(threshold=rng.choice(THRESHOLDS), **values)
        except ValueError:
            continue


def _value(rng: Random, hint: Any) -> Any:
    if hint is int:
        return rng.randint(1, 5)
    if get_origin(hint) is Literal:
        return rng.choice(get_args(hint))
    item = get_args(hint)[0]
    if item is Guard:
        return tuple(guard(rng, rng.choice(PLAIN)) for _ in range(rng.randint(1, 3)))
    options = list(get_args(item))
    return tuple(rng.sample(options, rng.randint(1, min(3, len(options)))))


def steps(rng: Random, *, users: bool, told: bool) -> list[dict[str, Any]]:
    """A trace of the alphabets of ``tests.traces``, with what judges and verifiers recorded."""
    return [_step(rng, users=users, told=told) for _ in range(rng.randint(1, 9))]


def _step(rng: Random, *, users: bool, told: bool) -> dict[str, Any]:
    reply = dict(rng.choice(traces._REPLIES))
    more: dict[str, Any] = {}
    if told:
        if rng.random() < 0.3:
            reply["text"] = rng.choice(_SAID)
        if rng.random() < 0.7:
            text = json.dumps(rng.choice(_VERDICTS)) if rng.random() < 0.85 else "Fine!"
            more["judge"] = {"error": "timeout"} if rng.random() < 0.1 else {"text": text, **_REPLY}
        if rng.random() < 0.2:
            verdict = {"satisfied": rng.random() < 0.5, "reasoning": "Looked."}
            more["roles"] = {"verifier": [json.dumps(verdict)] * 2}
    return step(
        *rng.sample(traces._CALLS, rng.choice([0, 1, 1, 2])),
        **reply,
        score=rng.choice(traces._SCORES),
        output=rng.choice(traces._TEXTS),
        feedback="" if told and rng.random() < 0.1 else rng.choice(traces._TEXTS),
        plan=rng.choice([None, None, "Rewrite it."]),
        writes=rng.choice(traces._WRITES),
        idle_ms=rng.choice([0, 0, 500]),
        user=rng.choice([None, None, "Please go on."]) if users else None,
        **more,
    )


def recording(rng: Random, name: str) -> Scenario:
    """A scenario with any head that exits depend on."""
    told = rng.random() < 0.5
    head: dict[str, Any] = {
        "direction": rng.choice(["higher", "lower"]),
        "tools": rng.choice([None, [], ["read", "run"], {"poll": {"waits": True}}]),
        "limits": rng.choice(_LIMITS),
        "completion_marker": "TASK COMPLETE" if rng.random() < 0.5 else None,
        "recorded": rng.choice([{}, {"exit_reason": "max_rounds"}, {"outcome": "success"},
                                {"exit_reason": "agent_finished"}]),
    }  # fmt: skip
    if rng.random() < 0.07:
        check = {"id": "file", "kind": "file_exists", "path": "a"}
        head["phases"] = [{"id": "draft", "checks": [check]}, {"id": "end", "checks": []}]
    made = steps(rng, users=rng.random() < 0.3, told=told)
    return scenario(made, id=name, **head)


def observed_preset(rng: Random) -> Preset:
    """Several guards to observe, some of one kind, some joined."""
    kinds = rng.sample(PLAIN, rng.randint(2, 6))
    kinds += [rng.choice(kinds)] + [rng.choice(["any_of", "all_of"])] * rng.randint(0, 2)
    rng.shuffle(kinds)
    named: dict[str, Guard] = {}
    for kind in kinds:
        # The plain name first: a task's limits look for it.
        name = kind if kind not in named and rng.random() < 0.7 else f"{kind}_{len(named)}"
        named[name] = guard(rng, kind)
    return Preset(name="base", guards=named, mechanisms=rng.choice(_MECHANISMS), observe=True)


def candidate(rng: Random, base: Preset, corpus: Corpus, number: int) -> Preset:
    """A passive preset over the guards of ``base``: other thresholds, actions, order, fewer."""
    # Structured issues read the quality threshold, which then has to stay.
    kept = base.mechanisms.structured_issues
    read = {name for name, one in base.guards.items() if kept and one.kind() == "quality"}
    names = [name for name in base.guards if name in read or rng.random() < 0.75]
    if rng.random() < 0.2:
        rng.shuffle(names)
    chosen: dict[str, Guard] = {}
    for name in names:
        threshold = float(rng.choice(THRESHOLDS))
        if name in read:
            chosen[name] = replace(base.guards[name], on_fire="stop")
            continue
        signals = corpus.guards[name].signals if name in corpus.guards else []
        seen = [s for s in signals if s == s]
        if seen and rng.random() < 0.7:
            threshold = float(rng.choice(seen))
        if rng.random() < 0.07:
            threshold = math.nextafter(threshold, math.inf)
        action = rng.choice(["stop", "stop", "stop", "pause", "escalate", "observe", "warn"])
        chosen[name] = replace(base.guards[name], threshold=threshold, on_fire=action)
    return replace(base, name=f"candidate-{number}", guards=chosen, observe=rng.random() < 0.02)


@dataclass(frozen=True)
class Made:
    """An observed run: its recordings, what they were observed under, and what was read."""

    tapes: dict[str, Tape]
    base: Preset
    corpus: Corpus


def observe(store: Store, run_id: str, scenarios: list[Scenario], base: Preset) -> Made:
    """Observe recordings and read them back."""
    start, _ = begin(store, run_id, {"paths": []})
    buffer = Buffer(run_id, start * 1_000_000)
    tapes = {one.id: prepare(one, wait_ms=base.wait_ms) for one in scenarios}
    for tape in tapes.values():
        for repetition in range(2):
            episode = run_episode(tape, base, observe=True, repetition=repetition)
            buffer.add(tape.scenario, base, episode)
    store.write(buffer.take())
    complete(store, run_id)
    return Made(tapes, base, read(store, run_id))


def random_run(store: Store, seed: int, episodes: int = 8) -> Made:
    """A random run of a seed."""
    rng = Random(seed)  # noqa: S311
    scenarios = [recording(rng, f"made/{seed}-{number}") for number in range(episodes)]
    return observe(store, f"run-{seed}", scenarios, observed_preset(rng))


def told(episode: Episode) -> dict[str, Any]:
    """What an episode came to: where it ended, by what, and what it had taken by then."""
    replies = [reply for it in episode.iterations for reply in it.replies]
    usages = [reply.usage for reply in replies]
    guard = episode.exit_guard
    return {
        "iteration": episode.exit_iteration,
        "reason": episode.exit_reason,
        "guard": guard if guard in {series.guard for series in episode.series} else None,
        "cost": episode.cost_pico_usd,
        "known cost": sum(reply.cost or 0 for reply in replies),
        "role cost": sum(reply.cost or 0 for reply in replies if reply.role != "actor"),
        "tokens": None if None in usages else sum(usage.total for usage in usages),
        "known tokens": sum(usage.total for usage in usages if usage),
        "best": episode.best_score,
        "elapsed": episode.elapsed[-1],
    }


def cell(corpus: Corpus, found: Exits, preset: int, episode: int) -> dict[str, Any]:
    """The same of a cell of a sweep."""
    iteration = int(found.iteration[preset, episode])
    by = int(found.by[preset, episode])
    reason, guard = found.reasons[by] if by >= 0 else (corpus.end[episode], "")
    at = int(corpus.offsets[episode]) + iteration - 1
    best, elapsed = float(corpus.best[at]), int(corpus.elapsed[at])
    return {
        "iteration": iteration,
        "reason": reason,
        "guard": guard or None,
        "cost": int(corpus.cost[at]) if corpus.cost_known[at] else None,
        "known cost": int(corpus.cost[at]),
        "role cost": int(corpus.role_cost[at]),
        "tokens": int(corpus.tokens[at]) if corpus.tokens_known[at] else None,
        "known tokens": int(corpus.tokens[at]),
        "best": None if best != best else best,
        "elapsed": None if elapsed < 0 else elapsed,
    }
