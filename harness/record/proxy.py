"""A proxy on this machine that records, or answers, what any program asks its models.

The program finds it by the variables with which its client library finds the provider. What the
provider says is passed on as it comes, chunk by chunk, with status and headers.
"""

from __future__ import annotations

import logging
from asyncio import FIRST_COMPLETED, CancelledError, create_task, wait
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from harness.errors import HarnessError
from harness.openai_llm import words
from harness.record.canned import Canned, failure
from harness.record.exchange import Exchange
from harness.record.recorder import HEADER, Recorder
from harness.server import (
    ClientDisconnect,
    Request,
    Response,
    StreamingResponse,
    application,
    past_other_proxies,
    serve,
)
from harness.wire import Format, format_of
from harness.wire.chat import CHAT

_log = logging.getLogger("harness")
#: Of one connection only, so not passed on (RFC 9110, section 7.6.1); and what is made anew.
_OWN = frozenset((
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "transfer-encoding", "upgrade", "host", "content-length", "accept-encoding",
    HEADER,
))  # fmt: skip
_OWN_BACK = _OWN - {"content-length", "accept-encoding"}
#: Models think for minutes; only a provider that cannot be reached is given up.
_TIMEOUT = httpx2.Timeout(None, connect=30)
#: For a program that is no longer there.
_NOBODY = Response(status_code=499)


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a program looks for its provider.

    Attributes:
        name: Begins the paths at the proxy.
        variables: Environment variables that hold the address, first the one that counts.
        default: The address where none is set.
        key: The variable without which its client refuses to start.
    """

    name: str
    variables: tuple[str, ...]
    default: str
    key: str


PROVIDERS = (
    Provider("openai", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1",
             "OPENAI_API_KEY"),
    Provider("anthropic", ("ANTHROPIC_BASE_URL",), "https://api.anthropic.com",
             "ANTHROPIC_API_KEY"),
)  # fmt: skip


@contextmanager
def proxy(
    recorder: Recorder, environment: Mapping[str, str], upstream: str | None = None
) -> Iterator[dict[str, str]]:
    """Run the proxy for as long as the block runs.

    Args:
        recorder: Takes in what goes through; its mode says what is answered from its recording.
        environment: The program's; says where the providers are.
        upstream: Address of the provider that speaks OpenAI's protocol, over the environment's.

    Yields:
        Environment variables for the program.

    Raises:
        HarnessError: An address that is none.
    """
    bases = {each.name: _base(each, environment, upstream) for each in PROVIDERS}
    serving = _Proxy(recorder, bases)
    app = application({"/{path:path}": serving.answer}, around=serving.around)
    with serve(app) as url:
        found: dict[str, str] = {}
        for each in PROVIDERS:
            # The path stays in the address: some clients look at it.
            path = urlsplit(bases[each.name]).path.rstrip("/")
            found |= dict.fromkeys(each.variables, f"{url}/{each.name}{path}")
            if not recorder.records:
                found.setdefault(each.key, environment.get(each.key) or "recorded")
        yield found | past_other_proxies(environment, url)


def _base(provider: Provider, environment: Mapping[str, str], upstream: str | None) -> str:
    named = next((environment[v] for v in provider.variables if environment.get(v)), None)
    found = (upstream if provider.name == "openai" else None) or named or provider.default
    parts = urlsplit(found)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise HarnessError(
            f"record: the address of {provider.name} must be http:// or https:// and a host, found "
            f"{found!r}"
        )
    return found


class _Proxy:
    """Passes requests on and notes them.

    Args:
        recorder: Takes in what goes through.
        bases: Address of each provider by its name.
    """

    def __init__(self, recorder: Recorder, bases: Mapping[str, str]) -> None:
        self._recorder = recorder
        self._origins = {name: _origin(base) for name, base in bases.items()}
        self._client: httpx2.AsyncClient

    @asynccontextmanager
    async def around(self, app: object) -> AsyncIterator[None]:
        """Hold the client that asks the providers; it belongs to the server's event loop."""
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        async with httpx2.AsyncClient(timeout=_TIMEOUT, limits=limits) as self._client:
            yield

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        # As it came: %2F is no slash.
        path = request.scope["raw_path"].decode("latin-1")
        name, _, rest = path.lstrip("/").partition("/")
        origin = self._origins.get(name)
        form = format_of(request.method, request.url.path) or CHAT
        if origin is None:
            names = ", ".join(f"/{each}" for each in self._origins)
            return _canned(form, failure(form, 404, f"harness record: paths begin with {names}"))
        try:
            content = await request.body()
        except ClientDisconnect:
            return _NOBODY
        target = f"{origin}/{rest}" + (f"?{request.url.query}" if request.url.query else "")
        known = self._recorder.begin(request.method, target, request.headers, content)
        if isinstance(known, Canned):
            return _canned(form, known)
        head = [(k, v) for k, v in request.headers.items() if k not in _OWN]
        # What can be read here; events as they are, because their end has to be seen.
        streams = b'"stream"' in content
        head.append(("accept-encoding", "identity" if streams else "gzip, deflate"))
        # Headers as they come; the client would add its own.
        sent = httpx2.Request(request.method, target, headers=head, content=content)
        try:
            response = await self._send(sent, request, known)
        except httpx2.HTTPError as error:
            # Without user and password, which an address may have.
            scheme, _, place = origin.partition("://")
            shown = f"{scheme}://{place.rpartition('@')[2]}"
            told = f"harness record: {shown} cannot be reached: {words(error)}"
            if known is not None:
                known.refuse(f"HTTP 502: {told}")
            return _canned(form, failure(form, 502, told))
        except CancelledError:
            _leave(known)
            raise
        return _NOBODY if response is None else _Passed(response, known)

    async def _send(
        self, sent: httpx2.Request, request: Request, exchange: Exchange | None
    ) -> httpx2.Response | None:
        """Ask the provider for as long as the program waits; ``None`` where it went away."""

        async def leaving() -> None:
            await request.receive()
            # Noted at once: the program may be about to ask again.
            _leave(exchange)

        asking, left = create_task(self._client.send(sent, stream=True)), create_task(leaving())
        try:
            await wait((asking, left), return_when=FIRST_COMPLETED)
        finally:
            left.cancel()
            if not asking.done():
                asking.cancel()
        with suppress(CancelledError):
            return await asking
        return None


