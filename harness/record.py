"""Recording any agent that uses the ``openai`` client, as scenarios to replay.

Hand the client a transport, or record everything inside a block::

    client = openai.OpenAI(http_client=httpx2.Client(transport=RecordingTransport("runs.jsonl")))

    with recording("runs.jsonl"):
        run_my_agent()          # makes its own clients, sync or async, streamed or not

Each episode is one line of the file (``harness.conversation`` says which calls belong together).
Secrets are taken out before anything is written, and headers never are. The file is replaced as a
whole at each change, so that a killed process leaves whole lines only; a fault of the recorder is
logged and never reaches the agent. One process at a time may write a file.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2

from harness.clock import Clock, RealClock
from harness.conversation import Asked, Conversation, Conversations
from harness.episode_file import EpisodeFile
from harness.openai_llm import Answer, words
from harness.redact import Redactor
from harness.text import mended
from harness.trace import Reply
from harness.wire import answer_from, as_json, assembled, error_in, error_words

_log = logging.getLogger("harness")
_ROUTE = "/chat/completions"
#: Other ways to ask a model, which are not recorded; said once.
_UNKNOWN_ROUTES = ("/responses", "/v1/completions", "/v1/messages")


class Recorder:
    """Takes in requests and replies, and keeps a file of episodes up to date.

    Args:
        path: The ``.jsonl`` file; lines that are there already stay.
        name: First part of the episodes' ids, their family.
        said: Whether later user messages are a person's or the framework's (``nudge``).
        failed: Tells from tool and result that a call failed (``harness.conversation``).
        secrets: ``.toml`` files with further patterns of secrets.
        clock: Tells time.

    Raises:
        HarnessError: A file of patterns that cannot be used.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        name: str = "recorded",
        said: Literal["user", "nudge"] = "user",
        failed: Callable[[str, str], bool] | None = None,
        secrets: Iterable[str | Path] = (),
        clock: Clock | None = None,
    ) -> None:
        self._file = EpisodeFile(path)
        self._redactor = Redactor(secrets)
        self._clock = clock or RealClock()
        run = uuid.uuid4().hex[:8]
        self._talks = Conversations(f"{name}/{run}", said=said, failed=failed)
        self._encoded: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self._warned: set[str] = set()

    def begin(self, request: httpx2.Request, content: bytes) -> Exchange | None:
        """Note a request; ``None`` where it is no chat completion.

        Args:
            request: What is about to be sent.
            content: Its body.
        """
        if request.method != "POST" or not request.url.path.endswith(_ROUTE):
            if request.method == "POST" and request.url.path.endswith(_UNKNOWN_ROUTES):
                self._warn_of(request.url.path)
            return None
        try:
            body = mended(json.loads(content))
            if not isinstance(body, dict):
                return None
            with self._lock:
                self._redactor.learn(request.headers)
                retry = request.headers.get("x-stainless-retry-count", "0") != "0"
                asked = self._talks.begin(body, retry=retry, now_ms=self._clock.now_ms())
                self._write(asked.conversation)
        except Exception:
            _log.warning("recorder: a request could not be recorded", exc_info=True)
            return None
        return Exchange(self, asked, str(body.get("model") or ""))

    def finish(self, asked: Asked, answer: Answer) -> None:
        """Note what came back.

        Args:
            asked: What ``begin`` noted.
            answer: The reply, or one with an error.
        """
        try:
            with self._lock:
                self._talks.finish(asked, answer, now_ms=self._clock.now_ms())
                self._write(asked.conversation)
        except Exception:
            _log.warning("recorder: a reply could not be recorded", exc_info=True)

    def _warn_of(self, path: str) -> None:
        if path not in self._warned:
            self._warned.add(path)
            _log.warning("recorder: calls of %s are not recorded, only %s", path, _ROUTE)

    def _write(self, found: Conversation) -> None:
        steps = self._encoded.setdefault(found.id, [])
        kept = min(found.changed, len(steps), len(found.steps))
        fresh = found.steps[kept:]
        steps[kept:] = [as_json(self._redactor.value(step)) for step in fresh]
        found.changed = len(found.steps)
        if steps:
            head = as_json(self._redactor.value(found.head()))
            self._file.put(found.id, f'{head[:-1]},"steps":[{",".join(steps)}]}}')


class Exchange:
    """One request and what comes back for it.

    Args:
        recorder: Where it is noted.
        asked: What was noted when it was sent.
        model: The model that was asked for.
    """

    def __init__(self, recorder: Recorder, asked: Asked, model: str) -> None:
        self._recorder = recorder
        self._asked = asked
        self._model = model
        self._chunks: list[bytes] = []
        self._response = httpx2.Response(200)
        self._over = False

    def watch(self, response: httpx2.Response) -> httpx2.Response:
        """The response, whose body is noted while somebody reads it."""
        self._response = response
        if response.is_closed:
            self._chunks = [response.content]
            self.done(decoded=True)
        elif isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _AsyncTee(response.stream, self)
        elif isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Tee(response.stream, self)
        return response

    def chunk(self, data: bytes) -> None:
        """A part of the body."""
        self._chunks.append(data)

    def fail(self, error: BaseException) -> None:
        """The call failed on its way."""
        self._end(lambda: (assembled(self._body()), words(error)))

    def done(self, *, cut: bool = False, decoded: bool = False) -> None:
        """The body is there.

        Args:
            cut: The agent stopped reading before its end.
            decoded: It is no longer compressed.
        """
        self._end(lambda: self._read(cut=cut, decoded=decoded))

    def _end(self, read: Callable[[], tuple[dict[str, Any], str | None]]) -> None:
        if self._over:
            return
        self._over = True
        try:
            data, error = read()
            answer = answer_from(mended(data), error, self._model)
        except Exception as problem:
            answer = Answer(Reply("actor", "", self._model, error=f"unreadable: {problem}"))
        self._recorder.finish(self._asked, answer)

    def _read(self, *, cut: bool, decoded: bool) -> tuple[dict[str, Any], str | None]:
        body, response = self._body(decoded=decoded), self._response
        if response.status_code >= 400:
            return {}, f"HTTP {response.status_code}: {' '.join(error_words(body).split())}"
        streams = "event-stream" in response.headers.get("content-type", "")
        if not streams and not body.lstrip().startswith(("data:", "event:", ":")):
            data = json.loads(body)
            if not isinstance(data, dict):
                raise ValueError("the body is no JSON object")
            return data, error_in(data)
        data = assembled(body)
        if cut and not data["choices"][0]["finish_reason"]:
            data["choices"][0]["finish_reason"] = "cut"
        return data, error_in(data)

    def _body(self, *, decoded: bool = False) -> str:
        raw, response = b"".join(self._chunks), self._response
        if not decoded and "content-encoding" in response.headers:
            raw = httpx2.Response(200, headers=response.headers, content=raw).content
        return raw.decode("utf-8", "replace")


