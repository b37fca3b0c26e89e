"""ReAct: WebShop and FEVER runs of the ReAct notebooks, one JSON object a line.

WebShop lines are ``{id, instruction, score, steps: [{action, observation}]}``, FEVER lines
``{idx, claim, gt, reward, steps_reported, steps: [{thought, action, observation}]}``; each line
says by its keys which it is.

Whether a graded purchase was good is a judgement: here a WebShop run succeeded if its score is
at least 0.5 (the benchmark's own "success" is 1.0). The score itself stands at the last step
and in a tag such as ``score:0.67``; ``score:none`` is a run that was never scored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.importers._base import (
    SCHEMA,
    ExitSource,
    Place,
    exit_tag,
    json_lines,
    shown,
    unique,
)

NAME = "react"
TITLE = "ReAct notebook runs: WebShop and FEVER"
LACKS: tuple[str, ...] = ("token counts", "cost", "times", "model name", "scores before the end")
TOKENS = "None recorded; usage is unknown, not zero."
ITERATION = (
    "One recorded step. A WebShop think[...] is a turn without a call; every other action is a "
    "call and its observation the result. FEVER's thought is the text of the turn that acts."
)
EXIT_REASON = (
    "agent_finished is explicit where the environment ended the run (a WebShop score, a FEVER "
    "Finish), and inferred where a WebShop run ends with a purchase that got no score. "
    "max_iterations is inferred from a run of full length (WebShop 14, FEVER 7) without such an "
    "end. Anything else is unknown."
)

#: From this WebShop score on a run counts as a success.
GOOD_SCORE = 0.5
#: WebShop allows 15 steps, of which the environment's own reset is the first.
WEBSHOP_LIMIT = 14
FEVER_LIMIT = 7

_ACTION = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)
_THINK = re.compile(r"think\[(.*?)\]?", re.DOTALL)
#: The notebook printed its running averages below the last observation of each run.
_AVERAGES = re.compile(r"\s*^\d+ [\d.e-]+ [\d.e-]+ [\d.e-]+\n-{5,}[-\s\d.e]*\Z", re.MULTILINE)
_AVERAGES_AT = 200  # characters from the end, within which they stand
_INVALID = "Invalid action"


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield one recording for each line of a WebShop or FEVER file.

    A call failed if the environment answered "Invalid action"; a search that found nothing
    did not fail. An action that is no ``name[input]`` becomes a failed call of the tool
    ``unparsed``. The running averages the notebook printed after a run are cut off.

    Raises:
        ImportFormatError: A line is of neither kind, or has another shape.
    """
    seen: set[str] = set()
    for place, record in json_lines(path):
        keys = record.keys() if isinstance(record, dict) else ()
        if "instruction" in keys:
            recording = _webshop(place, record)
        elif "claim" in keys:
            recording = _fever(place, record)
        else:
            raise place.error(
                "expected a WebShop run (key 'instruction') or a FEVER run (key 'claim'), "
                f"found {shown(list(keys) if keys else record)}"
            )
        recording["id"] = unique(recording["id"], seen)
        yield recording


def _webshop(place: Place, record: dict[str, Any]) -> dict[str, Any]:
    number = place.count(record, "id")
    if "score" not in record:
        place.get(record, "score", float)
    score = None if record["score"] is None else place.number(record, "score")
    steps = []
    rows = _rows(place, record)
    for spot, row in rows:
        action = spot.get(row, "action", str)
        result = spot.get_or_none(row, "observation", str)
        if thought := _THINK.fullmatch(action):
            steps.append(_step(thought[1], None))
        else:
            steps.append(_step("", _call(action, result, last=len(steps) + 1 == len(rows))))
    reason, source = _webshop_exit(score, steps)
    if score is not None:
        steps[-1]["score"] = score
    good = score is not None and score >= GOOD_SCORE
    return _recording(
        place,
        scenario_id=f"{NAME}/webshop/{number:03d}",
        title=f"WebShop run {number}",
        goal=place.get(record, "instruction", str),
        tools=["click", "search"],
        tags=["webshop", "score:none" if score is None else f"score:{score:.2f}"],
        steps=steps,
        ended=(reason, source),
        outcome="success" if good else "failure",
        limit=WEBSHOP_LIMIT,
    )


