"""Model calls with no span around them: which of them are one agent's run.

An instrumented client traces its own calls. Where nobody traces the agent, each call is a trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import ImportFormatError
from harness.fingerprint import digest
from harness.importers._base import Place
from harness.importers._finish import OWN_STOP
from harness.importers._messages import Message, message_from
from harness.importers._spans.conversations import PAUSE_MS, is_rootless
from harness.importers._spans.dialects import node_from
from harness.importers._spans.graph import Graph, canonical, said
from harness.importers._spans.span import Span
from harness.matching import Known

#: How a reply ends that asks for tools.
_ASKED = frozenset({"tool_calls", "tool_call", "tool_use", "function_call"})
_PLACE = Place(Path("spans"), "model call")


@dataclass(frozen=True, slots=True)
class Call:
    """What of a model call without a span around it decides to which run it belongs.

    Attributes:
        trace_id: Of its trace, which holds nothing else.
        start_ns: When it began, in ns since 1970.
        end_ns: When it ended.
        seen: Digests of the messages that it was asked with; empty where they are not captured.
        brought: Ids of the calls of which it brings results.
        echo: Digest of the reply as a message.
        pending: Ids of the calls that the reply asked for.
        failed: There was no reply.
        finish_reason: As the provider gives it, in small letters.
        process: Digest of the process's attributes; ``None`` where it has none.
    """

    trace_id: str
    start_ns: int | None
    end_ns: int | None
    seen: tuple[str, ...]
    brought: frozenset[str]
    echo: str | None
    pending: tuple[str, ...]
    failed: bool
    finish_reason: str
    process: str | None


def call_of(spans: Sequence[Span]) -> Call | None:
    """The one model call of a trace.

    Args:
        spans: All of a trace, with their events.

    Returns:
        ``None`` where it tells of more, or where a value is broken, which is named when the trace
        becomes a recording.
    """
    if not is_rootless(spans):
        return None
    return call_in(spans, next(span for span in spans if span.parent_id is None))


def call_in(spans: Sequence[Span], root: Span) -> Call | None:
    """The same of some spans of a trace: a model call and all within it.

    Args:
        spans: With their events.
        root: The outermost of them.
    """
    try:
        calls = Graph(_PLACE, [node_from(_PLACE, span) for span in spans]).calls
        asked = [message_from(_PLACE, raw) for raw in calls[-1].messages]
        reply = said(_PLACE, calls[-1])
    except ImportFormatError:
        return None
    talk = [message for message in asked if message.role != "system"] or asked
    last = max((n for n, m in enumerate(talk, 1) if m.role == "assistant"), default=0)
    return Call(
        root.trace_id,
        root.start_ns,
        root.end_ns,
        tuple(map(_print, talk)),
        frozenset(r.call_id for m in talk[last:] for r in m.results if r.call_id),
        _print(reply) if reply.text or reply.calls else None,
        tuple(name for name, _ in reply.calls if name),
        calls[-1].error is not None,
        (calls[-1].finish_reason or "").lower(),
        digest(canonical(root.resource)) if root.resource else None,
    )


def _print(message: Message) -> str:
    """What makes two messages the same."""
    calls = (f"{name or ''} {canonical(call)}" for name, call in message.calls)
    results = (f"{result.call_id or ''} {result.text}" for result in message.results)
    return digest(message.role, message.text.strip(), *calls, *results)


@dataclass(slots=True, eq=False)
class _Run:
    """A run so far; the first four as in ``Conversation``."""

    name: str
    echo: str | None = None
    failed: bool = False
    pending: Sequence[str] = ()
    ended_ns: int = 0
    worked: bool = False
    over: bool = False


@dataclass(slots=True)
class Joined:
    """Sorts model calls into runs, in order of their start; of each run only digests are kept."""

    _known: Known[_Run] = field(default_factory=Known)
    _of_process: dict[str, list[_Run]] = field(default_factory=dict)

    def run_of(self, call: Call) -> str:
        """The run of a call: the trace of its first."""
        if call.seen:
            found = self._known.find(call.seen, call.brought) or _Run(call.trace_id)
            found.echo, found.failed, found.pending = call.echo, call.failed, call.pending
            self._known.put(found, call.seen)
            return found.name
        return self._beside(call)

    def _beside(self, call: Call) -> str:
        """The run of a call whose messages are not captured."""
        if call.process is None or call.start_ns is None or call.end_ns is None:
            return call.trace_id
        since = call.start_ns - PAUSE_MS * 1_000_000
        runs = [each for each in self._of_process.get(call.process, ()) if each.ended_ns >= since]
        free = [each for each in runs if each.ended_ns <= call.start_ns and not each.over]
        found = max(free, key=lambda each: each.ended_ns, default=None)
        if found is None:
            found = _Run(call.trace_id)
            runs.append(found)
        found.over = found.worked and call.finish_reason in OWN_STOP
        found.worked |= call.finish_reason in _ASKED
        found.ended_ns = call.end_ns
        self._of_process[call.process] = runs
        return found.name


def joined(calls: Iterable[Call]) -> dict[str, str]:
    """The run of each call, by its trace."""
    found = Joined()
    # Of two that began at once, the one that knows less of the talk came first.
    ordered = sorted(calls, key=lambda call: (call.start_ns or 0, len(call.seen), call.trace_id))
    return {call.trace_id: found.run_of(call) for call in ordered}
