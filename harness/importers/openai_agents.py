"""OpenAI Agents SDK: traces and spans as its processors export them.

Reads what ``trace.export()`` and ``span.export()`` return, one a line, in a list, or in batches
(``{"data": [...]}``) as they are sent. Of a response the SDK itself exports only id and usage; a
processor that also writes ``input`` and ``response`` into its ``span_data`` makes whole recordings.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.importers import _usage
from harness.importers._base import Place
from harness.importers._head import Head
from harness.importers._intake import Intake
from harness.importers._messages import moment_ns
from harness.importers._reading import json_records
from harness.importers._spans import agents_sdk as _agents_sdk
from harness.importers._spans import conversations as _conversations
from harness.importers._spans import traces as _traces
from harness.importers._spans import tree as _tree
from harness.importers._spans.span import Span
from harness.importers._spans.spool import spool

NAME = "openai-agents"
TITLE = "OpenAI Agents SDK traces"
LACKS: tuple[str, ...] = (
    "what was said, where a span of a response holds only its id (tag content:none)",
    *_traces.LACKS[1:],
)
TOKENS = _usage.RULE
ITERATION = (
    "One recording for each group (group_id of a trace), else for each trace. Spans of a "
    "generation or a response are model calls, of a function executions. "
    f"{_conversations.LONE} {_tree.ITERATION}"
)
EXIT_REASON = f"An error of a turn is one of the agent's run. {_traces.EXIT_REASON}"

_OBJECTS = ("trace", "trace.span")


def fits(head: Head) -> bool:
    """A trace, a span, or a batch of them."""
    data = head.get("data")
    first = data[0] if isinstance(data, list) and data else head.first
    return isinstance(first, dict) and first.get("object") in _OBJECTS


def read(path: Path, intake: Intake) -> Iterator[dict[str, Any]]:
    """Yield one recording for each group or trace of a file.

    Raises:
        ImportFormatError: The file is not of this format, or no span is a model call.
    """
    reader = _Reader()
    with spool() as kept:
        for place, record in json_records(path, intake, what="item"):
            batch = record.get("data") if isinstance(record, dict) else None
            items = batch if isinstance(batch, list) else [record]
            for number, item in enumerate(items, 1):
                spot = place if items[0] is record else place.at(f"item {number}")
                with intake.record(spot, item):
                    kept.add(reader.spans(spot, item))
        wanted = "of a generation or a response"
        yield from _traces.recordings_in(kept, path, intake, source=NAME, wanted=wanted)


@dataclass(slots=True)
class _Reader:
    """What items tell of others: a trace comes before its spans, a span before those around it.

    Attributes:
        groups: By trace.
        failed: What went wrong in the newest turn of an agent's run, by the run's span.
    """

    groups: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def spans(self, spot: Place, item: Any) -> list[Span]:
        """The span of an item; a trace only tells its group, which its spans follow."""
        if spot.get(item, "object", str) == "trace":
            if group := spot.get_or_none(item, "group_id", str):
                self.groups[spot.get(item, "id", str)] = group
            return []
        own, parent = spot.get(item, "id", str), spot.get_or_none(item, "parent_id", str)
        trace = spot.get(item, "trace_id", str)
        data = spot.get(item, "span_data", dict)
        error = _words(spot.get_or_none(item, "error", dict))
        if data.get("type") == "agent":
            error = error or self.failed.pop(own, "")
        elif data.get("type") == "custom" and data.get("name") == "turn" and parent is not None:
            self.failed[parent] = error
        attributes: dict[str, Any] = {_agents_sdk.DATA: data}
        if trace in self.groups:
            attributes["gen_ai.conversation.id"] = self.groups[trace]
        return [
            Span(
                trace,
                own,
                parent,
                str(data.get("name") or data.get("type") or "span"),
                moment_ns(spot, item.get("started_at")),
                moment_ns(spot, item.get("ended_at")),
                attributes,
                status="error" if error else "unset",
                message=error,
            )
        ]


def _words(error: dict[str, Any] | None) -> str:
    """An error in one line; that of the most turns as the SDK's own exception words it."""
    if error is None:
        return ""
    about = error.get("data")
    data = about if isinstance(about, dict) else {}
    message = str(error.get("message") or "error")
    if message == "Max turns exceeded" and type(most := data.get("max_turns")) is int:
        return f"Max turns ({most}) exceeded"
    detail = data.get("error") or (json.dumps(data, ensure_ascii=False) if data else "")
    return f"{message}: {detail}" if detail else message
