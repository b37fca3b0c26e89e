"""OpenHands: its event streams, old and new, and the rows of its evaluations.

Reads

- a trajectory: the JSON list of events that ``SAVE_TRAJECTORY_PATH`` or the web page writes (also
  under the key ``trajectory``), JSON Lines of events, or a folder with one event a file
  (``events/``), of V0 (``action`` and ``observation``) and of the software-agent SDK (``kind``);
  beside the SDK's events ``base_state.json`` says how many tokens each response took, and the end;
- rows of an evaluation (``output.jsonl``): ``history`` with what is known beside it
  (``instance_id``, ``instruction``, ``metrics``, ``error``, ``test_result``), also the resolver's
  (``issue``, ``success``).

The goal is the instruction, else the first message of a person. The system prompt and what the
machinery recalled for the agent are not copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from harness.errors import ImportFormatError
from harness.importers import _usage
from harness.importers._base import Place, shown, slug, unique
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._openhands_end import Ledger, ending_of_error, merged
from harness.importers._openhands_sdk import Sdk
from harness.importers._openhands_v0 import V0
from harness.importers._reading import json_document, json_records
from harness.importers._steps import recording

NAME = "openhands"
TITLE = "OpenHands event streams and evaluation rows, V0 and software-agent SDK"
LACKS: tuple[str, ...] = (
    "scores",
    "outcome (unless a row says whether the tests passed; the resolver's is a model's opinion)",
    "tokens of a reply that has neither usage nor metrics (totals are spread; tag spread:usage)",
    "time of a reply in streams without time stamps",
    "the reply itself where its calls could not be read (tool 'unparsed')",
    "the system prompt and recalled context (not copied)",
)
TOKENS = (
    "V0: the usage of each response, counted once however many events came from it; without it "
    f"the metrics of the row. {_usage.RULE} SDK: by response id where the row has metrics or the "
    "conversation a base_state.json, else the growth of the running totals (stats) up to the "
    "reply. In all of them responses that are no replies, as the condenser's, count to the reply "
    "behind them, so that sums are exact. prompt_tokens of metrics hold cache reads and writes "
    "unless those are more."
)
ITERATION = (
    "One response of the model with all its actions and their observations; without response ids, "
    "one action. A reply the machinery could not read is a failed call. A reply took as long as "
    "its recorded latency, else since the event before it; a call until its observation. A call "
    "failed where its observation says so (success, is_error), is an error or a rejection, or "
    "has an exit code that is not 0. An SDK observation without its action is a step of its own."
)
EXIT_REASON = (
    "Explicit: from the row's error, else the last state of agent or conversation (an SDK "
    "conversation's base_state.json goes before its events), else the last "
    "action: finished is agent_finished, awaiting input or confirmation is awaiting_user, rejected "
    "is blocked, a maximum of iterations or budget is max_iterations or cost_budget, any other "
    "error is error. Stuck in a loop is spin, inferred, because the detector does not say in "
    "which. Paused, stopped, running or nothing is unknown."
)

_EVENT_FILE = re.compile(r"(?:event[-_])?(\d+)(?:[-_].*)?\.json")


def fits(head: Head) -> bool:
    """Rows with a history beside an instance or issue; events; a folder of event files."""
    if head.kind == "folder":
        return any(name.rpartition("/")[0].endswith("events") for name in head.names) and any(
            _EVENT_FILE.fullmatch(name.rpartition("/")[2]) for name in head.names
        )
    if head.kind not in ("lines", "list", "object"):
        return False
    if isinstance(head.get("history"), list):
        return not head.has("trajectory") and any(
            head.has(key) for key in ("instance_id", "issue", "test_result")
        )
    if isinstance(inner := head.get("trajectory"), list) and inner:
        return _is_event(inner[0])
    return _is_event(head.first)


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict) or "id" not in value or "source" not in value:
        return False
    kind = value.get("kind")
    new = isinstance(kind, str) and kind.endswith(("Event", "Observation"))
    return new or (type(value["id"]) is int and ("action" in value) != ("observation" in value))


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each stream, or each row of an evaluation.

    Raises:
        ImportFormatError: A file is neither, or a folder holds no events.
    """
    seen: dict[str, int] = {}
    if path.is_dir():
        yield from _folder(path, intake, seen)
        return
    records = json_records(path, intake, what="event")
    place, first = next(records, (None, None))
    if place is None:
        return
    if isinstance(first, dict) and "history" in first:
        yield from _rows(place, first, records, intake, seen)
        return
    if isinstance(first, dict) and isinstance(first.get("trajectory"), list):
        inner = first["trajectory"]
        records = iter((place.at(f"event {n}"), event) for n, event in enumerate(inner, 1))
        place, first = next(records, (place, None))
    if not _is_event(first) and not (isinstance(first, dict) and "action" in first):
        raise place.error(
            "expected events ('action', 'observation' or 'kind') or rows with a 'history', "
            f"found {shown(first)}"
        )
    name = path.name.split(".")[0]
    yield from _stream(Place(path, "trajectory"), [(place, first), *records], name, intake, seen)


