"""Where replies come from: the small door between the loop and models.

A recorded reply is found by position: role, iteration, and which call of that role it is
there. A miss never reaches a live model silently; it names the nearest recording.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.errors import ReplayMiss
from harness.fingerprint import digest
from harness.trace import Reply, Turn
from harness.turns import Tape, role_reply


@dataclass(frozen=True, slots=True)
class Request:
    """What a role is asked: ``messages`` as the provider takes them, and sampling settings."""

    role: str
    iteration: int
    n: int = 1
    messages: tuple[Mapping[str, Any], ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """Hash of what is sent, for the drift check."""
        body = {"messages": list(self.messages), "settings": dict(self.settings)}
        return digest("request", json.dumps(body, sort_keys=True, default=str))


class LLM(Protocol):
    """Answers requests."""

    @property
    def reads(self) -> bool:
        """Whether requests are looked at; where not, they are not composed."""
        ...

    def knows(self, role: str, iteration: int, n: int) -> bool:
        """Whether it can answer this role here; where it cannot, the mechanism abstains.

        A no is counted as an unrecorded call.
        """
        ...

    def ask(self, request: Request) -> Reply:
        """The reply to ``request``.

        Raises:
            ReplayMiss: A recording holds no such reply.
        """
        ...


class ScriptedLLM:
    """Replies from a script: for each role a list, taken in order. For tests and examples.

    Args:
        replies: For each role its replies, as text or as a reply of the scenario format.
    """

    reads = True

    def __init__(self, replies: Mapping[str, Iterable[str | Mapping[str, Any]]]) -> None:
        self._replies = {
            role: [role_reply(role, value) for value in values] for role, values in replies.items()
        }
        self._next = dict.fromkeys(self._replies, 0)

    def knows(self, role: str, iteration: int, n: int) -> bool:
        """Whether the role's script goes on."""
        return self._next.get(role, 0) < len(self._replies.get(role, ()))

    def ask(self, request: Request) -> Reply:
        """The role's next reply.

        Raises:
            ReplayMiss: The script of the role is over.
        """
        script = self._replies.get(request.role, [])
        at = self._next.get(request.role, 0)
        if at >= len(script):
            raise ReplayMiss(lambda: self._over(request, at))
        self._next[request.role] = at + 1
        return script[at]

    def _over(self, request: Request, asked: int) -> str:
        return (
            f"script: role {request.role!r} was asked {asked + 1} times in iteration "
            f"{request.iteration}, but has {asked} replies; roles with replies: "
            f"{', '.join(sorted(self._replies)) or 'none'}"
        )


class RecordedLLM:
    """Replays one scenario: turns by iteration, replies by (role, iteration, n).

    After ``switch`` step j of the branch answers iteration (switch + j).

    Attributes:
        drifted: Requests whose hash differs from the recorded one.
        unrecorded: Requests that the recording could not answer.
    """

    def __init__(self, tape: Tape) -> None:
        self.reads = tape.hashed
        self._tape = tape
        self._turns: tuple[Turn, ...] = tape.trunk
        self._offset = 0
        self._taken: dict[str, int] = {}
        self.drifted = 0
        self.unrecorded = 0

    def turn(self, iteration: int) -> Turn | None:
        """What iteration ``iteration`` brought, or ``None`` at the end of the recording."""
        at = iteration - self._offset - 1
        return self._turns[at] if 0 <= at < len(self._turns) else None

    def switch(self, kind: str, iteration: int) -> bool:
        """Go on with the next branch of ``kind`` after ``iteration``; False if there is none."""
        taken = self._taken.get(kind, 0)
        branches = self._tape.branches.get(kind, ())
        if taken >= len(branches):
            return False
        self._taken[kind] = taken + 1
        self._turns = branches[taken]
        self._offset = iteration
        return True

    def knows(self, role: str, iteration: int, n: int) -> bool:
        """Whether the recording holds the n-th reply of this role here."""
        turn = self.turn(iteration)
        if turn is not None and (role == "actor" or n <= len(turn.roles.get(role, ()))):
            return True
        self.unrecorded += 1
        return False

    def ask(self, request: Request) -> Reply:
        """The recorded reply at the request's position.

        Raises:
            ReplayMiss: There is none; names the nearest one.
        """
        turn = self.turn(request.iteration)
        if turn is None:
            self.unrecorded += 1
            raise ReplayMiss(lambda: self._beyond(request))
        if request.role == "actor":
            replies: tuple[Reply, ...] = (turn.reply,)
        else:
            replies = turn.roles.get(request.role, ())
        if request.n > len(replies):
            self.unrecorded += 1
            raise ReplayMiss(lambda: self._nearest(request, len(replies)))
        reply = replies[request.n - 1]
        if reply.request_hash and request.messages and reply.request_hash != request.hash:
            self.drifted += 1
        return reply

    def _beyond(self, request: Request) -> str:
        return (
            f"scenario {self._tape.scenario.id}: iteration {request.iteration} is not "
            f"recorded; the recording ends with {self._offset + len(self._turns)}"
        )

    def _nearest(self, request: Request, recorded: int) -> str:
        """Names the recorded reply of the role that lies nearest, and the difference."""
        where = f"scenario {self._tape.scenario.id}: role {request.role!r}"
        if recorded:
            return (
                f"{where} was asked {request.n} times in iteration {request.iteration}, "
                f"recorded are {recorded}"
            )
        numbers = [
            number + self._offset
            for number, turn in enumerate(self._turns, 1)
            if turn.roles.get(request.role)
        ]
        if not numbers:
            return f"{where} is not recorded at all (asked in iteration {request.iteration})"
        nearest = min(numbers, key=lambda number: abs(number - request.iteration))
        return (
            f"{where} is not recorded in iteration {request.iteration}; the nearest recorded "
            f"one is in iteration {nearest}"
        )
