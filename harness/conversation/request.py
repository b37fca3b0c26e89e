"""What a request tells of the episode that it goes on with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.conversation.episode import Conversation, Framing
from harness.conversation.messages import newest, print_of, talk_of


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it is looked up.

    Attributes:
        talk: Its messages, system messages left aside.
        seen: Their digests.
        previous: The reply that it goes on from, where the server keeps the history.
        framing: What it says beside.
        now_ms: When it was sent.
    """

    talk: list[Mapping[str, Any]]
    seen: tuple[str, ...]
    previous: str | None
    framing: Framing
    now_ms: int

    @classmethod
    def of(cls, body: Mapping[str, Any], framing: Framing, now_ms: int) -> Request:
        """A request from its body as plain data."""
        talk = talk_of(body)
        seen = tuple(map(print_of, talk))
        return cls(talk, seen, body.get("previous") or None, framing, now_ms)

    @property
    def brought(self) -> set[str]:
        """Ids of the calls of which it brings results."""
        return {str(m["tool_call_id"]) for m in newest(self.talk) if m.get("tool_call_id")}

    def repeats(self, each: Conversation) -> bool:
        """Whether its messages are those of an episode's last request again."""
        if self.previous is None:
            return each.seen == self.seen
        before = each.reply_id if each.failed else each.earlier_id
        return before == self.previous and each.seen[-len(self.seen) :] == self.seen

    def may_repeat(self, each: Conversation) -> bool:
        """Whether who sends the same messages again can be the same agent.

        Another role with the same task, or another sample of one, is none. A call that was left may
        just as well have been of use, so all has to be the same. After one that failed an agent may
        ask another model, or in another way.
        """
        if each.failed:
            return each.framing.role == self.framing.role
        return each.framing == self.framing

    def fits(self, each: Conversation) -> tuple[bool, int]:
        """How well its messages show that it goes on with an episode; more is better."""
        length = len(each.seen)
        repeated = each.echo is not None and self.seen[length : length + 1] == (each.echo,)
        return each.failed or repeated, length

    def within(self, each: Conversation) -> tuple[Request, bool]:
        """The same with the history that the server keeps of an episode, and if it keeps one."""
        if self.previous is None or each.reply_id != self.previous:
            return self, False
        before = each.seen[: -len(self.seen)] if each.failed else (*each.seen, each.echo or "")
        return replace(self, seen=(*before, *self.seen)), True