def _rows(
    place: Place, row: Any, rest: Iterator[tuple[Place, Any]], intake: Intake, seen: dict[str, int]
) -> Iterator[dict[str, Any]]:
    for spot, record in chain([(place, row)], rest):
        with intake.record(spot, record):
            yield _row(spot, record, seen)


def _stream(
    place: Place,
    events: list[tuple[Place, Any]],
    name: str,
    intake: Intake,
    seen: dict[str, int],
) -> Iterator[dict[str, Any]]:
    with intake.record(place, [event for _, event in events]):
        yield _recording(place, events, {}, name, seen)


def _folder(path: Path, intake: Intake, seen: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Each folder of event files is one stream, in the order of their numbers."""
    folders: dict[Path, list[tuple[int, Path]]] = {}
    for file in path.rglob("*.json"):
        if match := _EVENT_FILE.fullmatch(file.name):
            folders.setdefault(file.parent, []).append((int(match[1]), file))
    if not folders:
        raise ImportFormatError(
            f"{path}: the folder holds no event files (event-00000-ID.json, 0.json); to import "
            "trajectories or rows, name the files"
        )
    for folder, files in sorted(folders.items()):
        owner = folder.parent if folder.name == "events" else folder
        row = _state(owner / "base_state.json", intake) if folder != path else {}
        with intake.record(Place(folder, "events")):
            events = [
                (Place(file, "event"), json_document(file, intake)) for _, file in sorted(files)
            ]
            intake.raw = [event for _, event in events]
            yield _recording(Place(folder, "events"), events, row, owner.name, seen)


def _state(file: Path, intake: Intake) -> dict[str, Any]:
    """What the file of a conversation's state says, in the keys of a row."""
    place = Place(file, "document")
    if file.is_file():
        with intake.record(place):
            state = json_document(file, intake)
            stats = place.get_or_none(state, "stats", dict) or {}
            status = place.get_or_none(state, "execution_status", str)
            return {"metrics": merged(place.at("stats"), stats), "execution_status": status}
    return {}


def _row(place: Place, row: Any, seen: dict[str, int]) -> dict[str, Any]:
    history = place.get_or_none(row, "history", list) or []
    issue = place.get_or_none(row, "issue", dict)
    name = place.get_or_none(row, "instance_id", str)
    if name is None and issue is not None:
        parts = (issue.get("owner"), issue.get("repo"), issue.get("number"))
        name = "-".join(str(part) for part in parts if part is not None)
    events = [(place.at(f"event {n}"), event) for n, event in enumerate(_flat(history), 1)]
    return _recording(place, events, row, name or place.spot, seen)


def _flat(history: list[Any]) -> Iterator[Any]:
    """Events; the first evaluations wrote pairs of an action and its observation."""
    for item in history:
        yield from (item if isinstance(item, list) else (item,))


def _recording(
    place: Place,
    events: list[tuple[Place, Any]],
    row: dict[str, Any],
    name: str,
    seen: dict[str, int],
) -> dict[str, Any]:
    ledger = Ledger(place, row.get("metrics"))
    goal = place.get_or_none(row, "instruction", str)
    new = any(isinstance(event, dict) and "kind" in event for _, event in events)
    reader: Sdk | V0 = (
        Sdk(ledger, goal, place.get_or_none(row, "execution_status", str))
        if new
        else V0(ledger, goal, [event for _, event in events])
    )
    for spot, event in events:
        reader.take(spot, event)
    found = reader.found
    recorded = reader.told()
    if not found.steps:
        error = row.get("error")
        because = f"; the run failed with: {shown(error)}" if error else ""
        raise place.error(f"holds no reply or action of the agent{because}")
    if (words := place.get_or_none(row, "error", str)) is not None:
        recorded = ending_of_error(words)
    if (outcome := _outcome(place, row)) is not None:
        recorded = {**recorded, "outcome": outcome}
    return recording(
        unique(f"{NAME}/{slug(name)}", seen),
        f"OpenHands on {name}",
        f"{NAME}:{place.path.name}",
        found,
        recorded,
        tags=[NAME, *ledger.spread(found.steps)],
        tools=_tools(reader),
    )


def _tools(reader: Sdk | V0) -> list[str] | None:
    offered = reader.tools if isinstance(reader, Sdk) else []
    return sorted({*offered, *reader.found.tools()}) or None


def _outcome(place: Place, row: dict[str, Any]) -> str | None:
    """What the row says of the result: the tests' verdict, else the resolver's."""
    holders: Iterable[Any] = (row.get("report"), row.get("test_result"), row)
    for holder in holders:
        inner = holder.get("report", holder) if isinstance(holder, dict) else {}
        for about in (inner, holder):
            if isinstance(about, dict) and about.get("resolved") is not None:
                return "success" if place.get(about, "resolved", bool) else "failure"
    success = place.get_or_none(row, "success", bool) if "issue" in row else None
    return None if success is None else "success" if success else "failure"
