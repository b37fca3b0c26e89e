"""``harness dashboard``: what can be wrong is said in one line, and the server is set up safely."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from harness.cli.dashboard import app_file, command, free_port, is_loopback
from harness.errors import HarnessError
from harness.store.database import Store
from tests.stored import refusal

SAFE = {
    "--server.address=127.0.0.1", "--browser.gatherUsageStats=false", "--server.enableCORS=true",
    "--server.enableXsrfProtection=true", "--server.allowedHosts=localhost",
    "--client.showErrorDetails=none",
}  # fmt: skip


def test_the_server_is_safe_whatever_is_configured() -> None:
    assert set(command(app_file(), "127.0.0.1", 8501, browser=False)) >= SAFE


def test_the_app_is_there() -> None:
    assert app_file().is_file()
    assert (app_file().parent / ".streamlit" / "config.toml").is_file()


@pytest.mark.parametrize(
    ("address", "inside"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("box", False)],  # noqa: S104
)
def test_loopback(address: str, inside: bool) -> None:
    assert is_loopback(address) is inside


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1 port {port}" in refusal(free_port, "127.0.0.1", port)
    assert free_port("127.0.0.1", None) >= 8501


def test_an_address_that_is_nobody() -> None:
    with pytest.raises(HarnessError, match="--address"):
        free_port("no.such.host.invalid", 8501)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"no store", "is not a DuckDB file"), (None, "is a folder")],
)
def test_what_is_no_store_is_refused(tmp_path: Path, content: bytes | None, words: str) -> None:
    from harness.cli.dashboard import serve

    path = tmp_path / "x.duckdb"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    found = refusal(serve, path, port=None, address="127.0.0.1", browser=False, as_json=False)
    assert words in found


def test_a_store_of_another_version(tmp_path: Path) -> None:
    from harness.cli.dashboard import serve

    store = Store(tmp_path / "old.duckdb")
    store.create()
    store.execute("UPDATE store_meta SET value = '1' WHERE key = 'schema_version'")
    found = refusal(serve, store.path, port=None, address="127.0.0.1", browser=False, as_json=False)
    assert "schema version 1" in found
