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

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from pydantic_ai import CallToolsNode, DeferredToolRequests, ModelRequestNode
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import SkipToolExecution
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
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

from harness.adapters._loop import GuardStopped, Loop, tokens, unanswered
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
        self._deferred = False
        self._refused: str | None = None
        self._answers: frozenset[str] = frozenset()
        self._results: dict[str, str] = {}
        self._errors: dict[str, str] = {}

    async def before_run(self, ctx: Any) -> None:
        """A run begins; on a conversation that has begun before, its prompt is a person's word.

        Raises:
            GuardStopped: The turn that was cut off in the last run has ended the loop.
            HarnessError: The loop ended for good.
        """
        self._loop.enter(ctx.run_id)
        if not self._deferred:
            await self._cut_off()
        stopped = self._loop.stopped()
        if stopped is not None and self._loop.unheard():
            raise stopped
        self._loop.begin(ctx.prompt if isinstance(ctx.prompt, str) else None)

    async def before_model_request(
        self, ctx: Any, request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Tell the model what guards want said, and the work order, which holds for one request.

        Raises:
            GuardStopped: The turn before, whose deferred calls got no results, ended the loop.
            HarnessError: The guard is in two runs at once.
        """
        self._loop.enter(ctx.run_id)
        await self._cut_off()
        stopped = self._loop.stopped()
        if stopped is not None:
            raise stopped
        nudge, order = self._loop.nudge(), self._loop.work_order()
        if nudge is not None:
            ctx.enqueue(nudge)
        if order is not None:
            ctx.enqueue(SystemPromptPart(order, scope="request"))
        return request_context

    async def after_model_request(
        self, ctx: Any, *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """The model has replied; its calls run next.

        Raises:
            HarnessError: The guard is in two runs at once.
        """
        self._loop.enter(ctx.run_id)
        self._loop.replied()
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

    async def after_tool_execute(
        self, ctx: Any, *, call: ToolCallPart, tool_def: Any, args: dict[str, Any], result: Any
    ) -> Any:
        """A tool has run; what it brought is known even if another one breaks off the run."""
        text = result if isinstance(result, str) else json.dumps(result, default=str)
        self._results[call.tool_call_id] = text
        return result

    async def on_tool_execute_error(
        self, ctx: Any, *, call: ToolCallPart, tool_def: Any, args: dict[str, Any], error: Exception
    ) -> Any:
        """A tool has raised what breaks off the run."""
        self._errors[call.tool_call_id] = f"{type(error).__name__}: {error}"
        raise error

    async def after_node_run(self, ctx: Any, *, node: Any, result: Any) -> Any:
        """The calls of a reply have run: observe the turn.

        Raises:
            GuardStopped: The guard ended the run.
            HarnessError: The guard is in two runs at once.
        """
        if not isinstance(node, CallToolsNode):
            return result
        self._loop.enter(ctx.run_id)
        if isinstance(result, ModelRequestNode):
            # Calls that were deferred have their results here, be it in another process.
            parts = (*_behind(ctx.messages), *result.request.parts)
            await self._observe(node.model_response, parts)
            stopped = self._loop.stopped()
            if stopped is not None:
                raise stopped
        elif isinstance(result, End):
            await self._ends(node.model_response, ctx.messages, result.data.output)
        return result

    async def after_run(self, ctx: Any, *, result: Any) -> Any:
        """The run has ended by itself; a streamed answer has had no node of its own."""
        if self._reply is not None:
            await self._ends(self._reply, result.all_messages(), result.output)
        return result

    async def on_run_error(self, ctx: Any, *, error: BaseException) -> Any:
        """A run broke off: observe the turn that it was in; deferred calls may be tried again."""
        if self._loop.current(ctx.run_id) and not self._deferred:
            await self._cut_off()
        raise error

    async def _ends(self, reply: ModelResponse, messages: list[ModelMessage], output: Any) -> None:
        """The run is over: for good, or until deferred calls have their results."""
        self._deferred = isinstance(output, DeferredToolRequests)
        if self._deferred:
            self._loop.guard.watch.worked()
        else:
            await self._observe(reply, _behind(messages), last=True)

    async def _cut_off(self) -> None:
        """Observe the last reply if no results can come any more."""
        if self._reply is not None:
            await self._observe(self._reply, (), cut=True)

    async def _observe(
        self,
        reply: ModelResponse,
        behind: Sequence[ModelRequestPart],
        *,
        last: bool = False,
        cut: bool = False,
    ) -> None:
        """Observe a reply with the results among the parts behind it, if they had any."""
        self._reply, self._deferred = None, False
        refused, self._refused = self._refused, None
        results = {p.tool_call_id: p for p in behind if isinstance(p, ToolReturnPart)}
        said = reply.text or ""
        calls = []
        for part in reply.tool_calls:
            if last and part.tool_name in self._answers:
                # The final output, given as a call: it is what was said.
                said = said or part.args_as_json_str()
            elif refused is None:
                call = _call(part, results.get(part.tool_call_id))
                calls.append(self._unanswered(call, part.tool_call_id) if cut else call)
        self._results, self._errors = {}, {}
        finish = "stop" if last and not calls else reply.finish_reason
        await self._loop.aobserve(
            text=said, calls=[*_hosted(reply), *calls], model=reply.model_name,
            usage=_usage(reply), finish_reason=finish, last=last, cut=cut,
        )  # fmt: skip
        for feedback in behind:
            if isinstance(feedback, RetryFeedbackPart):
                self._loop.told(feedback.model_response())
        if refused is not None:
            self._loop.told(refused)

    def _unanswered(self, call: dict[str, Any], call_id: str) -> dict[str, Any]:
        if call_id in self._results:
            return {**call, "result": self._results[call_id], "ok": True}
        return unanswered(call, self._errors.get(call_id))


def _behind(messages: Sequence[ModelMessage]) -> list[ModelRequestPart]:
    """The parts of what stands behind the last reply."""
    behind = takewhile(lambda message: isinstance(message, ModelRequest), reversed(messages))
    return [part for message in behind if isinstance(message, ModelRequest)
            for part in message.parts]  # fmt: skip


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
