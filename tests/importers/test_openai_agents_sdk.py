"""What the installed Agents SDK exports, against what happened."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from harness.importers import recordings
from tests.openai_server import call, say, serving

COUNTED = {"input": 36, "cache_read": 64, "output": 15, "reasoning": 5}


@pytest.fixture
def exported() -> Iterator[list[dict[str, Any]]]:
    """What a processor of the SDK was given, as it exports it, with the responses beside."""
    agents = pytest.importorskip("agents")
    items: list[dict[str, Any]] = []

    class Processor(agents.TracingProcessor):  # type: ignore[name-defined,misc]
        def on_trace_start(self, trace: Any) -> None:
            items.append(trace.export())

        def on_trace_end(self, trace: Any) -> None: ...

        def on_span_start(self, span: Any) -> None: ...

        def on_span_end(self, span: Any) -> None:
            item = span.export()
            if (response := getattr(span.span_data, "response", None)) is not None:
                whole = response.model_dump(mode="json")
                item["span_data"] |= {"input": span.span_data.input, "response": whole}
            items.append(item)

        def shutdown(self) -> None: ...

        def force_flush(self) -> None: ...

    agents.set_trace_processors([Processor()])
    yield items
    agents.set_trace_processors([])


@pytest.mark.parametrize("model", ["OpenAIChatCompletionsModel", "OpenAIResponsesModel"])
def test_what_the_sdk_exports_is_what_happened(
    exported: list[dict[str, Any]], write_lines: Any, model: str
) -> None:
    import agents

    def heat(to: int) -> str:
        """Heat water."""
        return f"hot {to}"

    async def cook(server: Any, **more: Any) -> str:
        async with server.async_client() as client:
            chosen = getattr(agents, model)("gpt-x", client)
            tool = agents.function_tool(heat)
            cook = agents.Agent(name="cook", instructions="Cook.", model=chosen, tools=[tool])
            return str((await agents.Runner.run(cook, "Boil water.", **more)).final_output)

    replies = say("", call("heat", {"to": 100}, "c1")), say("It boils.")
    with serving(*replies) as server:
        assert asyncio.run(cook(server)) == "It boils."
    with serving(*replies) as server, pytest.raises(agents.MaxTurnsExceeded):
        asyncio.run(cook(server, max_turns=1))
    done, stopped = recordings("openai-agents", write_lines(*map(json.dumps, exported)))
    assert (done["goal"], done["tools"]) == ("Boil water.", ["heat"])
    replied = [step["reply"] for step in done["steps"]]
    assert [each.get("text") for each in replied] == [None, "It boils."]
    assert [each["usage"] for each in replied] == [COUNTED, COUNTED]
    (made,) = done["steps"][0]["calls"]
    assert (made["tool"], made["args"], made["result"]) == ("heat", {"to": 100}, "hot 100")
    assert done["recorded"] == {"exit_reason": "agent_finished", "exit_reason_source": "inferred"}
    assert stopped["recorded"] == {
        "exit_reason": "max_iterations",
        "limits": {"max_iterations": 1},
    }
