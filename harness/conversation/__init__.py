"""Which model calls belong together: requests and replies as the steps of episodes.

The rules; the first that applies wins. A request goes on with an episode

1. that the header ``x-harness-episode`` names (*header*);
2. whose last request's messages begin its own (*prefix*; system messages left aside: work orders
   change them). Of several: one whose reply it repeats, then the longest, then one with the same
   system prompt, tools, model and settings, then with the first two of them, then the newest. A
   request that adds nothing goes on only after a failure, as a retry, if system prompt and tools
   are the same; after a reply it is a new episode. After a reply that was left before its end it
   tells, if model and settings are the same, too, that the agent did not use what it had got: that
   call has failed. Where the server keeps the history, the id of the reply before tells the same;
3. else, where the agent has shortened its history: whose last reply asked for a call of which it
   brings the result, if the call's id tells one episode from all others;
4. else, where an idle time is set: the newest one, if that had a call no longer ago (*idle*). An
   episode that was quiet for longer is over, also for rules 2 and 3.

Else it begins an episode, whose goal is its first user message. Its tool messages are the results
of the last step's calls; its user messages after the last reply are what a person said, or, where
it joins an episode without any history (1, 4), what the framework said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from harness.conversation.episode import (
    CUT,
    Asked,
    Conversation,
    Failed,
    Framing,
    Rule,
    step_of,
)
from harness.conversation.messages import goal_of, newest, print_of, said_in, text_of, tool_names
from harness.conversation.request import Request
from harness.matching import Known
from harness.openai_llm import Answer

__all__ = ["Asked", "Conversation", "Conversations", "Framing", "Rule"]

#: The messages of a request and what it says beside them.
_Sent = tuple[tuple[str, ...], Framing]


class Conversations:
    """Sorts requests into episodes.

    Args:
        name: First part of the episodes' ids.
        said: Whether a later user message is a person's (``user``) or a framework's (``nudge``).
        failed: Tells from tool and result that a call failed; left out: only results that are
            JSON objects with ``exit_code``, ``is_error`` or ``isError`` tell, and messages that
            are marked as failed.
        idle_ms: Idle time after which an episode is over, and within which requests without a
            shared history belong together; left out: time plays no part.
    """

    def __init__(
        self,
        name: str,
        *,
        said: Literal["user", "nudge"] = "user",
        failed: Failed | None = None,
        idle_ms: int | None = None,
    ) -> None:
        self._name = name
        self._said = said
        self._failed = failed
        self._idle_ms = idle_ms
        self.all: list[Conversation] = []
        self._known: Known[Conversation] = Known()
        #: Episodes whose last reply was left before its end, by their last request.
        self._left: dict[_Sent, dict[Conversation, None]] = {}

    def begin(
        self,
        body: Mapping[str, Any],
        *,
        retry: bool,
        now_ms: int,
        framing: Framing,
        episode: str | None = None,
    ) -> Asked:
        """Find where a request belongs, and take the results that it brings.

        Args:
            body: The request as plain data; ``previous`` names the reply that it goes on from,
                where the server keeps the history.
            retry: The client repeats a request by itself; the agent does not know.
            now_ms: When it was sent.
            framing: What it says beside its messages.
            episode: The episode that its header names.
        """
        request = Request.of(body, framing, now_ms)
        if episode is not None:
            found = next((c for c in reversed(self.all) if c.title == episode), None)
        else:
            found = self._of_reply(request) or self._of_left(request)
            found = found or self._find(request) or self._latest(now_ms)
        if found is None:
            found = self._new(request.talk, episode)
        if found.cut:
            self._settle(found)
            if request.repeats(found) and request.may_repeat(found):
                found.disuse()
        request, kept = request.within(found)
        asked = self._on(found, request, Asked(found, now_ms, joined=not kept), retry=retry)
        found.seen, found.framing = request.seen, framing
        found.asked, found.in_flight = asked, True
        self._known.drop(found)
        names = tool_names(body)
        if names:
            found.tools = list(dict.fromkeys([*(found.tools or ()), *names]))
        return asked

    def finish(
        self, asked: Asked, answer: Answer, *, now_ms: int, reply_id: str | None = None
    ) -> None:
        """Take in what came back; it becomes the episode's next step.

        Args:
            asked: What ``begin`` returned.
            answer: The reply or the error.
            now_ms: When the last of it arrived.
            reply_id: Id of the reply.
        """
        found, reply = asked.conversation, answer.reply
        found.add(answer, step_of(asked, answer, self._said, now_ms))
        found.echo = None if answer.message is None else print_of(answer.message)
        found.failed = reply.error is not None
        self._settle(found)
        if not found.failed:
            found.earlier_id, found.reply_id = found.reply_id, reply_id
        if not found.failed and reply.finish_reason == CUT:
            found.cut = True
            self._left.setdefault((found.seen, found.framing), {})[found] = None
        found.ended_ms, found.in_flight = now_ms, False
        self._known.put(found, found.seen)

    def _settle(self, found: Conversation) -> None:
        """The last reply of an episode was not left, or no longer counts as the last."""
        found.cut = False
        sent = found.seen, found.framing
        left = self._left.get(sent, {})
        left.pop(found, None)
        if not left:
            self._left.pop(sent, None)

    def _new(self, talk: Sequence[Mapping[str, Any]], episode: str | None) -> Conversation:
        rule: Rule = "prefix" if self._idle_ms is None else "idle"
        found = Conversation(
            f"{self._name}-{len(self.all) + 1:04}",
            goal_of(talk),
            rule="header" if episode is not None else rule,
            title=episode,
        )
        self.all.append(found)
        return found

    def _of_reply(self, request: Request) -> Conversation | None:
        """The episode whose reply a request names."""
        if request.previous is None:
            return None
        named = (each for each in reversed(self.all) if request.previous in each.ids)
        return next((each for each in named if self._may(each, request)), None)

    def _of_left(self, request: Request) -> Conversation | None:
        """The episode whose last reply was left, where a request is the same again."""
        if request.previous is not None:
            return None
        left = self._left.get((request.seen, request.framing), {})
        return next((each for each in reversed(left) if self._may(each, request)), None)

    def _find(self, request: Request) -> Conversation | None:
        """The episode that a request goes on with; of equals one that says the same beside it."""

        def may(each: Conversation) -> bool:
            return self._may(each, request)

        def same_role(each: Conversation) -> bool:
            return each.framing.role == request.framing.role and may(each)

        def same(each: Conversation) -> bool:
            return each.framing == request.framing and may(each)

        found: Conversation | None = None
        for can in (may, same_role, same):
            if found is not None and found.framing == request.framing:
                break
            other = self._known.find(request.seen, request.brought, can)
            if other is None:
                break
            if found is None or request.fits(other) >= request.fits(found):
                found = other
        return found

    def _may(self, each: Conversation, request: Request) -> bool:
        """Whether an episode may go on with a request at all."""
        if self._over(each, request.now_ms):
            return False
        return not request.repeats(each) or request.may_repeat(each)

    def _over(self, each: Conversation, now_ms: int) -> bool:
        return self._idle_ms is not None and now_ms - each.ended_ms > self._idle_ms

    def _latest(self, now_ms: int) -> Conversation | None:
        """The newest episode, where idle time says that a request joins it."""
        if self._idle_ms is None or not self.all:
            return None
        last = max(self.all, key=lambda each: each.ended_ms)
        return None if last.in_flight or self._over(last, now_ms) else last

    def _on(self, found: Conversation, request: Request, asked: Asked, *, retry: bool) -> Asked:
        """Go on with an episode, or begin it."""
        if found.failed and found.seen == request.seen and request.may_repeat(found):
            if retry and found.asked is not None and found.framing == request.framing:
                # Seen from the agent it is one call that took longer.
                found.steps.pop()
                found.changed = min(found.changed, len(found.steps))
                return found.asked
            return replace(asked, idle_ms=max(0, asked.began_ms - found.ended_ms))
        return self._arrive(found, request.talk, asked)

    def _arrive(
        self, found: Conversation, talk: Sequence[Mapping[str, Any]], asked: Asked
    ) -> Asked:
        """Hand the results that a request brings to the calls before."""
        new = newest(talk)
        said, history = said_in(new), len(new) < len(talk)
        results = [m for m in new if m.get("role") == "tool"]
        asked = replace(asked, results=tuple(map(text_of, results)))
        if found.asked is None:
            # The first message is the goal; a history before it is another episode's.
            return replace(asked, user=said or None if history else None, joined=False)
        gap = 0 if found.in_flight else max(0, asked.began_ms - found.ended_ms)
        calls = [] if found.in_flight else found.steps[-1].get("calls") or []
        found.bring(results, self._failed)
        if calls and not said:
            # Run one after another or at once: the batch took the whole gap.
            for call in calls:
                call["ms"] = gap
            found.changed = min(found.changed, len(found.steps) - 1)
        idle = 0 if calls and not said else gap
        joined = asked.joined and not history and not results
        return replace(asked, user=said or None, joined=joined, idle_ms=idle)
