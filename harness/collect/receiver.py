"""The receiver: OTLP/HTTP on this machine, in front of a ``Collector``."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.collect import body
from harness.collect.collector import IDLE_MS, Collector, silent
from harness.errors import ImportFormatError
from harness.filelocks import alone
from harness.redact import Redactor
from harness.server import ClientDisconnect, Request, Response, application, serve

#: The port of OTLP/HTTP.
PORT = 4318
#: Most bytes of one request, unpacked. Spans carry whole conversations, some of them twice, and
#: an SDK sends up to 512 of them at once; what is refused is lost.
MAX_BODY = 64 * 2**20
#: How often it is looked which traces are due.
TICK_S = 1.0
_PATHS: dict[str, body.Signal] = {
    "/v1/traces": "traces",
    "/v1/logs": "logs",
    "/v1/metrics": "metrics",
}
_ABOUT = """harness collect takes OTLP/HTTP: POST /v1/traces, /v1/logs (protobuf or JSON).
Set OTEL_EXPORTER_OTLP_ENDPOINT to this address and OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf.
"""
#: What a client of HTTP/2, as those of gRPC are, begins with in place of a method.
_HTTP_2 = "PRI"
_NO_GRPC = "gRPC is not understood here: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"


class Receiver:
    """Answers exporters.

    Args:
        collector: Takes what they send.
        most: Most bytes of a request, unpacked.
        tell: Told in words of what a user should know.
    """

    def __init__(
        self, collector: Collector, most: int, tell: Callable[[str], object] = silent
    ) -> None:
        self._collector = collector
        self._most = most
        self._tell = tell
        self._told: set[str] = set()

    def application(self) -> Any:
        """The ASGI application."""
        signals = {path: partial(self._post, signal=signal) for path, signal in _PATHS.items()}
        return application(signals, other=self._other)

    async def _post(self, request: Request, *, signal: body.Signal) -> Response:
        encoding = body.JSON
        try:
            encoding = body.encoding_of(request.method, request.headers.get("content-type", ""))
            raw = await self._read(request)
            # Reading spans takes a while, and others should be answered meanwhile.
            answer = await asyncio.to_thread(self._take, raw, encoding, signal)
        except body.Refused as refused:
            self._refuse(f"refused a request ({refused.status}): {refused.words}")
            content = body.refusal(refused, encoding)
            return Response(content, refused.status, media_type=encoding)
        except ClientDisconnect:
            return Response(status_code=400)
        return Response(answer, media_type=encoding)

    async def _other(self, request: Request) -> Response:
        if request.method == "GET" and request.url.path == "/":
            return Response(_ABOUT, media_type="text/plain")
        self._refuse(
            _NO_GRPC if request.method == _HTTP_2
            else f"nothing is known of {request.method} {request.url.path}"
        )  # fmt: skip
        words = f"there is POST {', '.join(_PATHS)}, and GET /"
        return Response(
            body.refusal(body.Refused(404, words), body.JSON), 404, media_type=body.JSON
        )

    async def _read(self, request: Request) -> bytes:
        """The body, unpacked; one that is too large is not read to its end."""
        length = request.headers.get("content-length", "0")
        raw = bytearray()
        if length.isdecimal() and int(length) > self._most:
            raise body.too_large(self._most)
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > self._most:
                raise body.too_large(self._most)
        return body.unpacked(bytes(raw), request.headers.get("content-encoding", ""), self._most)

    def _take(self, raw: bytes, encoding: str, signal: body.Signal) -> bytes:
        if signal == "metrics":
            self._once("metrics are not used")
            return body.success(signal, encoding)
        request = body.request_from(raw, encoding, signal)
        take = self._collector.spans if signal == "traces" else self._collector.events
        try:
            taken = take(request, len(raw))
        except ImportFormatError as error:
            raise body.Refused(400, str(error)) from None
        if taken.words:
            self._once(f"not taken: {taken.words}")
        return body.success(signal, encoding, taken.rejected, taken.words)

    def _refuse(self, words: str) -> None:
        self._collector.refuse()
        self._once(words)

    def _once(self, words: str) -> None:
        if words not in self._told and len(self._told) < 100:
            self._told.add(words)
            self._tell(words)


@dataclass(frozen=True, slots=True)
class Collecting:
    """A receiver at work.

    Attributes:
        url: Its address, for ``OTEL_EXPORTER_OTLP_ENDPOINT``.
        collector: What it hands the spans to.
    """

    url: str
    collector: Collector


@contextmanager
def collecting(
    path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    anywhere: bool = False,
    idle_ms: int = IDLE_MS,
    max_body: int = MAX_BODY,
    secrets: Iterable[str | Path] = (),
    tell: Callable[[str], object] = silent,
) -> Iterator[Collecting]:
    """Receive traces for as long as the block runs; at its end all that is open is written.

    Args:
        path: The ``.jsonl`` file of recordings; lines that are there already stay.
        host: Address to listen at.
        port: Port to listen at; 0 for a free one.
        anywhere: Allow addresses that other machines reach, too.
        idle_ms: See ``collector.IDLE_MS``.
        max_body: Most bytes of a request, unpacked.
        secrets: ``.toml`` files with further patterns of secrets.
        tell: Told in words of what a user should know, from another thread.

    Raises:
        HarnessError: The port is taken, the address is not this machine's alone, a file of
            patterns cannot be used, or another collector writes the same file.
        OSError: The file cannot be read or written.
    """
    redactor = Redactor(secrets)
    # The agent often runs with the same keys.
    redactor.learn(os.environ)
    # Other names of one file are not other files.
    path = Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    taken = f"collect: {path} is written by another collector; name another file"
    with alone(path, f".{path.name}.collect.lock", taken):
        collector = Collector(path, idle_ms=idle_ms, redactor=redactor, tell=tell)
        receiver = Receiver(collector, max_body, tell)
        with (
            _ticking(collector, tell) as begin,
            serve(receiver.application(), host, port, anywhere=anywhere) as url,
        ):
            begin()
            yield Collecting(url, collector)


@contextmanager
def _ticking(collector: Collector, tell: Callable[[str], object]) -> Iterator[Callable[[], object]]:
    """From the call of what it yields on, what is due is written; at its end everything is."""
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(TICK_S):
            try:
                collector.tick()
            except OSError as error:
                tell(f"cannot write, trying again: {error.strerror or error}")

    ticker = threading.Thread(target=tick, name="collect", daemon=True)
    try:
        yield ticker.start
    finally:
        stop.set()
        if ticker.is_alive():
            ticker.join()
        collector.close()
