"""LangChain's ``create_agent``: a guard as middleware.

::

    agent = create_agent(model, tools, middleware=[GuardMiddleware(guard)])

Nothing is raised: the agent ends as if it had ended by itself, ``guard.decision`` says how.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from langchain.agents.middleware import AgentMiddleware, hook_config
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

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Observe what the tools brought; end, or tell the model what it has to hear.

        Raises:
            HarnessError: The loop ended for good before, or an observed value breaks a rule.
        """
        said, way = self._talk.heard(state["messages"])
        return {"messages": said, **({"jump_to": "end"} if way == "end" else {})}

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Refuse a batch over the budget; observe a reply that ends the run by itself."""
        if not isinstance(state["messages"][-1], AIMessage):
            # A structured answer by tool: LangChain has already put its result behind it.
            if state.get("structured_response") is not None:
                self._talk.answered(state["messages"])
                return None
            # It could not be read, which LangChain says in words only.
            behind = takewhile(lambda m: isinstance(m, ToolMessage), reversed(state["messages"]))
            return {"messages": [m.model_copy(update={"status": "error"}) for m in behind]}
        said, way = self._talk.replied(state["messages"])
        return {"messages": said, "jump_to": "model"} if way == "agent" else None
