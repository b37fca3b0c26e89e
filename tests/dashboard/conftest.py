"""The dashboard over small stores: its pages in this process, and in a real browser."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.cli.dashboard import app_file
from harness.files import bundled_scenarios
from harness.preset import load_presets
from harness.run import run
from harness.store.database import Store
from tests.dashboard.hostile import PRESET, SCENARIO

PAGES = ("", "compare", "episode", "tune", "guards", "data")
FAMILIES = ("reflection", "healthy", "spin", "repetition")


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two runs of some bundled scenarios."""
    path = tmp_path_factory.mktemp("ran") / "ran.duckdb"
    paths = [bundled_scenarios() / name for name in FAMILIES]
    run(paths, load_presets(["cost"]), Store(path), run_id="before")
    presets = load_presets(["balanced", "cost", "observe", "reflection"])
    run(paths, presets, Store(path), run_id="first")
    return path


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose every recorded text attacks whoever shows it."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "evil.jsonl").write_text(SCENARIO)
    (folder / "evil.toml").write_text(PRESET)
    presets = load_presets([str(folder / "evil.toml"), "balanced", "observe"])
    path = folder / "hostile.duckdb"
    run([folder / "evil.jsonl"], presets, Store(path), run_id="<img src=x onerror=alert(1)>")
    return path


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """``page(store, "compare", runs=["first"])``: one page, run in this process."""
    from streamlit.testing.v1 import AppTest

    def show(store: Path, name: str = "", **query: Any) -> Any:
        monkeypatch.setenv("HARNESS_STORE", str(store))
        app = AppTest.from_file(str(app_file()), default_timeout=60)
        for key, value in query.items():
            app.query_params[key] = value
        app.run()
        if name:
            app.switch_page(f"views/{name}.py")
            # Going to another page empties the address; a shared one is opened as it is.
            for key, value in query.items():
                app.query_params[key] = value
            app.run()
        assert not app.exception, app.exception
        return app

    return show


@contextmanager
def serving(store: Path, *more: str) -> Iterator[str]:
    """``harness dashboard`` over a store; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "harness.cli", "dashboard", "--store", str(store),
             "--port", str(port), "--no-browser", *more]  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if k != "HARNESS_STORE"}
    server = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, server)
        yield address
    finally:
        server.terminate()
        server.communicate(timeout=20)


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if server.poll() is not None:
            pytest.fail(f"the server ended: {server.communicate()[0].decode()}")
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):  # noqa: S310
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the server did not start")


#: Opening a page by its address, Streamlit first asks below the page's path, then at the root.
_PROBE = re.compile(r"/\w+/_stcore/(health|host-config)$")


class Visit:
    """A window that notes whatever goes wrong in it."""

    def __init__(self, browser: Any, address: str, **more: Any) -> None:
        self.address = address
        self.context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | more))
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)

    def _console(self, message: Any) -> None:
        if message.type == "error" and not _PROBE.search(message.location.get("url", "")):
            self.wrong.append(f"console: {message.text} {message.location}")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        inside = (self.address, self.address.replace("http", "ws"), "data:", "blob:")
        if not request.url.startswith(inside):
            self.wrong.append(f"request: {request.url}")

    def go(self, path: str = "") -> Any:
        """Open an address and wait until it is all there."""
        self.page.goto(f"{self.address}/{path}")
        self.settled()
        return self.page

    def settled(self) -> None:
        """Wait until the page is made, and see that nothing failed."""
        self.page.wait_for_selector("h1", timeout=120_000)
        app = self.page.locator('[data-testid="stApp"]')
        for _ in range(600):
            self.page.wait_for_timeout(100)
            if app.get_attribute("data-test-script-state") == "notRunning":
                break
        self.page.wait_for_timeout(150)
        assert self.page.locator('[data-testid="stException"]').count() == 0
        assert self.page.get_by_text("This cannot be shown").count() == 0

    def close(self) -> None:
        """Close it, ahead of its server; nothing may have gone wrong."""
        self.page.close()
        self.context.close()
        assert self.wrong == []


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """``visit(address)``: a new window."""
    opened: list[Visit] = []

    def open_(address: str, **more: Any) -> Visit:
        opened.append(Visit(browser, address, **more))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()
