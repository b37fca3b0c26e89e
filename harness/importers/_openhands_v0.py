"""Event streams of OpenHands V0: actions of the agent, observations of the environment."""

from __future__ import annotations

from typing import Any

from harness.importers._base import Place
from harness.importers._messages import moment
from harness.importers._openhands_end import Ledger, ending_of_state
from harness.importers._steps import Steps, arguments, joined, plain_model
from harness.importers._usage import usage_from

#: What the machinery does; no model asked for it.
_NO_STEP = frozenset(
    {
        "system", "recall", "null", "change_agent_state", "agent_state_changed", "start_project",
        "pause", "resume", "stop", "condensation", "condensation_request", "loop_recovery",
    }
)  # fmt: skip
#: Arguments of an action that the model did not give.
_OWN_ARGS = frozenset(
    {
        "thought", "confirmation_state", "is_confirmed", "action_risk", "security_risk", "blocking",
        "hidden", "keep_prompt", "kernel_init_code", "action", "images_urls", "image_urls",
        "wait_for_response", "include_extra", "translated_ipython_code", "impl_source", "is_static",
        "cwd", "outputs", "final_thought",
    }
)  # fmt: skip
#: Actions by which the agent itself ends a run.
_LAST = {"finish": "agent_finished", "reject": "blocked"}
#: The tool name of a reply in which no call could be read.
UNREAD = "unparsed"


