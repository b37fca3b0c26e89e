"""A local server: its address, its end, and what it refuses."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import httpx2
import pytest

from harness.errors import HarnessError
from harness.server import JSONResponse, Request, Response, application, serve

ROOT = Path(__file__).parent.parent


async def echo(request: Request) -> Response:
    body = await request.body()
    return JSONResponse({"path": request.url.path, "size": len(body)})


def test_it_answers_and_is_gone_afterwards() -> None:
    before = threading.active_count()
    with serve(application({"/v1/{path:path}": echo})) as url:
        assert url.startswith("http://127.0.0.1:")
        answer = httpx2.post(f"{url}/v1/a/b", content=b"abc")
        assert answer.json() == {"path": "/v1/a/b", "size": 3}
        assert httpx2.get(f"{url}/other").status_code == 404
    assert threading.active_count() == before
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{url}/v1/a")


def test_a_body_that_is_too_large_is_refused() -> None:
    with serve(application({"/": echo}, most=10)) as url:
        assert httpx2.post(url, content=b"x" * 11).status_code == 413


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(
                HarnessError,
                match=f"port {port} of 127.0.0.1 cannot be used: .*; choose another one",
            ),
            serve(application({"/": echo}), port=port),
        ):
            pass


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [
        ("0.0.0.0", 0, "can be reached from other machines"),  # noqa: S104 - refused
        ("example.com", 0, "can be reached from other machines"),
        ("127.0.0.1", 70000, "port must be 0 to 65535"),
    ],
)
def test_what_it_refuses(host: str, port: int, words: str) -> None:
    with pytest.raises(HarnessError, match=words), serve(application({"/": echo}), host, port):
        pass


def test_an_address_of_no_device_here_is_told_as_the_system_does() -> None:
    # Set aside for documentation (RFC 5737), so nobody's.
    words = f"server: port 0 of 192.0.2.1 cannot be used: {os.strerror(errno.EADDRNOTAVAIL)}"
    with (
        pytest.raises(HarnessError) as caught,
        serve(application({"/": echo}), "192.0.2.1", anywhere=True),
    ):
        pass
    assert str(caught.value) == words


def test_other_machines_where_asked() -> None:
    with serve(application({"/": echo}), "0.0.0.0", anywhere=True) as url:  # noqa: S104 - asked for
        port = url.rpartition(":")[2]
        assert httpx2.get(f"http://127.0.0.1:{port}/").status_code == 200


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs POSIX signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_it_runs_until_it_is_stopped(name: str) -> None:
    program = textwrap.dedent(
        """
        from harness.server import JSONResponse, application, serve, until_stopped
        async def hello(request):
            return JSONResponse({})
        with serve(application({"/": hello})) as url:
            until_stopped(lambda: print(url, flush=True))
        print("ended", flush=True)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as child:  # fmt: skip
        assert child.stdout is not None
        assert httpx2.get(child.stdout.readline().strip()).status_code == 200
        child.send_signal(getattr(signal, name))
        assert child.stdout.read() == "ended\n"
    assert child.returncode == 0
