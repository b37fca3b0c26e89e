"""A web application on this machine: a free port, a thread of its own, a clean end.

The one importer of starlette and uvicorn; what an application is made of is handed on from here::

    async def hello(request: Request) -> Response:
        return JSONResponse({"path": request.url.path})

    with serve(application({"/{path:path}": hello})) as url:
        until_stopped(lambda: print(url))
"""

from __future__ import annotations

import errno
import ipaddress
import logging
import signal
import socket
import threading
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from harness.errors import HarnessError

__all__ = [
    "ClientDisconnect",
    "JSONResponse",
    "Request",
    "Response",
    "StreamingResponse",
    "application",
    "past_other_proxies",
    "serve",
    "until_stopped",
]

Handler = Callable[[Request], Awaitable[Response]]
#: Answers that are under way at the end get this long; then they are cut off.
GRACE_S = 2
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def application(
    routes: Mapping[str, Handler],
    *,
    most: int | None = None,
    other: Handler | None = None,
    around: Callable[[Any], AbstractAsyncContextManager[None]] | None = None,
) -> Starlette:
    """An application that answers each path by its function.

    Args:
        routes: Path, as ``/v1/traces`` or ``/{path:path}`` for every other, to the function that
            answers it, whatever the method.
        most: Bodies of more bytes are refused (413); left out: any.
        other: Answers what no path of them is for.
        around: Takes the application; is entered before it answers, in its event loop, and left
            at its end.
    """
    made = [Route(path, handler, methods=_METHODS, max_body_size=most)
            for path, handler in routes.items()]  # fmt: skip

    async def unknown(request: Request, error: Exception) -> Response:
        return await other(request) if other else Response(status_code=404)

    return Starlette(routes=made, lifespan=around, exception_handlers={404: unknown})


@contextmanager
def serve(
    app: Starlette, host: str = "127.0.0.1", port: int = 0, *, anywhere: bool = False
) -> Iterator[str]:
    """Serve an application in a thread for as long as the block runs.

    Args:
        app: What ``application`` made.
        host: Address to listen at.
        port: Port to listen at; 0 for a free one.
        anywhere: Allow addresses that other machines reach, too.

    Yields:
        The address, as ``http://127.0.0.1:4318``.

    Raises:
        HarnessError: The address cannot be listened at, or is not this machine's alone.
    """
    bound = _bind(host, port, anywhere=anywhere)
    place, number = bound.getsockname()[:2]
    config = uvicorn.Config(
        app, lifespan="on", ws="none", log_config=None, log_level="error", access_log=False,
        # What a proxy passes on has these already.
        server_header=False, date_header=False, proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )  # fmt: skip
    server = uvicorn.Server(config)
    # Connections wait at the bound port until the loop runs, so nobody has to wait for it here.
    thread = threading.Thread(target=server.run, args=([bound],), name="server", daemon=True)
    thread.start()
    log = logging.getLogger("uvicorn.error")
    log.addFilter(_was_not_cut_off)
    try:
        yield f"http://[{place}]:{number}" if ":" in place else f"http://{place}:{number}"
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
        log.removeFilter(_was_not_cut_off)


def _was_not_cut_off(record: logging.LogRecord) -> bool:
    """What is cut off at the end (``GRACE_S``) is no fault, and no traceback tells of it."""
    if record.exc_info:
        return not isinstance(record.exc_info[1], CancelledError)
    return "timeout graceful shutdown exceeded" not in str(record.msg)


def past_other_proxies(environment: Mapping[str, str], url: str) -> dict[str, str]:
    """What a program needs in its environment to reach a server on this machine.

    Without it a program behind a proxy would look for this machine there.

    Args:
        environment: The program's.
        url: Address of the server.
    """
    if not any(environment.get(name) for name in _PROXY_VARIABLES):
        return {}
    host = urlsplit(url).hostname
    given = environment.get("no_proxy") or environment.get("NO_PROXY")
    return dict.fromkeys(("no_proxy", "NO_PROXY"), f"{given},{host}" if given else str(host))


_PROXY_VARIABLES = (
    "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
)  # fmt: skip


def until_stopped(announce: Callable[[], object]) -> None:
    """Wait until somebody presses Ctrl-C or ends the process (SIGTERM). Main thread only.

    Args:
        announce: Called once the signals are watched; says that it is ready.
    """
    stop = threading.Event()
    before = {each: signal.signal(each, lambda *_: stop.set())
              for each in (signal.SIGINT, signal.SIGTERM)}  # fmt: skip
    try:
        announce()
        # In short turns: on Windows a wait without end is deaf to Ctrl-C.
        while not stop.wait(0.5):
            pass
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _bind(host: str, port: int, *, anywhere: bool) -> socket.socket:
    if not anywhere and not _loopback(host):
        raise HarnessError(
            f"server: host {host!r} can be reached from other machines, who could read and write "
            "here; use 127.0.0.1, ::1 or localhost, or allow it"
        )
    if not 0 <= port <= 65535:
        raise HarnessError(f"server: port must be 0 to 65535, found {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        raise HarnessError(f"server: host {host!r} cannot be used: {error}") from None
    try:
        # Not on Windows, where it would let two servers share one port.
        if hasattr(signal, "SIGHUP"):
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(2048)
    except OSError as error:
        found.close()
        taken = error.errno == errno.EADDRINUSE
        hint = "; choose another one, or 0 for a free one" if taken else ""
        raise HarnessError(
            f"server: port {port} of {host} cannot be used: {error.strerror}{hint}"
        ) from None
    return found


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