class V0:
    """One stream, event by event.

    Attributes:
        found: The steps.
        ending: What the last state of the agent says of the end.
    """

    def __init__(self, ledger: Ledger, goal: str | None, events: list[Any]) -> None:
        self.found = Steps(goal)
        self.ending: dict[str, Any] = {}
        self._ledger = ledger
        self._response: str | None = None
        self._calls: dict[Any, str] = {}
        self._known = {name for name in map(_response_id, events) if name}
        self._last: dict[str, Any] | None = None

    def take(self, spot: Place, event: Any) -> None:
        """Read the next event.

        Raises:
            ImportFormatError: It is neither an action nor an observation, or a part has another
                type.
        """
        stamp = event.get("timestamp") if isinstance(event, dict) else None
        at = None if stamp is None else moment(spot, stamp)
        action = spot.get_or_none(event, "action", str)
        observation = spot.get_or_none(event, "observation", str)
        if action is None and observation is None:
            raise spot.error("an event needs 'action' or 'observation'")
        if observation == "agent_state_changed":
            self._state(spot, event)
        if (action or observation) in _NO_STEP:
            self.found.passed(at)
        elif action is not None:
            self._act(spot, event, action, at)
        else:
            self._observe(spot, event, str(observation), at)

    def told(self) -> dict[str, Any]:
        """How the run ended as far as its events say; gives the rest of the tokens to replies."""
        if self._known:
            # Without ids in the events, what no reply names may be a reply's all the same.
            self._ledger.settle(self.found.steps)
        if self.ending or self._last is None:
            return self.ending
        args = self._last.get("args")
        asks = isinstance(args, dict) and args.get("wait_for_response") is True
        reason = _LAST.get(self._last["action"], "awaiting_user" if asks else None)
        return {"exit_reason": reason} if reason else {}

    def _state(self, spot: Place, event: dict[str, Any]) -> None:
        extras = spot.get_or_none(event, "extras", dict) or {}
        state = spot.get_or_none(extras, "agent_state", str)
        self.ending = ending_of_state(state, spot.get_or_none(extras, "reason", str) or "")

    def _act(self, spot: Place, event: dict[str, Any], action: str, at: int | None) -> None:
        # The oldest streams have the arguments in the event itself and no source.
        args = spot.get_or_none(event, "args", dict) or event
        text = spot.get_or_none(args, "content", str) if action == "message" else None
        source = event.get("source")
        from_person = source == "user" or (source is None and not self.found.steps and text)
        if from_person:
            self._last = None
            self.found.said(text or spot.get_or_none(event, "message", str) or "", at)
            return
        if source not in ("agent", None):
            self.found.nudged(text or spot.get_or_none(event, "message", str) or "", at)
            return
        self._last = event
        meta = spot.get_or_none(event, "tool_call_metadata", dict)
        name = _response_id(event)
        if name is None and action == "message":
            # A plain message carries no response, but the metrics may know of one more.
            name = self._ledger.after(self._response, self._known)
        if name is None or name != self._response:
            text = text or spot.get_or_none(args, "thought", str)
            reply = self._reply(spot, meta, name, text)
            self._ledger.takes(name, reply)
            self.found.replied(reply, at)
            self._response = name
        if action != "message":
            call_id = f"event {event.get('id')}"
            self._calls[event.get("id")] = call_id
            self.found.called(call_id, _call(spot, meta, action, args), at)

    def _reply(
        self, spot: Place, meta: dict[str, Any] | None, name: str | None, text: str | None
    ) -> dict[str, Any]:
        reply: dict[str, Any] = {}
        response = meta and spot.get_or_none(meta, "model_response", dict)
        if response:
            choices = spot.get_or_none(response, "choices", list) or [{}]
            message = spot.get_or_none(choices[0], "message", dict) or {}
            text = joined(message.get("content")) or text
            if model := spot.get_or_none(response, "model", str):
                reply["model"] = plain_model(model)
            if reason := spot.get_or_none(choices[0], "finish_reason", str):
                reply["finish_reason"] = reason
            usage = spot.get_or_none(response, "usage", dict)
            if usage and (counts := usage_from(spot.at("usage"), usage)):
                reply["usage"] = counts
        return {**({"text": text} if text else {}), **reply, **self._measured(name, reply)}

    def _measured(self, name: str | None, reply: dict[str, Any]) -> dict[str, Any]:
        """What the metrics know of a response; its own usage is more exact than theirs."""
        found: dict[str, Any] = {}
        if name is not None and name in self._ledger.usage and "usage" not in reply:
            found["usage"] = self._ledger.usage[name]
        if name is not None and name in self._ledger.ms:
            found["ms"] = self._ledger.ms[name]
        return found

    def _observe(self, spot: Place, event: dict[str, Any], kind: str, at: int | None) -> None:
        text = joined(event.get("content"))
        extras = spot.get_or_none(event, "extras", dict) or event
        inner = extras.get("metadata")
        code = inner.get("exit_code") if isinstance(inner, dict) else extras.get("exit_code")
        result: dict[str, Any] = {"result": text}
        if type(code) is int and abs(code) < 2**31:
            result["exit_code"] = code
        if isinstance(good := event.get("success"), bool):
            result["ok"] = good
        if kind in ("error", "user_rejected"):
            result["ok"] = False
        # The oldest streams have neither ids nor causes: an observation follows its action.
        waiting = self._calls.pop(event.get("cause"), None)
        if waiting is None and kind == "error":
            self._unread(text, at)
        else:
            self.found.answered(waiting, result, at)

    def _unread(self, text: str, at: int | None) -> None:
        """The machinery could not read the model's reply; only its complaint is in the stream."""
        name = self._ledger.after(self._response, self._known)
        reply = self._measured(name, {})
        self._ledger.takes(name, reply)
        self.found.replied(reply, at)
        self.found.called(None, {"tool": UNREAD, "ok": False, "result": text, "ms": 0}, at)
        self._response, self._last = name, None


def _response_id(event: Any) -> str | None:
    meta = event.get("tool_call_metadata") if isinstance(event, dict) else None
    response = meta.get("model_response") if isinstance(meta, dict) else None
    name = response.get("id") if isinstance(response, dict) else None
    return name if isinstance(name, str) and name else None


def _call(
    spot: Place, meta: dict[str, Any] | None, action: str, args: dict[str, Any]
) -> dict[str, Any]:
    """The call as the model made it where that is recorded, else as it was carried out."""
    meta = meta or {}
    call = {"tool": spot.get_or_none(meta, "function_name", str) or action}
    response = spot.get_or_none(meta, "model_response", dict) or {}
    for choice in spot.get_or_none(response, "choices", list) or ():
        message = spot.get_or_none(choice, "message", dict) or {}
        for item in spot.get_or_none(message, "tool_calls", list) or ():
            if isinstance(item, dict) and item.get("id") == meta.get("tool_call_id"):
                inner = spot.get_or_none(item, "function", dict) or {}
                return call | arguments(inner.get("arguments"))
    own = {key: value for key, value in args.items() if key not in _OWN_ARGS and value is not None}
    return call | arguments(own)
