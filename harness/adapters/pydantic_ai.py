"""pydantic-ai: a guard as a capability of a run.

::

    try:
        result = await agent.run(task, capabilities=[Guarded(guard)])
    except GuardStopped as stop:
        print(stop, stop.decision.exit)

A run that a guard ends raises ``GuardStopped`` before its next model request; one that ends by
itself returns as ever. It is the same with ``run_sync``, ``iter`` and the streaming forms.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import CallToolsNode, ModelRequestNode
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import SkipToolExecution
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_graph import End

from harness.adapters._loop import GuardStopped, Loop, tokens
from harness.live import LoopGuard
from harness.openai_llm import calls_from

__all__ = ["GuardStopped", "Guarded"]


class Guarded(AbstractCapability[Any]):
    """Guards the runs of one conversation: a run after the first goes on with the same counts.

    Args:
        guard: Guards this one conversation.
    """

    def __init__(self, guard: LoopGuard) -> None:
        self._loop = Loop(guard)
        self._reply: ModelResponse | None = None
        self._refused: str | None = None
        self._answers: frozenset[str] = frozenset()

    async def before_run(self, ctx: Any) -> None:
        """A run begins; on a conversation that has begun before, its prompt is a person's word.

        Raises:
            HarnessError: The loop ended for good.
        """
        self._loop.begin(ctx.prompt if isinstance(ctx.prompt, str) else None)

    async def before_model_request(
        self, ctx: Any, request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Tell the model what guards want said, and the work order, which holds for one request."""
        nudge, order = self._loop.nudge(), self._loop.work_order()
        if nudge is not None:
            ctx.enqueue(nudge)
        if order is not None:
            ctx.enqueue(SystemPromptPart(order, scope="request"))
        return request_context

    async def after_model_request(
        self, ctx: Any, *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """The model has replied; its calls run next."""
        self._reply = response
        tools = request_context.model_request_parameters.output_tools
        self._answers = frozenset(tool.name for tool in tools)
        asked = sum(call.tool_name not in self._answers for call in response.tool_calls)
        self._refused = self._loop.refusal(asked)
        return response

    async def before_tool_execute(
        self, ctx: Any, *, call: ToolCallPart, tool_def: Any, args: dict[str, Any]
    ) -> dict[str, Any]:
        """Keep a batch that would exceed the tool budget from running; the model is told."""
        if self._refused is not None:
            raise SkipToolExecution(self._refused)
        return args

    async def after_node_run(self, ctx: Any, *, node: Any, result: Any) -> Any:
        """The calls of a reply have run: observe the turn.

        Raises:
            GuardStopped: The guard ended the run.
        """
        if not isinstance(node, CallToolsNode) or self._reply is None:
            return result
        if isinstance(result, ModelRequestNode):
            await self._observe(node.model_response, result.request)
            stopped = self._loop.stopped()
            if stopped is not None:
                raise stopped
        elif isinstance(result, End):
            await self._observe(node.model_response, ctx.messages[-1], last=True)
        return result

    async def after_run(self, ctx: Any, *, result: Any) -> Any:
        """The run has ended by itself; a streamed answer has had no node of its own."""
        if self._reply is not None:
            await self._observe(self._reply, result.all_messages()[-1], last=True)
        return result

    async def _observe(
        self, reply: ModelResponse, behind: ModelMessage, *, last: bool = False
    ) -> None:
        """Observe a reply with the results in the message behind it, if they had any."""
        self._reply = None
        refused, self._refused = self._refused, None
        parts = behind.parts if isinstance(behind, ModelRequest) else ()
        results = {p.tool_call_id: p for p in parts if isinstance(p, ToolReturnPart)}
        said = reply.text or ""
        calls = []
        for part in reply.tool_calls:
            if last and part.tool_name in self._answers:
                # The final output, given as a call: it is what was said.
                said = said or part.args_as_json_str()
            elif refused is None:
                calls.append(_call(part, results.get(part.tool_call_id)))
        finish = "stop" if last and not calls else reply.finish_reason
        await self._loop.aobserve(
            text=said, calls=[*_hosted(reply), *calls], model=reply.model_name,
            usage=_usage(reply), finish_reason=finish, last=last,
        )  # fmt: skip
        for feedback in parts:
            if isinstance(feedback, RetryFeedbackPart):
                self._loop.told(feedback.model_response())
        if refused is not None:
            self._loop.told(refused)


def _call(
    part: ToolCallPart | NativeToolCallPart, result: ToolReturnPart | NativeToolReturnPart | None
) -> dict[str, Any]:
    function = {"name": part.tool_name, "arguments": part.args}
    (call,) = calls_from({"tool_calls": [{"function": function}]})
    found = {"tool": call.tool, "args": call.args}
    if result is None:
        return found
    return {**found, "result": result.model_response_str(), "ok": result.outcome == "success"}


def _hosted(reply: ModelResponse) -> list[dict[str, Any]]:
    """Calls that the provider has run itself."""
    results = {p.tool_call_id: p for p in reply.parts if isinstance(p, NativeToolReturnPart)}
    return [
        {**_call(part, results.get(part.tool_call_id)), "builtin": True}
        for part in reply.parts
        if isinstance(part, NativeToolCallPart)
    ]


def _usage(reply: ModelResponse) -> dict[str, int] | None:
    usage = reply.usage
    return tokens(
        asked=usage.input_tokens,
        answered=usage.output_tokens,
        read=usage.cache_read_tokens,
        written=usage.cache_write_tokens,
        reasoned=usage.output_reasoning_tokens,
    )
