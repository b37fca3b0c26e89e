"""Events of the OpenHands software-agent SDK (V1): ``kind`` names the class of each."""

from __future__ import annotations

from typing import Any

from harness.importers._base import Place
from harness.importers._messages import moment
from harness.importers._openhands_end import (
    Ledger,
    added,
    ending_of_error,
    ending_of_state,
    usage_of,
)
from harness.importers._steps import Steps, arguments, joined, plain_model

_SOURCES = ("agent", "user", "environment")


class Sdk:
    """One conversation, event by event.

    Args:
        ledger: What is known of single responses.
        goal: Where it is known beside the events.
        status: Of the conversation, as the file of its state has it.

    Attributes:
        found: The steps.
        tools: Names of the tools that were offered.
    """

    def __init__(self, ledger: Ledger, goal: str | None, status: str | None) -> None:
        self.found = Steps(goal)
        self.tools: list[str] = []
        self._ledger = ledger
        self._response: str | None = None
        self._status: str | None = None
        self._at_rest = status
        self._error: dict[str, Any] = {}
        self._finished: str | None = None
        self._counted: dict[str, dict[str, int]] = {}
        self._used: dict[str, int] = {}
        self._model: str | None = None

    def take(self, spot: Place, event: Any) -> None:
        """Read the next event; kinds that are no part of the loop are passed over.

        Raises:
            ImportFormatError: It has no kind, or a part has another type.
        """
        kind = spot.get(event, "kind", str)
        stamp = event.get("timestamp")
        at = None if stamp is None else moment(spot, stamp)
        if reader := _READERS.get(kind):
            reader(self, spot, event, at)

    def told(self) -> dict[str, Any]:
        """How the conversation ended; gives tokens that came late to the last reply."""
        late = {key: count for key, count in self._used.items() if count}
        if late and self.found.steps:
            reply = self.found.steps[-1].setdefault("reply", {})
            reply["usage"] = added(reply.get("usage", {}), late)
        self._ledger.settle(self.found.steps)
        if self._error:
            return self._error
        if (status := self._at_rest or self._status) is not None:
            return ending_of_state(status)
        return {"exit_reason": "agent_finished"} if self._finished == "finish" else {}

    def _act(self, spot: Place, event: dict[str, Any], at: int | None) -> None:
        self._reply(spot, event, joined(event.get("thought")), at)
        tool = spot.get(event, "tool_name", str)
        asked = spot.get_or_none(event, "tool_call", dict) or {}
        call = {"tool": tool, **arguments(asked.get("arguments"))}
        self.found.called(spot.get_or_none(event, "tool_call_id", str), call, at)
        self._finished = tool

    def _message(self, spot: Place, event: dict[str, Any], at: int | None) -> None:
        text = joined(spot.get(event, "llm_message", dict).get("content"))
        source = spot.get(event, "source", str)
        if source == "agent":
            self._reply(spot, event, text, at)
        elif source == "user":
            self.found.said(text, at)
        else:
            self.found.nudged(text, at)
        self._finished = None

    def _observe(self, spot: Place, event: dict[str, Any], at: int | None) -> None:
        seen = spot.get(event, "observation", dict)
        result: dict[str, Any] = {"result": joined(seen.get("content"))}
        code = seen.get("exit_code")
        if type(code) is int and abs(code) < 2**31:
            result["exit_code"] = code
        if isinstance(seen.get("is_error"), bool):
            # A command that ran and failed is no error of the tool, but its code says so.
            result["ok"] = not seen["is_error"] and not result.get("exit_code")
        self._answer(spot, event, result, at)

    def _refuse(self, spot: Place, event: dict[str, Any], at: int | None) -> None:
        words = event.get("error") or event.get("rejection_reason")
        self._answer(spot, event, {"result": joined(words), "ok": False}, at)

    def _answer(
        self, spot: Place, event: dict[str, Any], result: dict[str, Any], at: int | None
    ) -> None:
        call_id = spot.get_or_none(event, "tool_call_id", str)
        if not self.found.answered(call_id, result, at):
            # The action is not in the log; what came back from it is all there is of that step.
            self._response = None
            self.found.replied(self._measures({}))
            self.found.called(None, {"tool": spot.get(event, "tool_name", str), **result})

    def _reply(self, spot: Place, event: dict[str, Any], text: str, at: int | None) -> None:
        name = spot.get_or_none(event, "llm_response_id", str)
        if name is not None and name == self._response:
            return
        self._response = name
        reply = self._measures({"text": text} if text else {})
        if name is not None and name in self._ledger.usage:
            reply["usage"] = added(reply.get("usage", {}), self._ledger.usage[name])
            self._ledger.takes(name, reply)
        if name is not None and name in self._ledger.models:
            reply["model"] = self._ledger.models[name]
        if name is not None and name in self._ledger.ms:
            reply["ms"] = self._ledger.ms[name]
        self.found.replied(reply, at)

    def _measures(self, reply: dict[str, Any]) -> dict[str, Any]:
        if self._model:
            reply["model"] = self._model
        if usage := {key: count for key, count in self._used.items() if count}:
            reply["usage"] = usage
        self._used = {}
        return reply

    def _condense(self, spot: Place, event: dict[str, Any], at: int | None) -> None:
        """A summary of what came before; its tokens count to the reply that follows."""
        name = spot.get_or_none(event, "llm_response_id", str)
        if name is not None and name in self._ledger.usage:
            self._used = added(self._used, self._ledger.usage[name])
            self._ledger.takes(name, {})

    def _system(self, spot: Place, event: dict[str, Any], at: int | None) -> None:
        for tool in spot.get_or_none(event, "tools", list) or ():
            inner = tool.get("function", tool) if isinstance(tool, dict) else {}
            for key in ("name", "title"):
                if isinstance(inner, dict) and isinstance(inner.get(key), str):
                    self.tools.append(inner[key])
                    break
        self.found.passed(at)

    def _state(self, spot: Place, event: dict[str, Any], at: int | None) -> None:
        key, value = spot.get(event, "key", str), event.get("value")
        state = value if key == "full_state" and isinstance(value, dict) else {key: value}
        status = spot.get_or_none(state, "execution_status", str)
        if status is not None:
            self._status = status
            if status == "running":
                self._error = {}
                self.found.passed(at)
        if (stats := spot.get_or_none(state, "stats", dict)) is not None:
            # Totals are told just ahead of the reply they count; the clock does not stop there.
            self._stats(spot.at("stats"), stats)

    def _stats(self, spot: Place, stats: dict[str, Any]) -> None:
        """Running totals; what they grew by belongs to the reply that follows."""
        for name, metrics in (spot.get_or_none(stats, "usage_to_metrics", dict) or {}).items():
            at = spot.at(name)
            total = at.get_or_none(metrics, "accumulated_token_usage", dict)
            if total is None:
                continue
            if model := at.get_or_none(metrics, "model_name", str):
                self._model = self._model or plain_model(model)
            if self._ledger.usage:
                continue  # the responses are known one by one
            now = usage_of(at, total)
            before = self._counted.get(name, {})
            if any(now.get(key, 0) < count for key, count in before.items()):
                before = {}  # a conversation that was restored counts from zero again
            for key, count in now.items():
                self._used[key] = self._used.get(key, 0) + count - before.get(key, 0)
            self._counted[name] = now

    def _fail(self, spot: Place, event: dict[str, Any], at: int | None) -> None:
        code = spot.get_or_none(event, "code", str) or ""
        detail = spot.get_or_none(event, "detail", str) or ""
        self._error = ending_of_error(f"{code}: {detail}")
        self.found.passed(at)

    def _limit(self, spot: Place, event: dict[str, Any], at: int | None) -> None:
        limit = spot.count(event, "max_iterations")
        self._error = {"exit_reason": "max_iterations", "limits": {"max_iterations": limit}}
        self.found.passed(at)


_READERS = {
    "ActionEvent": Sdk._act,
    "MessageEvent": Sdk._message,
    "ObservationEvent": Sdk._observe,
    "Condensation": Sdk._condense,
    "AgentErrorEvent": Sdk._refuse,
    "UserRejectObservation": Sdk._refuse,
    "SystemPromptEvent": Sdk._system,
    "ConversationStateUpdateEvent": Sdk._state,
    "ConversationErrorEvent": Sdk._fail,
    "ConversationIterationLimitEvent": Sdk._limit,
}
