"""Model calls with no span around them, each a trace of its own."""

from __future__ import annotations

import json
from typing import Any

from harness.importers.otlp import grouped, spans_from
from tests.importers.otlp_requests import CHAT, Write, answer, ask, back, read, request, span

SYSTEM = {"role": "system", "content": "You cook."}
GOAL = ask("Boil water.")
HEAT = answer("I heat.", ("c1", "heat", '{"to": 100}'))
HOT = back("c1", "hot")
LOOK = answer("", ("c2", "look", "{}"))
SEEN = back("c2", "it boils")
DONE = answer("It boils.")
MINUTE = 60_000


def call(
    number: int,
    asked: list[Any],
    reply: dict[str, Any] | None,
    *,
    at: int | None = None,
    ms: int = 10,
    error: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A model call as a trace of its own, the tenth of a second after the one before."""
    about = {**CHAT, **more}
    if asked:
        about["gen_ai.input.messages"] = json.dumps(asked)
    if reply is not None:
        about["gen_ai.output.messages"] = json.dumps([reply])
    when = number * 100 if at is None else at
    return span(1, about, at=when, ms=ms, trace=f"{number:032x}", name="chat m", error=error)


def blind(number: int, reason: str = "tool_calls", **more: Any) -> dict[str, Any]:
    """The same, without content."""
    return call(number, [], None, **{"gen_ai.response.finish_reasons": [reason], **more})


def loop(begin: int, goal: dict[str, Any] = GOAL, step: int = 1) -> list[dict[str, Any]]:
    """Three calls of an agent with two tools."""
    talk = [SYSTEM, goal]
    turns = [(talk, HEAT), ([*talk, HEAT, HOT], LOOK), ([*talk, HEAT, HOT, LOOK, SEEN], DONE)]
    return [call(begin + n * step, asked, reply) for n, (asked, reply) in enumerate(turns)]


def runs(write_lines: Write, *spans: dict[str, Any], **resource: Any) -> list[list[str]]:
    """The traces of each recording, as their numbers, from a file and from memory."""
    requests = [request(one, resource=resource) for one in spans]
    file = write_lines(*requests)
    steps = [len(recording["steps"]) for recording in read(file)]
    taken = [one for each in requests for one in spans_from(each)]
    found = grouped(sorted(taken, key=lambda one: one.start_ns or 0))
    assert steps == [len(members) for members in found.values()]
    return [[str(int(one.trace_id, 16)) for one in members] for members in found.values()]
