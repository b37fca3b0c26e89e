"""Langfuse's traces and observations, made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.importers import Intake, recordings

GENERATION = "GENERATION"
ASKED = [{"role": "user", "content": "Boil water."}]
HEAT = {"id": "c1", "type": "function", "function": {"name": "heat", "arguments": '{"to": 100}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [HEAT]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "hot"}


def observation(number: int, kind: str = GENERATION, **more: Any) -> dict[str, Any]:
    """An observation that begins at its number of seconds and takes 100 ms."""
    at = f"2026-01-01T00:00:{number:02}"
    made = {"id": f"o{number}", "traceId": "t", "type": kind, "name": kind.lower(),
            "startTime": f"{at}.000Z", "endTime": f"{at}.100Z", "level": "DEFAULT"}  # fmt: skip
    return {**made, **more}


def trace(*observations: dict[str, Any], **more: Any) -> dict[str, Any]:
    about = {"id": "t", "timestamp": "2026-01-01T00:00:00Z", **more}
    return {"trace": about, "observations": list(observations)}


ROOT = observation(0, "SPAN", name="cook", endTime="2026-01-01T00:00:09Z")
FIRST = observation(
    1, parentObservationId="o0", input={"messages": ASKED, "tools": [HEAT]}, output=CALLED,
    model="gpt-4o", usageDetails={"input": 100, "output": 20, "total": 120},
)  # fmt: skip
TOOL = observation(
    2, "TOOL", name="heat", parentObservationId="o0", input={"to": 100}, output="hot"
)
LAST = observation(
    3, parentObservationId="o0", input=[*ASKED, CALLED, RESULT],
    output={"role": "assistant", "content": "It boils."}, model="gpt-4o",
)  # fmt: skip


def read(path: Path, intake: Intake | None = None) -> list[dict[str, Any]]:
    return list(recordings("langfuse", path, intake))
