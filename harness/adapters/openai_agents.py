"""OpenAI Agents SDK: a guard as the hooks of a run.

::

    hooks = GuardHooks(guard)
    try:
        result = await Runner.run(agent, task, hooks=hooks, run_config=hooks.run_config())
    except GuardStopped as stop:
        print(stop, stop.decision.exit)

A run that a guard ends raises ``GuardStopped`` before its next model call; one that ends by itself
returns as ever. Without ``run_config`` nudges do not reach the model and failed calls are not seen.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents import AgentsException, RunConfig, RunHooks, ToolGuardrailFunctionOutput
from agents.models import get_default_model
from agents.run_config import CallModelData, ModelInputData, ToolErrorFormatterArgs

from harness.adapters import _loop
from harness.adapters._loop import Loop, tokens, unanswered
from harness.adapters._openai_items import last_reply, last_words
from harness.live import LoopGuard
from harness.openai_llm import calls_from
from harness.verdicts import Decision


class GuardStopped(_loop.GuardStopped, AgentsException):
    """A guard ended the run, or paused it; ``run_data`` holds what the run has brought so far.

    Attributes:
        decision: What was decided, with exit reason and conditions.
        guard: The guard: its ``result`` is what a caller may use, its ``recording()`` replays.
    """

    def __init__(self, guard: LoopGuard, decision: Decision) -> None:
        super().__init__(guard, decision)
        self.run_data = None


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply that another process has heard, read out of the conversation."""

    output: list[Any]
    usage: Any