def _leave(exchange: Exchange | None) -> None:
    """The program went away: with a part of a stream, of which it may make use, or with nothing."""
    if exchange is not None and exchange.streams:
        exchange.done(cut=True)
    elif exchange is not None:
        exchange.fail(ConnectionAbortedError("the program did not wait for the answer"))


class _Passed(StreamingResponse):
    """A provider's response, passed on as it comes."""

    def __init__(self, response: httpx2.Response, exchange: Exchange | None) -> None:
        self._response, self._exchange = response, exchange
        self._chunks = _chunks(response, exchange)
        super().__init__(self._chunks, status_code=response.status_code)
        self.raw_headers = _kept(response.headers.raw)

    async def __call__(self, *call: Any) -> None:
        try:
            await super().__call__(*call)
        except httpx2.HTTPError as error:
            # The provider went away in the middle; so does this, and the program sees the same.
            _log.warning("record: a response broke off: %s", words(error))
        finally:
            # The program may have gone away between two chunks, or before the first.
            await self._chunks.aclose()
            await self._response.aclose()

    async def listen_for_disconnect(self, receive: Any) -> None:
        """Wait until the program goes away, and note it before anything else happens."""
        await super().listen_for_disconnect(receive)
        _leave(self._exchange)


async def _chunks(response: httpx2.Response, exchange: Exchange | None) -> AsyncGenerator[bytes]:
    """The body. Its end is noted before the last of it is passed on.

    Else the program's next request could be here before the end of this one is known.
    """
    try:
        if exchange is None:
            async for chunk in response.aiter_raw():
                yield chunk
            return
        exchange.begin(response.status_code, response.headers)
        held: bytes | None = None
        async for chunk in response.aiter_raw():
            exchange.chunk(chunk)
            if exchange.streams:
                yield chunk
            else:
                if held is not None:
                    yield held
                held = chunk
        exchange.done()
        if held is not None:
            yield held
    except (GeneratorExit, CancelledError):
        _leave(exchange)
        raise
    except httpx2.HTTPError as error:
        if exchange is not None:
            exchange.fail(error)
        raise


def _kept(head: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(k.lower(), v) for k, v in head if k.lower().decode("latin-1") not in _OWN_BACK]


def _canned(form: Format, canned: Canned) -> Response:
    if canned.raised is not None:
        canned = failure(form, 504 if canned.late else 502, canned.raised)
    return Response(canned.body, canned.status, canned.headers)


def _origin(base: str) -> str:
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}"
