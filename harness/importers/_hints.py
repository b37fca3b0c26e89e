"""Exports that hold too little of a run, and which of the same source would do."""

from __future__ import annotations

from harness.importers._head import Head

_LANGFUSE = (
    "export the observations as JSON or JSON Lines (their table, the API's /traces/ID, or the "
    "export to storage)"
)
_LANGSMITH = "export the runs as JSON Lines (list_runs of its SDK, or the bulk export)"
#: Columns of the tables of traces, which have no observations.
_TRACES = ({"timestamp", "sessionId", "userId"}, {"timestamp", "session_id", "user_id"})
_OBSERVATIONS = ({"type", "traceId"}, {"type", "trace_id"})


def hint(head: Head) -> str | None:
    """What such a file is and what to export instead; ``None`` where nobody knows."""
    if head.kind == "text":
        line = head.text.lstrip().partition("\n")[0]
        names = {column.strip('"\r ') for column in line.split(",")}
        if {"run_type", "inputs"} <= names:
            return f"is a CSV file of LangSmith; {_LANGSMITH}"
        if any(known <= names for known in (*_OBSERVATIONS, *_TRACES)):
            return f"is a CSV file of Langfuse; {_LANGFUSE}"
    names = set(head.first) if isinstance(head.first, dict) else set()
    if "observations" not in names and any(known <= names for known in _TRACES):
        return f"holds traces of Langfuse without their observations; {_LANGFUSE}"
    return None