class RecordingTransport(httpx2.BaseTransport):
    """Records what goes through a synchronous client.

    Args:
        recorder: A recorder, or the path of its file.
        inner: The transport that does the work; left out: the ordinary one.
    """

    def __init__(
        self, recorder: Recorder | str | Path, inner: httpx2.BaseTransport | None = None
    ) -> None:
        self.recorder = recorder if isinstance(recorder, Recorder) else Recorder(recorder)
        self._inner = inner or httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Pass a request on and note it."""
        return _sync(self.recorder, self._inner.handle_request, request)

    def close(self) -> None:
        """Close the inner transport; the file is complete at every moment."""
        self._inner.close()


class AsyncRecordingTransport(httpx2.AsyncBaseTransport):
    """Records what goes through an asynchronous client.

    Args:
        recorder: A recorder, or the path of its file.
        inner: The transport that does the work; left out: the ordinary one.
    """

    def __init__(
        self, recorder: Recorder | str | Path, inner: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self.recorder = recorder if isinstance(recorder, Recorder) else Recorder(recorder)
        self._inner = inner or httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Pass a request on and note it."""
        return await _async(self.recorder, self._inner.handle_async_request, request)

    async def aclose(self) -> None:
        """Close the inner transport; the file is complete at every moment."""
        await self._inner.aclose()


@contextmanager
def recording(path: str | Path, **options: Any) -> Iterator[Recorder]:
    """Record every client of this process, also those made elsewhere, inside the block.

    Args:
        path: The ``.jsonl`` file; lines that are there already stay.
        options: As for ``Recorder``.

    Raises:
        HarnessError: A file of patterns that cannot be used.
    """
    recorder = Recorder(path, **options)
    sync, later = (
        httpx2.HTTPTransport.handle_request,
        httpx2.AsyncHTTPTransport.handle_async_request,
    )

    def handle(self: httpx2.HTTPTransport, request: httpx2.Request) -> httpx2.Response:
        return _sync(recorder, lambda asked: sync(self, asked), request)

    async def handle_async(
        self: httpx2.AsyncHTTPTransport, request: httpx2.Request
    ) -> httpx2.Response:
        return await _async(recorder, lambda asked: later(self, asked), request)

    httpx2.HTTPTransport.handle_request = handle  # type: ignore[method-assign]
    httpx2.AsyncHTTPTransport.handle_async_request = handle_async  # type: ignore[method-assign]
    try:
        yield recorder
    finally:
        httpx2.HTTPTransport.handle_request = sync  # type: ignore[method-assign]
        httpx2.AsyncHTTPTransport.handle_async_request = later  # type: ignore[method-assign]


def _sync(
    recorder: Recorder,
    send: Callable[[httpx2.Request], httpx2.Response],
    request: httpx2.Request,
) -> httpx2.Response:
    exchange = _begin(recorder, request, request.read())
    if exchange is None:
        return send(request)
    try:
        return exchange.watch(send(request))
    except BaseException as error:
        exchange.fail(error)
        raise


async def _async(
    recorder: Recorder, send: Callable[[httpx2.Request], Any], request: httpx2.Request
) -> httpx2.Response:
    exchange = _begin(recorder, request, await request.aread())
    if exchange is None:
        response: httpx2.Response = await send(request)
        return response
    try:
        return exchange.watch(await send(request))
    except BaseException as error:
        exchange.fail(error)
        raise


def _begin(recorder: Recorder, request: httpx2.Request, content: bytes) -> Exchange | None:
    """Begin an exchange, once for each recorder that it passes."""
    passed = request.extensions.setdefault("harness.recorders", [])
    if recorder in passed:
        return None
    passed.append(recorder)
    return recorder.begin(request, content)


class _Tee(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, exchange: Exchange) -> None:
        self._inner = inner
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._inner:
                self._exchange.chunk(chunk)
                yield chunk
        except GeneratorExit:
            self._exchange.done(cut=True)
            raise
        except BaseException as error:
            self._exchange.fail(error)
            raise
        self._exchange.done()

    def close(self) -> None:
        self._inner.close()
        self._exchange.done(cut=True)


class _AsyncTee(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, exchange: Exchange) -> None:
        self._inner = inner
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._exchange.chunk(chunk)
                yield chunk
        except GeneratorExit:
            self._exchange.done(cut=True)
            raise
        except BaseException as error:
            self._exchange.fail(error)
            raise
        self._exchange.done()

    async def aclose(self) -> None:
        await self._inner.aclose()
        self._exchange.done(cut=True)
