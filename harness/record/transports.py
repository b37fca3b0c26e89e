"""Recording and replaying inside a Python program: transports for its clients."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from harness.errors import HarnessError, ReplayMiss
from harness.record.canned import Canned
from harness.record.exchange import Exchange
from harness.record.recorder import Recorder, mode_of

_log = logging.getLogger("harness")


class RecordingTransport(httpx2.BaseTransport):
    """Records what goes through a synchronous client, or answers it; the recorder's mode says.

    Args:
        recorder: A recorder, or the path of the file to record into.
        inner: The transport that does the work; left out: the ordinary one.
    """

    def __init__(
        self, recorder: Recorder | str | Path, inner: httpx2.BaseTransport | None = None
    ) -> None:
        self.recorder = recorder if isinstance(recorder, Recorder) else Recorder(recorder)
        self._inner = inner or httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Pass a request on and note it, or answer it."""
        return _sync(self.recorder, self._inner.handle_request, request)

    def close(self) -> None:
        """Close the inner transport; the file is complete at every moment."""
        self._inner.close()


class AsyncRecordingTransport(httpx2.AsyncBaseTransport):
    """Records what goes through an asynchronous client, or answers it; the recorder's mode says.

    Args:
        recorder: A recorder, or the path of the file to record into.
        inner: The transport that does the work; left out: the ordinary one.
    """

    def __init__(
        self, recorder: Recorder | str | Path, inner: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self.recorder = recorder if isinstance(recorder, Recorder) else Recorder(recorder)
        self._inner = inner or httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Pass a request on and note it, or answer it."""
        return await _async(self.recorder, self._inner.handle_async_request, request)

    async def aclose(self) -> None:
        """Close the inner transport; the file is complete at every moment."""
        await self._inner.aclose()


@contextmanager
def recording(recorder: Recorder | str | Path, **options: Any) -> Iterator[Recorder]:
    """Record every client of this process, also those made elsewhere, inside the block.

    Clients are those on ``httpx2``, as ``openai`` 3.x makes them. Where none of them asked a model,
    a warning is logged at the end of the block.

    Args:
        recorder: The path of the ``.jsonl`` file, in which lines that are there stay; or a
            recorder, whose mode counts.
        options: As for ``Recorder``; none beside a recorder.

    Raises:
        HarnessError: What ``Recorder`` refuses, or options beside a recorder.
    """
    with _patched(_recorder("recording", recorder, options)) as made:
        yield made
    if _untouched(made):
        _log.warning("%s", _unasked("recording", made))


@contextmanager
def cassette(
    recorder: Recorder | str | Path, mode: str | None = None, **options: Any
) -> Iterator[Recorder]:
    """Answer every client of this process from a recording, inside the block.

    Clients are those on ``httpx2``, as ``openai`` 3.x makes them; others ask their model. What the
    recording does not hold is answered with an error (404) that names the nearest recording, and
    raises at the end of the block, unless something else does.

    Args:
        recorder: The path of the recording; or a recorder, whose mode counts.
        mode: One of ``MODES``; left out: as ``HARNESS_RECORD_MODE`` says, else ``none``.
        options: As for ``Recorder``; neither they nor a mode stand beside a recorder.

    Raises:
        HarnessError: What ``Recorder`` refuses, a mode or options beside a recorder; or no client
            asked a model.
        ReplayMiss: Something was asked that is not recorded.
    """
    if not isinstance(recorder, Recorder):
        options["mode"] = mode_of(mode)
    elif mode is not None:
        options["mode"] = mode
    with _patched(_recorder("cassette", recorder, options)) as made:
        yield made
    missed = made.tally.missed
    if missed:
        more = f" (and {len(missed) - 1} more requests)" if len(missed) > 1 else ""
        raise ReplayMiss(lambda: missed[0] + more)
    if _untouched(made):
        raise HarnessError(_unasked("cassette", made))


def _recorder(what: str, given: Recorder | str | Path, options: Mapping[str, Any]) -> Recorder:
    if not isinstance(given, Recorder):
        return Recorder(given, **options)
    if options:
        raise HarnessError(f"{what}: {', '.join(options)}: say it to the Recorder that is given")
    return given


def _untouched(recorder: Recorder) -> bool:
    return not recorder.tally.calls and not recorder.tally.lost


def _unasked(what: str, recorder: Recorder) -> str:
    return (
        f"{what} {recorder.path}: no model was asked through it; it sees clients on httpx2 only, "
        "as openai 3.x makes them, and others go to their provider; for those there is harness "
        "record"
    )


@contextmanager
def _patched(recorder: Recorder) -> Iterator[Recorder]:
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
    if isinstance(exchange, Canned):
        return _made(exchange, request)
    try:
        return _watched(exchange, send(request))
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
    if isinstance(exchange, Canned):
        return _made(exchange, request)
    try:
        return _watched(exchange, await send(request))
    except BaseException as error:
        exchange.fail(error)
        raise


def _begin(recorder: Recorder, request: httpx2.Request, content: bytes) -> Exchange | Canned | None:
    """Begin an exchange, once for each recorder that it passes."""
    passed = request.extensions.setdefault("harness.recorders", [])
    if recorder in passed:
        return None
    passed.append(recorder)
    return recorder.begin(request.method, str(request.url), request.headers, content)


def _made(canned: Canned, request: httpx2.Request) -> httpx2.Response:
    if canned.raised is not None:
        kind = httpx2.ReadTimeout if canned.late else httpx2.ConnectError
        raise kind(canned.raised, request=request)
    return httpx2.Response(canned.status, headers=canned.headers, content=canned.body)


def _watched(exchange: Exchange, response: httpx2.Response) -> httpx2.Response:
    """The response, whose body is noted while somebody reads it."""
    headers = dict(response.headers)
    if response.is_closed:
        # Its content is no longer compressed.
        headers.pop("content-encoding", None)
    exchange.begin(response.status_code, headers)
    if response.is_closed:
        exchange.chunk(response.content)
        exchange.done()
    elif isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _AsyncTee(response.stream, exchange)
    elif isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Tee(response.stream, exchange)
    return response


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
