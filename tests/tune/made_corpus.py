"""Observed runs made from numbers, so that what is true of them is known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.exits import ExitReason
from harness.guards import Guard
from harness.preset import guard_data
from harness.task import Limits
from harness.tune.corpus import Corpus, Readings
from harness.tune.readings import Signals, structure

NAN = float("nan")


def settings(guard: Guard) -> str:
    data = guard_data(guard)
    kept = {k: v for k, v in data.items() if k not in ("kind", "threshold", "on_fire")}
    return json.dumps(kept, sort_keys=True)


def corpus(
    lengths: Sequence[int],
    guards: Mapping[str, tuple[Guard, Sequence[Sequence[float]]]] | None = None,
    *,
    scores: Sequence[Sequence[float]] | None = None,
    succeeded: Sequence[bool] | None = None,
    tasks: Sequence[str] | None = None,
    costs: Sequence[Sequence[int]] | None = None,
    lower: bool | Sequence[bool] = False,
    end: Sequence[ExitReason] | None = None,
    **more: Any,
) -> Corpus:
    """A corpus; ``guards`` are guards with signals by episode, ``costs`` those of each iteration.

    Episodes succeeded, unscored, and each works on a task of its own, unless told otherwise.
    """
    n, offsets = len(lengths), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    total = int(offsets[-1])
    down = np.broadcast_to(np.array(lower), n)
    flat = np.array([s for one in scores for s in one]) if scores else np.full(total, NAN)
    best = flat.copy()
    for e in range(n):
        for at in range(offsets[e] + 1, offsets[e + 1]):
            best[at] = (np.fmin if down[e] else np.fmax)(best[at - 1], flat[at])
    cost = [np.cumsum(one) for one in costs] if costs else [np.zeros(k, int) for k in lengths]
    won = [True] * n if succeeded is None else succeeded
    readings, signals = {}, {}
    for name, (guard, values) in (guards or {}).items():
        joined = np.array([s for one in values for s in one], dtype=np.float64)
        readings[name] = Readings(guard.kind(), settings(guard), joined)
        signals[structure(guard)] = Signals(joined, np.ones(n, dtype=bool))
    zeros, yes = np.zeros(total, dtype=np.int64), np.ones(total, dtype=bool)
    fields = {
        "run_id": "made", "preset": "observe", "preset_hash": "0",
        "scenarios": tuple(f"s{e}" for e in range(n)), "families": ("made",) * n,
        "tasks": tuple(tasks or (f"t{e}" for e in range(n))), "tags": ((),) * n,
        "models": (None,) * n, "contents": tuple(f"c{e}" for e in range(n)), "offsets": offsets,
        "cost": np.concatenate(cost).astype(np.int64), "cost_known": yes, "role_cost": zeros,
        "tokens": zeros, "role_tokens": zeros, "elapsed": zeros - 1, "score": flat, "best": best,
        "lower": down.copy(), "outcome": tuple("success" if w else "failure" for w in won),
        "end": tuple(end or (ExitReason.AGENT_FINISHED,) * n), "replay": ("exact",) * n,
        "recorded": ({},) * n, "limits": (Limits(),) * n, "fixed_at": np.zeros(n, dtype=np.int64),
        "fixed_rank": np.full(n, np.inf), "fixed_reason": (None,) * n,
        "phased": np.zeros(n, dtype=bool), "answered": np.zeros(n, dtype=bool),
        "answers": np.zeros(total, dtype=bool), "fork": np.zeros(n, dtype=np.int64),
        "tokens_known": yes, "guards": readings, "signals": signals,
    }  # fmt: skip
    known = Corpus.__dataclass_fields__
    return Corpus(**{k: v for k, v in (fields | more).items() if k in known})
