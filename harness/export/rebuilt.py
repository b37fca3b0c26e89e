"""A recording put together again from what a store holds, where its file is gone.

The store keeps what guards compare and people read, not the whole recording; what is missing is
said in the scenario's ``source`` and by whoever exports it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.scenario import SCHEMA
from harness.store.database import Store
from harness.store.queries import query

#: What a store does not hold of a recording.
LACKS = (
    "steps behind the end of the episode, and branches that it did not take",
    "the words of judge, verifier and the other roles",
    "phases, capabilities, completion marker, score scale and declared tools of the task",
    "handlers, writes, confirmations, loop names, idle times, and key and builtin marks of calls",
    "line breaks of outputs, plans and feedback; null members of arguments",
)
#: Tag of a scenario that is not the whole recording.
TAG = "rebuilt from a store"
#: Branch of the iterations that a live model added.
LIVE = "live"
_TEXTS = ("reply", "output", "feedback", "plan", "user", "nudge")


def rebuilt(store: Store, row: Mapping[str, Any]) -> dict[str, Any]:
    """What the store holds of an episode's recording, as a scenario.

    Args:
        store: Where the episode is.
        row: The episode.

    Returns:
        Plain data, marked as incomplete. A score is the mapped one, arguments are canonical.
    """
    key = {"episode": row["episode_id"]}
    (scenario,) = store.rows(
        "SELECT title, goal, direction, limits, recorded FROM scenarios WHERE content_hash = ?",
        [row["content_hash"]],
    )
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "id": row["scenario"],
        "title": scenario["title"],
        "source": f"rebuilt from episode {row['episode_id']}; lacks {'; '.join(LACKS)}",
        "goal": scenario["goal"],
        "direction": scenario["direction"],
        "tags": [TAG],
        "limits": json.loads(scenario["limits"]),
        "recorded": json.loads(scenario["recorded"]),
    }
    calls: dict[int, list[dict[str, Any]]] = {}
    for call in store.rows(query("calls"), key):
        calls.setdefault(call["iteration"], []).append(_call(call))
    replies = {
        reply["iteration"]: reply
        for reply in store.rows(
            "SELECT * FROM llm_calls WHERE episode_id = $episode AND role = 'actor' AND n = 1", key
        )
    }
    trunk: list[dict[str, Any]] = []
    branches: dict[str, list[list[dict[str, Any]]]] = {}
    target = trunk
    for iteration in store.rows(_ITERATIONS, key):
        number, branch = iteration["iteration"], iteration["branch"]
        step = _step(iteration, replies[number], calls.get(number, []))
        if branch and branch != LIVE:
            # Branches before this one were taken, too: a loop goes through them in order.
            kind, _, at = branch.rstrip("]").partition("[")
            lists = branches.setdefault(kind, [])
            lists.extend([] for _ in range(int(at) + 1 - len(lists)))
            target = lists[int(at)]
        # What a live model added belongs to where it went on.
        target.append(step)
    data["steps"] = trunk
    if branches:
        data["branches"] = branches
    return {name: value for name, value in data.items() if value not in ("", {})}


_ITERATIONS = (
    "SELECT i.iteration, i.branch, i.score, i.score_source, "
    + ", ".join(f"m_{name}.text AS {name}" for name in _TEXTS)
    + " FROM iterations i "
    + " ".join(f"LEFT JOIN messages m_{name} ON m_{name}.hash = i.{name}_hash" for name in _TEXTS)
    + " WHERE i.episode_id = $episode ORDER BY i.iteration"
)


def _step(
    iteration: Mapping[str, Any], reply: Mapping[str, Any], calls: list[dict[str, Any]]
) -> dict[str, Any]:
    counts = ("input", "cache_read", "cache_write", "output", "reasoning")
    usage = {name: reply["input_uncached" if name == "input" else name] for name in counts}
    said = {
        "text": iteration["reply"],
        "model": reply["model"],
        "finish_reason": reply["finish_reason"],
        "ms": reply["ms"],
        "usage": None if usage["input"] is None else usage,
        "error": reply["error"],
    }
    step: dict[str, Any] = {
        "user": iteration["user"],
        "nudge": iteration["nudge"],
        "reply": {name: value for name, value in said.items() if value not in (None, "")},
        "calls": calls,
        "output": iteration["output"],
        "plan": iteration["plan"],
        "feedback": iteration["feedback"],
        "score": iteration["score"] if iteration["score_source"] == "measured" else None,
    }
    return {name: value for name, value in step.items() if value not in (None, {}, [])}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    args = json.loads(call["args"])
    made = {
        "tool": call["tool"],
        "args": args or None,
        "result": call["result"],
        "ok": call["ok"],
        "exit_code": call["exit_code"],
        "ms": call["ms"],
    }
    return {name: value for name, value in made.items() if value is not None}
