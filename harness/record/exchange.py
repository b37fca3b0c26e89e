"""One request that goes to a model: what comes back is noted while somebody reads it."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx2

from harness.conversation import Asked
from harness.openai_llm import Answer, words
from harness.text import mended
from harness.trace import Reply
from harness.wire import Format, answer_from, error_in, error_words, events_in

if TYPE_CHECKING:
    from harness.record.recorder import Recorder

_log = logging.getLogger("harness")
#: Replies end in threads of their own.
_LOCK = threading.Lock()
_BLANK = re.compile(rb"\r?\n\r?\n")


class Exchange:
    """One request and what comes back for it.

    Args:
        recorder: Where it is noted.
        asked: What was noted when it was sent.
        form: The way in which the model was asked.
        model: The model that was asked for.
        request_hash: What the reply keeps of the request (``harness.record.framing``).
    """

    def __init__(
        self, recorder: Recorder, asked: Asked, form: Format, model: str, request_hash: str
    ) -> None:
        self._recorder = recorder
        self._asked = asked
        self._form = form
        self._model = model
        self._hash = request_hash
        self._raw = bytearray()
        self._read_to = 0
        self._status = 200
        self._headers: Mapping[str, str] = {}
        self._over = False

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the response.

        Args:
            status: Its status.
            headers: In small letters; a ``content-encoding`` says that chunks are compressed.
        """
        self._status, self._headers = status, headers

    @property
    def streams(self) -> bool:
        """Whether the response comes as events."""
        return "event-stream" in self._headers.get("content-type", "")

    def chunk(self, data: bytes) -> None:
        """A part of the body. The last event of a stream ends it, whatever follows."""
        self._raw += data
        if self._over or not self.streams or "content-encoding" in self._headers:
            return
        found = self._form.last.search(self._raw, self._read_to)
        if found is None:
            self._read_to = self._raw.rfind(b"\n") + 1
        elif _BLANK.search(self._raw, found.end()):
            self.done()

    def fail(self, error: BaseException) -> None:
        """The call failed on its way."""
        self.refuse(words(error))

    def refuse(self, error: str) -> None:
        """The call failed on its way, for a reason in words."""
        self._end(lambda: (self._form.streamed(events_in(self._body())), error))

    def done(self, *, cut: bool = False) -> None:
        """The body is there.

        Args:
            cut: The agent stopped reading before its end.
        """
        self._end(lambda: self._read(cut=cut))

    def _end(self, read: Callable[[], tuple[dict[str, Any], str | None]]) -> None:
        if self._over:
            return
        self._over = True
        data: dict[str, Any] = {}
        try:
            data, error = read()
            answer = answer_from(mended(data), error, self._model)
        except Exception as problem:
            answer = Answer(Reply("actor", "", self._model, error=f"unreadable: {problem}"))
        answer = replace(answer, reply=replace(answer.reply, request_hash=self._hash))
        self._recorder.finish(self._asked, answer, reply_id=data.get("id"))
        self._tell(data.get("left_out") or ())

    def _tell(self, left_out: Iterable[str]) -> None:
        """What a reply held that a recording has no place for is counted, and told once."""
        for name in left_out:
            told = f"{name} of replies"
            with _LOCK:
                others = self._recorder.tally.others
                others[told] += 1
                first = others[told] == 1
            if first:
                _log.warning("recorder: %s cannot be recorded", told)

    def _read(self, *, cut: bool) -> tuple[dict[str, Any], str | None]:
        body = self._body()
        if self._status >= 400:
            return {}, f"HTTP {self._status}: {' '.join(error_words(body).split())}"
        if not self.streams and not body.lstrip().startswith(("data:", "event:", ":")):
            data = json.loads(body)
            if not isinstance(data, dict):
                raise ValueError("the body is no JSON object")
            data = self._form.reply(data)
            return data, error_in(data)
        data = self._form.streamed(events_in(body))
        if cut and not data["choices"][0]["finish_reason"]:
            data["choices"][0]["finish_reason"] = "cut"
        return data, error_in(data)

    def _body(self) -> str:
        raw = bytes(self._raw)
        if "content-encoding" in self._headers:
            raw = httpx2.Response(200, headers=dict(self._headers), content=raw).content
        return raw.decode("utf-8", "replace")
