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

from harness.importers._base import SCHEMA, Place, at_limit, inferred, shown, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._reading import json_lines

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


def fits(head: Head) -> bool:
    """Lines of WebShop (``instruction``) or FEVER (``claim``), with steps that have actions."""
    kind = head.has("instruction", "score") or head.has("claim", "reward")
    return head.kind == "lines" and kind and head.has("steps")


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each line of a WebShop or FEVER file.

    A call failed if the environment answered "Invalid action"; a search that found nothing
    did not fail. An action that is no ``name[input]`` becomes a failed call of the tool
    ``unparsed``. The running averages the notebook printed after a run are cut off.

    Raises:
        ImportFormatError: A line is of neither kind, or has another shape.
    """
    seen: dict[str, int] = {}
    for place, record in json_lines(path, intake):
        with intake.record(place, record):
            recording = _recording(place, record)
            recording["id"] = unique(recording["id"], seen)
            yield recording


def _recording(place: Place, record: Any) -> dict[str, Any]:
    keys = record.keys() if isinstance(record, dict) else ()
    if "instruction" in keys:
        return _webshop(place, record)
    if "claim" in keys:
        return _fever(place, record)
    raise place.error(
        "expected a WebShop run (key 'instruction') or a FEVER run (key 'claim'), "
        f"found {shown(list(keys) if keys else record)}"
    )


def _webshop(place: Place, record: dict[str, Any]) -> dict[str, Any]:
    number = place.count(record, "id")
    score = place.number_or_null(record, "score")
    steps: list[dict[str, Any]] = []
    rows = _rows(place, record)
    for spot, row in rows:
        action = spot.get(row, "action", str)
        result = spot.get_or_none(row, "observation", str)
        if len(steps) + 1 == len(rows) and result:
            result = _without_averages(result)
        thought = _THINK.fullmatch(action)
        steps.append(_step(thought[1]) if thought else _step("", _call(action, result)))
    if score is not None:
        steps[-1]["score"] = score
    good = score is not None and score >= GOOD_SCORE
    return {
        "schema": SCHEMA,
        "id": f"{NAME}/webshop/{number:03d}",
        "title": f"WebShop run {number}",
        "source": f"{NAME}:{place.path.name}",
        "goal": place.get(record, "instruction", str),
        "tags": [NAME, "webshop", "score:none" if score is None else f"score:{score:.2f}"],
        "tools": ["click", "search"],
        "steps": steps,
        "recorded": {**_webshop_ending(steps), "outcome": "success" if good else "failure"},
    }


def _webshop_ending(steps: list[dict[str, Any]]) -> dict[str, Any]:
    last = steps[-1]
    if "score" in last:
        return {"exit_reason": "agent_finished"}
    for call in last.get("calls", ()):
        if call["ok"] and call["args"]["input"].lower() == "buy now":
            return inferred({"exit_reason": "agent_finished"})
    return inferred(at_limit(steps, WEBSHOP_LIMIT))


def _fever(place: Place, record: dict[str, Any]) -> dict[str, Any]:
    number = place.count(record, "idx")
    right = place.number(record, "reward") == 1
    turns = _fever_turns(_rows(place, record))
    steps = [_step(thought, _call(action, result)) for thought, action, result in turns]
    (last,) = steps[-1]["calls"]
    if last["tool"] == "Finish" and last["ok"]:
        ending: dict[str, Any] = {"exit_reason": "agent_finished"}
        # Without a Finish the reward is for an empty answer that the notebook gave instead.
        steps[-1]["score"] = float(right)
    else:
        ending = inferred(at_limit(steps, FEVER_LIMIT))
    return {
        "schema": SCHEMA,
        "id": f"{NAME}/fever/{number}",
        "title": f"FEVER claim {number}",
        "source": f"{NAME}:{place.path.name}",
        "goal": place.get(record, "claim", str),
        "tags": [NAME, "fever"],
        "tools": ["Finish", "Lookup", "Search"],
        "steps": steps,
        "recorded": {**ending, "outcome": "success" if right else "failure"},
    }


def _fever_turns(rows: list[tuple[Place, Any]]) -> list[tuple[str, str, str | None]]:
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
    return turns


def _rows(place: Place, record: dict[str, Any]) -> list[tuple[Place, Any]]:
    rows = place.get(record, "steps", list)
    if not rows:
        raise place.error("key 'steps' is an empty list; a recording has at least one step")
    return [(place.at(f"step {number}"), row) for number, row in enumerate(rows, 1)]


def _step(text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    step: dict[str, Any] = {"reply": {"text": text}} if text else {}
    return step | {"calls": list(calls)} if calls else step


def _call(action: str, result: str | None) -> dict[str, Any]:
    answer = result or ""
    parsed = _ACTION.fullmatch(action)
    if parsed:
        tool, text = parsed.groups()
    else:
        # Where the parser lost the action altogether, the environment's answer still quotes it.
        tool, text = "unparsed", action or answer.removeprefix(f"{_INVALID}: ")
    call: dict[str, Any] = {"tool": tool, "args": {"input": text}}
    if result is not None:
        call["result"] = result
    return call | {"ok": bool(parsed) and not answer.startswith(_INVALID)}


def _without_averages(result: str) -> str:
    return result[:-_AVERAGES_AT] + _AVERAGES.sub("", result[-_AVERAGES_AT:])
