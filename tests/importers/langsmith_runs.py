"""LangSmith's runs, made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.importers import Intake, recordings


def run(number: int, kind: str, inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
    """A run below run 0 that begins at its number of seconds and takes 100 ms."""
    at = f"2026-01-01T00:00:{number:02}"
    return {
        "id": f"r{number}", "trace_id": "r0", "parent_run_id": "r0", "name": kind, "run_type": kind,
        "start_time": f"{at}.000000", "end_time": f"{at}.100000+00:00", "inputs": inputs,
        "outputs": outputs, "error": None, "extra": {}, **more,
    }  # fmt: skip


def lc(name: str, **kwargs: Any) -> dict[str, Any]:
    """A message as LangChain serialises it."""
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": kwargs}


def generated(message: dict[str, Any], **info: Any) -> dict[str, Any]:
    """What LangChain's tracer keeps of a reply."""
    return {"generations": [[{"text": "", "message": message, "generation_info": info}]]}


USAGE = {
    "input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
    "input_token_details": {"cache_read": 64}, "output_token_details": {"reasoning": 5},
}  # fmt: skip
COUNTED = {"input": 36, "cache_read": 64, "output": 15, "reasoning": 5}
SYSTEM, ASKED = lc("SystemMessage", content="Cook."), lc("HumanMessage", content="Boil water.")
HEAT = {"name": "heat", "args": {"to": 100}, "id": "c1", "type": "tool_call"}
CALLED = lc("AIMessage", content="", tool_calls=[HEAT], usage_metadata=USAGE, type="ai")
RESULT = {"type": "tool", "content": "hot", "name": "heat", "tool_call_id": "c1"}
EXTRA = {
    "invocation_params": {"model": "gpt-4o", "tools": [{"function": {"name": "heat"}}]},
    "metadata": {"ls_model_name": "gpt-4o"},
}
ROOT = {**run(0, "chain", {"messages": []}, {}, name="LangGraph", extra={}), "parent_run_id": None,
        "end_time": "2026-01-01T00:00:09"}  # fmt: skip
FIRST = run(1, "llm", {"messages": [[SYSTEM, ASKED]]},
            generated(CALLED, finish_reason="tool_calls"), extra=EXTRA)  # fmt: skip
TOOL = run(2, "tool", {"to": 100}, {"output": RESULT}, name="heat")
BACK = lc("ToolMessage", content="hot", tool_call_id="c1")
LAST = run(
    3, "llm", {"messages": [[SYSTEM, ASKED, CALLED, BACK]]},
    generated(lc("AIMessage", content="It boils.", usage_metadata=USAGE), finish_reason="stop"),
    extra=EXTRA,
)  # fmt: skip
RUNS = (ROOT, FIRST, TOOL, LAST)


def read(path: Path, intake: Intake | None = None) -> list[dict[str, Any]]:
    return list(recordings("langsmith", path, intake))
