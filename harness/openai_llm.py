"""Live replies from any OpenAI-compatible server: roles for the guards, turns for an agent.

Token counts: the server's ``prompt_tokens`` hold cached ones and ``completion_tokens`` hold the
reasoning; here the five counts do not overlap (``harness.trace.Usage``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from harness import prices
from harness.clock import Clock, RealClock
from harness.errors import HarnessError
from harness.llm import Request
from harness.mechanisms import ROLES
from harness.preset import Preset
from harness.presetfile import MODELS
from harness.trace import Reply, Usage

if TYPE_CHECKING:
    from openai import OpenAI

#: What others of this package name the client's type by; this is its one importer.
Client: TypeAlias = "OpenAI"
#: Attempts after the first where a server is busy or cannot be reached; the client waits between.
RETRIES = 5


def connect() -> OpenAI:
    """A client as the standard variables say: ``OPENAI_BASE_URL``, ``OPENAI_API_KEY``.

    Raises:
        HarnessError: The library is not installed, or there is no key.
    """
    try:
        import openai
    except ImportError:
        raise HarnessError(
            "live models need the openai client: pip install 'guard-harness[openai]'"
        ) from None
    try:
        return openai.OpenAI(max_retries=RETRIES)
    except openai.OpenAIError as error:
        raise HarnessError(
            f"live models: {words(error)} (any text will do for a server that asks for no key)"
        ) from None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asked for.

    Attributes:
        args: The parsed arguments; the raw text where they are no JSON, or no more than a text,
            and always for a custom tool.
        valid: Whether the arguments are one JSON object.
    """

    id: str
    tool: str
    args: Any
    valid: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """One completion: the reply, the calls it asks for, the message for the next request."""

    reply: Reply
    calls: tuple[ToolCall, ...] = ()
    message: Mapping[str, Any] | None = None


