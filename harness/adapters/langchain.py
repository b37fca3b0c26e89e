"""LangChain's ``create_agent``: a guard as middleware.

::

    agent = create_agent(model, tools, middleware=[GuardMiddleware(guard)])

Nothing is raised: the agent ends as if it had ended by itself, ``guard.decision`` says how.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    ModelRequest,
    ModelResponse,
    hook_config,
)
from langchain_core.messages import AIMessage, ToolMessage

from harness.adapters.langgraph import Conversation
from harness.live import LoopGuard


class GuardMiddleware(AgentMiddleware[Any, Any, Any]):
    """Guards one conversation of an agent.

    A tool that raises ends an agent, unless other middleware (``ToolRetryMiddleware``,
    ``wrap_tool_call``) makes a message of it; ``status="error"`` is what a failed call is known by.

    Args:
        guard: Guards this one conversation.
    """

    def __init__(self, guard: LoopGuard) -> None:
        super().__init__()
        self._talk = Conversation(guard)
        self._answered = False

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Observe what the tools brought; end, or tell the model what it has to hear.

        Raises:
            HarnessError: The loop ended for good before, the guard is in two runs at once, or an
                observed value breaks a rule.
        """
        self._talk.enter(runtime)
        said, way = self._talk.heard(state["messages"])
        return {"messages": said, **({"jump_to": "end"} if way == "end" else {})}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Look whether the model gave its structured answer, by a call."""
        return self._read(handler(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """``wrap_model_call`` for asyncio."""
        return self._read(await handler(request))

    def _read(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        self._talk.came(next((m for m in response.result if isinstance(m, AIMessage)), None))
        behind = any(isinstance(m, ToolMessage) for m in response.result)
        self._answered = behind and response.structured_response is not None
        if not behind or self._answered:
            return response
        # An answer that could not be read, which LangChain says in words only.
        result = [
            m.model_copy(update={"status": "error"}) if isinstance(m, ToolMessage) else m
            for m in response.result
        ]
        return replace(response, result=result)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """A tool runs: see what it raises, if that ends the agent."""
        with self._talk.running(request.tool_call["id"]):
            return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """``wrap_tool_call`` for asyncio."""
        with self._talk.running(request.tool_call["id"]):
            return await handler(request)

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Refuse a batch over the budget; observe a reply that ends the run by itself."""
        self._talk.enter(runtime)
        if self._answered:
            self._talk.answered(state["messages"])
            return None
        said, way = self._talk.replied(state["messages"])
        return {"messages": said, "jump_to": "model"} if way == "agent" else None