def _webshop_exit(
    score: float | None, steps: list[dict[str, Any]]
) -> tuple[str | None, ExitSource]:
    if score is not None:
        return "agent_finished", "explicit"
    for call in steps[-1].get("calls", ()):
        if call["ok"] and call["args"]["input"].lower() == "buy now":
            return "agent_finished", "inferred"
    return _limit_exit(steps, WEBSHOP_LIMIT)


def _fever(place: Place, record: dict[str, Any]) -> dict[str, Any]:
    number = place.count(record, "idx")
    right = place.number(record, "reward") == 1
    steps: list[dict[str, Any]] = []
    for thought, action, result in _fever_turns(_rows(place, record)):
        steps.append(_step(thought, _call(action, result)))
    finished = [call for call in steps[-1]["calls"] if call["tool"] == "Finish" and call["ok"]]
    reason, source = _limit_exit(steps, FEVER_LIMIT)
    if finished:
        reason, source = "agent_finished", "explicit"
        # Without a Finish the reward is for an empty answer that the notebook gave instead.
        steps[-1]["score"] = float(right)
    return _recording(
        place,
        scenario_id=f"{NAME}/fever/{number}",
        title=f"FEVER claim {number}",
        goal=place.get(record, "claim", str),
        tools=["Finish", "Lookup", "Search"],
        tags=["fever"],
        steps=steps,
        ended=(reason, source),
        outcome="success" if right else "failure",
        limit=FEVER_LIMIT,
    )


def _fever_turns(rows: list[tuple[Place, Any]]) -> Iterator[tuple[str, str, str | None]]:
    """(thought, action, observation) of each turn.

    A turn whose text held the action on a line of its own came apart into two rows: the thought
    with the observation, then the action alone. It is put together again.
    """
    turns: list[tuple[str, str, str | None]] = []
    for spot, row in rows:
        thought = spot.get_or_none(row, "thought", str)
        action = spot.get(row, "action", str)
        result = spot.get_or_none(row, "observation", str)
        if turns and thought is None and result is None and turns[-1][1] == "":
            turns[-1] = (turns[-1][0], action, turns[-1][2])
        else:
            turns.append((thought or "", action, result))
    yield from turns


def _rows(place: Place, record: dict[str, Any]) -> list[tuple[Place, Any]]:
    rows = place.get(record, "steps", list)
    if not rows:
        raise place.error("key 'steps' is an empty list; a recording has at least one step")
    return [(place.at(f"step {number}"), row) for number, row in enumerate(rows, 1)]


def _step(text: str, call: dict[str, Any] | None) -> dict[str, Any]:
    step: dict[str, Any] = {"reply": {"text": text}} if text else {}
    if call is not None:
        step["calls"] = [call]
    return step


def _call(action: str, result: str | None, *, last: bool = False) -> dict[str, Any]:
    failed = (result or "").startswith(_INVALID)
    if parsed := _ACTION.fullmatch(action):
        call: dict[str, Any] = {"tool": parsed[1], "args": {"input": parsed[2]}}
    else:
        # Where the parser lost the action altogether, the environment's answer still quotes it.
        text = action or (result or "").removeprefix(f"{_INVALID}: ")
        call = {"tool": "unparsed", "args": {"input": text}}
        failed = True
    if result is not None:
        call["result"] = _without_averages(result) if last else result
    return call | {"ok": not failed}


def _without_averages(result: str) -> str:
    return result[:-_AVERAGES_AT] + _AVERAGES.sub("", result[-_AVERAGES_AT:])


def _limit_exit(steps: list[dict[str, Any]], limit: int) -> tuple[str | None, ExitSource]:
    return ("max_iterations", "inferred") if len(steps) == limit else (None, "unknown")


def _recording(
    place: Place,
    *,
    scenario_id: str,
    title: str,
    goal: str,
    tools: list[str],
    tags: list[str],
    steps: list[dict[str, Any]],
    ended: tuple[str | None, ExitSource],
    outcome: str,
    limit: int,
) -> dict[str, Any]:
    reason, source = ended
    recorded: dict[str, Any] = {"exit_reason": reason} if reason else {}
    recorded["outcome"] = outcome
    if reason == "max_iterations":
        recorded["limits"] = {"max_iterations": limit}
    return {
        "schema": SCHEMA,
        "id": scenario_id,
        "title": title,
        "source": f"{NAME}:{place.path.name}",
        "goal": goal,
        "tags": [NAME, *tags, exit_tag(source)],
        "tools": tools,
        "steps": steps,
        "recorded": recorded,
    }
