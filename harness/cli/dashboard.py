"""The verb ``dashboard``: checks what can be wrong, then becomes the server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib.resources import files
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import NoReturn

from harness.cli import terminal
from harness.errors import HarnessError
from harness.store.database import Store

#: Where the search for a free port begins, and how many are tried.
FIRST_PORT, PORTS = 8501, 50
#: Names under which a browser may ask for this server; others are refused, so that a web page
#: cannot reach it by pointing a name of its own at this machine.
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def serve(
    store_path: Path, *, port: int | None, address: str, browser: bool, as_json: bool
) -> NoReturn:
    """Serve the dashboard until somebody stops it."""
    app = app_file()
    if find_spec("streamlit") is None:
        raise HarnessError(
            "dashboard: streamlit is not installed; install it: pip install streamlit"
        )
    store = store_path.resolve()
    if store.exists():
        # What is no store is refused here, in one line, rather than on every page.
        Store(store).rows("SELECT count(*) AS n FROM runs")
    port = free_port(address, port)
    shown = f"[{address}]" if ":" in address else address
    url = f"http://{shown}:{port}"
    if as_json:
        terminal.json_line({"url": url, "store": str(store)})
        sys.stdout.flush()
    notes = terminal.err()
    notes.print(f"dashboard of {terminal.plain(str(store))}: {url}   (Ctrl-C stops it)")
    if not store.exists():
        notes.print(
            "the store does not exist yet; make it with: harness run --store "
            f"{terminal.plain(str(store_path))}"
        )
    if not is_loopback(address):
        notes.print(f"warning: whoever can reach {terminal.plain(address)} can read the store")
    _become(command(app, address, port, browser), {"HARNESS_STORE": str(store)})


def app_file() -> Path:
    """The dashboard's entry: in the package, or beside it in a checkout."""
    package = Path(str(files("harness")))
    for folder in (package / "dashboards", package.parent / "dashboards"):
        if (folder / "app.py").is_file():
            return folder / "app.py"
    raise HarnessError("dashboard: its pages are not installed; install guard-harness again")


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def free_port(address: str, wanted: int | None) -> int:
    """The wanted port, or the first free one.

    Raises:
        HarnessError: The wanted one is taken, the address is not this machine's, or none is free.
    """
    for port in [wanted] if wanted else range(FIRST_PORT, FIRST_PORT + PORTS):
        try:
            family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((address, port))
        except socket.gaierror:
            raise HarnessError(f"dashboard: --address: unknown host, found {address!r}") from None
        except PermissionError:
            raise HarnessError(f"dashboard: --port: {port} needs more rights; try 8501") from None
        except OSError as error:
            if wanted:
                raise HarnessError(
                    f"dashboard: --port: cannot listen on {address} port {port}: {error.strerror}"
                ) from None
            continue
        return port
    raise HarnessError(
        f"dashboard: no free port from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} on {address}; "
        "choose one with --port"
    )


def command(app: Path, address: str, port: int, browser: bool) -> list[str]:
    """The server's command line.

    What keeps it safe is set here, where no configuration file can undo it.
    """
    hosts = _LOOPBACK if is_loopback(address) else ("*",)
    options = {
        "server.address": address,
        "server.port": port,
        "server.headless": str(not browser).lower(),
        "server.fileWatcherType": "none",
        "server.enableCORS": "true",
        "server.enableXsrfProtection": "true",
        "browser.gatherUsageStats": "false",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": "false",
        "client.toolbarMode": "viewer",
        "logger.level": "error",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    flags += [f"--server.allowedHosts={host}" for host in hosts]
    # -P: a folder that happens to hold a `streamlit` or `harness` is not what is meant.
    return [sys.executable, "-P", "-m", "streamlit", "run", str(app), *flags]


def _become(words: list[str], more: dict[str, str]) -> NoReturn:
    """Go on as the server: whoever stops this process stops it."""
    environment = {**os.environ, **more}
    if os.name == "posix":
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(words[0], words, environment)  # noqa: S606 - our own words, no shell
    try:
        sys.exit(subprocess.call(words, env=environment))  # noqa: S603 - our own words, no shell
    except KeyboardInterrupt:
        sys.exit(130)
