"""Answers that come from a recording instead of from a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.openai_llm import Answer
from harness.record.shelf import Place
from harness.scenario import Step
from harness.trace import Reply
from harness.wire import Format, answer_from, as_json, error_from, error_in, said_from

_STATUS = re.compile(r"HTTP ([45]\d\d): (.*)", re.DOTALL)
#: What ``openai_llm.words`` makes of an exception.
_RAISED = re.compile(r"(timed out: )?\w*(?:Error|Timeout|Exception): ")


@dataclass(frozen=True, slots=True)
class Canned:
    """A response that is made here.

    Attributes:
        raised: The call failed before any response, as words; ``late``: by running out of time.
    """

    status: int
    kind: str
    body: bytes
    raised: str | None = None
    late: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """Of the response. Nothing else would come of another try, in a recording."""
        retry = {"x-should-retry": "false"} if self.status >= 400 else {}
        return {"content-type": self.kind, "content-length": str(len(self.body)), **retry}


#: Status for what is not recorded.
MISSED = 404


def failure(form: Format, status: int, message: str) -> Canned:
    """An error, as the provider would write it."""
    return Canned(status, "application/json", as_json(form.failure(status, message)).encode())


def models(names: Iterable[str]) -> Canned:
    """A list of models, as OpenAI and Anthropic write it, both at once."""
    data = [
        {"id": name, "object": "model", "created": 0, "owned_by": "recording", "type": "model",
         "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
        for name in names
    ]  # fmt: skip
    ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
    body = {"object": "list", "data": data, "has_more": False, **ends}
    return Canned(200, "application/json", as_json(body).encode())


def played(
    form: Format, place: Place, body: Mapping[str, Any]
) -> tuple[Canned, Answer, str | None]:
    """A recorded step as the response to a request.

    Args:
        form: The way in which the model is asked.
        place: The step.
        body: The request.

    Returns:
        The response, what it says, and the id of the reply.
    """
    model = str(body.get("model") or "")
    recorded = place.step.reply
    said = said_from(place.step, place.episode.id, place.number, body)
    status, raised = _before(place.step, streamed=bool(body.get("stream")))
    if status or raised:
        answer = Answer(Reply("actor", "", model, error=recorded.error))
        if status:
            return failure(form, int(status[1]), status[2]), answer, None
        late = raised is not None and raised[1] is not None
        return Canned(0, "", b"", raised=recorded.error, late=late), answer, None
    data = form.reply(form.body(said))
    if recorded.error is not None:
        said = said.broken(recorded.error)
    answer = answer_from(data, recorded.error or error_in(data), model)
    if body.get("stream"):
        return (
            Canned(200, "text/event-stream", b"".join(form.events(said, body))),
            answer,
            data["id"],
        )
    return Canned(200, "application/json", as_json(form.body(said)).encode()), answer, data["id"]


def _before(step: Step, *, streamed: bool) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    """Whether a call failed before any of a reply came: by a status, or by an exception.

    An error in the middle of a stream may begin with the same words. A part of the reply stands
    before it, or it has marks, which no exception has.
    """
    error = step.reply.error or ""
    if streamed and (step.reply.text or step.calls):
        return None, None
    return _STATUS.fullmatch(error), None if error_from(error)[1] else _RAISED.match(error)
