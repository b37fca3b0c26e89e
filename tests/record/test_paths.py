"""Paths and queries go through the proxy as they come."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from harness.record import Recorder
from harness.record.proxy import proxy
from tests.openai_server import say, serving


@pytest.mark.parametrize(
    "path", ["/models/org%2Fname", "/a%20b", "/a%2fb//c/%C3%A9", "/plain?q=a%2Fb&r=1+2"]
)
def test_a_path_goes_on_as_it_was(tmp_path: Path, path: str) -> None:
    with (
        serving(say(raw={"data": []})) as server,
        proxy(Recorder(tmp_path / "a.jsonl"), {"OPENAI_BASE_URL": server.url}) as variables,
    ):
        httpx2.post(f"{variables['OPENAI_BASE_URL']}{path}", json={})
    assert server.paths == [f"/v1{path}"]