class GuardHooks(RunHooks[Any]):
    """Guards the runs of one conversation: a run after the first goes on with the same counts.

    Args:
        guard: Guards this one conversation.
    """

    def __init__(self, guard: LoopGuard) -> None:
        self._loop = Loop(guard)
        self._model: Any = None
        self._reply: Any = None
        self._named: str | None = None
        self._results: dict[str, str] = {}
        self._failed: dict[str, str] = {}
        self._others: list[str] = []
        self._running = 0
        self._resumed: Any = None
        self._refused: str | None = None

    def run_config(self, base: RunConfig | None = None) -> RunConfig:
        """A configuration under which the model hears the guard, and the guard of failed calls.

        Args:
            base: The application's own; its input filter and its error formatter are asked first.
        """
        base = base or RunConfig()
        self._model = base.model
        own_filter, own_format = base.call_model_input_filter, base.tool_error_formatter

        async def told(data: CallModelData[Any]) -> ModelInputData:
            if not self._running:
                await self._settle(data.model_data.input)
            found = own_filter(data) if own_filter else data.model_data
            return self._tell(await found if inspect.isawaitable(found) else found)

        async def failed(args: ToolErrorFormatterArgs[Any]) -> str | None:
            found = own_format(args) if own_format else None
            words = await found if inspect.isawaitable(found) else found
            self._failed[args.call_id] = (
                f"{type(args.error).__name__}: {args.error}" if args.error
                else words or args.default_message
            )  # fmt: skip
            return words

        return replace(base, call_model_input_filter=told, tool_error_formatter=failed)

    def budget(self, data: Any) -> ToolGuardrailFunctionOutput:
        """An input guardrail of a tool: refuses a batch that would exceed the tool budget.

        ``@function_tool(tool_input_guardrails=[ToolInputGuardrail(hooks.budget)])``
        """
        if self._refused is None:
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(self._refused)

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """A run begins, or another agent takes over.

        Raises:
            GuardStopped: The turn that was cut off in the last run has ended the loop.
            HarnessError: The loop ended for good.
        """
        await self._enter(context, agent)

    async def on_llm_start(
        self, context: Any, agent: Any, system_prompt: Any, input_items: Any
    ) -> None:
        """The last turn is over: observe it.

        Raises:
            GuardStopped: The guard ended the run.
        """
        await self._enter(context, agent)
        await self._settle(input_items)
        self._stop()

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """The model has replied; its calls run next.

        Raises:
            HarnessError: The guard is in two runs at once.
        """
        self._loop.enter(id(context.usage), context.usage)
        self._loop.replied()
        self._reply, self._named = response, _model_name(self._model or agent.model)
        self._running = 0
        asked = sum(getattr(item, "type", None) == "function_call" for item in response.output)
        self._refused = self._loop.refusal(asked)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        """A tool runs; what an agent inside it does is no turn of this loop."""
        await self._enter(context, agent)
        self._running += 1

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        """A tool has run."""
        self._running -= 1
        self._loop.guard.watch.worked()
        call_id = getattr(context, "tool_call_id", None)
        text = result if isinstance(result, str) else json.dumps(result, default=str)
        if call_id is None:
            self._others.append(text)
        else:
            self._results[call_id] = text

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """The run ends by itself."""
        self._loop.enter(id(context.usage), context.usage)
        await self._settle(last=True)

    async def _enter(self, context: Any, agent: Any) -> None:
        """Something happens in a run, perhaps its first; a run is known by its ``usage``."""
        usage = context.usage
        if not self._loop.enter(id(usage), usage):
            return
        self._running = 0
        if usage.requests and not self._loop.ended:
            # It goes on from a RunState: nobody has said anything new.
            if self._reply is None:
                self._resumed = usage
                self._named = _model_name(self._model or agent.model)
            return
        await self._settle(cut=True)
        if self._loop.unheard():
            self._stop()
        self._loop.begin(last_words(context.turn_input))

    def _stop(self) -> None:
        decision = self._loop.guard.decision
        if decision is not None and decision.ends:
            raise GuardStopped(self._loop.guard, decision)

    def _tell(self, data: ModelInputData) -> ModelInputData:
        """The input of the next model call with what the guard says; it is said this once."""
        if self._running or self._loop.ended:
            return data
        said = [text for text in (self._loop.nudge(), self._loop.work_order()) if text]
        more: list[Any] = [{"role": "user", "content": text} for text in said]
        return replace(data, input=[*data.input, *more])

    async def _settle(
        self, items: Sequence[Any] = (), *, last: bool = False, cut: bool = False
    ) -> None:
        """Observe the reply with the results of its calls, once they are there.

        Args:
            items: What the model is asked with next.
            last: The run ends by itself.
            cut: The run broke off.
        """
        self._recover(items)
        if self._reply is None:
            return
        reply, self._reply = self._reply, None
        refused, self._refused = self._refused, None
        text, calls = self._read(reply.output)
        if refused is not None:
            # Whatever ran all the same, because its tool has no guardrail, is recorded.
            calls = [call for call in calls if "result" in call]
        elif cut:
            calls = [unanswered(call) for call in calls]
        self._results, self._failed, self._others = {}, {}, []
        await self._loop.aobserve(
            text=text, calls=calls, model=self._named, usage=_usage(reply.usage), last=last, cut=cut
        )
        if refused is not None:
            self._loop.told(refused)

    def _recover(self, items: Sequence[Any]) -> None:
        """Find the reply of a run that was paused in another process."""
        usage, self._resumed = self._resumed, None
        output, results = last_reply(items) if usage is not None else ([], {})
        if not output:
            return
        self._results = {**results, **self._results}
        self._reply = _Reply(output, next(reversed(usage.request_usage_entries), None))

    def _read(self, output: list[Any]) -> tuple[str, list[dict[str, Any]]]:
        texts: list[str] = []
        calls: list[dict[str, Any]] = []
        for item in output:
            data = dict(item) if isinstance(item, Mapping) else item.model_dump(exclude_none=True)
            kind = data["type"]
            if kind == "message":
                texts += [part.get("text") or part.get("refusal") or "" for part in data["content"]]
            elif kind in ("function_call", "custom_tool_call"):
                calls.append(self._called(data))
            elif kind.endswith("_call"):
                calls.append(self._hosted(data))
        return "\n".join(text for text in texts if text), calls

    def _called(self, data: dict[str, Any]) -> dict[str, Any]:
        function = {"name": data["name"], "arguments": data.get("arguments", data.get("input"))}
        (call,) = calls_from({"tool_calls": [{"function": function}]})
        found = {"tool": call.tool, "args": call.args}
        if data["call_id"] in self._failed:
            return {**found, "result": self._failed[data["call_id"]], "ok": False}
        if data["call_id"] in self._results:
            return {**found, "result": self._results[data["call_id"]]}
        return found

    def _hosted(self, data: dict[str, Any]) -> dict[str, Any]:
        """A call of a built-in tool; the server's own hold their result."""
        kind, error = data.pop("type"), data.pop("error", None)
        brought = [data.pop(key) for key in ("output", "outputs", "results") if key in data]
        if "call_id" in data and self._others:
            brought = [self._others.pop(0)]
        args = {k: v for k, v in data.items() if k not in ("id", "call_id", "status", "name")}
        found = {"tool": data.get("name") or kind.removesuffix("_call"), "args": args}
        if brought or error:
            result = error or brought[0]
            found["result"] = result if isinstance(result, str) else json.dumps(result, default=str)
        failed = error is not None or data.get("status") == "failed"
        return {**found, "builtin": True, **({"ok": False} if failed else {})}


def _model_name(model: Any) -> str | None:
    if model is None:
        return str(get_default_model())
    name = model if isinstance(model, str) else getattr(model, "model", None)
    return name if isinstance(name, str) else None


def _usage(usage: Any) -> dict[str, int] | None:
    if usage is None:
        return None
    return tokens(
        asked=usage.input_tokens,
        answered=usage.output_tokens,
        read=usage.input_tokens_details.cached_tokens or 0,
        written=getattr(usage.input_tokens_details, "cache_write_tokens", 0) or 0,
        reasoned=usage.output_tokens_details.reasoning_tokens or 0,
    )