class OpenAILLM:
    """Answers roles by a live model (``harness.llm.LLM``), and gives an agent its turns.

    Args:
        client: An ``openai.OpenAI``, for any server that speaks its protocol.
        models: Names of the models of the classes ``fast`` and ``quality``.
        roles: Model class of each role; a role that is not named takes ``fast``.
        only: Roles that are answered; the others abstain. Left out: all of them.
        settings: Sent with every role's request, over what it asks for. ``None`` leaves a setting
            out: ``{"temperature": None}`` for models that refuse one.
        clock: Tells how long a reply took.
    """

    reads = True

    def __init__(
        self,
        client: OpenAI,
        *,
        models: Mapping[str, str] | None = None,
        roles: Mapping[str, str] | None = None,
        only: Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._models = {**MODELS, **(models or {})}
        self._roles = dict(roles or {})
        self._only = None if only is None else frozenset(only)
        self._settings = dict(settings or {})
        self._clock = clock or RealClock()

    @classmethod
    def for_preset(cls, client: OpenAI, preset: Preset, **options: Any) -> Self:
        """One that asks each role of the model class that a preset gives it.

        Args:
            client: As for the constructor.
            preset: Gives the models' names and each mechanism's class.
            options: As for the constructor; ``models`` goes over the preset's.
        """
        chosen = {role: getattr(preset.mechanisms, name) for role, name in ROLES.items()}
        roles = {role: on.model for role, on in chosen.items() if hasattr(on, "model")}
        models = {**preset.models, **(options.pop("models", None) or {})}
        return cls(client, models=models, roles=roles, **options)

    def model_of(self, role: str) -> str:
        """Name of the model that answers ``role``."""
        return self._models[self._roles.get(role, "fast")]

    def knows(self, role: str, iteration: int, n: int) -> bool:
        """Whether this role is answered; a live model can answer at any iteration."""
        return self._only is None or role in self._only

    def ask(self, request: Request) -> Reply:
        """The model's reply; where the call failed, one with ``error`` set. Raises nothing."""
        settings = {**request.settings, **self._settings}
        model = self.model_of(request.role)
        asked = self.complete(request.messages, role=request.role, model=model, **settings)
        # As it was asked, whatever was set over it: that is what a replay can compare.
        return replace(asked.reply, request_hash=request.hash)

    def complete(
        self, messages: Sequence[Mapping[str, Any]], *, role: str, model: str, **settings: Any
    ) -> Answer:
        """One chat completion; where it failed, an answer whose reply has ``error`` set.

        Args:
            messages: As the server takes them.
            role: Who is asked; ``actor`` for an agent's own turns.
            model: Name of the model.
            settings: Sampling settings, ``tools`` and the like.
        """
        body = {key: value for key, value in settings.items() if value is not None}
        began = self._clock.now_ms()
        try:
            # Messages and settings are the caller's; the client's types would name every key.
            create: Any = self._client.chat.completions.create
            found = create(model=model, messages=list(messages), **body)
            # As plain data: servers leave out what the client's types promise.
            data = found.model_dump(exclude_none=True)
            message = data["choices"][0]["message"]
        except Exception as error:
            spent = self._clock.now_ms() - began
            return Answer(Reply(role=role, text="", model=model, ms=spent, error=words(error)))
        usage = usage_from(data.get("usage"))
        named = data.get("model") or model
        reply = Reply(
            role=role,
            text=message.get("content") or message.get("refusal") or "",
            model=named,
            usage=usage,
            cost=prices.cost(named, usage),
            ms=self._clock.now_ms() - began,
            finish_reason=data["choices"][0].get("finish_reason"),
            request_hash=Request(role, 0, 1, tuple(messages), settings).hash,
        )
        return Answer(reply, calls_from(message), _said_again(message))


def _said_again(message: Mapping[str, Any]) -> dict[str, Any]:
    """A reply as the next request repeats it: only what every server takes back.

    Arguments that are no JSON object are left out, as servers refuse them; the result says so.
    """
    calls = [
        call if read.valid or "function" not in call
        else {**call, "function": {**call["function"], "arguments": "{}"}}
        for call, read in zip(message.get("tool_calls") or (), calls_from(message), strict=True)
    ]  # fmt: skip
    text = message.get("content") or (None if calls else "")
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def usage_from(data: Any) -> Usage | None:
    """A server's token counts as ours, which do not overlap; ``None`` where it gave none.

    Args:
        data: The ``usage`` object as plain data. Input is what was neither read from a cache nor
            written to one, output what is not reasoning.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("prompt_tokens"), int):
        return None
    prompt = max(0, data["prompt_tokens"])
    completion = _count(data, "completion_tokens")
    details = data.get("prompt_tokens_details")
    read = min(_count(details, "cached_tokens"), prompt)
    written = min(_count(details, "cache_write_tokens"), prompt - read)
    reasoning = min(_count(data.get("completion_tokens_details"), "reasoning_tokens"), completion)
    return Usage(prompt - read - written, read, written, completion - reasoning, reasoning)


def _count(data: Any, key: str) -> int:
    value = data.get(key) if isinstance(data, Mapping) else None
    return max(0, value) if isinstance(value, int) else 0


def calls_from(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """The calls that an assistant message asks for.

    Args:
        message: As plain data.
    """
    found = []
    for call in message.get("tool_calls") or ():
        custom = call.get("custom")
        function = call.get("function") or custom or {}
        raw = function.get("arguments", function.get("input"))
        args = raw if custom and isinstance(raw, str) else _arguments(raw)
        found.append(
            ToolCall(call.get("id") or "", function.get("name") or "", args, isinstance(args, dict))
        )
    return tuple(found)


def _arguments(raw: Any) -> Any:
    if not isinstance(raw, str) or not raw.strip():
        return raw or {}
    try:
        args = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    # A text in quotes must not look like one that is no JSON.
    return raw if isinstance(args, str) else args


def words(error: BaseException) -> str:
    """What went wrong in one line, with the HTTP status where there is one."""
    status = getattr(error, "status_code", None)
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(status, int):
        return f"HTTP {status}: {text}"
    kind = "timed out: " if "Timeout" in type(error).__name__ else ""
    return f"{kind}{type(error).__name__}: {text}"
