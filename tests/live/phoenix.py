"""A Phoenix of its own: started on free ports in a folder of its own, and asked for its spans."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

#: How long it may take to start, or to store the next of the spans it was sent.
PATIENCE_S = 60


def executable() -> str | None:
    """The program: what ``HARNESS_PHOENIX`` names, else ``phoenix`` on the path."""
    return shutil.which(os.environ.get("HARNESS_PHOENIX") or "phoenix")


class Phoenix:
    """A running Phoenix."""

    def __init__(self, url: str) -> None:
        self.url = url

    def variables(self, project: str) -> dict[str, str]:
        """What a program needs to send its spans into a project."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_RESOURCE_ATTRIBUTES": f"openinference.project.name={project}",
        }

    def pages(self, project: str, kind: str, count: int) -> list[dict[str, Any]]:
        """What its REST interface answers for the spans of a project, page by page.

        It stores spans a while after it has taken them, so this waits until there are ``count``,
        or no more come.
        """
        seen, end = -1, time.monotonic() + PATIENCE_S
        while seen < count and time.monotonic() < end:
            if (stored := self._stored(project)) > seen:
                seen, end = stored, time.monotonic() + PATIENCE_S
            time.sleep(0.5)
        return self._pages(f"{self.url}/v1/projects/{project}/{kind}")

    def _stored(self, project: str) -> int:
        """How many spans a project has, which is cheaper to ask than for the spans."""
        query = "{projects {edges {node {name recordCount}}}}"
        answer = httpx2.post(f"{self.url}/graphql", json={"query": query}, timeout=60)
        nodes = [edge["node"] for edge in answer.json()["data"]["projects"]["edges"]]
        return sum(node["recordCount"] for node in nodes if node["name"] == project)

    def _pages(self, address: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            answer = httpx2.get(address, params={"limit": 1000, **cursor}, timeout=60)
            answer.raise_for_status()
            found.append(answer.json())
            if not (following := found[-1]["next_cursor"]):
                return found
            cursor = {"cursor": following}


def spans_of(pages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The spans of all pages."""
    return [span for page in pages for span in page["data"]]


@contextmanager
def phoenix(folder: Path) -> Iterator[Phoenix]:
    """Run it for as long as the block."""
    program = executable()
    assert program is not None
    port, grpc = _free(), _free()
    variables = {
        "PHOENIX_WORKING_DIR": str(folder), "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }  # fmt: skip
    with (
        (folder / "log.txt").open("wb") as log,
        subprocess.Popen(
            [program, "serve"], env={**os.environ, **variables}, stdout=log, stderr=log
        ) as process,
    ):
        try:
            running = Phoenix(f"http://127.0.0.1:{port}")
            _wait(running.url, process)
            yield running
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        assert process.poll() is None, "Phoenix ended by itself; its log is in its folder"
        try:
            if httpx2.get(f"{url}/healthz", timeout=5).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"Phoenix did not answer within {PATIENCE_S} s")


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
